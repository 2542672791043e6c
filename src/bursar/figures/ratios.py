"""What is left of another policy's regret, a row a setting: of its mean and of its worst games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from bursar.analysis.ratios import Interval, Ratio, overall, ratios
from bursar.errors import InvalidInput
from bursar.figures.labels import short
from bursar.figures.style import ACCENT, FAINT, INK, STYLE, WIDTH
from bursar.result import Result

__all__ = ["ratio_rows"]

_LOWER, _HIGHER = "#0072B2", ACCENT
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_FINE = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)  # where the panel is narrow
_NARROW = 2.5  # from end to end


def ratio_rows(
    result: Result, one: str, other: str, settings: Sequence[str] | None = None
) -> Figure:
    """Draw the ratios with 95% intervals; blue is surely lower, orange surely higher."""
    found = ratios(result, one, other, settings)
    if not found:
        raise InvalidInput(f"no setting was played by both {one} and {other}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.5 + 0.29 * (len(found) + 1)), layout="constrained")
        means, tails = figure.subplots(1, 2, sharey=True)
        _panel(means, [row.mean for row in found], "Mean regret")
        _panel(tails, [row.tail for row in found], "95th percentile of regret")
        _last(means, found)
        names = [row.setting for row in found]
        means.set_yticks(range(len(names) + 1), [*names, "geometric mean"])
        means.set_ylim(len(names) + 0.6, -0.6)
        figure.supxlabel(f"{short(one)} over {short(other)}", fontsize=10)
    return figure


def _panel(panel: Any, found: Sequence[Interval], title: str) -> None:
    panel.axvline(1.0, color=FAINT, linewidth=1.0)
    for row, interval in enumerate(found):
        _point(panel, row, interval, "o")
    panel.set(title=title, xscale="log")
    low = min(min(one.low for one in found), 0.7)
    high = max(max(one.high for one in found), 1.15)
    panel.set_xlim(0.93 * low, 1.07 * high)
    ticks = _FINE if high < _NARROW * low else _TICKS
    panel.set_xticks([tick for tick in ticks if 0.93 * low <= tick <= 1.07 * high])
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="x")
    panel.tick_params(axis="y", length=0)


def _point(panel: Any, row: float, interval: Interval, mark: str) -> None:
    colour = {"lower": _LOWER, "higher": _HIGHER, "unclear": FAINT}[interval.verdict]
    panel.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.0)
    panel.plot([interval.value], [row], mark, color=colour, markersize=6)


def _last(panel: Any, found: Sequence[Ratio]) -> None:
    whole = overall(found)
    row = len(found)
    panel.axhline(row - 0.5, color=FAINT, linewidth=0.6)
    _point(panel, row, whole, "D")
    panel.text(
        whole.value, row + 0.42, f"{whole.value:.2f}", ha="center", va="center", color=INK,
        fontsize=8.5,
    )  # fmt: skip
