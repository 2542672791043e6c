r"""Regret of ω-UCB: the worst case of Theorem 5, the order of Theorem 6, and a lower bound.

.. math:: \text{Regret} \le \sum_{k=2}^K\Delta_k\left(1 + n_k^*(\tau_B) + \xi(\tau_B,\rho)\right)
    + \mathcal X(B)\sum_{k=2}^K\Delta_k + \frac{2\mu_1^r}{\mu_1^c}

:math:`T_B` is the number of plays that the budget B pays for, and :math:`\mathcal X(B) \ge
E[(T_B - \tau_B)^+] = \sum_{t \ge \tau_B} P[T_B > t]`; the theorem takes X(B) from Lemma 4 of Xia et
al. (2017) and states its order only.

Heyden et al. (2024), KDD '24, Theorems 5 and 6.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast, check_arms, check_array, map_elements, unwrap_scalar
from bursar.errors import InvalidInput
from bursar.jit.divergence import ball_level
from bursar.theory.intervals import check_rho
from bursar.theory.plays import gaps, integrate, nearest, ratios, suboptimal_plays

_DIRECT = 2**16  # terms added one by one; from there on Euler-Maclaurin's g''' is below 1e-15
_NOTHING = 1500  # exp(-1500) times 1e300, more terms than can matter, is below the least double


def tau_budget(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Compute the horizon that a budget hardly ever outlives (Theorem 5).

    .. math:: \tau_B = \left\lfloor 2B / \min_k\mu_k^c \right\rfloor

    This is the floor of the exact quotient of the two doubles, an int for single numbers. The
    double 0.1 lies above one tenth, so a budget of 100 gives 1999 with it, where float division
    would round up to 2000.

    Parameters
    ----------
    budget : float or array, positive
        Budget B.
    min_cost : float or array in (0, 1]
        Smallest mean cost of an arm.

    Examples
    --------
    >>> tau_budget(100, 0.1), tau_budget(100, 0.125)
    (1999, 1600)
    """
    values = _check_budgets(budget, min_cost)
    if values[0].ndim == 0:
        return _horizon(*(value.item() for value in values))
    return map_elements(_horizon, *values)


def _horizon(budget: float, min_cost: float) -> int:
    return math.floor(2 * Fraction(budget) / Fraction(min_cost))


def _check_budget(budget: ArrayLike) -> Floats:
    return check_array("budget", budget, "a budget pays for at least a part of a play", above=0.0)


def _check_budgets(budget: ArrayLike, min_cost: ArrayLike) -> list[Floats]:
    """Return budget and smallest mean cost as float64 of one shape, inside their domains."""
    hint = "divide costs by the largest possible one"
    costs = check_array("min_cost", min_cost, hint, above=0.0, most=1.0)
    values = broadcast(budget=_check_budget(budget), min_cost=costs)
    # Divided in logarithms, because the quotient itself is what may overflow.
    far = np.log10(values[0]) - np.log10(values[1]) > 300.0
    if far.any():
        money, cost = (float(value[far].flat[0]) for value in values)
        raise InvalidInput(
            f"budget / min_cost must be below 1e300, got {money!r} / {cost!r}; "
            "no run is that long, check the units"
        )
    return values


