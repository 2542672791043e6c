"""What each policy lost, as a share of what the best arm would have brought.

A repetition is the independent unit: the problems of a repetition (the campaigns of the ads) are
averaged first, then repetitions, then settings, so that each setting counts the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.analysis.pairs import LEVEL
from bursar.analysis.permutation import bootstrap_interval, sign_flip
from bursar.checks import Floats
from bursar.result import Result

__all__ = ["Gap", "Lost", "by_repetition", "gap", "lost"]


@dataclass(frozen=True)
class Lost:
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


def lost(result: Result, policies: list[str]) -> Lost | None:
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
    return Lost(
        tuple(policies[i] for i in order),
        tuple(means.mean(axis=0)[order].tolist()),
        means.T[order],
        tuple(result.settings[s] for s in there),
        values[there][:, :, whole].mean(axis=0)[order],
    )


def gap(found: Lost, one: str, other: str) -> Gap:
    """Return by how much ``one`` lost less than ``other``, with a test paired by repetition."""
    first, second = (found.policies.index(slug) for slug in (one, other))
    saved = found.repetitions[second] - found.repetitions[first]
    mean = found.shares[second] - found.shares[first]
    if saved.size < 2:
        return Gap(one, other, mean, mean, mean, 1.0, int((saved > 0.0).sum()), saved.size)
    low, high = bootstrap_interval(saved)
    return Gap(one, other, mean, low, high, sign_flip(saved), int((saved > 0.0).sum()), saved.size)
