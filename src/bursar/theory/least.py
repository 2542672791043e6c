r"""The least regret that is possible in the long run, on Bernoulli arms.

.. math:: \log B \sum_{k:\, \Delta_k > 0} \frac{\mu^c_k \Delta_k}
    {\inf\{kl(\mu^r_k, x) + kl(\mu^c_k, y) : x/y \ge q^*\}}, \qquad q^* = \max_k \mu^r_k/\mu^c_k

A policy whose regret is below every power of the budget on all problems plays a worse arm k at
least log(B) / inf times in the long run: it must tell the arm from one that looks like it and is
better than the best. This is about the slope in log B, not about any one budget: at finite budgets
regret may lie below.

Lai & Robbins (1985). Asymptotically efficient adaptive allocation rules. Advances in Applied
Mathematics 6. Burnetas & Katehakis (1996). Optimal adaptive policies for sequential allocation
problems. Advances in Applied Mathematics 17.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bursar.divergence import ball_level
from bursar.errors import InvalidInput

__all__ = ["lower_bound"]


def lower_bound(budget: Any, mean_reward: Any, mean_cost: Any) -> Any:
    """Return the asymptotic lower bound of regret for each budget, for independent Bernoulli arms.

    Parameters
    ----------
    budget : float or array
        Above 0, in units of the largest cost.
    mean_reward, mean_cost : arrays
        Of the arms: rewards in [0, 1], costs in (0, 1].

    Examples
    --------
    >>> float(lower_bound(10_000, [0.5, 0.3], [0.5, 0.6])).__round__(2)
    29.9
    """
    rewards, costs = (np.atleast_1d(np.asarray(x, float)) for x in (mean_reward, mean_cost))
    budgets = np.asarray(budget, float)
    if rewards.shape != costs.shape or rewards.ndim != 1 or not rewards.size:
        raise InvalidInput(
            "give a mean reward and a mean cost for each arm,"
            f" got {mean_reward!r} and {mean_cost!r}"
        )
    if not ((rewards >= 0.0) & (rewards <= 1.0) & (costs > 0.0) & (costs <= 1.0)).all():
        raise InvalidInput(
            "mean rewards must be in [0, 1] and mean costs in (0, 1],"
            f" got {rewards.tolist()} and {costs.tolist()}"
        )
    if not (budgets > 0.0).all():
        raise InvalidInput(f"budget must be above 0, got {budget!r}")
    best = float((rewards / costs).max())
    slope = 0.0
    for reward, cost in zip(rewards.tolist(), costs.tolist(), strict=True):
        lost = cost * best - reward  # a play of this arm loses so much
        if lost > 1e-12 * cost * best:  # those that tie with the best are no worse arms
            level: float = ball_level(reward, cost, best)[0]
            slope += lost / level
    found = np.log(budgets) * slope
    return float(found) if budgets.ndim == 0 else found
