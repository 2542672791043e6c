"""Two policies on one setting, compared repetition by repetition.

Policies meet the same problems and the same outcomes, so the difference within a repetition says
more than two means do. A few games that stay on a wrong arm make the mean: the typical game is
tested beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import wilcoxon

from bursar.errors import InvalidInput
from bursar.paper.analysis.games import at_share, paired
from bursar.simulation.result import Result
from bursar.validation import Floats

__all__ = ["LEVEL", "Comparison", "bootstrap_interval", "compare", "holm", "sign_flip", "weights"]

# ==== analysis.permutation
# Tests and intervals of a mean of paired differences that assume no shape of distribution.
#
# Everything is seeded: the same differences give the same numbers.

_EXACT = 13  # up to 2^13 = 8,192 patterns of signs are all looked at
_FIRST, _FLIPS = 999, 9_999
_RESAMPLES = 2_000
_SEED = 20230607


def sign_flip(differences: Floats) -> float:
    """Return the two-sided p-value of a mean of zero: how many flips of signs reach this mean.

    Exact up to 13 differences, beyond that by up to 9,999 random flips. Where these could not show
    how small the p-value is, Hoeffding's bound for sums of random signs is returned, which is never
    below it: else no p-value could survive a correction for some hundreds of tests.

    The differences are taken as symmetric about their mean if the policies are equal; with many
    repetitions the test needs less than that. No test sees a rare failure that did not happen in
    the sample.
    """
    d = differences[differences != 0.0]  # a flipped zero is a zero
    if d.size == 0:
        return 1.0
    d = d / np.abs(d).max()
    least = abs(float(d.sum())) * (1.0 - 1e-12) - 1e-12  # sums differ in their last digits
    if d.size <= _EXACT:
        return float((np.abs(_all_sums(d)) >= least).mean())
    bound = 2.0 * float(np.exp(-(d.sum() ** 2) / (2.0 * (d**2).sum())))
    if bound <= 1.0 / _FLIPS:
        return bound
    for flips in (_FIRST, _FLIPS):
        reached = int((np.abs(_sums(d, flips)) >= least).sum())
        if reached > _FIRST // 10:
            break  # far from significant: more flips would not change that
    return (reached + 1) / (flips + 1)


def bootstrap_interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a mean by 2,000 resamples, corrected for bias and skew (BCa)."""
    mean, deviations = float(values.mean()), values - values.mean()
    spread = float((deviations**2).sum())
    if values.size < 2 or spread <= 0.0:
        return mean, mean
    means = np.sort(weights(values.size) @ values)
    below = np.clip((means < mean).mean(), 1.0 / _RESAMPLES, 1.0 - 1.0 / _RESAMPLES)
    bias, skew = ndtri(below), float((deviations**3).sum()) / (6.0 * spread**1.5)
    z = bias + ndtri(np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]))
    low, high = np.quantile(means, ndtr(bias + z / np.maximum(1.0 - skew * z, 1e-3)))
    return float(low), float(high)


@lru_cache(maxsize=8)
def weights(size: int) -> Floats:
    """Return the weights of each value in each resample of a sample of this size; rows sum to 1."""
    rng = np.random.default_rng([_SEED, size])
    drawn = rng.integers(size, size=(_RESAMPLES, size))
    cells = drawn + size * np.arange(_RESAMPLES)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=_RESAMPLES * size)
    table: Floats = counts.reshape(_RESAMPLES, size) / size
    table.setflags(write=False)
    return table


def _tables(d: Floats) -> Floats:
    """Return the sums of each eight differences under all flips of their signs, 256 columns."""
    padded = np.zeros(-(-d.size // 8) * 8)
    padded[: d.size] = d
    return np.asarray(padded.reshape(-1, 8) @ _signs().T)


def _all_sums(d: Floats) -> Floats:
    """Return the sums under every pattern of signs."""
    low, *high = _tables(d)
    every = np.arange(2**d.size)
    return np.asarray(low[every % 256] + high[0][every // 256] if high else low[every])


def _sums(d: Floats, flips: int) -> Floats:
    """Return the sums under random signs: a byte of them flips eight differences at once."""
    tables = _tables(d)
    total = np.zeros(flips)
    for table, byte in zip(tables, _bytes(len(tables)), strict=True):
        total += table[byte[:flips]]
    return total


@lru_cache(maxsize=1)
def _signs() -> Floats:
    bits = (np.arange(256)[:, np.newaxis] >> np.arange(8)) & 1
    return np.asarray(1.0 - 2.0 * bits)


@lru_cache(maxsize=64)
def _bytes(groups: int) -> Any:
    rng = np.random.default_rng([_SEED, groups])
    return rng.integers(256, size=(groups, _FLIPS), dtype=np.uint8)


LEVEL = 0.05
_FEWEST = 6  # repetitions below which nothing can be significant at 5%


@dataclass(frozen=True)
class Comparison:
    """Regret of ``one`` against ``other``, paired by repetition; less is better.

    Attributes
    ----------
    share : float
        Share of the budget at which regret is compared.
    difference, low, high : float
        Mean of one - other and its 95% interval (bootstrap over repetitions, BCa).
    p : float
        Two-sided p-value of a mean difference of zero (sign flips). 1 below 6 repetitions.
    median_difference, p_typical : float
        The median of one - other, and Wilcoxon's signed rank test.
    wins : float
        Share of repetitions in which ``one`` lost less.
    since : float
        Share of the budget from which on losses count; 0 for all of them.
    """

    setting: str
    one: str
    other: str
    share: float
    repetitions: int
    mean_one: float
    mean_other: float
    difference: float
    low: float
    high: float
    p: float
    median_difference: float
    p_typical: float
    wins: float
    since: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether the mean of ``one`` is ``lower``, ``higher``, or ``unclear``, at 5%."""
        return _verdict(self.p, self.difference)

    @property
    def typical(self) -> str:
        """The same for the typical game: Wilcoxon's test, and which side most games are on."""
        return _verdict(self.p_typical, self.median_difference or 0.5 - self.wins)


def compare(
    result: Result, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
) -> Comparison:
    """Compare the regret of two policies on a setting, at the nearest noted share of the budget.

    With ``since`` only what they lose after that share: who is better in the long run.
    """
    mine, theirs = paired(result, setting, one, other, share, since)
    d = mine - theirs
    place = float(result.shares[at_share(result, share)])
    if d.size == 0:
        raise InvalidInput(
            f"{one!r} and {other!r} share no repetition of {setting!r}; play both with equal seeds"
        )
    low, high = bootstrap_interval(d)
    enough = d.size >= _FEWEST
    return Comparison(
        setting, one, other, place, int(d.size),
        float(mine.mean()), float(theirs.mean()),
        float(d.mean()), low, high,
        sign_flip(d) if enough else 1.0,
        float(np.median(d)),
        _signed_rank(d) if enough else 1.0,
        float((d < 0.0).mean()),
        since and float(result.shares[at_share(result, since)]),
    )  # fmt: skip


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Return p-values corrected for testing them all (Holm's step-down method).

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _signed_rank(d: Floats) -> float:
    apart = d[d != 0.0]
    return float(wilcoxon(apart).pvalue) if apart.size else 1.0


def _verdict(p: float, difference: float) -> str:
    if p > LEVEL or difference == 0.0:
        return "unclear"
    return "lower" if difference < 0.0 else "higher"
