"""Passes: a policy plays once through a log, in one compiled loop."""
# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`choose`, `observe` and `remember` are the policy's own; `kernel` binds them)

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from bursar.arms import Arms, Game
from bursar.checks import Floats
from bursar.compiled import compiled, specialize
from bursar.policies import Policy, kernels
from bursar.policies.scale import Range
from bursar.replay.support import Support
from bursar.stream import Stream, below, new_stream, uniform

__all__ = ["HELD", "PLAYS", "REWARD", "ROWS", "SPENT", "Told", "passes"]

REWARD, SPENT, PLAYS, ROWS, HELD = range(5)  # columns of what a pass came to
_POLICY, _ORDER, _COIN, _SAMPLE = range(4)  # streams of a pass


class Told(NamedTuple):
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
        observe(arms, game, held, reward_in[found], cost_in[found], stream)
        remember(p, arms, game, memory, held, reward_in[found], cost_in[found])
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
    told: Told,
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
                learner.parameters,
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
