"""The loop of worlds that change: outcomes are drawn when they happen, with the means of then.

A tape cannot hold them, because what an arm yields at its n-th play depends on how much was spent
before. What can be shared is luck: the n-th play of an arm compares its mean with the same two
uniform numbers, whoever plays and whatever was played before.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

import numpy as np

from bursar.jit.arms import Arms, new_arms
from bursar.jit.compile import specialize
from bursar.jit.rng import Stream, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.policies.base import Scale
from bursar.problems import Nonstationary
from bursar.simulation.game import Game
from bursar.simulation.plain_loop import DONE, PAUSED, State, new_state, over
from bursar.validation import Floats

__all__ = ["NonstationaryTape", "run"]

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`choose`, `update_arm` and `update_memory` are bound for each policy by `_kernel`)


_POLICY, _LUCK = 0, 1
_CHUNK = 1 << 16


class NonstationaryTape:
    """A changing problem in one repetition: its means as the loop reads them, and its luck."""

    def __init__(self, problem: Nonstationary, seed: tuple[int, ...]) -> None:
        self.problem = problem
        self.best: Floats = problem.ratios.max(axis=1)
        self.fatigue = problem.fatigue if problem.fatigue.any() else np.empty(0)
        self._luck = np.array([new_stream(*seed, _LUCK, k) for k in range(problem.arms)])

    def luck(self) -> Any:
        """Return the streams of all arms at their beginning: the same for all policies."""
        return self._luck.copy()


def run(
    policy: Policy,
    world: NonstationaryTape,
    budget: float,
    shares: Floats,
    seed: tuple[int, ...],
    *,
    overspend: str = "last",
    record: bool = False,
) -> Game:
    """Play a game and note plays, spend and regret at each share of the budget."""
    problem = world.problem
    size = problem.arms
    context = policy.make_context(size, budget, problem.min_cost, Scale())
    arms, state = new_arms(size), new_state(budget, policy.ties, overspend == "never")
    memory = np.zeros(policy.memory_size(size))
    own = np.zeros(2)  # regret so far, and the moment
    noted = np.zeros((shares.size, 3))
    choices = np.empty(_CHUNK if record else 0, dtype=np.int32)
    kept = []
    end, p, tired, luck = PAUSED, policy.kernel_params(context), np.ones(size), world.luck()
    marks, stream = np.append(shares * budget, np.inf), new_stream(*seed, _POLICY)
    kernel = _kernel(cast(Any, type(policy)))
    while end != DONE:
        end = kernel(
            p, arms, state, memory, stream, luck, problem.start, problem.rewards, problem.costs,
            world.best, world.fatigue, tired, own, marks, noted, choices,
        )  # fmt: skip
        if record:
            kept.append(choices[: state["filled"][0]].copy())
            state["filled"] = 0
    noted[int(state["mark"][0]) :] = state["plays"][0], state["spent"][0], own[0]
    return Game(
        noted[:, 0].astype(np.int64),
        noted[:, 1],
        noted[:, 2],
        arms["n"].astype(np.int64),
        np.concatenate(kept) if record else None,
    )


def _play(
    p: Any,
    arms: Arms,
    state: State,
    memory: Floats,
    stream: Stream,
    luck: Any,
    start: Floats,
    rewards: Floats,
    costs: Floats,
    best: Floats,
    fatigue: Floats,
    tired: Floats,
    own: Floats,
    marks: Floats,
    noted: Floats,
    choices: Any,
) -> int:
    """Play on until the budget is spent or ``choices`` is full."""
    s = state[0]
    regret, moment = own[0], int(own[1])
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            own[0], own[1] = regret, moment
            return PAUSED
        while moment + 1 < start.size and s.spent >= start[moment + 1] * s.budget:
            moment += 1
        k = choose(p, arms, state, memory, stream)
        mean_reward, mean_cost, top = rewards[moment, k], costs[moment, k], best[moment]
        if fatigue.size > 0:
            mean_reward *= tired[k]
            top = 0.0
            for j in range(tired.size):
                top = max(top, rewards[moment, j] * tired[j] / costs[moment, j])
        reward = 1.0 if uniform(luck[k]) < mean_reward else 0.0
        cost = 1.0 if uniform(luck[k]) < mean_cost else 0.0
        update_arm(arms, state, k, reward, cost, stream)
        update_memory(p, arms, state, memory, k, reward, cost)
        if fatigue.size > 0:
            tired[k] *= math.exp(-fatigue[k] * cost / s.budget)
        regret += max(mean_cost * top - mean_reward, 0.0)
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        while s.spent >= marks[s.mark]:
            noted[s.mark, 0], noted[s.mark, 1], noted[s.mark, 2] = s.plays, s.spent, regret
            s.mark += 1
    own[0], own[1] = regret, moment
    return DONE


@cache
def _kernel(cls: Any) -> Any:
    found = kernels.functions(cls)
    own = {name: found[name] for name in ("choose", "update_arm", "update_memory")}
    return specialize(_play, cls.name, **own)
