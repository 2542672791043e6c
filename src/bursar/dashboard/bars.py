"""Drawn numbers: where bars and intervals lie on a line of 0 to 100."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from bursar.formatting import format_number

if TYPE_CHECKING:
    from bursar.campaign import Estimate

__all__ = ["IntervalBar", "IntervalChart", "Split", "intervals", "split"]


@dataclass(frozen=True)
class Split:
    """A budget as a bar: spent, held, and the mark of the budget if more was spent than that."""

    spent: float
    held: float
    budget: float  # where the budget ends; 100 unless it is exceeded

    @property
    def held_at(self) -> float:
        """Where the held part begins."""
        return self.spent


def split(budget: Decimal, spent: Decimal, held: Decimal) -> Split:
    """Return the parts of a budget in per cent of the bar.

    >>> split(Decimal(10), Decimal(4), Decimal(1))
    Split(spent=40.0, held=10.0, budget=100.0)
    >>> split(Decimal(10), Decimal(20), Decimal(0)).budget
    50.0
    """
    whole = max(budget, spent + held)
    if whole <= 0:
        return Split(0.0, 0.0, 100.0)
    return Split(*(round(float(100 * part / whole), 3) for part in (spent, held, budget)))


@dataclass(frozen=True)
class IntervalBar:
    """An estimate on a line from 0 to 100: the mean as a mark, the interval as a bar."""

    low: float
    high: float
    value: float
    short: str
    ends: str

    @property
    def mark(self) -> float:
        """Where the mark of the mean begins, so that it stays inside."""
        return min(max(self.value - 0.8, 0.0), 98.4)

    @property
    def width(self) -> float:
        """How long the bar is; a hair at least, so that it is seen."""
        return max(self.high - self.low, 0.8)


@dataclass(frozen=True)
class IntervalChart:
    """A column of intervals on one scale, and where that scale ends."""

    rows: tuple[IntervalBar | None, ...]
    left: str
    right: str
    zero: float | None  # where 0 lies, if the scale goes below it


def intervals(column: Sequence[Estimate | None]) -> IntervalChart:
    """Return estimates on one scale, so that lengths can be compared down a table."""
    known = [one for one in column if one is not None]
    ends = [end for one in known for end in (one.low, one.value, one.high)]
    low, high = _scale(ends)

    def at(value: float) -> float:
        return round(100.0 * min(max((value - low) / (high - low), 0.0), 1.0), 2)

    rows = tuple(
        None if one is None else IntervalBar(
            at(one.low), at(one.high), at(one.value), format_number(one.value),
            f"{format_number(one.low)} to {format_number(one.high)}",
        )
        for one in column
    )  # fmt: skip
    return IntervalChart(
        rows, format_number(low), format_number(high), at(0.0) if low < 0.0 else None
    )


def _scale(ends: Iterable[float]) -> tuple[float, float]:
    """Return the ends of a scale that begins at 0; wild upper bounds do not squash the rest."""
    known = sorted(end for end in ends if math.isfinite(end))
    if not known:
        return 0.0, 1.0
    low, high = min(0.0, known[0]), known[-1]
    middle = known[len(known) // 2]
    if middle > 0.0 and high > 8.0 * middle:
        high = 8.0 * middle
    return (low, high) if high > low else (low, low + 1.0)
