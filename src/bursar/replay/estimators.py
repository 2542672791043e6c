# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `_kernel` binds a policy's `choose`, `update_arm`, `update_memory`
r"""Estimators: passes of learning policies through a log, and inverse propensity weights of arms.

A pass is one game of a policy against the rows of a log, each used once; in other games rows are
drawn with replacement. :mod:`bursar.replay` says how they become an estimate.

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
from functools import cache, partial
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
VALUE, LOGGED, AT_BUDGET = 3, 4, 5  # of a game: after PLAYS, and the first of those at its end
_POLICY, _ORDER, _COIN, _SAMPLE = range(4)  # random streams of a pass
_SHORT = 0.01  # share of the passes that may end before the reported spend
FEWEST_ROWS = 5.0  # of equal weight, of every arm; else resampling sees no error
FEWEST_TO_DRAW = 10.0  # the same where rows are drawn again and again
_MOST_PLAYS, _FEW_PLAYS = 2.0, 20_000.0  # of a game per row of the log, and in any case


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
    difference: Estimate | None = None  # of it from ``logged``; the interval has the error of both
    whole: Estimate | None = None  # the expected total of the whole budget, with rows used again
    whole_difference: Estimate | None = None  # of it from what was logged at that budget, if it was
    single: Estimate | None = None  # the reward of a single campaign; None for fixed arms
    ratio: Estimate | None = None  # reward per cost
    spent: Estimate | None = None
    plays: float  # mean number per pass
    rows: float  # mean number per pass, accepted or not
    logged: float | None = None  # reward of the logging policy when it had spent as much, if ever
    passes: int = 0  # through the shuffled log
    waited_for: str = ""  # the arm whose rows ended in most passes; "" if none did
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
    w = rows.weight[own]
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


def estimate_difference(log: Log, rows: Support, arm: str, spend: float, level: float) -> Estimate:
    """Return what always playing an arm would have earned beyond the log; both share their rows."""
    own = rows.arm == rows.arms.index(arm)
    w, r, c = rows.weight[own], rows.reward[own], rows.cost[own]
    bottom = float(w @ c)
    ratio = float(w @ r) / bottom
    few = own.sum() / (own.sum() - 1.0)
    influence = np.zeros(len(log))
    influence[rows.number[own]] = spend * math.sqrt(few) * w * (r - ratio * c) / bottom
    logged = find_influence(log, spend)
    influence[: logged.size] -= logged
    mean = spend * ratio - float(log.earned_by(spend) or 0.0)
    return _normal_estimate(mean, math.sqrt(float(influence @ influence)), level)


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
    """Estimate each policy at the spend that the log reaches, and at the whole budget.

    All policies first play as far as they get. Those that the log left waiting then play again up
    to the spend that nearly all of their passes reached.
    """

    def play(players: list[tuple[Policy, float]]) -> list[Floats]:
        return list(play_passes(players, rows, knowledge, count=count, seed=seed))

    budget = knowledge.budget
    played = play([(policy, budget) for policy in policies])
    reaches = [_find_reach(passes, rows, budget) for passes in played]
    short = [j for j, (spend, _) in enumerate(reaches) if 0.0 < spend < budget]
    for j, passes in zip(short, play([(policies[j], reaches[j][0]) for j in short]), strict=True):
        played[j] = passes
    return [
        ReplayEstimate(
            policy=str(policy),
            method="replay",
            budget=budget,
            spend=spend,
            plays=float(passes[:, PLAYS].mean()),
            rows=float(passes[:, ROWS].mean()),
            logged=log.earned_by(spend) if spend else None,
            passes=len(passes),
            waited_for=waited_for,
            level=level,
            **_estimate_rewards(log, rows, policy, knowledge, passes, spend, seed, level),
        )
        for policy, (spend, waited_for), passes in zip(policies, reaches, played, strict=True)
    ]


def _find_reach(passes: Floats, rows: Support, budget: float) -> tuple[float, str]:
    """Return the spend that all but one in a hundred passes reach, and the arm most waited for.

    Averaging only over passes that reached further would select the fortunate ones. The few that
    end before count with what they had earned, which is too little by less than a hundredth. The
    spend is 0 if too many passes end before each arm was played, or if an arm has too few rows.
    """
    is_waiting = passes[:, WAITING] >= 0.0
    waiting = passes[is_waiting]
    waits = np.bincount(waiting[:, WAITING].astype(np.int64), minlength=len(rows.arms))
    waited_for = rows.arms[int(waits.argmax())] if waiting.size else ""
    if rows.count_effective().min() < FEWEST_ROWS:
        return 0.0, waited_for
    if not waiting.size:
        return budget, ""
    spends = np.where(is_waiting, np.minimum(passes[:, SPENT], budget), budget)
    spend = float(np.quantile(spends, _SHORT, method="lower"))
    plays = float(np.quantile(waiting[:, PLAYS], _SHORT, method="lower"))
    return spend if plays >= len(rows.arms) else 0.0, waited_for


def _estimate_rewards(
    log: Log,
    rows: Support,
    policy: Policy,
    knowledge: PolicyKnowledge,
    passes: Floats,
    spend: float,
    seed: int,
    level: float,
) -> dict[str, Estimate | None]:
    """Return the estimates at the spend of the passes, and of the whole budget where it is more."""
    budget, count = knowledge.budget, len(passes)
    games = partial(play_games, policy, log, rows, knowledge, spend, seed)
    most = max(_MOST_PLAYS * len(rows), _FEW_PLAYS)
    whole = whole_difference = None
    logged, logged_whole = log.earned_by(spend), log.earned_by(budget)
    if (
        spend < budget
        and rows.count_effective().min() >= FEWEST_TO_DRAW
        and games(1, budget, most, resample=False)[0, AT_BUDGET + SPENT] >= budget
    ):
        plain = games(count, budget, 2.0 * most, resample=False)
        around = games(2 * count, budget, 2.0 * most, resample=True)
        if min(found[:, AT_BUDGET + SPENT].min() for found in (plain, around)) >= budget:
            centre, other = (found[:, AT_BUDGET + VALUE] for found in (plain, around))
            whole = _estimate_whole(centre, other, level)
            if logged_whole is not None:
                moved = around[:, AT_BUDGET + LOGGED]
                other = other - (moved - moved.mean())
                whole_difference = _estimate_whole(
                    centre - logged_whole, other - logged_whole, level
                )
    if not spend:
        return {"whole": whole, "whole_difference": whole_difference}
    if whole is None:
        around = games(2 * count, spend, 2.0 * most, resample=True)
    value, spent = around[:, VALUE], around[:, SPENT]
    reward = _estimate_mean(passes[:, REWARD], value, level)
    difference = None
    if logged is not None:
        difference = _estimate_mean(passes[:, REWARD] - logged, value - around[:, LOGGED], level)
    # the spread of a single campaign is that of the games, but not their mean:
    # resampling favours policies that pick the arm that did best in a sample
    single = around[:, REWARD]
    ends = np.quantile(single, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return {
        "reward": reward,
        "difference": difference,
        "single": Estimate(reward.value, *(ends - single.mean() + reward.value).tolist()),
        "ratio": _estimate_mean(_divide(passes[:, REWARD], passes[:, SPENT]),
                                _divide(value, spent), level),
        "spent": _estimate_mean(passes[:, SPENT], spent, level),
        "whole": reward if spend >= budget else whole,
        "whole_difference": difference if spend >= budget else whole_difference,
    }  # fmt: skip


def _divide(reward: Floats, spent: Floats) -> Floats:
    """Return reward per cost, 0 for a pass that spent nothing."""
    return np.where(spent > 0.0, reward, 0.0) / np.where(spent > 0.0, spent, 1.0)


def _estimate_mean(centre: Floats, around: Floats, level: float) -> Estimate:
    """Return the mean of shuffled passes; its error is what pairs of resampled games share."""
    few = float(centre.var(ddof=1)) / centre.size  # of the shuffles
    return _normal_estimate(float(centre.mean()), math.sqrt(_share(around) + few), level)


def _estimate_whole(centre: Floats, around: Floats, level: float) -> Estimate:
    """Return the doubly robust mean: games on the log, less what resampling the log adds to them.

    A policy picks the arm that did best in the log, which is in part the arm that was lucky. The
    mean of games on resampled logs is too high by as much again.
    """
    mean = 2.0 * float(centre.mean()) - float(around.mean())
    few = 4.0 * float(centre.var(ddof=1)) / centre.size
    return _normal_estimate(mean, math.sqrt(_share(around) + few), level)


def _share(around: Floats) -> float:
    """Return the variance that the pairs of games on one resampled log have in common.

    The covariance of the pairs is itself uncertain, so one standard error of it is added: the
    interval errs on the wide side where a budget needs few of the rows.
    """
    pairs = around.reshape(-1, 2) - around.mean()
    free = len(pairs) - 1
    shared = max(float(pairs[:, 0] @ pairs[:, 1]) / free, 0.0)
    return shared + math.hypot(float(around.var()), shared) / math.sqrt(free)


def find_influence(log: Log, spend: float) -> Floats:
    """Return by how much each row moved what the log had earned when it had spent as much.

    A row that is worth more than its cost adds the difference: its cost would have bought as much
    as the cost of other rows did. The sum of the squares is the variance of the logged total, if
    rows are independent; where the log learnt, it is an upper bound.
    """
    end = log.find_end(spend)
    reward, cost = log.reward[:end], log.cost[:end]
    total = float(cost.sum())
    return np.asarray(reward - cost * (float(reward.sum()) / total if total else 0.0))


def play_passes(
    players: Sequence[tuple[Policy, float]],
    rows: Support,
    knowledge: PolicyKnowledge,
    *,
    count: int,
    seed: int,
) -> Floats:
    """Play each policy up to its spend, ``count`` times; all meet the rows in the same orders.

    Returns
    -------
    ndarray
        By policy and pass: reward, spend, plays, rows read, and the arm that was waited for when
        its rows ended (-1 if the spend was reached). A smaller spend cuts the same pass short.
    """
    out = np.zeros((len(players), count, 5))
    order = np.empty(len(rows), np.int64)
    for i in range(count):
        key = (seed, 0, i)
        shuffle(order, new_stream(*key, _ORDER))
        arm_order = rows.arm[order]
        for j, (policy, stop) in enumerate(players):
            learner = policy.learner(len(rows.arms), seed=(*key, _POLICY), **knowledge._asdict())
            outcomes = np.column_stack(
                (rows.accept, *_scale(learner, rows), rows.reward, rows.cost)
            )
            play = _kernel(_pass, cast(Any, type(policy)))
            streams = learner.stream, new_stream(*key, _COIN)
            play(*_state(learner), *streams, order, arm_order, outcomes, stop, out[j, i])
    return out


def play_games(
    policy: Policy,
    log: Log,
    rows: Support,
    knowledge: PolicyKnowledge,
    spend: float,
    seed: int,
    count: int,
    stop: float,
    most: float,
    *,
    resample: bool,
) -> Floats:
    """Play a policy up to ``stop`` against draws from the rows, with replacement.

    A play of an arm draws one of its rows with a probability proportional to 1/p. With
    ``resample``, each pair of games has a resampled log: every row weighs as much again as an
    exponential draw says (Rubin's Bayesian bootstrap, in which no arm loses all of its rows).

    Returns
    -------
    ndarray
        By game: reward, spend, plays, value (the reward with the part removed that is due to which
        rows were drawn) and what the resampled log had earned at ``spend`` beyond the log itself;
        then the same at ``stop``, or after ``most`` plays.
    """
    out = np.zeros((count, 2 * AT_BUDGET))
    early, late = find_influence(log, spend), find_influence(log, stop)
    own = np.flatnonzero(rows.arm >= 0)
    own = own[np.argsort(rows.arm[own], kind="stable")]
    arm, reward, cost = rows.arm[own], rows.reward[own], rows.cost[own]
    start = np.searchsorted(arm, np.arange(len(rows.arms) + 1))
    base, weights = rows.weight[own], np.ones(len(log))
    outcomes = np.empty((own.size, 5))
    for i in range(count):
        key = (seed, 1 + resample, i)
        if resample and i % 2 == 0:
            draw_weights(weights, new_stream(*key, _SAMPLE))
        w = base * weights[rows.number[own]]
        total = np.add.reduceat(w, start[:-1])
        mean_reward = np.add.reduceat(w * reward, start[:-1]) / total
        mean_cost = np.add.reduceat(w * cost, start[:-1]) / total
        worth = float(_divide(mean_reward, mean_cost).max())
        learner = policy.learner(len(rows.arms), seed=(*key, _POLICY), **knowledge._asdict())
        if i == 0:
            scaled = [column[own] for column in _scale(learner, rows)]
            outcomes[:, :4] = np.column_stack((*scaled, reward, cost))
        # its mean over draws of an arm is 0, and so is that of its total over a game (Wald)
        outcomes[:, 4] = reward - mean_reward[arm] - worth * (cost - mean_cost[arm])
        sums = np.cumsum(w)
        play = _kernel(_game, cast(Any, type(policy)))
        streams = learner.stream, new_stream(*key, _COIN)
        play(*_state(learner), *streams, start, sums, outcomes, spend, stop, most, out[i])
        out[i, LOGGED] = (weights[: early.size] - 1.0) @ early
        out[i, AT_BUDGET + LOGGED] = (weights[: late.size] - 1.0) @ late
    return out


def _scale(learner: Any, rows: Support) -> tuple[Floats, Floats]:
    return learner.scale.reward_in(rows.reward), learner.scale.cost_in(rows.cost)


def _state(learner: Any) -> tuple[Any, ...]:
    return learner.kernel_params, learner.arms, learner.game, learner.memory


@cache
def _kernel(template: Any, policy: Any) -> Any:
    """Return a compiled loop for a policy class."""
    return specialize(template, policy.name, **kernels.functions(policy))


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
    """Play until ``stop`` is spent or an arm has no row left; ``arm_order`` has the rows' arms.

    A row of ``outcomes`` has the probability of acceptance, and reward and cost, scaled and not.
    """
    first, following = np.full(arms.size, -1), np.empty(order.size, np.int64)
    for at in range(order.size - 1, -1, -1):
        if arm_order[at] >= 0:
            following[at] = first[arm_order[at]]
            first[arm_order[at]] = at
    read = spent = earned = plays = 0.0
    held = -1
    while spent < stop:
        held = choose(p, arms, game, memory, stream)
        found = -1
        while found < 0 and first[held] >= 0:
            row = order[first[held]]
            first[held] = following[first[held]]
            read += 1.0
            if outcomes[row, 0] >= 1.0 or uniform(coin) < outcomes[row, 0]:
                found = row
        if found < 0:
            break
        scaled_reward, scaled_cost = outcomes[found, 1], outcomes[found, 2]
        update_arm(arms, game, held, scaled_reward, scaled_cost, stream)
        update_memory(p, arms, game, memory, held, scaled_reward, scaled_cost)
        earned += outcomes[found, 3]
        spent += outcomes[found, 4]
        plays += 1.0
        held = -1
    out[0], out[1], out[2], out[3], out[4] = earned, spent, plays, read, held


def _game(
    p: Any,
    arms: Arms,
    game: Game,
    memory: Floats,
    stream: Stream,
    coin: Stream,
    start: Any,
    sums: Floats,
    outcomes: Floats,
    spend: float,
    stop: float,
    most: float,
    out: Floats,
) -> None:
    """Play until ``stop`` is spent, and note the totals at ``spend``.

    The rows of arm k are from ``start[k]`` on, and ``sums`` adds their weights up. A row of
    ``outcomes`` has reward and cost, scaled and not, and what it differs from the arm's mean by.
    """
    spent = earned = plays = value = 0.0
    noted = False
    while spent < stop and plays < most:
        arm = choose(p, arms, game, memory, stream)
        low, high = start[arm], start[arm + 1] - 1
        below_low = sums[low - 1] if low > 0 else 0.0
        draw = below_low + uniform(coin) * (sums[high] - below_low)
        while low < high:
            middle = (low + high) // 2
            if sums[middle] > draw:
                high = middle
            else:
                low = middle + 1
        scaled_reward, scaled_cost = outcomes[low, 0], outcomes[low, 1]
        update_arm(arms, game, arm, scaled_reward, scaled_cost, stream)
        update_memory(p, arms, game, memory, arm, scaled_reward, scaled_cost)
        earned += outcomes[low, 2]
        spent += outcomes[low, 3]
        value += outcomes[low, 2] - outcomes[low, 4]
        plays += 1.0
        if not noted and spent >= spend:
            out[0], out[1], out[2], out[3] = earned, spent, plays, value
            noted = True
    if not noted:
        out[0], out[1], out[2], out[3] = earned, spent, plays, value
    out[5], out[6], out[7], out[8] = earned, spent, plays, value


@compiled
def shuffle(order: Any, stream: Stream) -> None:
    """Fill ``order`` with every row once, in random order."""
    for i in range(order.size):
        order[i] = i
    for i in range(order.size):
        other = i + below(stream, order.size - i)
        order[i], order[other] = order[other], order[i]


@compiled
def draw_weights(weights: Floats, stream: Stream) -> None:
    """Fill ``weights`` with exponential draws, whose mean is 1."""
    for i in range(weights.size):
        weights[i] = -math.log1p(-uniform(stream))
