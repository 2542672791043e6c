r"""b-greedy: a random arm with probability eps_t, else the best ratio so far.

.. math:: \varepsilon_t = \min(1, \alpha K/N), \qquad \arg\max_k \sum r_k / \sum c_k

N counts the plays so far. The original is not available in full; the rule is that of the code of
ω-UCB's authors.

Xia, Qin, Ding, Li, Zhang, Yu & Liu (2017). Finite budget analysis of multi-armed bandit problems.
Neurocomputing 258.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax, first_unplayed
from bursar.jit.bounds import ratio
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, below, uniform
from bursar.policies.base import POSITIVE, Policy, PolicyContext


class Params(NamedTuple):
    alpha: float


@compiled
def epsilon(p: Params, arms: float, plays: float) -> float:
    """Return the probability of a random arm."""
    return min(1.0, p.alpha * arms / plays)


@compiled
def clock(p: Any, plays: float) -> float:
    return 0.0


@compiled
def index(p: Any, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    return ratio(r, c)


@compiled
def choose(p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    unplayed = first_unplayed(arms)
    if unplayed >= 0:
        return unplayed
    if uniform(stream) < epsilon(p, float(arms.size), float(game[0].plays)):
        return below(stream, arms.size)
    scores = np.empty(arms.size)
    for k in range(arms.size):
        scores[k] = ratio(arms[k].reward, arms[k].cost)  # sums: equal ratios are equal numbers
    return argmax(scores, game, stream)


@dataclass(frozen=True)
class BGreedy(Policy):
    """b-greedy; a larger ``alpha`` explores more."""

    alpha: float = 1.0

    name, title = "b-greedy", "b-greedy"
    year = 2017
    source = "Xia, Qin, Ding, Li, Zhang, Yu & Liu, Neurocomputing 2017"
    formula = "a random arm with probability min(1, alpha K / N), else the largest r / c"
    domains = (("alpha", POSITIVE),)
    example_params = ({}, {"alpha": 4.0})
    monotone = True
    uses_variance = False
    shortcut = "greedy"
    index = staticmethod(index)
    clock = staticmethod(clock)
    choose = staticmethod(choose)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.alpha)
