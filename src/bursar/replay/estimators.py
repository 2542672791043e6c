# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `_kernel` binds a policy's `choose`, `update_arm`, `update_memory`
r"""Estimators: passes of learning policies through a log, and inverse propensity weights of arms.

A pass is one game of a policy against the rows of a log, in one compiled loop; see
:mod:`bursar.replay` for when a row is accepted and how passes become an estimate.

The value of always playing one arm comes from inverse propensity weights,

.. math:: w_t = 1\{a_t = k\}/p_t, \qquad
    \text{IPS } \tfrac1T\sum w_t r_t, \qquad \text{self-normalised } \sum w_t r_t / \sum w_t

and its reward per cost is :math:`\sum w_t r_t/\sum w_t c_t`. Intervals are normal, with errors of
the linearised ratios. Weights are valid only for choices that do not learn.

Swaminathan & Joachims (2015). The self-normalized estimator for counterfactual learning. NeurIPS.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled, specialize
from bursar.jit.rng import Stream, below, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.policies.base import Range
from bursar.replay.log import Log
from bursar.replay.support import Support
from bursar.validation import check_number

REWARD, SPENT, PLAYS, ROWS, WAITING = range(5)  # columns of the totals of a pass
_POLICY, _ORDER, _COIN, _SAMPLE = range(4)  # random streams of a pass
_SHORT = 0.01  # share of the passes that may end before the reported spend


class PolicyKnowledge(NamedTuple):
    """What policies know before the first play."""

    budget: float
    min_cost: float | None
    reward_range: Range
    cost_range: Range


@dataclass(frozen=True)
class ArmValue:
    """The mean reward and cost of one arm.

    ``reward``, ``cost`` and ``ratio`` are self-normalised; ``ips_reward`` is not, so it is unbiased
    but has a wider interval. ``effective`` is the number of rows of equal weight that would carry
    the same information.
    """

    arm: str
    rows: int
    effective: float
    reward: Estimate
    cost: Estimate
    ratio: Estimate
    ips_reward: Estimate


@dataclass(frozen=True, kw_only=True)
class ReplayEstimate:
    """What a policy would have earned, as far as the log reaches; None where it cannot tell."""

    policy: str  # its slug, or ``always:ARM``
    method: Literal["replay", "weights"]  # weights, of inverse propensities, are for fixed arms
    budget: float  # of the policy
    spend: float = 0.0  # that ``reward`` belongs to: as much of the budget as the log reaches
    reward: Estimate | None = None  # the expected total
    single: Estimate | None = None  # the reward of a single campaign; None for fixed arms
    ratio: Estimate | None = None  # reward per cost
    spent: Estimate | None = None
    plays: float  # mean number of accepted decisions per pass
    rows: float  # mean number of rows read per pass
    logged: float | None = None  # reward of the logging policy when it had spent as much, if ever
    passes: int = 0  # through the log, shuffled and resampled
    waited_for: str = ""  # the arm for which most passes waited as the log ended; "" if none did
    level: float  # of the intervals

    @property
    def reached(self) -> float:
        """The share of the budget that the log reaches."""
        return self.spend / self.budget

    def to_json(self) -> dict[str, Any]:
        """Return the estimate for JSON; intervals as {mean, low, high}."""
        return to_json(self) | {"reached": self.reached}


def to_json(record: ArmValue | ReplayEstimate) -> dict[str, Any]:
    """Return a record of a replay for JSON; its estimates are written as {mean, low, high}."""
    return {
        key: {"mean": value.value, "low": value.low, "high": value.high}
        if isinstance(value, Estimate)
        else value
        for key, value in vars(record).items()
    }


def normal_quantile(level: float) -> float:
    """Return the normal quantile of a two-sided level, 1.96 for 0.95."""
    if not 0.0 < check_number("level", level) < 1.0:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}; 0.95 is usual")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def _normal_estimate(mean: float, error: float, level: float) -> Estimate:
    half = normal_quantile(level) * error
    return Estimate(mean, mean - half, mean + half)


def estimate_arms(rows: Support, level: float = 0.95) -> list[ArmValue]:
    """Return the value of always playing each arm, with intervals."""
    return [_estimate_arm(rows, k, level) for k in range(len(rows.arms))]


def _estimate_arm(rows: Support, k: int, level: float) -> ArmValue:
    own = rows.arm == k
    # clipped propensities lie below the floor
    w = 1.0 / np.maximum(rows.propensity[own], rows.floor[k])
    r, c = rows.reward[own], rows.cost[own]
    one = np.ones_like(w)
    total = len(rows)
    ips = float((w * r).sum()) / total
    spread = float((w * r) @ (w * r)) / total - ips * ips
    return ArmValue(
        arm=rows.arms[k],
        rows=int(own.sum()),
        effective=float(w.sum() ** 2 / (w @ w)),
        reward=_estimate_ratio(w, r, one, level),
        cost=_estimate_ratio(w, c, one, level),
        ratio=_estimate_ratio(w, r, c, level),
        ips_reward=_normal_estimate(ips, math.sqrt(max(spread, 0.0) / total), level),
    )


def _estimate_ratio(w: Floats, values: Floats, per: Floats, level: float) -> Estimate:
    bottom = float(w @ per)
    if bottom <= 0.0:
        return Estimate(math.inf, math.inf, math.inf)
    mean = float(w @ values) / bottom
    off = w * (values - mean * per)
    few = off.size / max(off.size - 1, 1)
    return _normal_estimate(mean, math.sqrt(few * float(off @ off)) / bottom, level)


def estimate_policies(
    log: Log,
    rows: Support,
    policies: list[Policy],
    knowledge: PolicyKnowledge,
    *,
    count: int,
    seed: int,
    level: float,
) -> list[ReplayEstimate]:
    """Estimate each policy at the budget, or at the spend that the log reaches.

    All policies first play as far as they get. Those that the log left waiting then play again up
    to the spend that nearly all of their passes reached.
    """

    def play(players: list[tuple[Policy, float]]) -> list[tuple[Floats, Floats]]:
        """Return the shuffled passes of each player, and two for each resampled log."""
        if not players:
            return []
        shuffled = play_passes(
            players, rows, knowledge, count=count // 2, seed=seed, resample=False
        )
        resampled = play_passes(players, rows, knowledge, count=2 * count, seed=seed, resample=True)
        return list(zip(shuffled, resampled, strict=True))

    budget = knowledge.budget
    played = play([(policy, budget) for policy in policies])
    reaches = [_find_reach(np.concatenate(both), rows, budget) for both in played]
    short = [j for j, (spend, _) in enumerate(reaches) if 0.0 < spend < budget]
    again = play([(policies[j], reaches[j][0]) for j in short])
    for j, both in zip(short, again, strict=True):
        played[j] = both
    return [
        ReplayEstimate(
            policy=str(policy),
            method="replay",
            budget=budget,
            spend=spend,
            plays=float(shuffled[:, PLAYS].mean()),
            rows=float(shuffled[:, ROWS].mean()),
            logged=log.earned_by(spend) if spend else None,
            passes=len(shuffled) + len(resampled),
            waited_for=waited_for,
            level=level,
            **(_estimate_rewards(shuffled, resampled, level) if spend else {}),
        )
        for policy, (spend, waited_for), (shuffled, resampled) in zip(
            policies, reaches, played, strict=True
        )
    ]


def _find_reach(passes: Floats, rows: Support, budget: float) -> tuple[float, str]:
    """Return the spend that all but one in a hundred passes reach, and the arm most waited for.

    Averaging only over passes that reached further would select the fortunate ones. The few that
    end before count with what they had earned, which is too little by less than a hundredth. The
    spend is 0 if too many passes end before each arm was played.
    """
    is_waiting = passes[:, WAITING] >= 0.0
    waiting = passes[is_waiting]
    if not waiting.size:
        return budget, ""
    waits = np.bincount(waiting[:, WAITING].astype(np.int64), minlength=len(rows.arms))
    spends = np.where(is_waiting, np.minimum(passes[:, SPENT], budget), budget)
    spend = float(np.quantile(spends, _SHORT, method="lower"))
    plays = float(np.quantile(waiting[:, PLAYS], _SHORT, method="lower"))
    return spend if plays >= len(rows.arms) else 0.0, rows.arms[int(waits.argmax())]


def _estimate_rewards(shuffled: Floats, resampled: Floats, level: float) -> dict[str, Estimate]:
    reward, ratio, spent = (
        _estimate_mean(centre, around, level)
        for centre, around in zip(_columns(shuffled), _columns(resampled), strict=True)
    )
    # the spread of a single campaign is that of the resampled passes, but not their mean:
    # resampling favours policies that pick the arm that did best in a sample
    around = resampled[:, REWARD]
    ends = np.quantile(around, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    single = Estimate(reward.value, *(ends - around.mean() + reward.value).tolist())
    return {"reward": reward, "single": single, "ratio": ratio, "spent": spent}


def _columns(passes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return reward, reward per cost and spend; a pass that spent nothing has a ratio of 0."""
    reward, spent = passes[:, REWARD], passes[:, SPENT]
    return reward, np.where(spent > 0.0, reward, 0.0) / np.where(spent > 0.0, spent, 1.0), spent


