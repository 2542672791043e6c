"""Families of problems that are not from the paper, on some of which a policy was chosen.

Their names begin with X: ``X-br-low-25`` has 25 arms. The problem of repetition *i* is drawn from
``numpy.random.default_rng([number, i])`` with the family's own number. Arms stay in the order in
which they are drawn, so the best arm may be anywhere. The order of the draws is part of a family:
another order would give other problems. ``families.toml`` has their numbers and descriptions.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem, Sampled
from bursar.problems.base import Draws
from bursar.settings.base import Setting, load_table

Rng = np.random.Generator
Column = Callable[[Rng, int], Floats]
Draw = Callable[[Rng, int, str], Problem]

_HELD_OUT = 101  # the first number of families on which no policy was chosen
_MIN_REWARD, _MIN_COST = 1e-3, 5e-3  # of Bernoulli means: a free arm never uses up a budget
_SHARED = 0.8  # the probability that reward and cost are the same quantile


@dataclass(frozen=True)
class FamilySetting(Setting):
    """A family of problems that is not from the paper."""

    number: int = 0  # the seed of the family

    @property
    def held_out(self) -> bool:
        """Whether the family was not used to choose a policy."""
        return self.number >= _HELD_OUT

    def _draw(self, repetition: int, data: Any) -> list[Problem]:
        rng = np.random.default_rng([self.number, repetition])
        return [_DRAWS[self.name](rng, self.arms[0], self.name)]


def exponential_mean(rate: Floats) -> Floats:
    """Return the means of exponential values, given that they are below 1: 1/λ - 1/(e^λ - 1).

    >>> exponential_mean(np.array([1e-3, 50.0])).round(4).tolist()
    [0.4999, 0.02]
    """
    return np.asarray(1.0 / rate - np.exp(-rate) / (1.0 - np.exp(-rate)))


def clipped_normal_mean(location: Floats, deviation: Floats) -> Floats:
    """Return the means of normal values clipped into [0, 1].

    m (Φ(b) - Φ(a)) + s (φ(a) - φ(b)) + 1 - Φ(b), with a = -m/s, b = (1 - m)/s

    >>> clipped_normal_mean(np.array([0.5, 0.0]), np.array([0.3, 1e-3])).round(4).tolist()
    [0.5, 0.0004]
    """
    low, high = -location / deviation, (1.0 - location) / deviation
    inside = location * (_cdf(high) - _cdf(low)) + deviation * (_density(low) - _density(high))
    return np.asarray(inside + _cdf(-high))


def capped_lognormal_mean(location: Floats, deviation: Floats) -> Floats:
    """Return the means of min(1, exp(normal)): exp(m + s²/2) Φ(-m/s - s) + Φ(m/s).

    >>> capped_lognormal_mean(np.array([-3.0, 5.0]), np.array([0.01, 0.5])).round(4).tolist()
    [0.0498, 1.0]
    """
    ratio = location / deviation
    below = np.exp(location + deviation**2 / 2.0) * _cdf(-ratio - deviation)
    return np.asarray(below + _cdf(ratio))


def kumaraswamy_mean(a: Floats, b: Floats) -> Floats:
    """Return the means b B(1 + 1/a, b) of Kumaraswamy's distribution of cdf 1 - (1 - x^a)^b.

    >>> kumaraswamy_mean(np.array([1.0, 2.0]), np.array([1.0, 1.0])).round(4).tolist()
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


def _uniform(low: float, high: float) -> Column:
    return lambda rng, arms: rng.uniform(low, high, arms)


def _log_uniform(low: float, high: float) -> Column:
    return lambda rng, arms: np.exp(rng.uniform(np.log(low), np.log(high), arms))


def _beta_means(alpha: float, beta: float) -> Column:
    return lambda rng, arms: rng.beta(alpha, beta, arms)


def _make_bernoulli(reward: Column, cost: Column) -> Draw:
    """Return a function that draws Bernoulli arms with such means."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        rewards = np.clip(reward(rng, arms), _MIN_REWARD, 1.0)
        return Bernoulli(rewards, np.clip(cost(rng, arms), _MIN_COST, 1.0), name)

    return draw


def _make_beta(low: float, high: float) -> Draw:
    """Return a function that draws Beta arms with all four parameters uniform."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        alpha_r, beta_r, alpha_c, beta_c = rng.uniform(low, high, (4, arms))
        return Beta(alpha_r, beta_r, alpha_c, beta_c, name)

    return draw


