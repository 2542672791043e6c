"""Regret over the share of the budget that is spent, a panel a setting."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar.figures.labels import colours, label
from bursar.result import Result

__all__ = ["curves"]

_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
}


def curves(result: Result, intervals: bool = True, log: bool = True) -> Figure:
    """Draw mean regret over the budget; ``intervals`` shades 95%, ``log`` as in the paper.

    Policies far worse than the others leave the panel at its top.
    """
    rows = result.summary()
    styles = colours(result.policies)
    wide = min(3, len(result.settings))
    deep = -(-len(result.settings) // wide)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(4.6 * wide + 2.6, 3.6 * deep), layout="constrained")
        panels = figure.subplots(deep, wide, squeeze=False).ravel()
        for panel, name in zip(panels, result.settings, strict=False):
            mine = [row for row in rows if row["setting"] == name]
            for slug in result.policies:
                _curve(panel, mine, slug, styles[slug], intervals)
            panel.set(title=name, xlabel="share of the budget", ylim=(0, _ceiling(mine)))
            if log:
                panel.set_xscale("log")
            panel.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0, decimals=0))
        for panel in panels[len(result.settings) :]:
            panel.set_axis_off()
        for panel in panels[::wide]:
            panel.set_ylabel("regret (reward lost)")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _ceiling(rows: list[dict[str, Any]]) -> float | None:
    """Return where to cut the axis, if a few policies would press all others to the floor."""
    finals = sorted(
        row["regret_mean"] for row in rows if row["budget_share"] == rows[-1]["budget_share"]
    )
    kept = [final for final in finals if final <= 12.0 * finals[len(finals) // 2]]
    return 1.15 * kept[-1] if kept and len(kept) < len(finals) else None


def _curve(panel: Any, rows: list[dict[str, Any]], slug: str, style: Any, intervals: bool) -> None:
    mine = [row for row in rows if row["policy"] == slug]
    x, mean, low, high = (
        np.array([row[key] for row in mine])
        for key in ("budget_share", "regret_mean", "regret_low", "regret_high")
    )
    colour, dashes = style
    panel.plot(x, mean, color=colour, linestyle=dashes, label=label(slug), linewidth=1.8)
    if intervals:
        panel.fill_between(x, np.maximum(low, 0.0), high, color=colour, alpha=0.15, linewidth=0)
