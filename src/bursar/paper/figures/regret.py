"""Regret over the share of the budget that is spent, a panel a setting (the paper's Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bursar.errors import InvalidInput
from bursar.paper.analysis import games
from bursar.paper.analysis.growth import FAMILIES, bound, by_rho, growth, least
from bursar.paper.analysis.nonstationary import forgetful, lost_share, sweeps
from bursar.paper.figures import style as choice
from bursar.paper.figures.style import (
    FAINT,
    FLOOR,
    GREY,
    INK,
    RECOMMENDED,
    STYLE,
    WIDTH,
    Band,
    band,
    colours,
    family_colour,
    fraction,
    grid,
    in_colour,
    label,
    legend,
    markers,
    note,
    percent,
    roomy,
    short,
    thousands,
)
from bursar.policies import POLICIES
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.settings import setting as setting_of
from bursar.simulation.result import Data, Place, Result
from bursar.validation import Floats

__all__ = [
    "LEAST",
    "PAIR",
    "bounds",
    "changing",
    "curvature",
    "curves",
    "line",
    "lines",
    "sensitivity",
]

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


# ==== figures.curvature
# Whether regret is a straight line over the logarithm of the budget (ρ = 1) or bends (ρ = 1/4).

PAIR = ("omega-ucb:rho=1", "omega-ucb:rho=0.25")
_FROM = 0.1  # the last decade of the budget, where a start does not show any more


def line(shares: Floats, regret: Floats) -> Floats:
    """Return the straight line over log(share) that fits the last decade, at every share."""
    late = shares >= _FROM
    if late.sum() < 2:
        late = np.ones_like(shares, dtype=bool)
    if shares.size < 2:
        return regret.copy()
    slope, start = np.polyfit(np.log(shares[late]), regret[late], 1)
    fitted: Floats = start + slope * np.log(shares)
    return fitted


def curvature(result: Result, setting: str | None = None) -> Figure:
    """Draw mean regret of ω-UCB with ρ = 1 and 1/4 over log budget, each with a straight line.

    ``setting`` is by default the Bernoulli setting with the most arms. The line is fitted to the
    last decade of the budget and drawn over all of it.
    """
    name = setting or choice.bernoulli(result, *PAIR, largest=True)
    with mpl.rc_context(STYLE):
        figure, panels, _ = grid(2, columns=2, height=3.4)
        for panel, slug in zip(panels, PAIR, strict=True):
            _curvature_panel(panel, result, name, slug)
        panels[0].set_ylabel(f"mean regret on {name} (reward lost)")
    return figure


def _curvature_panel(panel: Any, result: Result, name: str, slug: str) -> None:
    middle, low, high = band(games.regret(result, name, slug))
    colour = colours([slug])[slug][0]
    fitted = line(result.shares, middle)
    panel.plot(result.shares, middle, color=colour, linewidth=2.2, marker="o", markersize=3.5,
               label="measured, with 95% interval")  # fmt: skip
    panel.fill_between(result.shares, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.plot(result.shares, fitted, color=FAINT, linestyle="--", linewidth=1.2, zorder=1,
               label="straight line through the last decade")  # fmt: skip
    panel.axvspan(_FROM, 1.0, color="#f2f2f2", zorder=0, linewidth=0)
    # an interval that a few games blow up may leave the panel, the curve may not
    top = max(min(1.05 * float(high.max()), 2.0 * float(middle.max())), 1e-12)
    panel.set(title=label(slug), xscale="log", xlabel="share of the budget spent (log scale)",
              xlim=(result.shares[0], 1.0), ylim=(0.0, top))  # fmt: skip
    panel.legend(loc="upper left", fontsize=9)
    note(panel, _bend(result, name, slug), y=0.78, color=INK, fontsize=9)
    note(panel, "last decade", x=0.99, y=0.02, ha="right", va="bottom")
    panel.xaxis.set_minor_formatter(NullFormatter())
    percent(panel.xaxis)
    thousands(panel.yaxis)


def _bend(result: Result, name: str, slug: str) -> str:
    """Write how far the last decade is steeper than the one before, in words and a number."""
    try:
        grown = growth(result, name, slug)
    except InvalidInput:  # too few shares were noted
        return ""
    numbers = f"{grown.curvature:+.2f} [{grown.low:+.2f}, {grown.high:+.2f}]".replace("-", "−")
    return f"bend {numbers}\n0 straight, above 0 convex"


# ==== figures.sensitivity
# How regret depends on ρ, for both ω policies, a panel a setting (the paper's Fig. 4).

_APART = {"omega-ucb": -0.11, "omega-star-ucb": 0.11}  # side by side at the same ρ
_KINDS = ("mean, 95% interval", "median", "lowest mean")


def sensitivity(result: Result) -> Figure:
    """Draw mean final regret with its 95% interval over ρ, and the median as a second mark.

    Settings in which fewer than two ρ were played are left out.
    """
    rows = {name: by_rho(result, name) for name in choice.played(result)}
    rows = {name: mine for name, mine in rows.items() if len({row["rho"] for row in mine}) > 1}
    if not rows:
        raise InvalidInput(
            "no setting was played with two values of rho or more; play more of them"
        )
    values = sorted({row["rho"] for mine in rows.values() for row in mine})
    with mpl.rc_context(STYLE):
        figure, panels, free = grid(len(rows), height=2.6)
        for panel, (name, mine) in zip(panels, rows.items(), strict=True):
            for family in FAMILIES:
                _points(panel, [row for row in mine if row["family"] == family], values)
            panel.set(title=name, yscale="log", xlabel="ρ")
            panel.set_xticks(range(len(values)), [fraction(value) for value in values])
            panel.set_xlim(-0.5, len(values) - 0.5)
            panel.tick_params(axis="x", labelsize=8.5)
            _decades(panel)
        for panel in panels[:: min(3, len(rows))]:
            panel.set_ylabel("final regret (log scale)")
        legend(figure, panels, free, _handles(panels))
    return figure


def _points(panel: Any, rows: list[dict[str, Any]], values: list[float]) -> None:
    if not rows:
        return
    family = rows[0]["family"]
    colour = family_colour(family)
    at = [values.index(row["rho"]) + _APART[family] for row in rows]
    mean = [max(row["mean"], FLOOR) for row in rows]
    below = [max(row["mean"] - max(row["low"], FLOOR), 0.0) for row in rows]
    above = [max(row["high"] - row["mean"], 0.0) for row in rows]
    title = POLICIES[family].title
    panel.errorbar(at, mean, [below, above], fmt="o", markersize=5, color=colour, linewidth=1.6,
                   label=f"{title}: {_KINDS[0]}")  # fmt: skip
    panel.plot(at, [max(row["median"], FLOOR) for row in rows], "_", color=colour, markersize=9,
               markeredgewidth=1.8, alpha=0.75, label=f"{title}: {_KINDS[1]}")  # fmt: skip
    lowest = min(range(len(rows)), key=mean.__getitem__)
    panel.plot(at[lowest], mean[lowest], "o", markersize=10, markerfacecolor="none",
               markeredgecolor=colour, label=f"{title}: {_KINDS[2]}")  # fmt: skip


def _decades(panel: Any) -> None:
    """Name 1, 2 and 5 of each decade where an axis has few decades, else the decades alone."""
    low, high = roomy(*panel.get_ylim())
    panel.set_ylim(low, high)
    parts = (1.0,) if high / low > 100.0 else (1.0, 2.0, 5.0)
    panel.yaxis.set_major_locator(LogLocator(subs=parts))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="y")
    thousands(panel.yaxis)


def _handles(panels: list[Any]) -> list[Any]:
    named: dict[str, Any] = {}
    for panel in panels:
        named |= dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    words = [f"{POLICIES[family].title}: {kind}" for family in FAMILIES for kind in _KINDS]
    return [named[text] for text in words if text in named]


# ==== figures.bounds
# Theorem 5's bound drawn over the regret that was measured.

_POINTS = 12  # of the bound's line
_PAIR = ("omega-ucb:rho=1", "omega-ucb:rho=0.25")


def bounds(result: Result, setting: str | None = None) -> Figure:
    """Draw the bound and the measured mean regret of ω-UCB with ρ = 1 and 1/4, log by log.

    ``setting`` is by default the Bernoulli setting with the fewest arms; of the two policies those
    that were played are drawn.
    """
    played = [slug for slug in _PAIR if any(choice.here(result, s, slug) for s in result.settings)]
    if not played:
        raise InvalidInput(f"neither {' nor '.join(_PAIR)} was played; add one to the run")
    name = setting or choice.bernoulli(result, *played, largest=False)
    with mpl.rc_context(STYLE):
        figure, panels, _ = grid(len(played), columns=2, height=3.5, sharey=True)
        for panel, slug in zip(panels, played, strict=True):
            _bounds_panel(panel, result, name, slug)
        panels[0].margins(y=0.12)  # so that the name of the bound stays below the title
        panels[0].set_ylabel(f"regret on {name} (reward lost, log scale)")
        thousands(panels[0].yaxis)
    return figure


def lines(result: Result, setting: str, slug: str) -> tuple[Floats, Floats, Floats]:
    """Return measured mean regret at each share, some of the shares, and the bound at these.

    The bound takes long and is smooth; it is infinite before the theorem begins.
    """
    repetitions, curves = games.curves(result, setting, slug)
    problems = [p for number in repetitions for p in setting_of(setting).problems(int(number))]
    rho = float(getattr(policy_of(slug), "rho", 1.0))
    rows = games.rows_of(result, setting, slug)
    first = rows[result.repetition[rows] == repetitions[0]][0]
    plays = _budget_plays(float(result.optimum[first]), problems[0])
    last = result.shares.size - 1
    some = result.shares[np.unique(np.linspace(0, last, _POINTS).round().astype(int))]
    return curves.mean(axis=0), some, bound(problems, rho, some, plays)


def _bounds_panel(panel: Any, result: Result, name: str, slug: str) -> None:
    measured, some, above = lines(result, name, slug)
    colour = colours([slug])[slug][0]
    said = np.isfinite(above)
    panel.plot(some[said], above[said], color=FAINT, linestyle="--", linewidth=1.6)
    panel.plot(result.shares, measured, color=colour, linewidth=2.2)
    title = label(slug)
    if said.any():
        panel.annotate("Theorem 5's bound", (some[said][0], above[said][0]), (0, 7),
                       textcoords="offset points", va="bottom", color=FAINT)  # fmt: skip
    if said[-1] and measured[-1] > 0.0:
        title += f": the bound is {_times(above[-1] / measured[-1])} times as high"
    panel.annotate("measured mean", (1.0, measured[-1]), (0, 8), textcoords="offset points",
                   ha="right", va="bottom", color=colour, weight="bold")  # fmt: skip
    panel.set(title=title, xscale="log", yscale="log", xlabel="share of the budget spent (log)")
    panel.grid(axis="y")
    panel.xaxis.set_minor_formatter(NullFormatter())
    percent(panel.xaxis)


def _budget_plays(optimum: float, problem: Problem) -> float:
    """Return the budget in plays of the cheapest arm, from what the best arm brings for it."""
    return float(optimum / (problem.reward / problem.cost).max() / problem.min_cost)


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10.0 else f"{ratio:.2g}"


# ==== figures.changing
# What policies lose over the speed at which the world changes, a panel a way to change.

_COOL = ("#56B4E9", "#0072B2", "#003f66")  # windows, short to long
_GREEN = ("#7fd6b8", "#009E73", "#00503a")  # discounts, quick to slow
_PLAIN = {RECOMMENDED: "#D55E00", "omega-star-ucb:rho=1": "#E69F00", "bts": GREY[1]}
_WORDS = {
    "abrupt": ("All means are drawn anew", "changes in the course of the budget"),
    "season": ("Rewards swing as in seasons", "periods in the course of the budget"),
    "drift": ("All means drift", "turns in the course of the budget"),
    "price": ("The best arm gets dearer at half time", "times its cost before"),
    "fatigue": ("Arms tire of being played", "rate at which they tire"),
}


def changing(result: Result) -> Figure:
    """Draw what was lost of what was possible, with 95% intervals, over the speed of change."""
    found = sweeps(result)
    if not found:
        raise InvalidInput("no world was played at three speeds; add C-abrupt-10:changes=0, 1, 2")
    lines = _lines(result)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
        panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for panel, (way, speeds) in zip(panels, found.items(), strict=True):
            for place, (slug, (colour, style, mark, width)) in enumerate(lines.items()):
                there = [i for i, one in enumerate(speeds) if games.has(result, one.setting, slug)]
                if not there:
                    continue
                bands = [band(lost_share(result, speeds[i].setting, slug)) for i in there]
                middle, low, high = (np.array([float(b[j]) for b in bands]) for j in range(3))
                at = np.array(there) + 0.045 * (place - 0.5 * (len(lines) - 1))  # side by side
                panel.plot(
                    at, middle, color=colour, linestyle=style, marker=mark, markersize=5,
                    linewidth=width, label=label(slug), markerfacecolor="white",
                )  # fmt: skip
                low = np.maximum(low, 0.2 * middle)  # a logarithmic axis has no 0
                panel.vlines(at, low, high, color=colour, linewidth=1.1, alpha=0.6)
            title, words = _WORDS[way]
            panel.set_xticks(range(len(speeds)), [f"{one.amount:g}" for one in speeds])
            panel.set(title=title, xlabel=words, yscale="log")
            percent(panel.yaxis)
            panel.grid(axis="y")
        panels[0].set_ylabel("lost of what was possible")
        handles = {line.get_label(): line for p in panels for line in p.get_lines()}
        figure.legend(
            handles=list(handles.values()), loc="outside lower center", ncols=3, fontsize=9
        )
    return figure


def _lines(result: Result) -> dict[str, tuple[str, str, str, float]]:
    """Return colour, dashes, mark and width of each policy that is shown."""
    shown = {slug: (c, "-", "o", 2.4) for slug, c in _PLAIN.items() if slug in result.policies}
    star = forgetful(result.policies)
    for kind, tones, mark in (("sw-", _COOL, "s"), ("d-", _GREEN, "^")):
        family = [slug for slug in star if slug.startswith(kind)]
        for i, slug in enumerate(family):
            shown[slug] = (tones[i % len(tones)], ("--", "-", ":")[i % 3], mark, 1.6)
    return shown