def _draw_uniform(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the ends of uniform rewards and costs; costs are at least 0.02."""
    ends = rng.uniform(0.0, 1.0, (4, arms))
    (low_r, high_r), (low_c, high_c) = np.sort(ends[:2], axis=0), np.sort(ends[2:], axis=0)
    low_c = np.maximum(low_c, 0.02)
    high_c = np.maximum(high_c, low_c + 0.01).clip(max=1.0)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.uniform(low_r[arm], high_r[arm], size)
        return rewards, rng.uniform(low_c[arm], high_c[arm], size)

    return Sampled((low_r + high_r) / 2.0, (low_c + high_c) / 2.0, sampler, name)


def _draw_triangular(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the modes of triangular rewards and costs on [0, 1]."""
    mode_r, mode_c = rng.uniform(0.0, 1.0, arms), rng.uniform(0.0, 1.0, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.triangular(0.0, mode_r[arm], 1.0, size)
        return rewards, rng.triangular(0.0, mode_c[arm], 1.0, size)

    return Sampled((1.0 + mode_r) / 3.0, (1.0 + mode_c) / 3.0, sampler, name)


def _draw_exponential(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the rates of exponential rewards and costs that are cut off at 1."""
    rate_r, rate_c = np.exp(rng.uniform(-1.0, 3.0, arms)), np.exp(rng.uniform(-1.0, 3.0, arms))

    def values(rng: Rng, rate: float, size: int) -> Floats:
        drawn = -np.log1p(-rng.random(size) * (1.0 - np.exp(-rate))) / rate
        return np.asarray(np.clip(drawn, 0.0, 1.0))

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        return values(rng, rate_r[arm], size), values(rng, rate_c[arm], size)

    return Sampled(exponential_mean(rate_r), exponential_mean(rate_c), sampler, name)


def _draw_three_values(rng: Rng, arms: int, name: str) -> Problem:
    """Draw the probabilities of 0, 1/2 and 1, most of them near 0 or 1."""
    rewards = rng.dirichlet([0.5] * 3, arms)
    return GeneralizedBernoulli(rewards, rng.dirichlet([0.5] * 3, arms), name)


def _draw_rare(rng: Rng, arms: int, name: str) -> Problem:
    """Draw probabilities of a reward at all, and costs that vary by 30 percent."""
    chance, cost = np.exp(rng.uniform(-4.0, -0.5, arms)), rng.uniform(0.1, 0.6, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = np.where(rng.random(size) < chance[arm], rng.beta(3.0, 3.0, size), 0.0)
        return rewards, rng.uniform(0.7, 1.3, size) * cost[arm]

    return Sampled(0.5 * chance, cost, sampler, name)


def _make_correlated(together: bool) -> Draw:
    """Return a function that draws Bernoulli rewards and uniform costs from one quantile."""

    def draw(rng: Rng, arms: int, name: str) -> Problem:
        alpha, beta = rng.uniform(0.5, 4.0, (2, arms))
        low, high = np.sort(rng.uniform(0.05, 0.95, (2, arms)), axis=0)
        reward = alpha / (alpha + beta)

        def sampler(arm: int, rng: Rng, size: int) -> Draws:
            shared = rng.random(size)
            rewards = np.where(shared > 1.0 - reward[arm], 1.0, 0.0)
            quantile = shared if together else 1.0 - shared
            return rewards, low[arm] + (high[arm] - low[arm]) * quantile

        return Sampled(reward, (low + high) / 2.0, sampler, name)

    return draw


def _draw_mixed(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Bernoulli rewards for half of the arms, Beta for the others, and steady costs.

    Costs vary by 20 percent where that stays below 1, and not at all elsewhere.
    """
    reward = rng.uniform(0.05, 0.9, arms)
    cost = np.exp(rng.uniform(np.log(0.03), 0.0, arms))
    is_bernoulli = rng.random(arms) < 0.5

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        mean = reward[arm]
        if is_bernoulli[arm]:
            rewards = np.where(rng.random(size) < mean, 1.0, 0.0)
        else:
            rewards = rng.beta(10.0 * mean, 10.0 * (1.0 - mean), size)
        if cost[arm] * 1.2 > 1.0:
            return rewards, np.full(size, cost[arm])
        return rewards, cost[arm] * rng.uniform(0.8, 1.2, size)

    return Sampled(reward, cost, sampler, name)


# families on which no policy was chosen


def _draw_scatter(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Beta arms of all shapes: logistic normal means, alpha + beta from 1 to 30."""

    def parameters() -> tuple[Floats, Floats]:
        mean = np.clip(1.0 / (1.0 + np.exp(-rng.normal(0.0, 1.0, arms))), 0.02, 0.98)
        precision = np.exp(rng.uniform(0.0, np.log(30.0), arms))
        return mean * precision, (1.0 - mean) * precision

    return Beta(*parameters(), *parameters(), name)


def _draw_clipped_normal(rng: Rng, arms: int, name: str) -> Problem:
    """Draw normal values clipped into [0, 1]: both ends have positive probability."""
    location_r, spread_r = rng.uniform(0.0, 1.0, arms), rng.uniform(0.05, 0.4, arms)
    location_c, spread_c = rng.uniform(0.1, 1.0, arms), rng.uniform(0.05, 0.4, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = np.clip(rng.normal(location_r[arm], spread_r[arm], size), 0.0, 1.0)
        return rewards, np.clip(rng.normal(location_c[arm], spread_c[arm], size), 0.0, 1.0)

    means = clipped_normal_mean(location_r, spread_r), clipped_normal_mean(location_c, spread_c)
    return Sampled(*means, sampler, name)


def _draw_two_kinds(rng: Rng, arms: int, name: str) -> Problem:
    """Draw half of the arms cheap and unrewarding, half expensive and rewarding, in any order."""
    rich = rng.permutation(arms) < arms // 2
    reward = np.where(rich, rng.uniform(0.6, 0.9, arms), rng.uniform(0.05, 0.2, arms))
    cost = np.where(rich, rng.uniform(0.4, 0.9, arms), rng.uniform(0.05, 0.15, arms))
    return Beta(10.0 * reward, 10.0 * (1.0 - reward), 10.0 * cost, 10.0 * (1.0 - cost), name)


def _draw_fixed_price(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Bernoulli rewards at constant costs."""
    reward, cost = rng.uniform(0.0, 1.0, arms), rng.uniform(0.05, 1.0, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        return np.where(rng.random(size) < reward[arm], 1.0, 0.0), np.full(size, cost[arm])

    return Sampled(reward, cost, sampler, name)


def _draw_lognormal(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Beta rewards, and costs with a long tail that ends at 1."""
    reward = rng.uniform(0.1, 0.9, arms)
    location = rng.uniform(np.log(0.02), np.log(0.3), arms)
    spread = rng.uniform(0.3, 1.2, arms)

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        rewards = rng.beta(5.0 * reward[arm], 5.0 * (1.0 - reward[arm]), size)
        return rewards, np.minimum(rng.lognormal(location[arm], spread[arm], size), 1.0)

    return Sampled(reward, capped_lognormal_mean(location, spread), sampler, name)


def _draw_copula(rng: Rng, arms: int, name: str) -> Problem:
    """Draw Kumaraswamy rewards and costs, most of which are the same quantile."""
    a_r, b_r, a_c, b_c = rng.uniform(0.5, 5.0, (4, arms))

    def sampler(arm: int, rng: Rng, size: int) -> Draws:
        shared, own = rng.random((2, size))
        other = np.where(rng.random(size) < _SHARED, shared, own)
        return _quantile(shared, a_r[arm], b_r[arm]), _quantile(other, a_c[arm], b_c[arm])

    return Sampled(kumaraswamy_mean(a_r, b_r), kumaraswamy_mean(a_c, b_c), sampler, name)


def _draw_needle(rng: Rng, arms: int, name: str) -> Problem:
    """Draw one arm that is far better than all others, anywhere among them."""
    reward, cost = rng.uniform(0.2, 0.5, arms), rng.uniform(0.4, 0.9, arms)
    best = rng.integers(arms)
    reward[best], cost[best] = 0.9, 0.1
    return Bernoulli(reward, cost, name)


def _quantile(chance: Floats, a: float, b: float) -> Floats:
    """Return Kumaraswamy's quantile."""
    return np.asarray((1.0 - (1.0 - chance) ** (1.0 / b)) ** (1.0 / a))


_DRAWS: dict[str, Draw] = {
    "X-br-2": _make_bernoulli(_uniform(0.3, 0.7), _uniform(0.3, 0.7)),
    "X-br-3": _make_bernoulli(_beta_means(2, 2), _uniform(0.2, 1)),
    "X-br-low-25": _make_bernoulli(_uniform(0, 0.3), _uniform(0.05, 0.5)),
    "X-br-log-40": _make_bernoulli(_log_uniform(0.02, 1), _log_uniform(0.01, 1)),
    "X-br-200": _make_bernoulli(_beta_means(1, 3), _beta_means(2, 2)),
    "X-uniform-20": _draw_uniform,
    "X-triangle-60": _draw_triangular,
    "X-exp-30": _draw_exponential,
    "X-three-15": _draw_three_values,
    "X-rare-40": _draw_rare,
    "X-together-25": _make_correlated(together=True),
    "X-against-10": _make_correlated(together=False),
    "X-stable-50": _make_beta(4, 40),
    "X-extreme-20": _make_beta(0.1, 1),
    "X-mixed-30": _draw_mixed,
    "X-br-1000": _make_bernoulli(_uniform(0, 1), _uniform(0.1, 1)),
    "X-close-5": _make_bernoulli(_uniform(0.4, 0.6), _uniform(0.4, 0.6)),
    "X-br-rare-30": _make_bernoulli(_log_uniform(0.001, 0.1), _uniform(0.2, 1)),
    "X-scatter-80": _draw_scatter,
    "X-censored-15": _draw_clipped_normal,
    "X-two-kinds-100": _draw_two_kinds,
    "X-fixed-price-20": _draw_fixed_price,
    "X-lognormal-40": _draw_lognormal,
    "X-copula-12": _draw_copula,
    "X-extreme-500": _make_beta(0.1, 1),
    "X-needle-300": _draw_needle,
}


def _make_setting(name: str, number: int, distribution: str, about: str) -> FamilySetting:
    source = f"bursar{', held out' if number >= _HELD_OUT else ''}; {about}"
    arms = int(name.rpartition("-")[2])
    return FamilySetting(name, "family", distribution, (arms,), source, number=number)


FAMILIES = {name: _make_setting(name, **row) for name, row in load_table("families.toml").items()}
"""All families: first those on which a policy was chosen, then those held out."""
