"""Theorem 5's bound drawn over the regret that was measured."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bursar.analysis import games
from bursar.analysis.theory_line import bound
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.figures import choice
from bursar.figures.labels import colours, label
from bursar.figures.style import FAINT, STYLE, grid, percent, thousands
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.result import Result
from bursar.settings import setting as setting_of

__all__ = ["bounds", "lines"]

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
            _panel(panel, result, name, slug)
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


def _panel(panel: Any, result: Result, name: str, slug: str) -> None:
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
