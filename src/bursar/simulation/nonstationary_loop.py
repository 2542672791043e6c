"""The loop that draws outcomes when they happen, with the means of that moment.

A tape cannot hold the outcomes of a nonstationary problem, because the n-th play of an arm depends
on how much was spent before. Random numbers can be shared nevertheless: the n-th play of an arm
compares its means with the same two uniform numbers, whichever policy plays and in any order.
"""

import math
from functools import cache
from typing import Any, cast

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, new_arms
from bursar.jit.compile import specialize
from bursar.jit.rng import Stream, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.problems import Bernoulli, Nonstationary
from bursar.simulation.plain_loop import DONE, PAUSED, Finish, Play, over

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `_kernel` binds a policy's `choose`, `update_arm`, `update_memory`

OUTCOME_STREAM = 1
"""The stream of a seed that decides what arms yield."""


class Source:
    """The outcomes of one problem in one repetition: its means over time, and random streams.

    A stream per arm makes policies comparable. With ``shared`` one stream serves all arms.
    """

    def __init__(
        self, problem: Nonstationary | Bernoulli, seed: tuple[int, ...], shared: bool = False
    ) -> None:
        self.problem = problem
        if isinstance(problem, Nonstationary):
            self.means = problem.start, problem.rewards, problem.costs
            self.best: Floats = problem.ratios.max(axis=1)
            self.fatigue = problem.fatigue if problem.fatigue.any() else np.empty(0)
        else:  # the means of the only moment
            self.means = np.zeros(1), problem.reward[None, :], problem.cost[None, :]
            self.best, self.fatigue = np.array([problem.rate]), np.empty(0)
        positions = [()] if shared else [(arm,) for arm in range(problem.arms)]
        self.seconds = 0.0  # of drawing apart from playing: none
        self._streams = np.array([new_stream(*seed, OUTCOME_STREAM, *at) for at in positions])

    def close(self) -> None:
        """Do nothing: a source holds no memory worth keeping, unlike a tape."""

    def begin(self, policy: Policy) -> tuple[Play, Finish]:
        """Start a game; the streams begin anew, so that outcomes are the same for all policies."""
        size = self.problem.arms
        arms, memory, totals = new_arms(size), np.zeros(policy.memory_size(size)), np.zeros(2)
        world = self._streams.copy(), *self.means, self.best, self.fatigue, np.ones(size)
        kernel = _kernel(cast(Any, type(policy)))

        def play(p: Any, game: Game, recorded: Any, choices: Any, stream: Stream) -> int:
            return kernel(p, arms, game, memory, stream, *world, totals, *recorded, choices)

        return play, lambda: (totals[0], arms["reward"].sum(), arms["n"])


def _play(
    p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, streams: Any, start: Floats,
    rewards: Floats, costs: Floats, best: Floats, fatigue: Floats, tired: Floats, totals: Floats,
    levels: Floats, checkpoints: Floats, choices: Any,
) -> int:  # fmt: skip
    """Play on until the budget is spent or ``choices`` is full.

    ``totals`` holds the regret so far and the number of the moment between two calls.
    """
    s = game[0]
    regret, moment, next_level = totals[0], int(totals[1]), levels[s.level]
    outcomes = streams[0]
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            totals[0], totals[1] = regret, moment
            return PAUSED
        while moment + 1 < start.size and s.spent >= start[moment + 1] * s.budget:
            moment += 1
        k = choose(p, arms, game, memory, stream)
        mean_reward, mean_cost, top = rewards[moment, k], costs[moment, k], best[moment]
        if fatigue.size > 0:
            mean_reward *= tired[k]
            top = 0.0
            for j in range(tired.size):
                top = max(top, rewards[moment, j] * tired[j] / costs[moment, j])
        if streams.shape[0] > 1:
            outcomes = streams[k]
        reward = 1.0 if uniform(outcomes) < mean_reward else 0.0
        cost = 1.0 if uniform(outcomes) < mean_cost else 0.0
        update_arm(arms, game, k, reward, cost, stream)
        update_memory(p, arms, game, memory, k, reward, cost)
        if fatigue.size > 0:
            tired[k] *= math.exp(-fatigue[k] * cost / s.budget)
        regret += max(mean_cost * top - mean_reward, 0.0)
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        while s.spent >= next_level:
            checkpoints[s.level, 0] = s.plays
            checkpoints[s.level, 1] = s.spent
            checkpoints[s.level, 2] = regret
            s.level += 1
            next_level = levels[s.level]
    totals[0], totals[1] = regret, moment
    return DONE


@cache
def _kernel(cls: Any) -> Any:
    found = kernels.functions(cls)
    own = {name: found[name] for name in ("choose", "update_arm", "update_memory")}
    return specialize(_play, cls.name, **own)
