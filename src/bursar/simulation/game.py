"""One game: a policy plays a problem whose outcomes are on a tape, until its budget is spent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.errors import InvalidInput
from bursar.jit.arms import new_arms
from bursar.jit.compile import specialize
from bursar.jit.rng import new_stream
from bursar.policies import Policy, kernels
from bursar.policies.base import Scale
from bursar.simulation import greedy_loop, lazy_loop, plain_loop, thompson_loop
from bursar.simulation.lazy_loop import new_tree
from bursar.simulation.plain_loop import DONE, PAUSED, SHORT, new_state
from bursar.simulation.tape import COLUMNS, SQUARES, SUMS, Tape
from bursar.validation import Floats

__all__ = ["Game", "columns_for", "fastest", "loop_of", "run"]

# ==== engine.kernels
# The compiled loops of each policy, and what each keeps beside the state of the game.
#
# Index policies whose index never falls take the lazy loop, b-greedy and BTS have loops of their own,
# a policy with a ``choose_cached`` takes the plain loop with that in place of a look at all arms, and
# everything can be played by the plain loop, which looks at all arms at every play.


def fastest(policy: Policy) -> str:
    """Return the name of the fastest loop that plays a policy."""
    if policy.choose_cached is not None:
        return "choose_cached"
    return policy.shortcut or ("lazy" if policy.lazy else "plain")


def columns_for(policies: Iterable[Policy]) -> int:
    """Return how many columns of a tape these policies read."""
    needs = [COLUMNS if p.trials else SQUARES if p.uses_variance else SUMS for p in policies]
    return max(needs, default=SUMS)


def loop_of(policy: Policy, name: str, arms: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a compiled loop and its own arrays, for a game of ``arms`` arms."""
    cls: Any = type(policy)
    if name == "auto":
        name = fastest(policy)
    if name == "plain":
        return _plain(cls), (new_arms(arms), np.zeros(policy.memory_size(arms)))
    if name != fastest(policy):
        raise InvalidInput(f"{policy.name} has no {name!r} loop; choose 'auto' or 'plain'")
    if name == "choose_cached":
        return _recalling(cls), (new_arms(arms), np.zeros(policy.cache_size(arms)))
    if name == "greedy":
        best = np.full(1, -1, dtype=np.int64)
        return _fixed(cls), (new_tree(arms), np.zeros(arms), best)
    if name == "thompson":
        return _fixed(cls), thompson_loop.new_memory(arms)
    awake, value = np.empty(arms, dtype=np.int64), np.empty(arms)
    return _lazy(cls), (new_tree(arms), np.full(arms, 0.01), awake, value)


@cache
def _plain(cls: Any) -> Any:
    found = kernels.functions(cls)
    own = {"choose": found["choose"], "update_memory": found["update_memory"]}
    return specialize(
        plain_loop.play, cls.name, **own, **_flags(cls, cls.update_memory is not None)
    )


@cache
def _recalling(cls: Any) -> Any:
    own = {"choose": cls.choose_cached, "update_memory": cls.update_cache}
    return specialize(plain_loop.play, f"{cls.name}.choose_cached", **own, **_flags(cls, True))


def _flags(cls: Any, notes: bool) -> dict[str, Any]:
    return {"uses_variance": cls.uses_variance, "trials": cls.trials, "notes": notes}


@cache
def _fixed(cls: Any) -> Any:
    loops: dict[str, Any] = {"greedy": greedy_loop.play, "thompson": thompson_loop.play}
    return specialize(loops[cls.shortcut], cls.name)


@cache
def _lazy(cls: Any) -> Any:
    name, clock = cls.name, cls.clock
    moments = {"ddof": float(cls.ddof), "uses_variance": cls.uses_variance}
    evaluate = specialize(lazy_loop.evaluate, name, index=cls.index, **moments)
    row = specialize(lazy_loop.evaluate_row, name, evaluate=evaluate, **moments)
    worst = cls.worst or specialize(lazy_loop.worst, name, index=cls.index)
    certify = specialize(lazy_loop.certify, name, evaluate_row=row, clock=clock)
    decide = specialize(lazy_loop.decide, name, evaluate_row=row, clock=clock, certify=certify)
    parts = {"decide": decide, "evaluate_row": row, "worst": worst, "clock": clock, **moments}
    return specialize(lazy_loop.play, name, **parts)


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
    context = policy.make_context(problem.arms, budget, problem.min_cost, Scale())
    p = policy.kernel_params(context)
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
