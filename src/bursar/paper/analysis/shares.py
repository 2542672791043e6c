"""What each policy lost, relative to what was possible or to what another policy lost.

A repetition is the independent unit: the problems of a repetition (the campaigns of the ads) are
averaged first, then repetitions, then settings, so that each setting counts the same.

Ratios are ratios of means, because settings differ in scale, with intervals from resampled
repetitions. Both policies keep the same repetitions in a resample, for they met the same outcomes.
The ratio of 95th percentiles says what a user must be prepared for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.paper.analysis.compare import Comparison, compare_samples
from bursar.paper.analysis.games import average_games, has_games, pair_regret, played_settings
from bursar.simulation.result import Result

_TAIL = 0.95
_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class RegretShares:
    """Mean regret share of each policy, best first, where all of them played."""

    policies: tuple[str, ...]
    shares: tuple[float, ...]  # of each policy: mean over settings
    by_setting: Floats  # policies x settings
    settings: tuple[str, ...]
    by_repetition: Floats  # policies x repetitions that are whole: mean over settings

    def share(self, policy: str) -> float:
        """Return the mean regret share of a policy."""
        return self.shares[self.policies.index(policy)]


def regret_shares(result: Result, policies: Sequence[str]) -> RegretShares | None:
    """Return regret as a share of what the best arm earns; None if no setting was played by all."""
    values, played = shares_by_repetition(result)
    codes = [result.policies.index(slug) for slug in policies]
    values, common = values[:, codes], played[:, codes].all(axis=1)
    there = np.flatnonzero(common.any(axis=1))
    if not there.size or not codes:
        return None
    means = np.array([values[s][:, common[s]].mean(axis=1) for s in there])
    whole = common[there].all(axis=0)
    order = np.argsort(means.mean(axis=0), kind="stable")
    return RegretShares(
        tuple(policies[i] for i in order),
        tuple(means.mean(axis=0)[order].tolist()),
        means.T[order],
        tuple(result.settings[s] for s in there),
        values[there][:, :, whole].mean(axis=0)[order],
    )


def shares_by_repetition(result: Result) -> tuple[Floats, Any]:
    """Return the regret share by setting, policy and repetition, and where there is one."""
    share = np.zeros_like(result.optimum)  # where nothing can be earned nothing is lost
    np.divide(result.values[:, -1, 2], result.optimum, out=share, where=result.optimum > 0.0)
    return average_games(result, share)


def compare_shares(found: RegretShares, one: str, other: str) -> Comparison:
    """Compare the regret shares of two policies, paired by repetition."""
    mine, theirs = (found.by_repetition[found.policies.index(slug)] for slug in (one, other))
    return compare_samples(one, other, mine, theirs)


@dataclass(frozen=True, kw_only=True)
class RegretRatio:
    """Final regret of one policy over that of another on a setting, with 95% intervals."""

    setting: str
    repetitions: int
    mean: Estimate
    tail: Estimate  # of the 95th percentiles
    resampled: Floats = field(repr=False, compare=False)  # ratios of means


def regret_ratios(
    result: Result, one: str, other: str, settings: Sequence[str] | None = None
) -> list[RegretRatio]:
    """Return the ratios on each setting that both policies played, or on those given.

    Resampling has a fixed seed.
    """
    names = played_settings(result) if settings is None else settings
    return [
        _ratio(result, name, one, other) for name in names if has_games(result, name, one, other)
    ]


def overall_ratio(found: Sequence[RegretRatio]) -> Estimate:
    """Return the geometric mean of the ratios of means over settings, each weighing the same."""
    if not found:
        raise InvalidInput("no setting was played by both policies, so there is nothing to average")
    value = np.mean([np.log(row.mean.value) for row in found])
    drawn = np.mean([np.log(row.resampled) for row in found], axis=0)
    return Estimate.from_draws(value, drawn, _LEVEL).map(np.exp)


def _ratio(result: Result, setting: str, one: str, other: str) -> RegretRatio:
    a, b, _ = pair_regret(result, setting, one, other)
    drawn = np.random.default_rng(0).integers(0, a.size, (_RESAMPLES, a.size))
    means = a[drawn].mean(axis=1) / b[drawn].mean(axis=1)
    tails = np.quantile(a[drawn], _TAIL, axis=1) / np.quantile(b[drawn], _TAIL, axis=1)
    tail = np.quantile(a, _TAIL) / np.quantile(b, _TAIL)
    return RegretRatio(
        setting=setting,
        repetitions=a.size,
        mean=Estimate.from_draws(a.mean() / b.mean(), means, _LEVEL),
        tail=Estimate.from_draws(tail, tails, _LEVEL),
        resampled=means,
    )
