"""Regret over the share of the budget that is spent, a panel a setting (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bursar.analysis import games
from bursar.analysis.least_line import least
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.figures import choice
from bursar.figures.band import Band, band
from bursar.figures.labels import colours, in_colour, label, markers, short
from bursar.figures.style import FAINT, STYLE, grid, legend, note, percent, thousands
from bursar.plan import Data, Place
from bursar.problems import Problem
from bursar.result import Result

__all__ = ["LEAST", "curves"]

LEAST = "least slope possible in the long\nrun (asymptotic, Bernoulli arms)"
_FAR = 8.0  # times the best policy's final regret: what is above leaves the panel
_STRETCH = 1.3  # times its height: so much a panel grows for the line of the least


def curves(
    result: Result,
    intervals: bool = True,
    log: bool = True,
    *,
    statistic: str = "mean",
    policies: Sequence[str] | None = None,
    places: Sequence[Place | Problem] = (),
    data: Data = None,
) -> Figure:
    """Draw regret over the budget, a panel a setting.

    Policies far worse than the others leave the panel at its top, where they are named. Where arms
    are Bernoulli, a dashed line is the least mean regret that is possible in the long run.

    Parameters
    ----------
    result : Result
        Settings without a game are left out.
    intervals : bool
        Shade the 95% interval over repetitions; the ads of a repetition count as one.
    log : bool
        A logarithmic axis of the budget, as in the paper.
    statistic : {"mean", "median"}
        Of the repetitions.
    policies : sequence of str, optional
        Which to show; by default all, and of more than 12 those of the paper's figures.
    places : sequence of settings and problems, optional
        What was played, for the least regret on problems of one's own, which a name does not tell.
    data : path or Ads, optional
        The Facebook ads, for the least regret on FB-Br.
    """
    names = [name for name in choice.played(result) if choice.paper(result, name, policies)]
    if not names:
        raise InvalidInput("the result has no game to draw; play at least one repetition")
    with mpl.rc_context(STYLE):
        figure, panels, free = grid(len(names), height=2.75)
        for panel, name in zip(panels, names, strict=True):
            shown = choice.paper(result, name, policies)
            bands = {s: band(games.regret(result, name, s), statistic) for s in shown}
            _panel(panel, result, bands, intervals)
            if statistic == "mean":  # the bound is one of means
                _least(panel, result.shares, least(result, name, places, data))
            panel.set(title=name, xlabel="share of the budget spent")
            if log:
                panel.set_xscale("log")
                panel.xaxis.set_minor_formatter(NullFormatter())
            percent(panel.xaxis)
            thousands(panel.yaxis)
        for panel in panels[:: min(3, len(names))]:
            panel.set_ylabel(f"{statistic} regret (reward lost)")
        named = {line.get_label(): line for panel in panels for line in panel.get_lines()}
        words = [*(label(slug) for slug in choice.main(result, policies)), LEAST]
        legend(figure, panels, free, [named[text] for text in words if text in named])
    return figure


def _panel(panel: Any, result: Result, bands: Mapping[str, Band], intervals: bool) -> None:
    styles, marks = colours(result.policies), markers(result.policies)
    for slug, one in bands.items():
        _line(panel, result.shares, one.middle, slug, *styles[slug], marks[slug])
        if intervals:
            panel.fill_between(
                result.shares, np.maximum(one.low, 0.0), one.high,
                color=styles[slug][0], alpha=0.2 if in_colour(slug) else 0.05, linewidth=0,
            )  # fmt: skip
    top = _ceiling([float(one.middle[-1]) for one in bands.values()])
    panel.set_ylim(0.0, top)
    gone = [short(slug) for slug, one in bands.items() if top is not None and one.middle[-1] > top]
    if gone:
        words = fill("above: " + ", ".join(gone), 28, break_on_hyphens=False)
        panel.set_title(words, loc="right", fontsize=7.5, color=FAINT, weight="normal")


def _least(panel: Any, shares: Floats, bound: Floats | None) -> None:
    """Draw the bound; where it is far above all policies it leaves the panel, which stays theirs.

    The axis has its limits by then.
    """
    if bound is None:
        return
    top = panel.get_ylim()[1]
    panel.plot(
        shares, bound, color=FAINT, linestyle=(0, (5, 2)), linewidth=1.5, zorder=1.5, label=LEAST,
        marker="_" if shares.size == 1 else "", markersize=12,
    )  # fmt: skip
    cut = panel.get_title(loc="right")  # names those above, and is to stay true
    if not cut and top < 1.05 * bound[-1] <= _STRETCH * top:
        panel.set_ylim(0.0, 1.05 * bound[-1])
    elif bound.min() > top:
        note(panel, f"the dashed line is above: {bound[0]:,.0f} to {bound[-1]:,.0f}")


def _line(
    panel: Any, shares: Floats, middle: Floats, slug: str, colour: str, dashes: str, mark: str
) -> None:
    # on Bernoulli arms ω* is ω: a thin line on a thick one shows both
    width, order = (1.1, 2) if not in_colour(slug) else (3.0, 3)
    if slug.startswith("omega-star"):
        width, order = 1.9, 4
    single = shares.size == 1  # a line of one point does not show
    panel.plot(
        shares, middle, color=colour, linestyle=dashes, label=label(slug), linewidth=width,
        zorder=order, marker=mark or ("o" if single else ""), markersize=4,
        markevery=None if single else 0.15, markerfacecolor="white",
    )  # fmt: skip
    if single:
        panel.set_xlim(0.5 * shares[0], 1.1 * shares[0])


def _ceiling(finals: Sequence[float]) -> float | None:
    """Return where to cut the axis, if a few policies would press the best to the floor.

    At least half of the policies stay in the panel.
    """
    ranked = sorted(finals)
    limit = max(_FAR * ranked[0], ranked[len(ranked) // 2])
    kept = [final for final in ranked if final <= limit]
    return 1.15 * kept[-1] if 0.0 < kept[-1] < ranked[-1] else None
