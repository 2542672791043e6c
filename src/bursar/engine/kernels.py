"""The compiled loops of each policy, and what each keeps beside the state of the game.

Index policies whose index never falls take the lazy loop, b-greedy and BTS have loops of their own,
a policy with a ``recall`` takes the plain loop with that in place of a look at all arms, and
everything can be played by the plain loop, which looks at all arms at every play.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from bursar.arms import new_arms
from bursar.compiled import specialize
from bursar.engine import greedy, lazy, plain, thompson
from bursar.engine.tape import COLUMNS, SQUARES, SUMS
from bursar.engine.tree import new_tree
from bursar.errors import InvalidInput
from bursar.policies import Policy, kernels

__all__ = ["columns_for", "fastest", "loop_of"]


def fastest(policy: Policy) -> str:
    """Return the name of the fastest loop that plays a policy."""
    if policy.recall is not None:
        return "recall"
    return policy.shortcut or ("lazy" if policy.lazy else "plain")


def columns_for(policies: Iterable[Policy]) -> int:
    """Return how many columns of a tape these policies read."""
    needs = [COLUMNS if p.trials else SQUARES if p.variances else SUMS for p in policies]
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
    if name == "recall":
        return _recalling(cls), (new_arms(arms), np.zeros(policy.recall_size(arms)))
    if name == "greedy":
        best = np.full(1, -1, dtype=np.int64)
        return _fixed(cls), (new_tree(arms), np.zeros(arms), best)
    if name == "thompson":
        return _fixed(cls), thompson.new_memory(arms)
    awake, value = np.empty(arms, dtype=np.int64), np.empty(arms)
    return _lazy(cls), (new_tree(arms), np.full(arms, 0.01), awake, value)


@cache
def _plain(cls: Any) -> Any:
    found = kernels.functions(cls)
    own = {"choose": found["choose"], "remember": found["remember"]}
    return specialize(plain.play, cls.name, **own, **_flags(cls, cls.remember is not None))


@cache
def _recalling(cls: Any) -> Any:
    own = {"choose": cls.recall, "remember": cls.note}
    return specialize(plain.play, f"{cls.name}.recall", **own, **_flags(cls, True))


def _flags(cls: Any, notes: bool) -> dict[str, Any]:
    return {"variances": cls.variances, "trials": cls.trials, "notes": notes}


@cache
def _fixed(cls: Any) -> Any:
    loops: dict[str, Any] = {"greedy": greedy.play, "thompson": thompson.play}
    return specialize(loops[cls.shortcut], cls.name)


@cache
def _lazy(cls: Any) -> Any:
    name, clock = cls.name, cls.clock
    moments = {"divisor": float(cls.variance), "variances": cls.variances}
    evaluate = specialize(lazy.evaluate, name, index=cls.index, **moments)
    row = specialize(lazy.evaluate_row, name, evaluate=evaluate, **moments)
    worst = cls.worst or specialize(lazy.worst, name, index=cls.index)
    certify = specialize(lazy.certify, name, evaluate_row=row, clock=clock)
    decide = specialize(lazy.decide, name, evaluate_row=row, clock=clock, certify=certify)
    parts = {"decide": decide, "evaluate_row": row, "worst": worst, "clock": clock, **moments}
    return specialize(lazy.play, name, **parts)
