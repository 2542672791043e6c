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
from bursar.jit.arms import Arms, Game, add_sums, new_arms
from bursar.jit.compile import specialize
from bursar.jit.rng import Stream, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.problems import Bernoulli, Nonstationary
from bursar.simulation.plain_loop import DONE, PAUSED, Finish, Play, over

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `_kernel` binds a policy's `choose`, `update_arm`, `update_memory`

OUTCOME_STREAM = 1
"""The stream of a seed that decides what arms yield."""
_NO_LIMIT = 1 << 62  # of plays


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
        else:  # the means of the only moment; regret is computed at the end, from plays of arms
            self.means = np.zeros(1), problem.reward[None, :], problem.cost[None, :]
            self.best, self.fatigue = np.empty(0), np.empty(0)
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
    regret, moment, done = totals[0], int(totals[1]), s.filled
    outcomes, shared = streams[0], streams.shape[0] == 1
    most = choices.size if choices.size > 0 else _NO_LIMIT
    while not over(s):
        while moment + 1 < start.size and s.spent >= start[moment + 1] * s.budget:
            moment += 1
        # nothing but plays happens before this much is spent
        until = -math.inf if s.careful else min(levels[s.level], s.budget)
        if moment + 1 < start.size:
            until = min(until, start[moment + 1] * s.budget)
        mean_rewards, mean_costs = rewards[moment], costs[moment]
        while done < most:
            k = choose(p, arms, game, memory, stream)
            mean_reward, mean_cost = mean_rewards[k], mean_costs[k]
            if fatigue.size > 0:
                mean_reward *= tired[k]
                top = 0.0
                for j in range(tired.size):
                    top = max(top, rewards[moment, j] * tired[j] / costs[moment, j])
                regret += max(mean_cost * top - mean_reward, 0.0)
            elif best.size > 0:
                regret += max(mean_cost * best[moment] - mean_reward, 0.0)
            if shared:  # apart from the other case: the next draw need not wait for the choice
                first, second = uniform(outcomes), uniform(outcomes)
            else:
                first, second = uniform(streams[k]), uniform(streams[k])
            reward = 1.0 if first < mean_reward else 0.0
            cost = 1.0 if second < mean_cost else 0.0
            update_arm(arms, game, k, reward, cost, stream)
            update_memory(p, arms, game, memory, k, reward, cost)
            if fatigue.size > 0:
                tired[k] *= math.exp(-fatigue[k] * cost / s.budget)
            if choices.size > 0:
                choices[done] = k
            done += 1
            if s.spent >= until:
                break
        else:
            totals[0], totals[1], s.filled = regret, moment, done
            return PAUSED
        while s.spent >= levels[s.level]:
            checkpoints[s.level, 0] = s.plays
            checkpoints[s.level, 1] = s.spent
            checkpoints[s.level, 2] = regret
            s.level += 1
    totals[0], totals[1], s.filled = regret, moment, done
    return DONE


@cache
def _kernel(cls: Any) -> Any:
    found = kernels.functions(cls)
    own = {name: found[name] for name in ("choose", "update_arm", "update_memory")}
    if cls.update_arm is None and not cls.uses_variance:
        own["update_arm"] = add_sums
    return specialize(_play, cls.name, **own)
