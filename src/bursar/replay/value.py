"""A number that was estimated, and the interval it lies in."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

from bursar.checks import real
from bursar.errors import InvalidInput

__all__ = ["Value", "normal_value", "quantile_of"]


class Value(NamedTuple):
    """An estimate with the two ends of its interval."""

    mean: float
    low: float
    high: float


def quantile_of(level: float) -> float:
    """Return the normal quantile of a two-sided level, 1.96 for 0.95."""
    if not 0.0 < real("level", level) < 1.0:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}; 0.95 is usual")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def normal_value(mean: float, error: float, level: float) -> Value:
    """Return a mean with the normal interval of a standard error."""
    half = quantile_of(level) * error
    return Value(mean, mean - half, mean + half)
