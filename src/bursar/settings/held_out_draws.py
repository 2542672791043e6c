"""How problems of the families are drawn that took no part when a policy was chosen."""

from __future__ import annotations

import numpy as np

from bursar.checks import Floats
from bursar.problems import Bernoulli, Beta, Problem, Sampled
from bursar.problems.base import Draws
from bursar.settings.means import capped_lognormal, clipped_normal, kumaraswamy

__all__ = [
    "clipped", "copula", "fixed_price", "lognormal", "needle", "scatter", "two_kinds",
]  # fmt: skip

Rng = np.random.Generator

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
