"""What was learned of all arms, in the user's units: one column a number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bursar.campaign.state import State
from bursar.checks import Floats
from bursar.intervals import eta, interval

__all__ = ["Estimate", "Statistics", "per_cost", "statistics_of"]


class Estimate(NamedTuple):
    """A number that is not known for sure, and the interval it is in."""

    value: float
    low: float
    high: float


class Statistics(NamedTuple):
    """Means and (biased) variances of each arm; ``top`` is the most that a cost can be."""

    n: Floats
    reward: Floats
    cost: Floats
    reward_variance: Floats
    cost_variance: Floats
    top: Floats
    reward_eta: Floats  # variance over the largest that the mean allows; 1 unless it is trusted
    cost_eta: Floats
    reward_range: tuple[float, float]

    def rewards(self, z: float) -> tuple[Floats, Floats]:
        """Return Theorem 1's bounds of the mean rewards."""
        low, high = interval(self.reward, self.n, z, self.reward_eta, *self.reward_range)
        return low, high

    def costs(self, z: float) -> tuple[Floats, Floats]:
        """Return Theorem 1's bounds of the mean costs."""
        low, high = interval(self.cost, self.n, z, self.cost_eta, 0.0, self.top)
        return low, high


def statistics_of(state: State, trust: bool | None = None) -> Statistics:
    """Return the columns; ``trust``: whether variances count (by default as the policy has it)."""
    brain, unit = state.brain, 10.0**-state.config.coin.exponent
    scale, arms = brain.scale, brain.arms
    low, high = brain.reward_range
    n = arms["n"].copy()
    plays = np.maximum(n, 1.0)
    played = n > 0.0
    reward = np.where(played, scale.reward_low + scale.reward_width * (arms["reward"] / plays), low)
    cost = np.where(played, scale.cost_low + scale.cost_width * (arms["cost"] / plays), 0.0)
    reward_variance = arms["reward_m2"] / plays * scale.reward_width**2
    cost_variance = arms["cost_m2"] / plays * scale.cost_width**2
    most = [
        # a cost above its arm's most proves that most wrong
        arm.max_cost if not arm.overruns else max([arm.max_cost, *arm.costs])
        for arm in state.arms
    ]
    top = np.maximum(np.array(most, dtype=np.float64) * unit, cost)
    reward = np.clip(reward, low, high)  # sums of floats may leave the range by a digit
    if trust if trust is not None else brain.policy.name == "omega-star-ucb":
        least = getattr(brain.policy, "eta_min", 0.0)
        reward_eta = eta(reward, reward_variance, n, low, high, eta_min=least)
        cost_eta = eta(cost, cost_variance, n, 0.0, top, eta_min=least)
    else:
        reward_eta = cost_eta = np.ones_like(n)
    return Statistics(
        n, reward, cost, reward_variance, cost_variance, top, reward_eta, cost_eta, (low, high)
    )  # fmt: skip


def per_cost(reward: Floats, cost: Floats) -> Floats:
    """Return reward per cost; a free arm that brings something is worth infinitely much."""
    free = np.where(reward == 0.0, 0.0, np.copysign(np.inf, reward))
    return np.where(cost > 0.0, reward / np.where(cost > 0.0, cost, 1.0), free)
