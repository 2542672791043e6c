r"""MRCB: in each round the set of L arms with the best optimistic ratio of sums.

.. math::
    \max_{|S|=L} \frac{\sum_S u_k}{\sum_S l_k}, \quad u = \min(1, r + \varepsilon), \quad
    l = \max(0, c - \varepsilon), \quad \varepsilon = \sqrt{\kappa\log(rounds)/n}

The best set is found by Dinkelbach's method: the L largest of u - θl, θ their ratio, until θ stops
growing. If L or more arms have l = 0 the ratio is infinite and L of them are drawn. With L = 1 this
is m-UCB with α² = κ. A call of ``choose`` gives one arm; a set is fixed as its round begins.

Xia, Qin, Ma, Yu & Liu (2016). Budgeted multi-armed bandits with multiple plays. IJCAI.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.errors import InvalidParameter
from bursar.jit.arms import Arms, Game, argmax, first_unplayed
from bursar.jit.bounds import ratio
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, below
from bursar.policies.base import POSITIVE, Domain, Policy, PolicyContext

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
        equal = np.flatnonzero(score == edge)
        some = equal[: size - above.size]
        reached = (u[above].sum() + u[some].sum()) / (l_[above].sum() + l_[some].sum())
        if not reached > theta:
            rest = draw(equal, size - above.size, game, stream)
            return np.sort(np.concatenate((above, rest)))
        theta = reached


@compiled
def initial_set(arms: Arms, size: int) -> Set:
    """Return arms without a play, in order, filled up with the first of the others."""
    unplayed, played = np.flatnonzero(arms["n"] == 0.0), np.flatnonzero(arms["n"] > 0.0)
    return np.sort(np.concatenate((unplayed, played))[:size])


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

    name, title = "mrcb", "MRCB"
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
