r"""KUBE and fractional KUBE: an optimistic density, packed into what is left of the budget.

.. math:: d_k = \left(r_k + \sqrt{2\log t/n_k}\right) / c_k

Fractional KUBE plays the densest arm. KUBE packs the rest of the budget greedily, densest first,
:math:`m_k = \lfloor rest/c_k \rfloor` plays of each, and draws arm k with probability
:math:`m_k / \sum m`; if nothing fits, the densest arm. Costs are known constants in the original;
here they are the mean costs, the same numbers once each arm was played.

Tran-Thanh, Chapman, Rogers & Jennings (2012). Knapsack based optimal policies for budget-limited
multi-armed bandits. AAAI. https://arxiv.org/abs/1204.1909
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax, first_unplayed
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, uniform
from bursar.policies.base import Policy
from bursar.policies.xia_ucb import c_index as index


@compiled
def clock(p: Any, plays: float) -> float:
    """Return sqrt(2 log t), the radius of an arm with one play."""
    return math.sqrt(2.0 * math.log1p(plays))


@compiled
def pack(density: Floats, cost: Floats, left: float, game: Game, stream: Stream) -> Floats:
    """Return how often each arm is in the greedy packing of ``left``; equals in random order."""
    counts = np.zeros(density.size)
    open_ = density.copy()
    while True:
        fits = False
        for k in range(density.size):
            if cost[k] > left:
                open_[k] = -1.0
            elif open_[k] >= 0.0:
                fits = True
        if not fits:
            return counts
        k = argmax(open_, game, stream)
        counts[k] = math.floor(left / cost[k])
        if counts[k] * cost[k] > left:  # the quotient was rounded up
            counts[k] -= 1.0
        left = max(left - counts[k] * cost[k], 0.0)
        open_[k] = -1.0


@compiled
def choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    unplayed = first_unplayed(arms)
    if unplayed >= 0:
        return unplayed
    now = clock(p, float(game[0].plays))
    density, cost = np.empty(arms.size), np.empty(arms.size)
    for k in range(arms.size):
        n = arms[k].n
        cost[k] = arms[k].cost / n
        density[k] = index(p, n, arms[k].reward / n, cost[k], 0.0, 0.0, now)
    if density.max() == math.inf:
        return argmax(density, game, stream)
    counts = pack(density, cost, game[0].budget - game[0].spent, game, stream)
    packed = np.flatnonzero(counts)
    if packed.size == 0:
        return argmax(density, game, stream)
    if packed.size == 1:
        return int(packed[0])
    drawn = uniform(stream) * counts.sum()
    for i in range(packed.size):
        drawn -= counts[packed[i]]
        if drawn < 0.0:
            return int(packed[i])
    return int(packed[-1])


@dataclass(frozen=True)
class FractionalKUBE(Policy):
    """Fractional KUBE: the densest arm; knows nothing."""

    name, title = "fractional-kube", "fractional KUBE"
    year = 2012
    source = "Tran-Thanh, Chapman, Rogers & Jennings, AAAI 2012"
    formula = "(r + sqrt(2 log(N + 1) / n)) / c"
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)

    def bounds(
        self, p: Any, n: float, r: float, c: float, vr: float, vc: float, now: float
    ) -> tuple[float, float]:
        return r + now / math.sqrt(n), c


@dataclass(frozen=True)
class KUBE(FractionalKUBE):
    """KUBE: a random arm of the densest packing of the rest of the budget."""

    name, title = "kube", "KUBE"
    formula = (
        "arm k with probability m_k / sum m, m the greedy packing of the budget left by density\n"
        "(r + sqrt(2 log(N + 1) / n)) / c"
    )
    needs = ("budget",)
    choose = staticmethod(choose)
