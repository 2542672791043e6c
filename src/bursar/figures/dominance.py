"""Who beat whom: in the literature, and in the games of a result (the paper's Fig. 2)."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bursar.analysis.dominance import PUBLISHED, Dominance
from bursar.analysis.dominance import dominance as measure
from bursar.figures.labels import is_ours, short
from bursar.figures.style import FAINT, INK, PALE, STYLE, WIDTH
from bursar.result import Result

__all__ = ["dominance"]

_NAMES, _ABOVE, _BELOW = 1.3, 1.45, 0.5  # inches for names at the left and on top, for the legend

# shape says it all; colour only helps, and these two are told apart by everybody
_MARKS: dict[int | None, dict[str, Any]] = {
    1: {"marker": "^", "color": "#0072B2", "label": "row lost less than column"},
    -1: {"marker": "v", "color": "#E69F00", "label": "row lost more"},
    0: {"marker": "o", "color": FAINT, "markerfacecolor": "none", "label": "no clear difference"},
    None: {"marker": "_", "color": "#bbbbbb", "label": "not compared"},
}


def dominance(result: Result, published: Dominance = PUBLISHED) -> Figure:
    """Draw the published matrix beside that of a result; alone if the result has one policy."""
    ours = measure(result)
    tables = [(published, "Published, by other papers")]
    if len(ours.names) > 1:
        tables.append((ours, f"Our runs, {_settings(ours)}"))
    cells = sum(len(table.names) for table, _ in tables)
    # laid out by hand: automatic layouts cut what stands above square panels
    cell = min((WIDTH - len(tables) * _NAMES - 0.1) / cells, 0.29)
    high = cell * max(len(table.names) for table, _ in tables) + _ABOVE + _BELOW
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, high))
        left = 0.0
        for table, title in tables:
            side = cell * len(table.names)
            left += _NAMES
            box = (left / WIDTH, (high - _ABOVE - side) / high, side / WIDTH, side / high)
            _matrix(figure.add_axes(box), table, 22.0 * cell)
            figure.text(box[0], 1.0 - 0.1 / high, title, va="top", weight="bold", fontsize=10.5)
            left += side
        handles = [Line2D([], [], linestyle="", markersize=7, **style) for style in _MARKS.values()]
        figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=9)
    return figure


def _matrix(panel: Any, table: Dominance, size: float) -> None:
    count = len(table.names)
    for verdict, style in _MARKS.items():
        cells = [
            (column, row)
            for row in range(count)
            for column in range(count)
            if row != column and table.matrix[row][column] == verdict
        ]
        if cells:
            panel.plot(*zip(*cells, strict=True), linestyle="", markersize=size, zorder=3, **style)
    names = [short(slug) for slug in table.names]
    panel.tick_params(length=0, labeltop=True, labelbottom=False)
    panel.set_xticks(range(count), names, rotation=90, fontsize=9)
    panel.set_yticks(range(count), names, fontsize=9)
    for ticks in (panel.get_xticklabels(), panel.get_yticklabels()):
        for tick, slug in zip(ticks, table.names, strict=True):
            tick.set(weight="bold" if is_ours(slug) else "normal", color=INK)
    panel.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    edges = [i - 0.5 for i in range(count + 1)]
    panel.vlines(edges, -0.5, count - 0.5, color=PALE, linewidth=0.6)
    panel.hlines(edges, -0.5, count - 0.5, color=PALE, linewidth=0.6)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _settings(table: Dominance) -> str:
    return table.settings[0] if len(table.settings) == 1 else f"{len(table.settings)} settings"
