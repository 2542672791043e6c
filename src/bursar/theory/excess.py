r"""The plays expected beyond the horizon of a budget.

.. math:: \mathcal X(B) \ge E[(T_B - \tau_B)^+] = \sum_{t \ge \tau_B} P[T_B > t]

T_B is the number of plays that the budget B pays for. Heyden, Arzamasov, Fouché & Böhm (2024).
Budgeted Multi-Armed Bandits with Asymmetric Confidence Intervals. KDD '24, Theorem 5, which takes
X(B) from Lemma 4 of Xia et al. (2017) and states its order only. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.theory import _domain, horizon
from bursar.theory._domain import Floats
from bursar.theory._quadrature import integrate

_DIRECT = 2**16  # terms added one by one; from there on Euler-Maclaurin's g''' is below 1e-15
_NOTHING = 1500  # exp(-1500) times 1e300, more terms than can matter, is below the least double


@overload
def excess_plays(budget: float, min_cost: float) -> float: ...
@overload
def excess_plays(budget: ArrayLike, min_cost: ArrayLike) -> Floats: ...
def excess_plays(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Bound the plays expected after τ_B, the X(B) of Theorem 5, **as derived by bursar**.

    .. math:: \mathcal X(B) = \sum_{t\ge\tau_B} \exp\left(-2 (t\mu - B)^2 / t\right)

    The paper gives no value, only the order (`excess_plays_order`). Derivation: whatever the
    policy, t costs in [0, 1] have conditional means of at least μ, so that by Azuma and Hoeffding
    they stay within the budget with at most the probability summed here, as soon as tμ > B. At
    t = 0, which matters for budgets below μ / 2 only, the probability is 1.

    Parameters as in `tau_budget`.

    Returns
    -------
    float or array
        X(B); relative error below 1e-14, also where 1e10 terms matter. 0 below the least double.

    Examples
    --------
    >>> round(excess_plays(2.0, 0.5), 12)
    1.079414675359
    """
    return _domain.plain(_domain.each(_excess, *horizon.read(budget, min_cost)))


@overload
def excess_plays_order(budget: float, min_cost: float) -> float: ...
@overload
def excess_plays_order(budget: ArrayLike, min_cost: ArrayLike) -> Floats: ...
def excess_plays_order(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Compute the order of X(B) that Theorem 5 states.

    .. math:: \mathcal X(B) \in \mathcal O\left((B / \mu)\, e^{-B\mu / 2}\right)

    Parameters as in `tau_budget`. The constant is unknown, so this bounds nothing by itself:
    while Bμ is below about 0.5, `excess_plays` is larger.

    Examples
    --------
    >>> round(excess_plays_order(100, 0.1), 12)
    6.737946999085
    """
    money, cost = horizon.read(budget, min_cost)
    return _domain.plain(money / cost * np.exp(-money * cost / 2.0))


def _excess(budget: float, min_cost: float) -> float:
    tau = horizon.exact(budget, min_cost)
    if tau == 0:
        return 1.0 + _excess_from(1, budget, min_cost)
    return _excess_from(tau, budget, min_cost)


def _excess_from(tau: int, budget: float, mu: float) -> float:
    """Sum exp(-2 (t mu - budget)² / t) over t >= tau >= 1 as exp(-first) times a smooth sum."""
    exact = 2 * (tau * Fraction(mu) - Fraction(budget)) ** 2 / tau
    if exact > _NOTHING:
        return 0.0
    first = float(exact)
    rest = float(exact - Fraction(first))  # a rounded exponent of 700 would cost two digits
    half = math.exp(-first / 2.0)  # in two halves, because exp(-first) alone may underflow
    return half * (_smooth_sum(float(tau), budget, mu) * math.exp(-rest)) * half


def _smooth_sum(tau: float, budget: float, mu: float) -> float:
    """Sum exp(-phi(j / tau)) over j >= 0, phi the growth of the exponent since t = tau."""
    kappa = tau * mu * mu
    square = (budget / (mu * tau)) ** 2
    if kappa < 1e-100:
        return (
            0.5 / mu / mu
        )  # phi is 2 mu² j to a hundred digits; infinity above the largest double

    def term(v: Floats) -> Floats:
        result: Floats = np.exp(-2.0 * kappa * v * (1.0 - square / (1.0 + v)))
        return result

    # phi grows by at least mu² a term, so after 40 / mu² terms nothing is left to add.
    count = math.ceil(min(40.0 / mu / mu, _DIRECT))
    total = float(np.sum(term(np.arange(count) / tau)))
    if count < _DIRECT:
        return total
    start = count / tau
    edges = [start]
    while kappa * (edges[-1] - start) < 30.0:
        # Narrow against the decay, and against the pole of phi at v = -1.
        edges.append(edges[-1] + min(1.0 + edges[-1], 2.0 / kappa))
    here = float(term(np.array(start)))
    slope = 2.0 * mu * mu * (1.0 - square / (1.0 + start) ** 2)
    return total + tau * integrate(term, np.array(edges)) + here * (0.5 + slope / 12.0)
