"""Two policies, or two results, compared repetition by repetition.

Policies meet the same problems and the same outcomes, so the difference within a repetition says
more than two means do. A few games that stay on a wrong arm can dominate the mean, so the typical
game is tested beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.paper.analysis import games
from bursar.paper.analysis.permutation import bootstrap_interval, clear_sign, sign_flip, signed_rank
from bursar.simulation.result import Result

_VERDICTS = {-1: "lower", 1: "higher", 0: "unclear"}
FEWEST = 6  # repetitions below which nothing can be significant at 5%


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Regret of ``one`` against ``other``, paired by repetition; less is better.

    Differences are one - other; both p-values are 1 below 6 repetitions.
    """

    one: str
    other: str
    repetitions: int
    mean_one: float
    mean_other: float
    difference: float  # the mean
    low: float  # 95% interval of the mean (bootstrap over repetitions, BCa)
    high: float
    p: float  # of a mean difference of zero, two-sided (sign flips)
    median_difference: float
    p_typical: float  # Wilcoxon's signed rank test
    wins: float  # share of repetitions in which ``one`` lost less
    setting: str = ""
    share: float = 1.0  # of the budget, at which regret is compared
    since: float = 0.0  # share of the budget from which on losses count

    @property
    def verdict(self) -> str:
        """Whether the mean of ``one`` is ``lower``, ``higher``, or ``unclear``, at 5%."""
        return _VERDICTS[clear_sign(self.p, self.difference)]

    @property
    def typical(self) -> str:
        """The same for the typical game: Wilcoxon's test, and which side most games are on."""
        return _VERDICTS[clear_sign(self.p_typical, self.side)]

    @property
    def side(self) -> float:
        """On which side the typical game is: below 0 if ``one`` loses less in it."""
        return self.median_difference or 0.5 - self.wins


def compare(
    result: Result, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
) -> Comparison:
    """Compare the regret of two policies on a setting, at the nearest recorded share of the budget.

    With ``since`` only losses after that share count, which shows who is better in the long run.
    """
    pair = games.pair_regret(result, setting, one, other, share, since)
    if pair.repetitions.size == 0:
        raise InvalidInput(
            f"{one!r} and {other!r} share no repetition of {setting!r}; play both with equal seeds"
        )
    where = {
        "setting": setting,
        "share": float(result.shares[games.nearest_share(result, share)]),
        "since": since and float(result.shares[games.nearest_share(result, since)]),
    }
    return compare_samples(one, other, pair.one, pair.other, **where)


def compare_samples(one: str, other: str, mine: Floats, theirs: Floats, **where: Any) -> Comparison:
    """Compare two paired samples; samples without a value count as equal."""
    count = mine.size
    if count == 0:
        mine = theirs = np.zeros(1)
    d = mine - theirs
    low, high = bootstrap_interval(d)
    enough = count >= FEWEST
    return Comparison(
        one=one,
        other=other,
        repetitions=count,
        mean_one=float(mine.mean()),
        mean_other=float(theirs.mean()),
        difference=float(d.mean()),
        low=low,
        high=high,
        p=sign_flip(d) if enough else 1.0,
        median_difference=float(np.median(d)),
        p_typical=signed_rank(d) if enough else 1.0,
        wins=float((d < 0.0).mean()),
        **where,
    )


def compare_results(a: Result, b: Result) -> Iterator[dict[str, Any]]:
    """Yield a row for each setting and policy of both results, paired by repetition."""
    for setting in a.settings:
        for policy in a.policies:
            if games.has_games(a, setting, policy) and games.has_games(b, setting, policy):
                yield _compare_policy(a, b, setting, policy)


def _compare_policy(a: Result, b: Result, setting: str, policy: str) -> dict[str, Any]:
    left, before = games.regret_by_repetition(a, setting, policy, [-1])
    right, after = games.regret_by_repetition(b, setting, policy, [-1])
    both, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    c = compare_samples("b", "a", after[j, 0], before[i, 0])
    means = (c.mean_other, c.mean_one) if both.size else (before.mean(), after.mean())
    return {
        "setting": setting,
        "policy": policy,
        "repetitions": int(both.size),
        "mean_a": float(means[0]),
        "mean_b": float(means[1]),
        "difference": c.difference,
        "low": c.low,
        "high": c.high,
        "failed_a": games.failed_share(a, setting, policy),
        "failed_b": games.failed_share(b, setting, policy),
        "verdict": _result_verdict(c) if both.size else "not the same games",
    }


def _result_verdict(c: Comparison) -> str:
    if c.difference == c.low == c.high == 0.0:
        return "identical"
    words = {"lower": "B lost less", "higher": "B lost more", "unclear": "no clear difference"}
    return words[c.verdict]
