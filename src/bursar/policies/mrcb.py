r"""MRCB: in each round the set of L arms with the best optimistic ratio of sums.

.. math::
    \max_{|S|=L} \frac{\sum_S u_k}{\sum_S l_k}, \quad u = \min(1, r + \varepsilon), \quad
    l = \max(0, c - \varepsilon), \quad \varepsilon = \sqrt{\kappa\log(rounds)/n}

The best set is found by Dinkelbach's method: the L largest of u - θl, θ their ratio, until θ stops
growing. If L or more arms have l = 0 the ratio is infinite and L of them are drawn. With L = 1 this
is m-UCB with α² = κ. A call of ``choose`` gives one arm; a set is fixed as its round begins.

Xia, Qin, Ma, Yu & Liu (2016). Budgeted multi-armed bandits with multiple plays. IJCAI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.arrays import Floats, broadcast_columns, check_means, check_values
from bursar.errors import InvalidParameter
from bursar.jit.arms import Arms, Game, argmax, first_unplayed, new_game
from bursar.jit.bounds import ratio
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, below, new_stream
from bursar.policies.base import POSITIVE, Domain, Policy, PolicyContext
from bursar.validation import check_int

Set = NDArray[np.int64]


class Params(NamedTuple):
    kappa: float
    set_size: int


@compiled
def clock(p: Params, rounds: float) -> float:
    """Return sqrt(kappa log rounds), the radius of an arm with one play."""
    return math.sqrt(p.kappa * math.log(rounds))


@compiled
def optimistic(n: float, r: float, c: float, now: float) -> tuple[float, float]:
    """Return the reward at its best and the cost at its least."""
    e = now / math.sqrt(n)
    return min(r + e, 1.0), max(c - e, 0.0)


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    """Return the optimistic ratio of one arm alone."""
    u, l_ = optimistic(n, r, c, now)
    return u / l_ if l_ > 0.0 else math.inf


@compiled
def draw(members: Set, size: int, game: Game, stream: Stream) -> Set:
    """Return ``size`` of the members, all subsets equally likely; the first ones if so ruled."""
    drawn = members.copy()
    if size < drawn.size and not game[0].ties_first:
        for j in range(size):
            i = j + below(stream, drawn.size - j)
            drawn[i], drawn[j] = drawn[j], drawn[i]
    return drawn[:size]


@compiled
def top(score: Floats, size: int, game: Game, stream: Stream) -> Set:
    """Return the arms of the ``size`` largest scores; equals at the edge by the rule for ties."""
    edge = np.partition(score, score.size - size)[score.size - size]
    above = np.flatnonzero(score > edge)
    rest = draw(np.flatnonzero(score == edge), size - above.size, game, stream)
    return np.concatenate((above, rest))


@compiled
def best_set(u: Floats, l_: Floats, size: int, game: Game, stream: Stream) -> Set:
    """Return the set of ``size`` arms with the largest sum(u) / sum(l), in ascending order."""
    free = np.flatnonzero(l_ == 0.0)
    if free.size >= size:
        return np.sort(draw(free, size, game, stream))
    theta = ratio(u[:size].sum(), l_[:size].sum())
    if theta == math.inf:  # the first arms happen to be free of cost; start from all arms
        theta = u.sum() / l_.sum()
    while True:
        score = u - theta * l_
        edge = np.partition(score, score.size - size)[score.size - size]
        above = np.flatnonzero(score > edge)
        equal = np.flatnonzero(score == edge)[: size - above.size]
        reached = (u[above].sum() + u[equal].sum()) / (l_[above].sum() + l_[equal].sum())
        if not reached > theta:
            return np.sort(top(score, size, game, stream))
        theta = reached


@compiled
def initial_set(arms: Arms, size: int) -> Set:
    """Return arms without a play, in order, filled up with the first of the others."""
    chosen = np.empty(size, np.int64)
    count = 0
    for played in (False, True):
        for k in range(arms.size):
            if count < size and (arms[k].n > 0.0) == played:
                chosen[count] = k
                count += 1
    return np.sort(chosen)


@compiled
def best_arm(p: Params, arms: Arms, game: Game, stream: Stream) -> int:
    now = clock(p, float(game[0].plays))
    scores = np.empty(arms.size)
    for k in range(arms.size):
        n = arms[k].n
        scores[k] = index(p, n, arms[k].reward / n, arms[k].cost / n, 0.0, 0.0, now)
    return argmax(scores, game, stream)


@compiled
def choose(p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    place = game[0].plays % p.set_size
    if place == 0:
        if first_unplayed(arms) >= 0:
            chosen = initial_set(arms, p.set_size)
        elif p.set_size == 1:  # no set to search for
            return best_arm(p, arms, game, stream)
        else:
            now = clock(p, float(game[0].plays // p.set_size))
            u, l_ = np.empty(arms.size), np.empty(arms.size)
            for k in range(arms.size):
                n = arms[k].n
                u[k], l_[k] = optimistic(n, arms[k].reward / n, arms[k].cost / n, now)
            chosen = best_set(u, l_, p.set_size, game, stream)
        for j in range(p.set_size):
            memory[j] = chosen[j]
    return int(memory[place])


@dataclass(frozen=True)
class MRCB(Policy):
    """MRCB; plays ``set_size`` arms per round. For ``indices`` the time ``plays`` counts rounds."""

    kappa: float = 2.0**-8
    set_size: int = 1

    name = "mrcb"
    title = "MRCB"
    year = 2016
    source = "Xia, Qin, Ma, Yu & Liu, IJCAI 2016"
    formula = (
        "the set of set_size arms with the largest sum min(r + e, 1) / sum max(c - e, 0),\n"
        "e = sqrt(kappa log(rounds) / n)"
    )
    domains = (
        ("kappa", POSITIVE),
        ("set_size", Domain("1 or more", lambda size: 1 <= size <= 10**9)),
    )
    example_params = ({}, {"set_size": 2}, {"kappa": 0.25, "set_size": 3})
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)
    choose = staticmethod(choose)

    @property
    def lazy(self) -> bool:
        return self.set_size == 1

    @property
    def round_size(self) -> int:
        return self.set_size

    def memory_size(self, arms: int) -> int:
        if self.set_size > arms:
            raise InvalidParameter(
                f"mrcb: set_size must be at most the number of arms, {arms}, got {self.set_size}"
            )
        return self.set_size

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.kappa, self.set_size)

    def best_set(
        self, *, n: ArrayLike, mean_reward: ArrayLike, mean_cost: ArrayLike, rounds: int
    ) -> tuple[tuple[int, ...], float]:
        """Return the arms to play in the next round, and their optimistic ratio.

        Examples
        --------
        >>> MRCB(set_size=2).best_set(n=[20, 20, 20], mean_reward=[0.9, 0.8, 0.1],
        ...                           mean_cost=[0.3, 0.9, 0.05], rounds=100)[0]
        (0, 2)
        """
        _, (count, r, c) = broadcast_columns(n=n, mean_reward=mean_reward, mean_cost=mean_cost)
        check_values("n", count, count >= 1.0, "1 or more plays of each arm")
        r, c = check_means("mean_reward", r, 0.0, 1.0), check_means("mean_cost", c, 0.0, 1.0)
        check_int("rounds", rounds, 1, "give the rounds played so far")
        self.memory_size(count.size)
        now = clock(self.kernel_params(PolicyContext(count.size)), float(rounds))
        pairs: Any = [optimistic(*row, now) for row in zip(count, r, c, strict=True)]
        u, l_ = (np.array(column) for column in zip(*pairs, strict=True))
        chosen = best_set(u, l_, self.set_size, new_game(math.inf, "first"), new_stream(0))
        return tuple(chosen.tolist()), float(ratio(u[chosen].sum(), l_[chosen].sum()))