def excess_plays(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Bound the plays expected after τ_B, the X(B) of Theorem 5, **as derived by bursar**.

    .. math:: \mathcal X(B) = \sum_{t\ge\tau_B} \exp\left(-2 (t\mu - B)^2 / t\right)

    The paper gives no value, only the order (`excess_plays_order`). Derivation: under any
    policy, t costs in [0, 1] have conditional means of at least μ, so that by Azuma and Hoeffding
    they stay within the budget with at most the probability summed here, as soon as tμ > B. At
    t = 0, which matters for budgets below μ / 2 only, the probability is 1.

    The relative error is below 1e-14, also where 1e10 terms matter; 0 stands for values below the
    least double. Parameters as in `tau_budget`.

    Examples
    --------
    >>> round(excess_plays(2.0, 0.5), 12)
    1.079414675359
    """
    return unwrap_scalar(map_elements(_excess, *_check_budgets(budget, min_cost)))


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
    money, cost = _check_budgets(budget, min_cost)
    return unwrap_scalar(money / cost * np.exp(-money * cost / 2.0))


def _excess(budget: float, mu: float) -> float:
    """Sum exp(-2 (t mu - budget)² / t) over t >= tau as exp(-first) times a smooth sum."""
    horizon = _horizon(budget, mu)
    tau = max(horizon, 1)
    exact = 2 * (tau * Fraction(mu) - Fraction(budget)) ** 2 / tau
    if exact > _NOTHING:
        return 0.0
    first = float(exact)
    rest = float(exact - Fraction(first))  # a rounded exponent of 700 would cost two digits
    half = math.exp(-first / 2.0)  # in two halves, because exp(-first) alone may underflow
    later = half * (_smooth_sum(float(tau), budget, mu) * math.exp(-rest)) * half
    return later if horizon else 1.0 + later


def _smooth_sum(tau: float, budget: float, mu: float) -> float:
    """Sum exp(-phi(j / tau)) over j >= 0, phi the growth of the exponent since t = tau."""
    kappa = tau * mu * mu
    square = (budget / (mu * tau)) ** 2
    if kappa < 1e-100:  # phi is 2 mu² j to a hundred digits; infinity above the largest double
        return 0.5 / mu / mu

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


def regret_bound(
    budget: ArrayLike, rho: ArrayLike, mean_reward: ArrayLike, mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0, eta_cost: ArrayLike = 1.0,
) -> Any:  # fmt: skip
    r"""Bound the expected regret of ω-UCB with a budget (Theorem 5).

    .. math:: \sum_{k: \Delta_k > 0}\Delta_k\left(1 + n_k^*(\tau_B) + \xi(\tau_B,\rho)
        + \mathcal X(B)\right) + 2 \max_k \mu_k^r / \mu_k^c

    The value of X(B) is `excess_plays`: **derived by bursar**, the paper states its order only.
    It vanishes like exp(-B min μ), so that for usual budgets it does not show. The bound has the
    shape of `budget` and `rho`; it is infinite if a worse arm has mean reward 1.

    Parameters
    ----------
    budget : float or array, positive
        Budget B; τ_B must reach the number of arms.
    rho, mean_reward, mean_cost, eta_reward, eta_cost
        As in `n_star`; arms in any order.

    Notes
    -----
    Arms that tie with the best have Δ = 0 and add nothing, however often they are played: a second
    best arm matters only as one more arm in K and as a cost in τ_B. See `gaps` for decimals that
    look tied and are not in binary. The paper's definition of regret weights Δ by the mean
    cost; its theorem leaves out this factor of at most 1.

    Examples
    --------
    >>> round(regret_bound(1000, 1.0, [0.8, 0.1, 0.5], [0.25, 0.125, 0.5]), 6)
    25084.408545
    """
    mu_r, mu_c = check_arms(mean_reward, mean_cost)
    money, exponent = broadcast(budget=_check_budget(budget), rho=check_rho(rho))
    tau = _horizons(money, mu_c)
    delta = gaps(mu_r, mu_c)
    worse = delta > 0.0
    plays = suboptimal_plays(tau, exponent, mu_r, mu_c, eta_reward, eta_cost)[..., worse]
    excess = np.asarray(excess_plays(money, mu_c.min()))[..., np.newaxis]
    best = nearest(max(ratios(mu_r, mu_c)))
    with np.errstate(over="ignore"):
        bound: Floats = np.asarray(np.sum(delta[worse] * (plays + excess), axis=-1) + 2.0 * best)
    return unwrap_scalar(bound)


def regret_order(budget: ArrayLike, rho: ArrayLike) -> Any:
    r"""Compute the growth of the regret, without its constant (Theorem 6).

    .. math:: B^{1-\rho} \text{ for } 0 < \rho < 1, \qquad \log B \text{ for } \rho \ge 1

    Parameters as in `regret_bound`, with a budget of 1 or more.

    Examples
    --------
    >>> regret_order(10_000, 0.25), round(regret_order(10_000, 1.0), 6)
    (1000.0, 9.21034)
    """
    money = check_array("budget", budget, "an order describes large budgets", least=1.0)
    money, exponent = broadcast(budget=money, rho=check_rho(rho))
    power = money ** np.maximum(1.0 - exponent, 0.0)
    return unwrap_scalar(np.where(exponent < 1.0, power, np.log(money)))


def regret_order_name(rho: float) -> str:
    """Write the order of the regret as text (Theorem 6).

    Examples
    --------
    >>> regret_order_name(0.25), regret_order_name(2)
    ('O(B^0.75)', 'O(log B)')
    """
    exponent = check_rho(rho).item()
    return f"O(B^{1.0 - exponent:g})" if exponent < 1.0 else "O(log B)"


def _horizons(budget: Floats, mu_c: Floats) -> Floats:
    tau = np.asarray(tau_budget(budget, mu_c.min()), dtype=np.float64)
    short = tau < mu_c.size
    if short.any():
        raise InvalidInput(
            f"budget must reach the number of arms, 2 budget / min mean_cost >= {mu_c.size}, "
            f"got budget {float(budget[short].flat[0])!r}; the theorem begins after every arm was "
            "played once"
        )
    return tau


def lower_bound(budget: ArrayLike, mean_reward: ArrayLike, mean_cost: ArrayLike) -> Any:
    r"""Return the asymptotic lower bound of regret for each budget, for independent Bernoulli arms.

    .. math:: \log B \sum_{k:\, \Delta_k > 0} \frac{\mu^c_k \Delta_k}
        {\inf\{kl(\mu^r_k, x) + kl(\mu^c_k, y) : x/y \ge q^*\}}, \qquad q^* = \max_k \mu^r_k/\mu^c_k

    A policy whose regret is below every power of the budget on all problems plays a worse arm k at
    least log(B) / inf times in the long run: it must tell the arm from one that looks like it and
    is better than the best. This is about the slope in log B; at a finite budget regret may be
    lower.

    Parameters as in `regret_bound`, the budget in units of the largest cost.

    References
    ----------
    Lai & Robbins (1985). Asymptotically efficient adaptive allocation rules. Advances in Applied
    Mathematics 6. Burnetas & Katehakis (1996). Optimal adaptive policies for sequential allocation
    problems. Advances in Applied Mathematics 17.

    Examples
    --------
    >>> round(lower_bound(10_000, [0.5, 0.3], [0.5, 0.6]), 2)
    29.9
    """
    mu_r, mu_c = check_arms(mean_reward, mean_cost)
    budgets = _check_budget(budget)
    best = float((mu_r / mu_c).max())
    slope = 0.0
    for reward, cost in zip(mu_r.tolist(), mu_c.tolist(), strict=True):
        loss = cost * best - reward  # of one play of this arm
        if loss > 1e-12 * cost * best:  # those that tie with the best are no worse arms
            level: float = ball_level(reward, cost, best)[0]
            slope += loss / level
    return unwrap_scalar(np.log(budgets) * slope)
