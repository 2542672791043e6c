"""Templates of compiled decisions, and the kernels made from them for each policy.

A template calls names that it does not define (`index`, `clock`, `scores`, `choose`, `update_arm`,
`update_memory`); a policy class provides them. So a formula is written once, in the policy's file,
and the same machine code serves a table of indices, a single choice and a whole simulated game.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, add, argmax, first_unplayed
from bursar.jit.compile import compiled, specialize
from bursar.jit.rng import Stream

if TYPE_CHECKING:
    from bursar.policies.base import Policy

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - the free names of the templates are bound by `of`


@compiled
def record(arms: Arms, game: Game, k: int, reward: float, cost: float, stream: Stream) -> None:
    """Learn from a play as most policies do."""
    add(arms, game, k, reward, cost)


@compiled
def no_memory(
    p: Any, arms: Arms, game: Game, memory: Floats, k: int, reward: float, cost: float
) -> None:
    """Keep nothing of a play: most policies need only the records of their arms."""


def _clock(p: Any, plays: float) -> Any:
    return clock(p, plays)


def _tabulate(p: Any, n: Floats, r: Floats, c: Floats, vr: Floats, vc: Floats, now: Any) -> Floats:
    out = np.empty(n.size)
    for k in range(n.size):
        out[k] = index(p, n[k], r[k], c[k], vr[k], vc[k], now) if n[k] > 0.0 else np.inf
    return out


def _scores(p: Any, arms: Arms, game: Game) -> Floats:
    now = clock(p, float(game[0].plays))
    out = np.empty(arms.size)
    for k in range(arms.size):
        arm = arms[k]
        n = arm.n
        free = max(n - ddof, 1.0)
        out[k] = index(
            p, n, arm.reward / n, arm.cost / n, arm.reward_m2 / free, arm.cost_m2 / free, now
        )
    return out


def _choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    unplayed = first_unplayed(arms)
    if unplayed >= 0:
        return unplayed
    return argmax(scores(p, arms, game), game, stream)


def _choose_best(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    return argmax(scores(p, arms, game), game, stream)


def _decide(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    return choose(p, arms, game, memory, stream)


def _learn(
    p: Any, arms: Arms, game: Game, memory: Floats, k: int, reward: float, cost: float,
    stream: Stream,
) -> None:  # fmt: skip
    update_arm(arms, game, k, reward, cost, stream)
    update_memory(p, arms, game, memory, k, reward, cost)


_TEMPLATES: dict[str, Callable[..., Any]] = {
    "clock": _clock,
    "tabulate": _tabulate,
    "decide": _decide,
    "learn": _learn,
}


def of(policy: type[Policy], kernel: str) -> Any:
    """Return a compiled kernel of a policy class: clock, tabulate, decide or learn."""
    return _make(cast(Any, policy), kernel)


@cache
def _make(policy: Any, kernel: str) -> Any:
    return specialize(_TEMPLATES[kernel], policy.name, **functions(policy))


@cache
def functions(policy: Any) -> dict[str, Any]:
    """Return the compiled functions that make up a policy; what it lacks comes from templates."""
    found: dict[str, Any] = {
        "update_arm": policy.update_arm or record,
        "update_memory": policy.update_memory or no_memory,
    }
    if policy.index is not None:
        found |= {"index": policy.index, "clock": policy.clock, "ddof": policy.ddof}
    if policy.scores is not None:
        found["scores"] = policy.scores
    elif policy.index is not None:
        found["scores"] = specialize(_scores, policy.name, **found)
    template = _choose if policy.tries_all else _choose_best
    found["choose"] = policy.choose or specialize(template, policy.name, scores=found["scores"])
    return found
