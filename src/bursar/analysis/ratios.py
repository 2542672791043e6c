"""How much of another policy's regret is left: of its mean, and of its worst games.

A ratio of means, because settings differ in scale, with an interval from resampled repetitions.
Both policies keep the same repetitions in a resample, for they met the same luck. The 95th
percentile says what a user must be prepared for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bursar.analysis import games
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.result import Result

__all__ = ["NEW", "TAIL", "Interval", "Ratio", "overall", "ratios"]

NEW = "pooled-gittins"  # the package's own policy, held against the paper's best
TAIL = 0.95
_RESAMPLES = 2000
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Interval:
    """A number and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether a ratio is ``lower`` than 1, ``higher``, or ``unclear``."""
        return "lower" if self.high < 1.0 else "higher" if self.low > 1.0 else "unclear"


@dataclass(frozen=True)
class Ratio:
    """Final regret of ``one`` over that of ``other`` on a setting: means and 95th percentiles."""

    setting: str
    repetitions: int
    mean_one: float
    mean_other: float
    mean: Interval
    tail_one: float
    tail_other: float
    tail: Interval
    resampled: Floats = field(repr=False, compare=False)


def ratios(
    result: Result, one: str, other: str, settings: Sequence[str] | None = None
) -> list[Ratio]:
    """Return the ratios on each setting that both played; a fixed seed resamples.

    Parameters
    ----------
    result : Result
        The games.
    one, other : str
        Slugs of the policy that is looked at, and of the one it is compared with.
    settings : sequence of str, optional
        Which; all that both played by default.
    """
    names = games.settings_of(result) if settings is None else settings
    both = [n for n in names if games.has(result, n, one) and games.has(result, n, other)]
    return [_ratio(result, name, one, other) for name in both]


def overall(found: Sequence[Ratio]) -> Interval:
    """Return the geometric mean of the ratios of means over settings, each weighing the same."""
    if not found:
        raise InvalidInput("no setting was played by both policies, so there is nothing to average")
    value = np.mean([np.log(one.mean.value) for one in found])
    drawn = np.mean([np.log(one.resampled) for one in found], axis=0)
    low, high = np.quantile(drawn, _INTERVAL)
    return Interval(*(float(np.exp(x)) for x in (value, low, high)))


def _ratio(result: Result, setting: str, one: str, other: str) -> Ratio:
    a, b = games.paired(result, setting, one, other)
    drawn = np.random.default_rng(0).integers(0, a.size, (_RESAMPLES, a.size))
    means = a[drawn].mean(axis=1) / b[drawn].mean(axis=1)
    tails = np.quantile(a[drawn], TAIL, axis=1) / np.quantile(b[drawn], TAIL, axis=1)
    end_a, end_b = (float(np.quantile(x, TAIL)) for x in (a, b))
    mean_a, mean_b = float(a.mean()), float(b.mean())
    return Ratio(
        setting, a.size, mean_a, mean_b, _interval(mean_a / mean_b, means),
        end_a, end_b, _interval(end_a / end_b, tails), means,
    )  # fmt: skip


def _interval(value: float, resampled: Floats) -> Interval:
    low, high = np.quantile(resampled, _INTERVAL)
    return Interval(value, float(low), float(high))
