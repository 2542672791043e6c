"""One game: a policy plays a problem whose outcomes are on a tape, until its budget is spent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bursar.checks import Floats
from bursar.engine.kernels import loop_of
from bursar.engine.state import DONE, PAUSED, SHORT, new_state
from bursar.engine.tape import Tape
from bursar.policies import Policy
from bursar.policies.scale import Scale
from bursar.stream import new_stream

__all__ = ["Game", "run"]

_POLICY = 0  # the policy's own stream, apart from what the arms yield
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Game:
    """What one game came to: at each share of the budget, and at its end."""

    plays: NDArray[np.int64]
    spent: Floats
    regret: Floats
    plays_per_arm: NDArray[np.int64] = field(repr=False)
    choices: NDArray[np.int32] | None = field(repr=False, default=None)


def run(
    policy: Policy,
    tape: Tape,
    budget: float,
    shares: Floats,
    seed: tuple[int, ...],
    *,
    loop: str = "auto",
    overspend: str = "last",
    record: bool = False,
) -> Game:
    """Play a game; ``loop`` is "auto" (the fastest) or "plain"."""
    problem = tape.problem
    facts = policy._facts(problem.arms, budget, problem.min_cost, Scale())
    p = policy.parameters(facts)
    state = new_state(budget, policy.ties, overspend == "never")
    stream = new_stream(*seed, _POLICY)
    n = np.zeros(problem.arms)
    marks = np.append(shares * budget, np.inf)
    noted = np.zeros((shares.size, 3))
    choices = np.empty(_CHUNK if record else 0, dtype=np.int32)
    kernel, own = loop_of(policy, loop, problem.arms)
    lost = problem.regret  # computed at each look: once is enough
    kept: list[NDArray[np.int32]] = []
    end = PAUSED
    while end != DONE:
        end = kernel(
            p, tape.rows, tape.spans, tape.bits, tape.start, tape.length, n, state, *own,
            lost, marks, noted, choices, stream,
        )  # fmt: skip
        if record and end != SHORT:
            kept.append(choices[: state["filled"][0]].copy())
            state["filled"] = 0
        if end == SHORT:
            tape.extend(int(state["short"][0]))
    rest = slice(int(state["mark"][0]), None)  # shares that the game did not reach
    noted[rest] = state["plays"][0], state["spent"][0], n @ lost
    return Game(
        noted[:, 0].astype(np.int64),
        noted[:, 1],
        noted[:, 2],
        n.astype(np.int64),
        np.concatenate(kept) if record else None,
    )
