"""Policies that learn: their passes through a log, summed up as estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from bursar.estimate import Estimate
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled, specialize
from bursar.jit.rng import Stream, below, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.policies.base import Range
from bursar.replay.log import Log
from bursar.replay.support import Support, estimate_to_json, normal_value
from bursar.validation import Floats

__all__ = [
    "HELD",
    "PLAYS",
    "REWARD",
    "ROWS",
    "SPENT",
    "ArmValue",
    "PassTotals",
    "ReplayEstimate",
    "arm_values",
    "learning",
    "passes",
]

# ==== replay.passes
# Passes: a policy plays once through a log, in one compiled loop.

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`choose`, `update_arm` and `update_memory` are the policy's own; `kernel` binds them)


REWARD, SPENT, PLAYS, ROWS, HELD = range(5)  # columns of what a pass came to
_POLICY, _ORDER, _COIN, _SAMPLE = range(4)  # streams of a pass


class PassTotals(NamedTuple):
    """What policies know before the first play."""

    budget: float
    min_cost: float | None
    reward_range: Range
    cost_range: Range


@compiled
def shuffle(order: Any, stream: Stream) -> None:
    """Fill ``order`` with every row once, in random order."""
    for i in range(order.size):
        order[i] = i
    for i in range(order.size):
        other = i + below(stream, order.size - i)
        order[i], order[other] = order[other], order[i]


@compiled
def draw(order: Any, sample: Any, stream: Stream) -> None:
    """Fill ``order`` with draws from a sample of rows, with replacement."""
    for i in range(order.size):
        order[i] = sample[below(stream, sample.size)]


def _pass(
    p: Any,
    arms: Arms,
    game: Game,
    memory: Floats,
    stream: Stream,
    coin: Stream,
    order: Any,
    dealt: Any,
    accept: Floats,
    reward_in: Floats,
    cost_in: Floats,
    reward: Floats,
    cost: Floats,
    stop: float,
    out: Floats,
) -> None:
    """Play until ``stop`` is spent or the rows are used up; ``dealt`` has their arms in order."""
    at = 0
    spent = earned = plays = 0.0
    held = -1
    while spent < stop:
        held = choose(p, arms, game, memory, stream)
        found = -1
        while found < 0 and at < order.size:
            if dealt[at] == held:
                row = order[at]
                if accept[row] >= 1.0 or uniform(coin) < accept[row]:
                    found = row
            at += 1
        if found < 0:
            break
        update_arm(arms, game, held, reward_in[found], cost_in[found], stream)
        update_memory(p, arms, game, memory, held, reward_in[found], cost_in[found])
        earned += reward[found]
        spent += cost[found]
        plays += 1.0
        held = -1
    out[0], out[1], out[2], out[3], out[4] = earned, spent, plays, at, held


@cache
def kernel(policy: Any) -> Any:
    """Return the compiled pass of a policy class."""
    return specialize(_pass, policy.name, **kernels.functions(policy))


def passes(
    players: Sequence[tuple[Policy, float]],
    rows: Support,
    told: PassTotals,
    *,
    count: int,
    seed: int,
    resample: bool,
) -> Floats:
    """Play each policy up to its spend, ``count`` times; all meet the rows in the same orders.

    Without ``resample`` a pass has the rows in random order, each once. With it the log itself is
    drawn anew, with replacement, for each two passes, whose rows are draws from it: a pass varies
    as much as a campaign does plus what the log leaves open, and two of a pair have only the latter
    in common.

    Returns
    -------
    ndarray
        By policy and pass: reward, spend, plays, rows gone through, and the arm that was waited for
        when the rows ended (-1: the spend was reached). A smaller spend cuts the same pass short.
    """
    out = np.zeros((len(players), count, 5))
    every = np.arange(len(rows))
    order, sample = np.empty_like(every), np.empty_like(every)
    scaled: list[tuple[Floats, Floats]] = []
    for i in range(count):
        place = (seed, int(resample), i)
        if not resample:
            shuffle(order, new_stream(*place, _ORDER))
        else:
            if i % 2 == 0:
                draw(sample, every, new_stream(*place, _SAMPLE))
            draw(order, sample, new_stream(*place, _ORDER))
        dealt = rows.arm[order]
        for j, (policy, stop) in enumerate(players):
            learner = policy.learner(len(rows.arms), seed=(*place, _POLICY), **told._asdict())
            if i == 0:
                scale = learner.scale
                both = scale.reward_in(rows.reward), scale.cost_in(rows.cost)
                scaled.append(both)
            kernel(cast(Any, type(policy)))(
                learner.kernel_params,
                learner.arms,
                learner.game,
                learner.memory,
                learner.stream,
                new_stream(*place, _COIN),
                order,
                dealt,
                rows.accept,
                *scaled[j],
                rows.reward,
                rows.cost,
                stop,
                out[j, i],
            )
    return out


# ==== replay.fixed
# Fixed arms: what always playing one arm would have earned, by inverse propensity weights.
#
# .. math:: w_t = 1\{a_t = k\}/p_t, \qquad
#     \text{IPS } \tfrac1T\sum w_t r_t, \qquad \text{self-normalised } \sum w_t r_t / \sum w_t
#
# Reward per cost is :math:`\sum w_t r_t/\sum w_t c_t` by either. Intervals are normal, with errors of
# the linearised ratios. Valid for choices that do not learn: for those that do, see `passes`.
#
# Swaminathan & Joachims (2015). The self-normalized estimator for counterfactual learning. NeurIPS.


@dataclass(frozen=True)
class ArmValue:
    """What plays of one arm bring and cost.

    ``reward``, ``cost`` and ``ratio`` are self-normalised; ``ips_reward`` is not, so it is unbiased
    but wider. ``effective`` is how many rows of equal weight would say as much.
    """

    arm: str
    rows: int
    effective: float
    reward: Estimate
    cost: Estimate
    ratio: Estimate
    ips_reward: Estimate


def arm_values(rows: Support, level: float = 0.95) -> list[ArmValue]:
    """Return the value of each arm, with intervals."""
    return [_value(rows, k, level) for k in range(len(rows.arms))]


def _value(rows: Support, k: int, level: float) -> ArmValue:
    own = rows.arm == k
    # clipped propensities have a floor above them
    w = 1.0 / np.maximum(rows.propensity[own], rows.floor[k])
    r, c = rows.reward[own], rows.cost[own]
    one = np.ones_like(w)
    total = len(rows)
    ips = float((w * r).sum()) / total
    spread = float((w * r) @ (w * r)) / total - ips * ips
    return ArmValue(
        rows.arms[k],
        int(own.sum()),
        float(w.sum() ** 2 / (w @ w)),
        _ratio(w, r, one, level),
        _ratio(w, c, one, level),
        _ratio(w, r, c, level),
        normal_value(ips, math.sqrt(max(spread, 0.0) / total), level),
    )


def _ratio(w: Floats, above: Floats, below: Floats, level: float) -> Estimate:
    bottom = float(w @ below)
    if bottom <= 0.0:
        return Estimate(math.inf, math.inf, math.inf)
    mean = float(w @ above) / bottom
    off = w * (above - mean * below)
    few = off.size / max(off.size - 1, 1)
    return normal_value(mean, math.sqrt(few * float(off @ off)) / bottom, level)


# ==== replay.estimate
# An estimate: what a policy would have earned on a log, as far as the log reaches.


@dataclass(frozen=True)
class ReplayEstimate:
    """What a policy would have earned, and how far the log can say it.

    Attributes
    ----------
    policy : str
        Its slug, or ``always:ARM``.
    method : {"replay", "weights"}
        Replay for policies, inverse propensity weights for fixed arms.
    budget : float
        What it was given to spend.
    spend : float
        The spend that ``reward`` belongs to: the budget, or the part of it that the log reaches.
    reward, ratio, spent : Estimate or None
        Expected total reward, reward per cost and spend by then; None if the log cannot say.
    single : Estimate or None
        Between which rewards a single campaign would have ended; None for fixed arms.
    plays, rows : float
        Accepted decisions a pass, and rows it took to find them.
    logged : float or None
        What the logging policy had earned by the same spend; None if it never spent as much.
    passes : int
        Passes through the log, shuffled and resampled.
    waited_for : str
        The arm for which most passes waited when the log ended; empty if none did.
    level : float
        Of the intervals.
    """

    policy: str
    method: Literal["replay", "weights"]
    budget: float
    spend: float
    reward: Estimate | None
    single: Estimate | None
    ratio: Estimate | None
    spent: Estimate | None
    plays: float
    rows: float
    logged: float | None
    passes: int
    waited_for: str
    level: float

    @property
    def reached(self) -> float:
        """The share of the budget that the log can speak of."""
        return self.spend / self.budget

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; intervals as {mean, low, high}."""
        found = asdict(self) | {"reached": self.reached}
        for key in ("reward", "single", "ratio", "spent"):
            value = getattr(self, key)
            found[key] = None if value is None else estimate_to_json(value)
        return found


_SHORT = 0.01  # of the passes may end before the spend that is reported


def learning(
    log: Log,
    rows: Support,
    policies: list[Policy],
    told: PassTotals,
    count: int,
    seed: int,
    level: float,
) -> list[ReplayEstimate]:
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
    players: list[tuple[Policy, float]], rows: Support, told: PassTotals, count: int, seed: int
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
) -> ReplayEstimate:
    reward = ratio = spent = single = None
    if end.says:
        reward, ratio, spent = (
            _expected(centre, around, level)
            for centre, around in zip(_columns(shuffled), _columns(resampled), strict=True)
        )
        single = _single(reward.value, resampled[:, REWARD], level)
    return ReplayEstimate(
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


def _expected(centre: Floats, around: Floats, level: float) -> Estimate:
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


def _single(mean: float, around: Floats, level: float) -> Estimate:
    """Return between which rewards one campaign would have ended.

    The spread is that of the resampled passes, the mean that of the shuffled ones: resampling
    flatters policies that pick the luckiest arm of a sample.
    """
    ends = np.quantile(around, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    low, high = (ends - around.mean() + mean).tolist()
    return Estimate(mean, low, high)
