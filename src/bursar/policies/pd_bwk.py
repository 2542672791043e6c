r"""PD-BwK: bandits with knapsacks by primal-dual weights; for one budget, simply u/l.

.. math::
    rad(v, n) = \sqrt{C v/n} + C/n, \quad u = \min(1, r + rad(r, n)), \quad
    l = \max(0, c - rad(c, n)), \qquad \frac{u}{v_1 l + v_2 B/T}

With the budget as the only resource its weight cancels and the index is u/l. With a time limit of T
plays (``horizon=T``) time is a second resource of which each play uses B/T; after each play
:math:`v_1` grows by the factor :math:`(1+\epsilon)^l` and :math:`v_2` by
:math:`(1+\epsilon)^{B/T}`, :math:`\epsilon = \sqrt{\log 2/B}`.
C is ``c_rad``; default log(dTK) with d resources and T = B over the smallest mean cost, if known.

Badanidiyuru, Kleinberg & Slivkins (2013). Bandits with knapsacks. FOCS.
https://arxiv.org/abs/1305.2545
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax, first_unplayed
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream
from bursar.policies.base import POSITIVE, Policy, PolicyContext


class Params(NamedTuple):
    c_rad: float
    time: float  # B/T, what a play takes of the time resource; 0 without a horizon
    growth: float  # log(1 + epsilon)


@compiled
def radius(c_rad: float, value: float, n: float) -> float:
    return math.sqrt(c_rad * value / n) + c_rad / n


@compiled
def cost_floor(p: Params, n: float, c: float) -> float:
    return max(0.0, c - radius(p.c_rad, c, n))


@compiled
def clock(p: Params, plays: float) -> tuple[float, float]:
    """Return the weights of budget and time before the first play."""
    return 1.0, p.time


@compiled
def index(
    p: Params, n: float, r: float, c: float, vr: float, vc: float, now: tuple[float, float]
) -> float:
    """``now`` holds the weight of the budget, and that of time times what a play takes of it."""
    price = now[0] * cost_floor(p, n, c) + now[1]
    return min(1.0, r + radius(p.c_rad, r, n)) / price if price > 0.0 else math.inf


@compiled
def choose(p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    unplayed = first_unplayed(arms)
    if unplayed >= 0:
        return unplayed
    # the memory holds logarithms of the weights; only their ratio matters, so none overflows
    lead = max(memory[0], memory[1])
    now = (math.exp(memory[0] - lead), p.time * math.exp(memory[1] - lead))
    scores = np.empty(arms.size)
    for k in range(arms.size):
        n = arms[k].n
        scores[k] = index(p, n, arms[k].reward / n, arms[k].cost / n, 0.0, 0.0, now)
    best = argmax(scores, game, stream)
    memory[0] += p.growth * cost_floor(p, arms[best].n, arms[best].cost / arms[best].n)
    memory[1] += p.growth * p.time
    return best


@dataclass(frozen=True)
class PDBwK(Policy):
    """PD-BwK; ``c_rad`` scales the radii, ``horizon`` adds a limit on the number of plays."""

    c_rad: float | None = None
    horizon: float | None = None
    min_cost: float | None = None

    name, title = "pd-bwk", "PD-BwK"
    year = 2013
    source = "Badanidiyuru, Kleinberg & Slivkins, FOCS 2013"
    formula = "min(1, r + rad(r)) / max(0, c - rad(c)), rad(v) = sqrt(c_rad v / n) + c_rad / n"
    domains = (("c_rad", POSITIVE), ("horizon", POSITIVE), ("min_cost", POSITIVE))
    example_params = ({}, {"c_rad": 0.05}, {"c_rad": 0.1, "horizon": 1000.0})
    needs = ("budget",)
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)
    choose = staticmethod(choose)

    def memory_size(self, arms: int) -> int:
        return 2

    def kernel_params(self, context: PolicyContext) -> Params:
        if self.c_rad is not None and self.horizon is None:
            return Params(self.c_rad, 0.0, 0.0)
        budget = self._known(context, "budget")
        resources = 1.0 if self.horizon is None else 2.0
        plays = self.horizon or budget / (context.min_cost or 1.0)
        c_rad = self.c_rad or max(1.0, math.log(max(resources * plays * context.arms, 1.0)))
        if self.horizon is None:
            return Params(c_rad, 0.0, 0.0)
        return Params(c_rad, budget / plays, math.log1p(math.sqrt(math.log(2.0) / budget)))
