"""Whether regret is a straight line over the logarithm of the budget (ρ = 1) or bends (ρ = 1/4)."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bursar.analysis import games
from bursar.analysis.growth import growth
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.figures import choice
from bursar.figures.band import band
from bursar.figures.labels import colours, label
from bursar.figures.style import FAINT, INK, STYLE, grid, note, percent, thousands
from bursar.result import Result

__all__ = ["PAIR", "curvature", "line"]

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
            _panel(panel, result, name, slug)
        panels[0].set_ylabel(f"mean regret on {name} (reward lost)")
    return figure


def _panel(panel: Any, result: Result, name: str, slug: str) -> None:
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
