r"""Statistics that forget: the last w plays, or all plays with weights that fade.

They are what ω-UCB needs for worlds that change (the paper's future work). With the last w plays
(of all arms together) :math:`z^2 = 2\rho\log\min(N+1, w)`; with weights :math:`\gamma^{age}` the
number of plays becomes their sum :math:`n_{eff}` and :math:`z^2 = 2\rho\log(1 + \sum n_{eff})`.
A window longer than the history, or γ = 1, gives ω-UCB itself.

Garivier & Moulines (2011). On upper-confidence bound policies for switching bandit problems. ALT.
https://arxiv.org/abs/0805.3415 (their rules, for rewards only; the ones for ω-UCB are bursar's)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bursar.checks import Floats
from bursar.compiled import specialize
from bursar.errors import InvalidInput
from bursar.policies import kernels
from bursar.policies.omega import OmegaStarUCB, OmegaUCB
from bursar.policies.scale import Facts

__all__ = ["Remembered", "discounted", "sliding"]

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
        p: Any = policy.parameters(Facts(self.n.size))
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
    which, rewards, costs = _columns(history, arms)
    plays = which.size
    kept = slice(max(plays - window, 0), plays)
    columns = _kernel()(which[kept], rewards[kept], costs[kept], arms, 1.0)
    return Remembered._make((*columns, math.log(min(plays + 1, window))))


def discounted(history: Iterable[Play], arms: int, gamma: float) -> Remembered:
    """Return the statistics of all plays, each weighted by ``gamma`` to the power of its age."""
    if not 0.0 < gamma <= 1.0:
        raise InvalidInput(f"gamma must be in (0, 1], got {gamma!r}; 1 forgets nothing")
    columns = _kernel()(*_columns(history, arms), arms, float(gamma))
    return Remembered._make((*columns, math.log1p(columns[0].sum())))


def _columns(history: Iterable[Play], arms: int) -> tuple[Any, Floats, Floats]:
    rows = np.array(list(history), dtype=np.float64).reshape(-1, 3)
    which = rows[:, 0].astype(np.int64)
    if which.size and (which.min() < 0 or which.max() >= arms):
        raise InvalidInput(f"arms of the history must be in 0…{arms - 1}, got {which.tolist()}")
    return which, rows[:, 1].copy(), rows[:, 2].copy()


def _fold(
    which: Any, rewards: Floats, costs: Floats, arms: int, gamma: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Weighted Welford: fading scales counts and squares and leaves the means where they are."""
    n, r, c, r2, c2 = (
        np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms),
    )  # fmt: skip
    for i in range(which.size):
        n *= gamma
        r2 *= gamma
        c2 *= gamma
        k = which[i]
        n[k] += 1.0
        dr, dc = rewards[i] - r[k], costs[i] - c[k]
        r[k] += dr / n[k]
        c[k] += dc / n[k]
        r2[k] += dr * (rewards[i] - r[k])
        c2[k] += dc * (costs[i] - c[k])
    for k in range(arms):
        if n[k] > 0.0:
            r2[k] /= n[k]
            c2[k] /= n[k]
    return n, r, c, r2, c2


@cache
def _kernel() -> Any:
    return specialize(_fold, "forgetting")
