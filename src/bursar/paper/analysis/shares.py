"""What each policy lost, as a share of what the best arm would have brought.

A repetition is the independent unit: the problems of a repetition (the campaigns of the ads) are
averaged first, then repetitions, then settings, so that each setting counts the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.paper.analysis import games
from bursar.paper.analysis.compare import LEVEL, bootstrap_interval, sign_flip
from bursar.paper.analysis.games import curves, failed_share, has
from bursar.simulation.result import Result
from bursar.validation import Floats

__all__ = [
    "NEW",
    "TAIL",
    "Gap",
    "PairedResult",
    "Ratio",
    "RegretShare",
    "by_repetition",
    "compare_results",
    "gap",
    "overall",
    "ratios",
    "regret_shares",
]


@dataclass(frozen=True)
class RegretShare:
    """Mean share lost by each policy, best first, where all of them played."""

    policies: tuple[str, ...]
    shares: tuple[float, ...]  # a policy: mean over settings
    by_setting: Floats  # policies x settings
    settings: tuple[str, ...]
    repetitions: Floats  # policies x repetitions that are whole: mean over settings


@dataclass(frozen=True)
class Gap:
    """By how much one policy lost less than another, paired by repetition."""

    one: str
    other: str
    mean: float
    low: float  # of the 95% interval of the mean
    high: float
    p: float  # of no difference
    wins: int
    repetitions: int

    @property
    def sure(self) -> bool:
        """Whether interval and test both say that chance alone does not explain it."""
        return self.low > 0.0 and self.p <= LEVEL


def by_repetition(result: Result) -> tuple[Floats, Any]:
    """Return the share lost by setting, policy and repetition, and where there is one."""
    top = int(result.repetition.max(initial=-1)) + 1
    shape = (len(result.settings), len(result.policies), top)
    total, count = np.zeros(shape), np.zeros(shape)
    where = (result.setting, result.policy, result.repetition)
    possible = result.optimum > 0.0
    share = np.divide(
        result.values[:, -1, 2], result.optimum, out=np.zeros_like(result.optimum), where=possible
    )
    np.add.at(total, where, share)
    np.add.at(count, where, 1.0)
    return total / np.maximum(count, 1.0), count > 0.0


def regret_shares(result: Result, policies: list[str]) -> RegretShare | None:
    """Return what the policies lost, best first; None if no setting was played by all of them."""
    values, played = by_repetition(result)
    codes = [result.policies.index(slug) for slug in policies]
    values, common = values[:, codes], played[:, codes].all(axis=1)
    there = np.flatnonzero(common.any(axis=1))
    if not there.size or not codes:
        return None
    means = np.array([values[s][:, common[s]].mean(axis=1) for s in there])
    whole = common[there].all(axis=0)
    order = np.argsort(means.mean(axis=0), kind="stable")
    return RegretShare(
        tuple(policies[i] for i in order),
        tuple(means.mean(axis=0)[order].tolist()),
        means.T[order],
        tuple(result.settings[s] for s in there),
        values[there][:, :, whole].mean(axis=0)[order],
    )


def gap(found: RegretShare, one: str, other: str) -> Gap:
    """Return by how much ``one`` lost less than ``other``, with a test paired by repetition."""
    first, second = (found.policies.index(slug) for slug in (one, other))
    saved = found.repetitions[second] - found.repetitions[first]
    mean = found.shares[second] - found.shares[first]
    if saved.size < 2:
        return Gap(one, other, mean, mean, mean, 1.0, int((saved > 0.0).sum()), saved.size)
    low, high = bootstrap_interval(saved)
    return Gap(one, other, mean, low, high, sign_flip(saved), int((saved > 0.0).sum()), saved.size)


# ==== analysis.ratios
# How much of another policy's regret is left: of its mean, and of its worst games.
#
# A ratio of means, because settings differ in scale, with an interval from resampled repetitions.
# Both policies keep the same repetitions in a resample, for they met the same luck. The 95th
# percentile says what a user must be prepared for.

NEW = "pooled-gittins"  # the package's own policy, held against the paper's best
TAIL = 0.95
_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Ratio:
    """Final regret of ``one`` over that of ``other`` on a setting: means and 95th percentiles.

    Intervals are of 95%.
    """

    setting: str
    repetitions: int
    mean_one: float
    mean_other: float
    mean: Estimate
    tail_one: float
    tail_other: float
    tail: Estimate
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


def overall(found: Sequence[Ratio]) -> Estimate:
    """Return the geometric mean of the ratios of means over settings, each weighing the same."""
    if not found:
        raise InvalidInput("no setting was played by both policies, so there is nothing to average")
    value = np.mean([np.log(one.mean.value) for one in found])
    drawn = np.mean([np.log(one.resampled) for one in found], axis=0)
    return Estimate.from_draws(value, drawn, _LEVEL).map(np.exp)


def _ratio(result: Result, setting: str, one: str, other: str) -> Ratio:
    a, b = games.paired(result, setting, one, other)
    drawn = np.random.default_rng(0).integers(0, a.size, (_RESAMPLES, a.size))
    means = a[drawn].mean(axis=1) / b[drawn].mean(axis=1)
    tails = np.quantile(a[drawn], TAIL, axis=1) / np.quantile(b[drawn], TAIL, axis=1)
    end_a, end_b = (float(np.quantile(x, TAIL)) for x in (a, b))
    mean_a, mean_b = float(a.mean()), float(b.mean())
    return Ratio(
        setting, a.size, mean_a, mean_b, Estimate.from_draws(mean_a / mean_b, means, _LEVEL),
        end_a, end_b, Estimate.from_draws(end_a / end_b, tails, _LEVEL), means,
    )  # fmt: skip


# ==== analysis.versus
# Two results side by side, paired where both played the same games.

_FEWEST = 6  # repetitions below which nothing can be significant at 5%


@dataclass(frozen=True)
class PairedResult:
    """Final regret of a policy on a setting in two results, over repetitions that both have."""

    setting: str
    policy: str
    repetitions: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    failed_a: float
    failed_b: float
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def compare_results(one: Result, other: Result) -> Iterator[PairedResult]:
    """Yield a row for each setting and policy that both results have."""
    for setting in one.settings:
        for policy in one.policies:
            if has(one, setting, policy) and has(other, setting, policy):
                yield _row(one, other, setting, policy)


def _row(one: Result, other: Result, setting: str, policy: str) -> PairedResult:
    mine, ours = curves(one, setting, policy)
    theirs, those = curves(other, setting, policy)
    _, left, right = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    before, after = ours[left, -1], those[right, -1]
    if not before.size:  # no repetition in common: the means of what there is
        return PairedResult(
            setting, policy, 0, float(ours[:, -1].mean()), float(those[:, -1].mean()),
            0.0, 0.0, 0.0,
            failed_share(one, setting, policy), failed_share(other, setting, policy),
            "not the same games",
        )  # fmt: skip
    d = after - before
    low, high = bootstrap_interval(d)
    return PairedResult(
        setting, policy, int(d.size), float(before.mean()), float(after.mean()), float(d.mean()),
        low, high, failed_share(one, setting, policy), failed_share(other, setting, policy),
        _verdict(d),
    )  # fmt: skip


def _verdict(d: Any) -> str:
    if not d.any():
        return "identical"
    if d.size < _FEWEST or sign_flip(d) > LEVEL:
        return "no clear difference"
    return "B lost less" if d.mean() < 0.0 else "B lost more"
