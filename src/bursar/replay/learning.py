"""Policies that learn: their passes through a log, summed up as estimates."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bursar.checks import Floats
from bursar.policies import Policy
from bursar.replay.estimate import Estimate
from bursar.replay.log import Log
from bursar.replay.passes import HELD, PLAYS, REWARD, ROWS, SPENT, Told, passes
from bursar.replay.support import Support
from bursar.replay.value import Value, normal_value

__all__ = ["learning"]

_SHORT = 0.01  # of the passes may end before the spend that is reported


def learning(
    log: Log,
    rows: Support,
    policies: list[Policy],
    told: Told,
    count: int,
    seed: int,
    level: float,
) -> list[Estimate]:
    """Play all as far as they get, then those that the log left waiting as far as it reaches."""
    reach = _both([(one, told.budget) for one in policies], rows, told, count, seed)
    ends = [_end(np.concatenate(two), rows, told.budget) for two in reach]
    again = [j for j, end in enumerate(ends) if end.spend < told.budget and end.says]
    cut = _both([(policies[j], ends[j].spend) for j in again], rows, told, count, seed)
    for j, two in zip(again, cut, strict=True):
        reach[j] = two
    return [
        _estimate(log, str(policy), end, *two, told.budget, level)
        for policy, end, two in zip(policies, ends, reach, strict=True)
    ]


def _both(
    players: list[tuple[Policy, float]], rows: Support, told: Told, count: int, seed: int
) -> list[tuple[Floats, Floats]]:
    """Return the shuffled passes of each player, and two for each of ``count`` resampled logs."""
    if not players:
        return []
    shuffled = passes(players, rows, told, count=count // 2, seed=seed, resample=False)
    resampled = passes(players, rows, told, count=2 * count, seed=seed, resample=True)
    return list(zip(shuffled, resampled, strict=True))


class _End(NamedTuple):
    """Where the passes of a policy ended."""

    spend: float
    says: bool
    waited_for: str


def _end(every: Floats, rows: Support, budget: float) -> _End:
    """Return the spend that all but one in a hundred passes reach.

    Only to average over passes that went further would pick those with luck. The few that end
    before count with what they had earned: too little, by less than a hundredth of the whole.
    """
    waiting = every[every[:, HELD] >= 0.0]
    if not waiting.size:
        return _End(budget, True, "")
    waits = np.bincount(waiting[:, HELD].astype(np.int64), minlength=len(rows.arms))
    reach = np.where(every[:, HELD] >= 0.0, np.minimum(every[:, SPENT], budget), budget)
    spend = float(np.quantile(reach, _SHORT, method="lower"))
    plays = float(np.quantile(waiting[:, PLAYS], _SHORT, method="lower"))
    says = spend > 0.0 and plays >= len(rows.arms)
    return _End(spend, says, rows.arms[int(waits.argmax())])


def _estimate(
    log: Log,
    policy: str,
    end: _End,
    shuffled: Floats,
    resampled: Floats,
    budget: float,
    level: float,
) -> Estimate:
    reward = ratio = spent = single = None
    if end.says:
        reward, ratio, spent = (
            _expected(centre, around, level)
            for centre, around in zip(_columns(shuffled), _columns(resampled), strict=True)
        )
        single = _single(reward.mean, resampled[:, REWARD], level)
    return Estimate(
        policy,
        "replay",
        budget,
        end.spend if end.says else 0.0,
        reward,
        single,
        ratio,
        spent,
        float(shuffled[:, PLAYS].mean()),
        float(shuffled[:, ROWS].mean()),
        log.earned_by(end.spend) if end.says else None,
        len(shuffled) + len(resampled),
        end.waited_for,
        level,
    )


def _columns(of: Floats) -> tuple[Floats, Floats, Floats]:
    """Return reward, reward per cost and spend; a pass that spent nothing has a ratio of 0."""
    reward, spent = of[:, REWARD], of[:, SPENT]
    return reward, np.where(spent > 0.0, reward, 0.0) / np.where(spent > 0.0, spent, 1.0), spent


def _expected(centre: Floats, around: Floats, level: float) -> Value:
    """Return the mean of shuffled passes; its error is what pairs of resampled ones share.

    The covariance of the pairs is itself uncertain, so one standard error of it is added: the
    interval errs on the wide side where a budget needs few of the rows.
    """
    pairs = around.reshape(-1, 2) - around.mean()
    free = len(pairs) - 1
    shared = max(float(pairs[:, 0] @ pairs[:, 1]) / free, 0.0)
    doubt = math.hypot(float(around.var()), shared) / math.sqrt(free)
    few = float(centre.var(ddof=1)) / centre.size  # of the shuffles
    return normal_value(float(centre.mean()), math.sqrt(shared + doubt + few), level)


def _single(mean: float, around: Floats, level: float) -> Value:
    """Return between which rewards one campaign would have ended.

    The spread is that of the resampled passes, the mean that of the shuffled ones: resampling
    flatters policies that pick the luckiest arm of a sample.
    """
    ends = np.quantile(around, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    low, high = (ends - around.mean() + mean).tolist()
    return Value(mean, low, high)
