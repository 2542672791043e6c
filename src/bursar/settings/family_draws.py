"""How problems of the families are drawn on which a policy was chosen.

The order of the draws is part of a family: another order would be other problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem, Sampled
from bursar.problems.base import Draws
from bursar.validation import Floats

__all__ = [
    "Column",
    "Draw",
    "bernoulli",
    "beta",
    "beta_means",
    "capped_lognormal",
    "clipped",
    "clipped_normal",
    "copula",
    "correlated",
    "cut_exponential",
    "exponential",
    "fixed_price",
    "kumaraswamy",
    "log_uniform",
    "lognormal",
    "mixed",
    "needle",
    "rare",
    "scatter",
    "three_values",
    "triangular",
    "two_kinds",
    "uniform",
    "uniform_arms",
]

# ==== settings.means
# True means of distributions on [0, 1] that have a closed form but no name in numpy.
#
# .. math::
#     \text{exponential, cut off:}\quad & 1/\lambda - 1/(e^\lambda - 1) \\
#     \text{normal, clipped:}\quad & m(\Phi(b) - \Phi(a)) + s(\varphi(a) - \varphi(b)) + 1 - \Phi(b),
#         \quad a = -m/s,\ b = (1 - m)/s \\
#     \text{lognormal, capped:}\quad & e^{m + s^2/2}\,\Phi(-m/s - s) + \Phi(m/s) \\
#     \text{Kumaraswamy:}\quad & b\,B(1 + 1/a, b)


def cut_exponential(rate: Floats) -> Floats:
    """Return the means of exponential values on the condition that they are below 1.

    >>> cut_exponential(np.array([1e-3, 50.0])).round(4).tolist()
    [0.4999, 0.02]
    """
    return np.asarray(1.0 / rate - np.exp(-rate) / (1.0 - np.exp(-rate)))


def clipped_normal(location: Floats, deviation: Floats) -> Floats:
    """Return the means of normal values clipped into [0, 1].

    >>> clipped_normal(np.array([0.5, 0.0]), np.array([0.3, 1e-3])).round(4).tolist()
    [0.5, 0.0004]
    """
    low, high = -location / deviation, (1.0 - location) / deviation
    inside = location * (_cdf(high) - _cdf(low)) + deviation * (_density(low) - _density(high))
    return np.asarray(inside + _cdf(-high))


def capped_lognormal(location: Floats, deviation: Floats) -> Floats:
    """Return the means of min(1, exp(normal)).

    >>> capped_lognormal(np.array([-3.0, 5.0]), np.array([0.01, 0.5])).round(4).tolist()
    [0.0498, 1.0]
    """
    ratio = location / deviation
    below = np.exp(location + deviation**2 / 2.0) * _cdf(-ratio - deviation)
    return np.asarray(below + _cdf(ratio))


def kumaraswamy(a: Floats, b: Floats) -> Floats:
    """Return the means of Kumaraswamy's distribution, whose cdf is 1 - (1 - x^a)^b.

    >>> kumaraswamy(np.array([1.0, 2.0]), np.array([1.0, 1.0])).round(4).tolist()
    [0.5, 0.6667]
    """
    logs = [
        math.log(q) + math.lgamma(1.0 + 1.0 / p) + math.lgamma(q) - math.lgamma(1.0 + 1.0 / p + q)
        for p, q in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return np.exp(logs)


def _cdf(x: Floats) -> Floats:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in x.tolist()])


def _density(x: Floats) -> Floats:
    return np.asarray(np.exp(-(x**2) / 2.0) / math.sqrt(2.0 * math.pi))


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


# ==== settings.held_out_draws
# How problems of the families are drawn that took no part when a policy was chosen.

_SHARED = 0.8  # the chance that reward and cost are of the same luck


def scatter(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Beta arms of all shapes: logistic normal means, alpha + beta from 1 to 30."""

    def parameters() -> tuple[Floats, Floats]:
        mean = np.clip(1.0 / (1.0 + np.exp(-rng.normal(0.0, 1.0, arms))), 0.02, 0.98)
        precision = np.exp(rng.uniform(0.0, np.log(30.0), arms))
        return mean * precision, (1.0 - mean) * precision

    return Beta(*parameters(), *parameters(), name)


def clipped(rng: Rng, arms: int, name: str) -> Problem:
    """Draw normal values that are clipped into [0, 1], so that both ends have chances."""
    place_r, spread_r = rng.uniform(0.0, 1.0, arms), rng.uniform(0.05, 0.4, arms)
    place_c, spread_c = rng.uniform(0.1, 1.0, arms), rng.uniform(0.05, 0.4, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = np.clip(rng.normal(place_r[arm], spread_r[arm], size), 0.0, 1.0)
        return rewards, np.clip(rng.normal(place_c[arm], spread_c[arm], size), 0.0, 1.0)

    means = clipped_normal(place_r, spread_r), clipped_normal(place_c, spread_c)
    return Sampled(*means, sampler, name)


def two_kinds(rng: Rng, arms: int, name: str) -> Problem:
    """Draw half of the arms cheap and poor, half dear and rich, in any order."""
    rich = rng.permutation(arms) < arms // 2
    reward = np.where(rich, rng.uniform(0.6, 0.9, arms), rng.uniform(0.05, 0.2, arms))
    cost = np.where(rich, rng.uniform(0.4, 0.9, arms), rng.uniform(0.05, 0.15, arms))
    return Beta(10.0 * reward, 10.0 * (1.0 - reward), 10.0 * cost, 10.0 * (1.0 - cost), name)


def fixed_price(rng: Rng, arms: int, name: str) -> Problem:
    """Draw rewards of all or nothing at prices that never vary."""
    reward, cost = rng.uniform(0.0, 1.0, arms), rng.uniform(0.05, 1.0, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        return np.where(rng.random(size) < reward[arm], 1.0, 0.0), np.full(size, cost[arm])

    return Sampled(reward, cost, sampler, name)


def lognormal(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Beta rewards, and costs with a long tail that ends at 1."""
    reward = rng.uniform(0.1, 0.9, arms)
    place = rng.uniform(np.log(0.02), np.log(0.3), arms)
    spread = rng.uniform(0.3, 1.2, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.beta(5.0 * reward[arm], 5.0 * (1.0 - reward[arm]), size)
        return rewards, np.minimum(rng.lognormal(place[arm], spread[arm], size), 1.0)

    return Sampled(reward, capped_lognormal(place, spread), sampler, name)


def copula(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Kumaraswamy rewards and costs, most of which are of the same luck."""
    a_r, b_r, a_c, b_c = rng.uniform(0.5, 5.0, (4, arms))

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        luck, own = rng.random((2, size))
        other = np.where(rng.random(size) < _SHARED, luck, own)
        return _quantile(luck, a_r[arm], b_r[arm]), _quantile(other, a_c[arm], b_c[arm])

    return Sampled(kumaraswamy(a_r, b_r), kumaraswamy(a_c, b_c), sampler, name)


def needle(rng: Rng, arms: int, name: str) -> Problem:
    """Draw one arm that is far better than all others, anywhere among them."""
    reward, cost = rng.uniform(0.2, 0.5, arms), rng.uniform(0.4, 0.9, arms)
    best = rng.integers(arms)
    reward[best], cost[best] = 0.9, 0.1
    return Bernoulli(reward, cost, name)


def _quantile(chance: Floats, a: float, b: float) -> Floats:
    """Return Kumaraswamy's quantile."""
    return np.asarray((1.0 - (1.0 - chance) ** (1.0 / b)) ** (1.0 / a))
