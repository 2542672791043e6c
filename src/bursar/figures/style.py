"""The one look of all figures: sizes, fonts, lines, and how panels are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

__all__ = [
    "ACCENT", "FAINT", "FLOOR", "INK", "PALE", "STYLE", "WIDTH",
    "bare", "grid", "legend", "note", "percent", "roomy", "thousands",
]  # fmt: skip

WIDTH = 10.0  # inches: 960 px of an SVG, so that 10 pt is read without zooming
INK, FAINT, PALE = "#222222", "#6f6f6f", "#d9d9d9"
ACCENT = "#D55E00"  # what a figure wants looked at; vermilion of Okabe and Ito

FLOOR = 1e-3  # what a regret of 0 is drawn as where the axis is logarithmic

STYLE: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib and has ω, ρ and ≤
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "figure.titlesize": 12.5,
    "figure.titleweight": "bold",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "path",  # the same letters on every machine, whatever fonts it has
    "svg.hashsalt": "bursar",  # the same bytes for the same figure
}


def grid(
    count: int, columns: int = 3, height: float = 2.6, **options: Any
) -> tuple[Figure, list[Any], list[Any]]:
    """Return a figure, its panels in reading order, and the cells of the grid that stay free.

    A full row is as wide as the page; fewer panels leave room for a legend beside them.
    """
    wide = max(1, min(columns, count))
    deep = -(-count // wide)
    width = WIDTH if wide == columns else min(WIDTH, 3.9 * wide + 2.9)
    figure = Figure(figsize=(width, height * deep), layout="constrained")
    cells = list(figure.subplots(deep, wide, squeeze=False, **options).ravel())
    for cell in cells[count:]:
        cell.set_axis_off()
    return figure, cells[:count], cells[count:]


def legend(figure: Figure, panels: Sequence[Any], free: Sequence[Any], handles: Any) -> None:
    """Name lines once: in a free cell of the grid if there is one, else beside or below."""
    if free:
        free[0].legend(handles=handles, loc="center left", fontsize=9, borderaxespad=0.0)
    elif len(panels) < 3:
        figure.legend(handles=handles, loc="outside right upper", fontsize=9)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)


def roomy(low: float, high: float) -> tuple[float, float]:
    """Return limits of a logarithmic axis that span a power of ten, so that it has a number.

    >>> roomy(2.0, 300.0)
    (2.0, 300.0)
    """
    wider = max(10.0 / (high / low), 1.0) ** 0.5
    return low / wider, high * wider


def percent(axis: Any) -> None:
    """Write shares on an axis as percentages: 0.1%, 1%, 10%."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:.6g}%"))


def thousands(axis: Any, minor: bool = False) -> None:
    """Write numbers on an axis in full, with commas: 0.5, 100, 20,000."""
    choose = axis.set_minor_formatter if minor else axis.set_major_formatter
    choose(FuncFormatter(lambda number, _: f"{number:,.10g}"))


def note(panel: Any, text: str, x: float = 0.02, y: float = 0.97, **options: Any) -> None:
    """Write a small remark inside a panel, by default in its upper left corner."""
    back = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5}
    where = {"ha": "left", "va": "top", "fontsize": 8, "color": FAINT, "bbox": back} | options
    panel.text(x, y, text, transform=panel.transAxes, zorder=5, **where)


def bare(panel: Any, sides: Sequence[str] = ("left",)) -> None:
    """Take the line and the ticks of an axis of names away; the names stay."""
    for side in sides:
        panel.spines[side].set_visible(False)
        panel.tick_params(**{"axis": "y" if side in ("left", "right") else "x", "length": 0})
