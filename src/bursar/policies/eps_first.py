r"""eps-first: spend a share of the budget on round robin, the rest on the best ratio.

While the spend is below :math:`\varepsilon B` (and until every arm was played) the arms take turns.
Then the densest arm, by mean reward over mean cost, among those whose mean cost fits what is left;
if none fits, the densest of all. The estimates are frozen after the first phase, as in the
original; ``update_in_exploitation=True`` goes on learning.

Tran-Thanh, Chapman, Munoz de Cote, Rogers & Jennings (2010). Epsilon-first policies for
budget-limited multi-armed bandits. AAAI.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax
from bursar.jit.bounds import ratio
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream
from bursar.policies.b_greedy import clock, index
from bursar.policies.base import Domain, Policy, PolicyContext

_PHASE = 0  # memory: 1 once the estimates are frozen


class Params(NamedTuple):
    eps: float
    update: float


@compiled
def rarest(arms: Arms) -> int:
    """Return the arm of the fewest plays, the first of them: round robin, from any start."""
    found = 0
    for k in range(arms.size):  # argmin of a field of records takes twice as long
        if arms[k].n < arms[found].n:
            found = k
    return found


@compiled
def choose(p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    spent, budget = game[0].spent, game[0].budget
    turn = rarest(arms)
    if spent < p.eps * budget or arms[turn].n == 0.0:
        return turn
    if p.update or memory[_PHASE] == 0.0:
        memory[_PHASE] = 1.0
        for k in range(arms.size):
            arms[k].own_reward = ratio(arms[k].reward, arms[k].cost)
            arms[k].own_cost = arms[k].cost / arms[k].n
    scores = np.empty(arms.size)
    fits = False
    for k in range(arms.size):
        scores[k] = -1.0
        if arms[k].own_cost <= budget - spent:
            scores[k] = arms[k].own_reward
            fits = True
    if not fits:
        for k in range(arms.size):
            scores[k] = arms[k].own_reward
    return argmax(scores, game, stream)


@dataclass(frozen=True)
class EpsFirst(Policy):
    """eps-first; ``eps`` is the share of the budget for exploration."""

    eps: float = 0.1
    update_in_exploitation: bool = False

    name, title = "eps-first", "ε-first"
    year = 2010
    source = "Tran-Thanh, Chapman, Munoz de Cote, Rogers & Jennings, AAAI 2010"
    formula = "round robin while spent < eps B, then the largest r / c that fits what is left"
    domains = (("eps", Domain("in [0, 1]", lambda eps: 0.0 <= eps <= 1.0)),)
    example_params = ({}, {"eps": 0.25, "update_in_exploitation": True})
    needs = ("budget",)
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)
    choose = staticmethod(choose)

    def memory_size(self, arms: int) -> int:
        return 1

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.eps, float(self.update_in_exploitation))
