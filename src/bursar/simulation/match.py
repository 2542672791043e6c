"""A match: several policies, one after the other, on the same problem with the same outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import thread_time
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.policies import Policy
from bursar.problems import Bernoulli, Nonstationary, Problem
from bursar.simulation import nonstationary_loop
from bursar.simulation.game import Game, columns_for, run
from bursar.simulation.tape import Tape

__all__ = ["MatchResult", "match", "warm_up"]


class MatchResult(NamedTuple):
    """One game of a match: plays, spend and regret at each share, or why there are none."""

    checkpoints: Floats
    seconds: float  # of this thread, without the drawing of outcomes
    drawing: float
    error: Exception | None = None


def match(
    problem: Problem,
    policies: Sequence[Policy],
    budget: float,
    shares: Sequence[float],
    key: tuple[int, ...],
    overspend: str = "last",
) -> Iterator[MatchResult]:
    """Play each policy; one that fails does not keep the others from playing."""
    at = np.array(shares)
    if isinstance(problem, Nonstationary):
        source = nonstationary_loop.Source(problem, key)
        yield from _play_each(
            policies,
            lambda p: nonstationary_loop.run(p, source, budget, at, key, overspend=overspend),
        )
        return
    tape = Tape(problem, key, columns_for(tuple(policies)))
    yield from _play_each(
        policies, lambda p: run(p, tape, budget, at, key, overspend=overspend), tape
    )
    tape.close()


def _play_each(
    policies: Sequence[Policy], play: Callable[[Policy], Game], tape: Tape | None = None
) -> Iterator[MatchResult]:
    drawn = 0.0
    for policy in policies:
        start = thread_time()
        error: Exception | None = None
        try:
            checkpoints = play(policy).checkpoints
        except Exception as caught:
            checkpoints, error = np.empty((0, 3)), caught
        now = tape.seconds if tape is not None else drawn
        drawing, drawn = now - drawn, now
        yield MatchResult(checkpoints, thread_time() - start - drawing, drawing, error)


def warm_up(policies: Sequence[Policy]) -> None:
    """Play a few coins with each policy, so that threads find its machine code ready."""
    for policy in policies:
        size = max(3, policy.round_size)
        tape = Tape(Bernoulli(np.full(size, 0.5), np.full(size, 0.5)), (0, 0, 0))
        run(policy, tape, 5.0, np.ones(1), (0,))
