"""How regret depends on ρ, for both ω policies, a panel a setting (the paper's Fig. 4)."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bursar.analysis.sensitivity import FAMILIES, by_rho
from bursar.errors import InvalidInput
from bursar.figures import choice
from bursar.figures.labels import family_colour, fraction
from bursar.figures.style import FLOOR, STYLE, grid, legend, roomy, thousands
from bursar.policies import POLICIES
from bursar.result import Result

__all__ = ["sensitivity"]

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
