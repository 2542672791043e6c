r"""BTS: Thompson sampling of reward and cost, one draw from each posterior.

.. math::
    \arg\max_k \theta^r_k/\theta^c_k, \qquad \theta^r_k \sim Beta(S^r_k + 1, n_k - S^r_k + 1), \quad
    \theta^c_k \sim Beta(S^c_k + 1, n_k - S^c_k + 1)

S counts successes. A value v strictly between 0 and 1 is replaced by a Bernoulli(v) trial before it
is counted, reward first, then cost. There are no initial plays: the prior is Beta(1, 1).

Xia, Li, Qin, Yu & Liu (2015). Thompson sampling for budgeted multi-armed bandits. IJCAI.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, add, argmax
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, beta, uniform
from bursar.policies.base import Policy


@compiled
def posterior(n: float, hits: float) -> tuple[float, float]:
    """Return the parameters of the Beta posterior after ``hits`` successes in ``n`` trials."""
    return hits + 1.0, n - hits + 1.0


@compiled
def trial(value: float, stream: Stream) -> float:
    """Return 1 with probability ``value``, else 0; certain values draw nothing."""
    if 0.0 < value < 1.0:
        return 1.0 if uniform(stream) < value else 0.0
    return value


@compiled
def update_arm(arms: Arms, game: Game, k: int, reward: float, cost: float, stream: Stream) -> None:
    arms[k].own_reward += trial(reward, stream)
    arms[k].own_cost += trial(cost, stream)
    add(arms, game, k, reward, cost)


@compiled
def choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    drawn = np.empty(arms.size)
    for k in range(arms.size):
        a, b = posterior(arms[k].n, arms[k].own_reward)
        reward = beta(stream, a, b)
        a, b = posterior(arms[k].n, arms[k].own_cost)
        cost = beta(stream, a, b)
        drawn[k] = reward / cost if cost > 0.0 else math.inf
    return argmax(drawn, game, stream)


@dataclass(frozen=True)
class BTS(Policy):
    """Budgeted Thompson sampling; knows nothing and has no parameters."""

    name, title = "bts", "BTS"
    year = 2015
    source = "Xia, Li, Qin, Yu & Liu, IJCAI 2015"
    formula = "argmax of draws Beta(Sr + 1, n - Sr + 1) / Beta(Sc + 1, n - Sc + 1)"
    shortcut = "thompson"
    uses_variance = False
    trials = True
    choose = staticmethod(choose)
    update_arm = staticmethod(update_arm)
