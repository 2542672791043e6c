"""The statistics of each arm and of the game: packed records that compiled code reads and writes.

One arm is one record of eight doubles, so that a decision over many arms reads memory sequentially,
and passing all arms to compiled code costs as much as passing one array.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, below

Arms = NDArray[Any]
Game = NDArray[Any]

ARM = np.dtype(
    [
        ("n", "f8"),  # plays
        ("reward", "f8"),  # sum of rewards; sums of Bernoulli data are exact, so ties stay ties
        ("cost", "f8"),
        ("reward_m2", "f8"),  # sum of squared deviations from the mean, by Welford
        ("cost_m2", "f8"),
        ("own_reward", "f8"),  # the policy's own memory: BTS's trials, eps-first's frozen ratio
        ("own_cost", "f8"),
        # the declared maximum of one cost, in units of the policy; 0: unknown
        ("cap", "f8"),
    ]
)
"""One record per arm. Rewards and costs are in units of the policy: mapped into [0, 1]."""

GAME = np.dtype(
    [
        ("plays", "i8"),  # of all arms
        ("spent", "f8"),
        ("budget", "f8"),
        ("ties_first", "i8"),
        # the rest is for the loops of simulations: a record of their own would be another type, for
        # which Numba compiles every policy once more
        ("careful", "i8"),  # stop before a play that might exceed the budget
        ("leader", "i8"),
        ("decided", "i8"),  # the leader was chosen and is yet to be played
        ("stride", "i8"),  # plays to try at once
        ("level", "i8"),  # number of the next spend at which a checkpoint is due
        ("short", "i8"),  # whose tape is too short
        ("filled", "i8"),  # choices written since the loop was entered
    ]
)
"""The game so far, and where a loop stands in it."""


def new_arms(count: int) -> Arms:
    """Make ``count`` arms that were never played."""
    return np.zeros(count, dtype=ARM)


def new_game(budget: float, ties: str = "random", careful: bool = False) -> Game:
    """Make a game of no plays yet."""
    game = np.zeros(1, dtype=GAME)
    game["budget"], game["ties_first"], game["careful"] = budget, ties == "first", careful
    game["leader"], game["stride"] = -1, 1
    return game


@compiled
def add_sums(
    arms: Arms, game: Game, k: int, reward: float, cost: float, stream: Stream | None = None
) -> None:
    """Record one play of arm ``k``, without what only variances need."""
    arm = arms[k]
    arm.n += 1.0
    arm.reward += reward
    arm.cost += cost
    game[0].plays += 1
    game[0].spent += cost


@compiled
def add(arms: Arms, game: Game, k: int, reward: float, cost: float) -> None:
    """Record one play of arm ``k``: sums, and squared deviations by Welford's update."""
    arm = arms[k]
    before_reward = arm.reward / arm.n if arm.n > 0.0 else reward
    before_cost = arm.cost / arm.n if arm.n > 0.0 else cost
    add_sums(arms, game, k, reward, cost)
    arm.reward_m2 += (reward - before_reward) * (reward - arm.reward / arm.n)
    arm.cost_m2 += (cost - before_cost) * (cost - arm.cost / arm.n)


@compiled
def first_unplayed(arms: Arms) -> int:
    """Return the first arm without a play, or -1."""
    for k in range(arms.size):
        if arms[k].n == 0.0:
            return k
    return -1


@compiled
def argmax(scores: NDArray[np.float64], game: Game, stream: Stream) -> int:
    """Return the arm of the highest score; among exact equals one at random, or the first.

    Equal scores are common (all infinite ones are), and problems are often sorted best arm first: a
    rule that favours low indices would hand the policy the answer. A single best arm draws nothing.
    """
    best, count, arm = -math.inf, 0, 0
    for k in range(scores.size):
        if scores[k] > best:
            best, count, arm = scores[k], 1, k
        elif scores[k] == best:
            count += 1
        elif not scores[k] < best:
            raise ValueError("the score of an arm is NaN, which is neither better nor worse")
    if count < 2 or game[0].ties_first:
        return arm
    skip = below(stream, count)
    for k in range(arm, scores.size):
        if scores[k] == best:
            if skip == 0:
                return k
            skip -= 1
    return arm
