r"""Gaps: how far an arm's reward per cost lies below the best arm's.

.. math:: \Delta_k = \frac{\mu_1^r}{\mu_1^c} - \frac{\mu_k^r}{\mu_k^c}, \qquad
    \delta_k = \frac{\Delta_k}{\Delta_k + 1 / \mu_k^c}

Heyden et al. (2024), Sec. 3, Theorem 4 and "Derivation of Proportional δ-gap" in the appendix.
Everything here is computed in exact rational arithmetic and rounded once: a difference of two
ratios in float64 cancels, and only exact numbers tell a tie with the best arm from a tiny gap.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from bursar.theory import _domain
from bursar.theory._domain import Floats


def ratios(mu_r: Floats, mu_c: Floats) -> list[Fraction]:
    """Return the exact reward per cost of every arm."""
    pairs = zip(mu_r.tolist(), mu_c.tolist(), strict=True)
    return [Fraction(reward) / Fraction(cost) for reward, cost in pairs]


def nearest(value: Fraction) -> float:
    """Round to the nearest double, infinity above the largest."""
    try:
        return float(value)
    except OverflowError:  # a mean cost below 1e-308
        return math.inf


def gaps(mean_reward: ArrayLike, mean_cost: ArrayLike) -> Floats:
    r"""Compute every arm's suboptimality gap Δ.

    .. math:: \Delta_k = \max_j \frac{\mu_j^r}{\mu_j^c} - \frac{\mu_k^r}{\mu_k^c}

    Parameters
    ----------
    mean_reward : array in [0, 1]
        Mean reward of every arm of the problem.
    mean_cost : array in (0, 1]
        Mean cost of every arm.

    Returns
    -------
    array
        One gap an arm, correctly rounded; 0 for the best arm and for arms that tie with it.

    Notes
    -----
    A tie is a tie of the doubles: 0.3 / 0.1 and 0.9 / 0.3 differ by 5e-16 in binary, which
    makes a tiny gap and a huge `n_star`. Nudge such means until the ratios are equal or apart.

    Examples
    --------
    >>> gaps([0.8, 0.1, 0.4], [0.2, 0.1, 0.1])
    array([0., 3., 0.])
    """
    exact = ratios(*_domain.arms(mean_reward, mean_cost))
    best = max(exact)
    return np.array([nearest(best - ratio) for ratio in exact])


def proportional_gaps(mean_reward: ArrayLike, mean_cost: ArrayLike) -> Floats:
    r"""Compute every arm's proportional gap δ.

    .. math:: \delta_k = \frac{\Delta_k}{\Delta_k + 1 / \mu_k^c}, \qquad
        \frac{\mu_k^r + \delta_k (1 - \mu_k^r)}{\mu_k^c - \delta_k\mu_k^c} = \frac{\mu_1^r}{\mu_1^c}

    The share of the way to a reward of 1 and a cost of 0 that arm k would have to go to catch up
    with the best arm. Parameters and ties as in `gaps`.

    Returns
    -------
    array
        One gap in [0, 1] an arm, correctly rounded.

    Examples
    --------
    >>> proportional_gaps([0.5, 0.0], [0.5, 0.5])
    array([0.        , 0.33333333])
    """
    mu_r, mu_c = _domain.arms(mean_reward, mean_cost)
    exact = ratios(mu_r, mu_c)
    best = max(exact)
    catch_up = [
        Fraction(cost) * (best - ratio) for cost, ratio in zip(mu_c.tolist(), exact, strict=True)
    ]
    return np.array([nearest(step / (step + 1)) for step in catch_up])