def _estimate_mean(centre: Floats, around: Floats, level: float) -> Estimate:
    """Return the mean of shuffled passes; its error is what pairs of resampled ones share.

    The covariance of the pairs is itself uncertain, so one standard error of it is added: the
    interval errs on the wide side where a budget needs few of the rows.
    """
    pairs = around.reshape(-1, 2) - around.mean()
    free = len(pairs) - 1
    shared = max(float(pairs[:, 0] @ pairs[:, 1]) / free, 0.0)
    doubt = math.hypot(float(around.var()), shared) / math.sqrt(free)
    few = float(centre.var(ddof=1)) / centre.size  # of the shuffles
    return _normal_estimate(float(centre.mean()), math.sqrt(shared + doubt + few), level)


def play_passes(
    players: Sequence[tuple[Policy, float]],
    rows: Support,
    knowledge: PolicyKnowledge,
    *,
    count: int,
    seed: int,
    resample: bool,
) -> Floats:
    """Play each policy up to its spend, ``count`` times; all meet the rows in the same orders.

    Without ``resample`` a pass has every row once, in random order. With it, a log is resampled
    with replacement for each pair of passes, whose rows are draws from it: a pass varies as much as
    a campaign does plus what the log leaves open, and a pair has only the latter in common.

    Returns
    -------
    ndarray
        By policy and pass: reward, spend, plays, rows read, and the arm that was waited for when
        the rows ended (-1 if the spend was reached). A smaller spend cuts the same pass short.
    """
    out = np.zeros((len(players), count, 5))
    every = np.arange(len(rows))
    order, sample = np.empty_like(every), np.empty_like(every)
    outcomes: list[Floats] = []
    for i in range(count):
        key = (seed, int(resample), i)
        if not resample:
            shuffle(order, new_stream(*key, _ORDER))
        else:
            if i % 2 == 0:
                _resample(sample, every, new_stream(*key, _SAMPLE))
            _resample(order, sample, new_stream(*key, _ORDER))
        arm_order = rows.arm[order]
        for j, (policy, stop) in enumerate(players):
            learner = policy.learner(len(rows.arms), seed=(*key, _POLICY), **knowledge._asdict())
            if i == 0:
                scale = learner.scale
                scaled = scale.reward_in(rows.reward), scale.cost_in(rows.cost)
                columns = rows.accept, *scaled, rows.reward, rows.cost
                outcomes.append(np.column_stack(columns))
            play = _kernel(cast(Any, type(policy)))
            state = learner.kernel_params, learner.arms, learner.game, learner.memory
            streams = learner.stream, new_stream(*key, _COIN)
            play(*state, *streams, order, arm_order, outcomes[j], stop, out[j, i])
    return out


