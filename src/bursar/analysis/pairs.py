"""Two policies on one setting, compared repetition by repetition.

Policies meet the same problems and the same outcomes, so the difference within a repetition says
more than two means do. A few games that stay on a wrong arm make the mean: the typical game is
tested beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import wilcoxon

from bursar.analysis.games import at_share, paired
from bursar.analysis.permutation import bootstrap_interval, sign_flip
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.result import Result

__all__ = ["LEVEL", "Comparison", "compare", "holm"]

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
