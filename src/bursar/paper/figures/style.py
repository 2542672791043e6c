"""The look that all figures share: sizes, fonts, axes, legends, and bands around curves."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from scipy import stats

from bursar.arrays import Floats
from bursar.errors import InvalidInput, suggest

WIDTH = 10.0  # inches: 960 px of an SVG, so that 10 pt is read without zooming
INK, FAINT, PALE = "#222222", "#6f6f6f", "#d9d9d9"
ACCENT, BLUE = "#D55E00", "#0072B2"  # vermilion and blue of Okabe and Ito

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
    "svg.fonttype": "path",  # the same letters on every machine, with any fonts
    "svg.hashsalt": "bursar",  # the same bytes for the same figure
}


def make_grid(
    count: int, columns: int = 3, height: float = 2.6, **options: Any
) -> tuple[Figure, list[Any], list[Any]]:
    """Return a figure, its panels in reading order, and the unused cells of the grid.

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


def add_legend(figure: Figure, panels: Sequence[Any], free: Sequence[Any], handles: Any) -> None:
    """Add one legend: in an unused cell of the grid if there is one, else beside or below."""
    if free:
        free[0].legend(handles=handles, loc="center left", fontsize=9, borderaxespad=0.0)
    elif len(panels) < 3:
        figure.legend(handles=handles, loc="outside right upper", fontsize=9)
    else:
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)


def finish_grid(
    figure: Figure, panels: Sequence[Any], free: Sequence[Any], ylabel: str, names: Sequence[str]
) -> None:
    """Label the panels of the first column, and add a legend of what was drawn, in this order."""
    named: dict[str, Any] = {}
    for panel in panels:
        named |= dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    for panel in panels[:: min(3, len(panels))]:
        panel.set_ylabel(ylabel)
    add_legend(figure, panels, free, [named[name] for name in names if name in named])


def widen_limits(low: float, high: float) -> tuple[float, float]:
    """Return limits of a logarithmic axis that span a power of ten, so that a tick has a number.

    >>> widen_limits(2.0, 300.0)
    (2.0, 300.0)
    """
    wider = max(10.0 / (high / low), 1.0) ** 0.5
    return low / wider, high * wider


def format_shares(axis: Any) -> None:
    """Write the shares on an axis as percentages, for example 0.1%, 1%, 10%."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:.6g}%"))


def format_numbers(axis: Any) -> None:
    """Write the numbers on an axis in full, with commas, for example 0.5, 100, 20,000."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))


def add_note(panel: Any, text: str, x: float = 0.02, y: float = 0.97, **options: Any) -> None:
    """Write a small remark inside a panel, by default in its upper left corner."""
    back = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5}
    where = {"ha": "left", "va": "top", "fontsize": 8, "color": FAINT, "bbox": back} | options
    panel.text(x, y, text, transform=panel.transAxes, zorder=5, **where)


def hide_axis_line(panel: Any, sides: Sequence[str] = ("left",)) -> None:
    """Remove the line and the ticks of an axis of names; the names stay."""
    for side in sides:
        panel.spines[side].set_visible(False)
        panel.tick_params(**{"axis": "y" if side in ("left", "right") else "x", "length": 0})


class Band(NamedTuple):
    """The middle of many curves and its 95% interval, at each share of the budget."""

    middle: Floats
    low: Floats
    high: Floats


def make_band(values: Floats, statistic: str = "mean") -> Band:
    """Return mean or median over the first axis, with its 95% interval.

    The mean's interval is Student's; the median's lies between two order statistics, which holds
    for any distribution. With a single repetition the width is 0.
    """
    if statistic not in ("mean", "median"):
        close = suggest(str(statistic), ("mean", "median"))
        raise InvalidInput(f"statistic must be 'mean' or 'median', got {statistic!r}{close}")
    count = values.shape[0]
    if statistic == "mean":
        mean = values.mean(axis=0)
        if count < 2:
            return Band(mean, mean, mean)
        half = stats.t.ppf(0.975, count - 1) * values.std(axis=0, ddof=1) / np.sqrt(count)
        return Band(mean, mean - half, mean + half)
    # between the k-th smallest and the k-th largest with at least 95%, if there are enough
    k = max(int(stats.binom.ppf(0.025, count, 0.5)), 1) - 1
    ranked = np.sort(values, axis=0)
    return Band(np.median(values, axis=0), ranked[k], ranked[count - 1 - k])
