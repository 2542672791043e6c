"""How problems of the families are drawn on which a policy was chosen.

The order of the draws is part of a family: another order would be other problems.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bursar.checks import Floats
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem, Sampled
from bursar.problems.base import Draws
from bursar.settings.means import cut_exponential

__all__ = [
    "Column", "Draw", "bernoulli", "beta", "beta_means", "correlated", "exponential",
    "log_uniform", "mixed", "rare", "three_values", "triangular", "uniform", "uniform_arms",
]  # fmt: skip

Rng = np.random.Generator
Column = Callable[[Rng, int], Floats]
Draw = Callable[[Rng, int, str], Problem]

_REWARD, _COST = 1e-3, 5e-3  # least means of Bernoulli arms: no budget ends on a free arm


def uniform(low: float, high: float) -> Column:
    return lambda rng, arms: rng.uniform(low, high, arms)


def log_uniform(low: float, high: float) -> Column:
    return lambda rng, arms: np.exp(rng.uniform(np.log(low), np.log(high), arms))


def beta_means(alpha: float, beta: float) -> Column:
    return lambda rng, arms: rng.beta(alpha, beta, arms)


def bernoulli(reward: Column, cost: Column) -> Draw:
    """Return how to draw arms of all or nothing with such means."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        rewards = np.clip(reward(rng, arms), _REWARD, 1.0)
        return Bernoulli(rewards, np.clip(cost(rng, arms), _COST, 1.0), name)

    return draw


def beta(low: float, high: float) -> Draw:
    """Return how to draw Beta arms with all four parameters uniform."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        alpha_r, beta_r, alpha_c, beta_c = rng.uniform(low, high, (4, arms))
        return Beta(alpha_r, beta_r, alpha_c, beta_c, name)

    return draw


def uniform_arms(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the ends of uniform rewards and costs; costs from 0.02 up."""
    ends = rng.uniform(0.0, 1.0, (4, arms))
    (low_r, high_r), (low_c, high_c) = np.sort(ends[:2], axis=0), np.sort(ends[2:], axis=0)
    low_c = np.maximum(low_c, 0.02)
    high_c = np.maximum(high_c, low_c + 0.01).clip(max=1.0)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.uniform(low_r[arm], high_r[arm], size)
        return rewards, rng.uniform(low_c[arm], high_c[arm], size)

    return Sampled((low_r + high_r) / 2.0, (low_c + high_c) / 2.0, sampler, name)


def triangular(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the modes of triangular rewards and costs on [0, 1]."""
    mode_r, mode_c = rng.uniform(0.0, 1.0, arms), rng.uniform(0.0, 1.0, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.triangular(0.0, mode_r[arm], 1.0, size)
        return rewards, rng.triangular(0.0, mode_c[arm], 1.0, size)

    return Sampled((1.0 + mode_r) / 3.0, (1.0 + mode_c) / 3.0, sampler, name)


def exponential(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the rates of exponential rewards and costs that are cut off at 1."""
    rate_r, rate_c = np.exp(rng.uniform(-1.0, 3.0, arms)), np.exp(rng.uniform(-1.0, 3.0, arms))

    def values(rng: Rng, rate: float, size: int) -> Floats:
        drawn = -np.log1p(-rng.random(size) * (1.0 - np.exp(-rate))) / rate
        return np.asarray(np.clip(drawn, 0.0, 1.0))

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        return values(rng, rate_r[arm], size), values(rng, rate_c[arm], size)

    return Sampled(cut_exponential(rate_r), cut_exponential(rate_c), sampler, name)


def three_values(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the chances of 0, 1/2 and 1, most of them near an edge."""
    rewards = rng.dirichlet([0.5] * 3, arms)
    return GeneralizedBernoulli(rewards, rng.dirichlet([0.5] * 3, arms), name)


def rare(rng: Rng, arms: int, name: str) -> Problem:
    """Draw chances of a reward at all, and costs that vary by 30 percent."""
    chance, cost = np.exp(rng.uniform(-4.0, -0.5, arms)), rng.uniform(0.1, 0.6, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = np.where(rng.random(size) < chance[arm], rng.beta(3.0, 3.0, size), 0.0)
        return rewards, rng.uniform(0.7, 1.3, size) * cost[arm]

    return Sampled(0.5 * chance, cost, sampler, name)


def correlated(together: bool) -> Draw:
    """Return how to draw rewards of all or nothing whose uniform cost is of the same luck."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        alpha, beta = rng.uniform(0.5, 4.0, (2, arms))
        low, high = np.sort(rng.uniform(0.05, 0.95, (2, arms)), axis=0)
        reward = alpha / (alpha + beta)

        def sampler(arm: int, rng: Rng, size: int) -> Draws:
            luck = rng.random(size)
            rewards = np.where(luck > 1.0 - reward[arm], 1.0, 0.0)
            return rewards, low[arm] + (high[arm] - low[arm]) * (luck if together else 1.0 - luck)

        return Sampled(reward, (low + high) / 2.0, sampler, name)

    return draw


def mixed(rng: Rng, arms: int, name: str) -> Problem:
    """Draw rewards of all or nothing for half of the arms, Beta for the others, and steady costs.

    Costs vary by 20 percent where that stays below 1, and not at all elsewhere.
    """
    reward = rng.uniform(0.05, 0.9, arms)
    cost = np.exp(rng.uniform(np.log(0.03), 0.0, arms))
    coins = rng.random(arms) < 0.5

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        mean = reward[arm]
        if coins[arm]:
            rewards = np.where(rng.random(size) < mean, 1.0, 0.0)
        else:
            rewards = rng.beta(10.0 * mean, 10.0 * (1.0 - mean), size)
        if cost[arm] * 1.2 > 1.0:
            return rewards, np.full(size, cost[arm])
        return rewards, cost[arm] * rng.uniform(0.8, 1.2, size)

    return Sampled(reward, cost, sampler, name)