@cache
def _kernel(policy: Any) -> Any:
    """Return the compiled pass of a policy class."""
    return specialize(_pass, policy.name, **kernels.functions(policy))


def _pass(
    p: Any,
    arms: Arms,
    game: Game,
    memory: Floats,
    stream: Stream,
    coin: Stream,
    order: Any,
    arm_order: Any,
    outcomes: Floats,
    stop: float,
    out: Floats,
) -> None:
    """Play until ``stop`` is spent or the rows are used up; ``arm_order`` has their arms.

    A row of ``outcomes`` has the probability of acceptance, and reward and cost, scaled and not.
    """
    at = 0
    spent = earned = plays = 0.0
    held = -1
    while spent < stop:
        held = choose(p, arms, game, memory, stream)
        found = -1
        while found < 0 and at < order.size:
            if arm_order[at] == held:
                accept = outcomes[order[at], 0]
                if accept >= 1.0 or uniform(coin) < accept:
                    found = order[at]
            at += 1
        if found < 0:
            break
        scaled_reward, scaled_cost = outcomes[found, 1], outcomes[found, 2]
        update_arm(arms, game, held, scaled_reward, scaled_cost, stream)
        update_memory(p, arms, game, memory, held, scaled_reward, scaled_cost)
        earned += outcomes[found, 3]
        spent += outcomes[found, 4]
        plays += 1.0
        held = -1
    out[0], out[1], out[2], out[3], out[4] = earned, spent, plays, at, held


@compiled
def shuffle(order: Any, stream: Stream) -> None:
    """Fill ``order`` with every row once, in random order."""
    for i in range(order.size):
        order[i] = i
    for i in range(order.size):
        other = i + below(stream, order.size - i)
        order[i], order[other] = order[other], order[i]


@compiled
def _resample(order: Any, sample: Any, stream: Stream) -> None:
    """Fill ``order`` with draws from a sample of rows, with replacement."""
    for i in range(order.size):
        order[i] = sample[below(stream, sample.size)]
