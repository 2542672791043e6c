r"""Plays of a suboptimal arm before time step τ (Theorem 4).

.. math:: E[n_k(\tau)] \le 1 + n_k^*(\tau) + \xi(\tau, \rho)

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorem 4 and Lemma 1. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bursar.errors import InvalidInput
from bursar.theory import _domain
from bursar.theory._domain import Floats
from bursar.theory.confidence import read_rho
from bursar.theory.failure import read_tau, xi
from bursar.theory.gap import proportional_gaps


def n_star(
    tau: ArrayLike,
    rho: ArrayLike,
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
) -> Floats:
    r"""Compute the plays after which an arm's own interval seldom misleads (Lemma 1).

    .. math:: n_k^*(\tau) = \frac{8\rho\log\tau}{\delta_k^2}
        \max\left\{\frac{\eta_k^r\mu_k^r}{1-\mu_k^r}, \frac{\eta_k^c(1-\mu_k^c)}{\mu_k^c}\right\}

    Parameters
    ----------
    tau : whole number or array, at least 1
        Time step.
    rho : float or array, positive
        Exploration parameter.
    mean_reward, mean_cost : array
        Means of every arm of the problem, in [0, 1] and (0, 1].
    eta_reward, eta_cost : float or one an arm, in [0, 1]
        Variance over that of a Bernoulli variable of the same mean; 1 is always safe.

    Returns
    -------
    array
        One entry an arm, on a last axis after those of `tau` and `rho`. Infinity for arms as good
        as the best, and for worse arms whose mean reward is 1: the lemma needs a mean below 1.

    Examples
    --------
    >>> n_star(100, 2.0, [0.5, 0.0], [0.5, 0.5])
    array([         inf, 663.14450678])
    """
    mu_r, mu_c = _domain.arms(mean_reward, mean_cost)
    eta_r, eta_c = _read_eta("eta_reward", eta_reward, mu_r), _read_eta("eta_cost", eta_cost, mu_c)
    time, exponent = _domain.together(tau=read_tau(tau), rho=read_rho(rho))
    delta = proportional_gaps(mu_r, mu_c)
    growth = (8.0 * exponent * np.log(time))[..., np.newaxis]
    plays = np.full(time.shape + mu_r.shape, math.inf)
    some = (delta > 0.0) & (mu_r < 1.0)
    with np.errstate(over="ignore"):  # means of 1e-308 do reach infinity
        reward = eta_r[some] * mu_r[some] / (1.0 - mu_r[some])
        cost = eta_c[some] * (1.0 - mu_c[some]) / mu_c[some]
        # Divided twice, because delta² may underflow to zero.
        spread = np.maximum(reward, cost) / delta[some] / delta[some]
        # Not at tau = 1, where log tau = 0 may meet an infinite spread.
        size = np.zeros(time.shape + spread.shape)
        plays[..., some] = np.multiply(growth, spread, out=size, where=growth > 0.0)
    return plays


def suboptimal_plays(
    tau: ArrayLike,
    rho: ArrayLike,
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
) -> Floats:
    r"""Bound the expected plays of every suboptimal arm before time step τ (Theorem 4).

    .. math:: E[n_k(\tau)] \le 1 + n_k^*(\tau) + \xi(\tau,\rho)

    Parameters and shape as in `n_star`, with `tau` at least the number of arms. Infinity for arms
    as good as the best, about which the theorem says nothing.

    Examples
    --------
    >>> suboptimal_plays(1000, 1.0, [0.8, 0.1], [0.2, 0.1]).round(2)
    array([    inf, 9343.83])
    """
    initial = n_star(tau, rho, mean_reward, mean_cost, eta_reward, eta_cost)
    failures = np.asarray(xi(tau, rho, initial.shape[-1]))[..., np.newaxis]
    plays: Floats = 1.0 + initial + failures
    return plays


def _read_eta(name: str, eta: ArrayLike, means: Floats) -> Floats:
    values = _domain.within(name, eta, 0.0, 1.0, "1 is always safe")
    if values.shape not in ((), means.shape):
        raise InvalidInput(
            f"{name} must be one number or one an arm ({means.size}), got shape {values.shape}; "
            "1 is always safe"
        )
    return np.broadcast_to(values, means.shape)
