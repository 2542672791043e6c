r"""Statistics that forget: the last w plays, or all plays with weights that fade.

They are what ω-UCB needs for worlds that change (the paper's future work). With the last w plays
(of all arms together) :math:`z^2 = 2\rho\log\min(N+1, w)`; with weights :math:`\gamma^{age}` the
number of plays becomes their sum :math:`n_{eff}` and :math:`z^2 = 2\rho\log(1 + \sum n_{eff})`.
A window longer than the history, or γ = 1, gives ω-UCB itself. The policies ``sw-omega-ucb`` and
``d-omega-ucb`` play by them; here their statistics are read off a history.

Garivier & Moulines (2011). On upper-confidence bound policies for switching bandit problems. ALT.
https://arxiv.org/abs/0805.3415 (their rules, for rewards only; the ones for ω-UCB are bursar's)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.policies import Learner, kernels, omega_discounted, omega_sliding
from bursar.policies.base import PolicyContext
from bursar.policies.omega import OmegaStarUCB, OmegaUCB
from bursar.policies.omega_discounted import DiscountedOmegaUCB
from bursar.policies.omega_sliding import SlidingOmegaUCB

__all__ = ["Remembered", "columns", "discounted", "sliding"]

Play = tuple[int, float, float]  # arm, reward, cost


class Remembered(NamedTuple):
    """What is left of a history: columns by arm, and the logarithm that stands for time."""

    n: Floats
    mean_reward: Floats
    mean_cost: Floats
    var_reward: Floats
    var_cost: Floats
    log_term: float

    def indices(self, policy: OmegaUCB | OmegaStarUCB) -> Floats:
        """Return ω-UCB's (or ω*-UCB's) index of each arm; infinite where nothing is left."""
        p: Any = policy.kernel_params(PolicyContext(self.n.size))
        table = kernels.of(type(policy), "tabulate")
        return np.asarray(table(p, *self[:5], 2.0 * policy.rho * self.log_term))


def sliding(history: Iterable[Play], arms: int, window: int) -> Remembered:
    """Return the statistics of the last ``window`` plays.

    Examples
    --------
    >>> past = [(0, 0.5, 0.0), (1, 1.0, 1.0), (1, 0.0, 0.5), (1, 0.25, 0.5), (1, 0.5, 0.25)]
    >>> sliding(past, arms=2, window=3).indices(OmegaUCB(rho=0.25)).round(4).tolist()
    [inf, 1.9703]
    """
    if window < 1:
        raise InvalidInput(f"window must be 1 or more plays, got {window!r}")
    learner = _learned(SlidingOmegaUCB(window=window), history, arms)
    return _remembered(learner)


def discounted(history: Iterable[Play], arms: int, gamma: float) -> Remembered:
    """Return the statistics of all plays, each weighted by ``gamma`` to the power of its age."""
    if not 0.0 < gamma <= 1.0:
        raise InvalidInput(f"gamma must be in (0, 1], got {gamma!r}; 1 forgets nothing")
    learner = _learned(DiscountedOmegaUCB(gamma=gamma), history, arms)
    return _remembered(learner)


def columns(learner: Learner) -> tuple[Floats, ...]:
    """Return what is left of all plays: weights, sums and squared deviations, a column each."""
    module = omega_sliding if isinstance(learner.policy, SlidingOmegaUCB) else omega_discounted
    size, end = learner.arms.size, module._HEAD + module._ARM * learner.arms.size
    rows = learner.memory[module._HEAD : end].reshape(size, module._ARM).T
    if module is omega_sliding:
        return tuple(rows)
    n = rows[module._WEIGHT] * learner.memory[module._SCALE]
    kept = n / np.where(rows[module._N] > 0.0, rows[module._N], 1.0)
    return n, *(rows[module._REWARD : module._WEIGHT] * kept)


def _learned(policy: OmegaUCB, history: Iterable[Play], arms: int) -> Learner:
    """Play a history: what is remembered is what the policy itself remembers."""
    learner = policy.learner(arms)
    for arm, reward, cost in history:
        learner.record(int(arm), float(reward), float(cost))
    return learner


def _remembered(learner: Learner) -> Remembered:
    n, r, c, r2, c2 = columns(learner)
    some = np.where(n > 0.0, n, 1.0)
    p, plays = learner.kernel_params, float(learner.game["plays"][0])
    z2 = kernels.of(type(learner.policy), "clock")(p, plays)
    rho = learner.policy.params()["rho"][0]
    return Remembered(n, r / some, c / some, r2 / some, c2 / some, z2 / (2.0 * rho))
