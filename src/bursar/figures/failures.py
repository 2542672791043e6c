"""How final regret spreads over games, and how many fail: the mean alone does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from bursar.analysis import games
from bursar.analysis.failures import failed, spread
from bursar.errors import InvalidInput
from bursar.figures import choice
from bursar.figures.labels import family_colour, short
from bursar.figures.style import FAINT, FLOOR, INK, STYLE, bare, grid, legend, roomy
from bursar.result import Result

__all__ = ["failures"]

_MOST = 500  # dots a row; of more games every n-th by rank is drawn, which keeps the shape


def failures(result: Result, policies: Sequence[str] | None = None) -> Figure:
    """Draw final regret a game: dots, middle half, median and mean; failed games at the side."""
    names = choice.played(result)
    if not names:
        raise InvalidInput("the result has no game to draw; play at least one repetition")
    shown = choice.main(result, policies)
    bad = failed(result)
    with mpl.rc_context(STYLE):
        height = 0.19 * len(shown) + 0.75
        figure, panels, free = grid(len(names), height=max(height, 1.6), sharey=True)
        for panel, name in zip(panels, names, strict=True):
            _panel(panel, result, name, shown, bad)
        panels[0].set_yticks(range(len(shown)), [short(slug) for slug in shown], fontsize=8.5)
        panels[0].set_ylim(len(shown) - 0.4, -0.6)
        legend(figure, panels, free, _key())
    return figure


def _panel(panel: Any, result: Result, name: str, shown: Sequence[str], bad: Any) -> None:
    for verdict, mark in ((False, "."), (True, "x")):
        _dots(panel, result, name, shown, bad == verdict, mark)
    for row, slug in enumerate(shown):
        if games.has(result, name, slug):
            _strip(panel, row, spread(result, name, slug), family_colour(slug))
    panel.set(title=name, xscale="log", xlabel="final regret of a game (log)")
    panel.text(1.0, 1.02, "failed", transform=panel.transAxes, ha="right", fontsize=8, color=FAINT)
    panel.margins(x=0.08)
    low, high = roomy(*panel.get_xlim())
    panel.set_xlim(low, high * (high / low) ** 0.2)  # room for the shares at the right
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="x")
    bare(panel)


def _dots(
    panel: Any, result: Result, name: str, shown: Sequence[str], which: Any, mark: str
) -> None:
    """Draw games as one collection a panel: rasterising one by one would take long."""
    lost: list[float] = []
    at: list[int] = []
    shades: list[str] = []
    for row, slug in enumerate(shown):
        rows = games.rows_of(result, name, slug)
        ranked = np.sort(result.values[rows[which[rows]], -1, 2])
        some = ranked[:: max(1, ranked.size // _MOST)].tolist()
        lost += some
        at += [row] * len(some)
        shades += [family_colour(slug)] * len(some)
    if lost:
        panel.scatter(np.maximum(lost, FLOOR), at, c=shades, marker=mark, s=16, alpha=0.35,
                      linewidths=0.8, rasterized=True, zorder=1.5)  # fmt: skip


def _strip(panel: Any, row: int, facts: dict[str, float], colour: str) -> None:
    p25, median, p75, mean = (max(facts[k], FLOOR) for k in ("p25", "median", "p75", "mean"))
    panel.plot([p25, p75], [row, row], color=colour, linewidth=5, alpha=0.55,
               solid_capstyle="butt")  # fmt: skip
    panel.plot(median, row, "|", color=INK, markersize=9, markeredgewidth=1.8)
    panel.plot(mean, row, "D", color="white", markeredgecolor=INK, markersize=4)
    share = facts["failed"]
    panel.text(1.0, row, _percent(share), transform=panel.get_yaxis_transform(),
               ha="right", va="center", fontsize=8, color=INK if share > 0.0 else FAINT,
               weight="bold" if share >= 0.05 else "normal")  # fmt: skip


def _key() -> list[Line2D]:
    marks: list[tuple[dict[str, Any], str]] = [
        ({"marker": ".", "color": FAINT, "linestyle": ""}, "a game"),
        ({"marker": "x", "color": FAINT, "linestyle": ""}, "a game that failed"),
        ({"color": FAINT, "linewidth": 5, "alpha": 0.55}, "the middle half of the games"),
        ({"marker": "|", "color": INK, "linestyle": "", "markeredgewidth": 1.8}, "median"),
        ({"marker": "D", "color": "white", "markeredgecolor": INK, "linestyle": ""}, "mean"),
    ]
    return [Line2D([], [], label=words, **style) for style, words in marks]


def _percent(share: float) -> str:
    """Write 0.44%, 8.3% and 33%: two digits, and no more than the games can tell."""
    return f"{100.0 * share:.0f}%" if share >= 0.0995 else f"{100.0 * share:.2g}%"
