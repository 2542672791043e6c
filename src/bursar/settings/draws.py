"""How the problem of a repetition is drawn: in the order in which the paper's authors draw it.

The parameters of repetition *i* come from ``numpy.random.default_rng(i)``, so that results compare
with the published ones problem by problem. Arms are sorted best reward per cost first.
"""

from __future__ import annotations

import numpy as np

from bursar.checks import Floats
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem
from bursar.settings.ads import Campaign

__all__ = ["bernoulli", "bernoulli_ad", "beta", "beta_ad", "click_costs", "generalized"]

Rng = np.random.Generator
_VALUES = 5  # of a generalized Bernoulli arm: 0, 1/4, …, 1
_TOP = 5.0  # parameters of Beta arms are uniform on (0, 5)


def bernoulli(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw uniform means; costs from 0.01 up, since the budget is a multiple of the least."""
    reward = rng.uniform(0.0, 1.0, arms)
    cost = rng.uniform(0.01, 1.0, arms)
    order = np.argsort(cost / reward)
    return Bernoulli(reward[order], cost[order], name)


def generalized(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw chances of the five values as normalised uniforms.

    The authors divide by 5 values where the largest is 4/4: their means are 0.8 of the truth.
    """
    reward = rng.uniform(size=(arms, _VALUES))
    cost = rng.uniform(size=(arms, _VALUES))
    drawn = GeneralizedBernoulli(reward, cost)
    order = np.argsort(drawn.cost / drawn.reward)
    factor = 0.8 if authors else 1.0
    return GeneralizedBernoulli(reward[order], cost[order], name, mean_factor=factor)


def beta(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw both parameters of rewards and costs uniformly."""
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, arms) for _ in range(4))
    drawn = Beta(alpha_r, beta_r, alpha_c, beta_c)
    order = np.argsort(drawn.cost / drawn.reward)
    return Beta(alpha_r[order], beta_r[order], alpha_c[order], beta_c[order], name)


def bernoulli_ad(rng: Rng, campaign: Campaign, authors: bool) -> Problem:
    """Take the means of a campaign; nothing is drawn."""
    return Bernoulli(campaign.reward, campaign.cost, campaign.name)


def beta_ad(rng: Rng, campaign: Campaign, authors: bool) -> Problem:
    """Draw Beta parameters, then change one of each pair so that the campaign's mean holds.

    The authors multiply the means by 0.99 once more before that.
    """
    factor = 0.99 if authors else 1.0
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, campaign.arms) for _ in range(4))
    return Beta(
        *_matched(alpha_r, beta_r, campaign.reward * factor),
        *_matched(alpha_c, beta_c, campaign.cost * factor),
        campaign.name,
    )


def click_costs(rng: Rng, mean: Floats) -> tuple[Floats, Floats]:
    """Draw both parameters of Beta costs with the given means, in (0, 1), as FB-Bt does."""
    return _matched(rng.uniform(0.0, _TOP, mean.size), rng.uniform(0.0, _TOP, mean.size), mean)


def _matched(alpha: Floats, beta: Floats, mean: Floats) -> tuple[Floats, Floats]:
    small = mean <= 0.5  # keep the parameter that is to be the larger one: the other is below it
    return (
        np.where(small, beta * mean / (1.0 - mean), alpha),
        np.where(small, beta, alpha * (1.0 - mean) / mean),
    )
