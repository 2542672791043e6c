r"""Regret of ω-UCB: the worst case of Theorem 5 and the order of Theorem 6.

.. math:: \text{Regret} \le \sum_{k=2}^K\Delta_k\left(1 + n_k^*(\tau_B) + \xi(\tau_B,\rho)\right)
    + \mathcal X(B)\sum_{k=2}^K\Delta_k + \frac{2\mu_1^r}{\mu_1^c}

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorems 5 and 6. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar import validation
from bursar.errors import InvalidInput
from bursar.jit.divergence import ball_level
from bursar.theory.confidence import read_rho
from bursar.theory.plays import gaps, integrate, nearest, ratios, suboptimal_plays
from bursar.validation import Floats

__all__ = ["lower_bound"]

# ==== theory.horizon
# The horizon of a budget.
#
# .. math:: \tau_B = \left\lfloor 2B / \min_k\mu_k^c \right\rfloor
#
# Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
# Intervals. KDD '24, Theorem 5. https://arxiv.org/abs/2306.07071


@overload
def tau_budget(budget: float, min_cost: float) -> int: ...
@overload
def tau_budget(budget: ArrayLike, min_cost: ArrayLike) -> Floats: ...
def tau_budget(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Compute the horizon that a budget hardly ever outlives (Theorem 5).

    .. math:: \tau_B = \left\lfloor 2B / \min_k\mu_k^c \right\rfloor

    Parameters
    ----------
    budget : float or array, positive
        Budget B.
    min_cost : float or array in (0, 1]
        Smallest mean cost of an arm.

    Returns
    -------
    int or array
        The floor of the exact quotient of the two doubles. The double 0.1 lies above one tenth,
        so a budget of 100 gives 1999 with it, where float division would round up to 2000.

    Examples
    --------
    >>> tau_budget(100, 0.1), tau_budget(100, 0.125)
    (1999, 1600)
    """
    values = read(budget, min_cost)
    if values[0].ndim == 0:
        return exact(*(value.item() for value in values))
    return validation.map_elements(exact, *values)


def exact(budget: float, min_cost: float) -> int:
    """Return the exact floor of 2 budget / min_cost."""
    return math.floor(2 * Fraction(budget) / Fraction(min_cost))


def read(budget: ArrayLike, min_cost: ArrayLike) -> list[Floats]:
    """Return budget and smallest mean cost as float64 of one shape, inside their domains."""
    values = validation.broadcast(
        budget=validation.check_array(
            "budget", budget, "a budget pays for at least a part of a play", above=0.0
        ),
        min_cost=validation.check_array(
            "min_cost", min_cost, "divide costs by the largest possible one", above=0.0, most=1.0
        ),
    )
    # Divided in logarithms, because the quotient itself is what may overflow.
    far = np.log10(values[0]) - np.log10(values[1]) > 300.0
    if far.any():
        money, cost = (float(value[far].flat[0]) for value in values)
        raise InvalidInput(
            f"budget / min_cost must be below 1e300, got {money!r} / {cost!r}; "
            "no run is that long, check the units"
        )
    return values


# ==== theory.excess
# The plays expected beyond the horizon of a budget.
#
# .. math:: \mathcal X(B) \ge E[(T_B - \tau_B)^+] = \sum_{t \ge \tau_B} P[T_B > t]
#
# T_B is the number of plays that the budget B pays for. Heyden, Arzamasov, Fouché & Böhm (2024).
# Budgeted Multi-Armed Bandits with Asymmetric Confidence Intervals. KDD '24, Theorem 5, which takes
# X(B) from Lemma 4 of Xia et al. (2017) and states its order only. https://arxiv.org/abs/2306.07071

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
    return validation.unwrap_scalar(validation.map_elements(_excess, *read(budget, min_cost)))


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
    money, cost = read(budget, min_cost)
    return validation.unwrap_scalar(money / cost * np.exp(-money * cost / 2.0))


def _excess(budget: float, min_cost: float) -> float:
    tau = exact(budget, min_cost)
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


@overload
def regret_bound(
    budget: float,
    rho: float,
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
) -> float: ...
@overload
def regret_bound(
    budget: ArrayLike,
    rho: ArrayLike,
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
) -> Floats: ...
def regret_bound(
    budget: ArrayLike,
    rho: ArrayLike,
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
) -> Any:
    r"""Bound the expected regret of ω-UCB with a budget (Theorem 5).

    .. math:: \sum_{k: \Delta_k > 0}\Delta_k\left(1 + n_k^*(\tau_B) + \xi(\tau_B,\rho)
        + \mathcal X(B)\right) + 2 \max_k \mu_k^r / \mu_k^c

    The value of X(B) is `excess_plays`: **derived by bursar**, the paper states its order only.
    It vanishes like exp(-B min μ), so that for usual budgets it does not show.

    Parameters
    ----------
    budget : float or array, positive
        Budget B; τ_B must reach the number of arms.
    rho : float or array, positive
        Exploration parameter.
    mean_reward, mean_cost : array
        Means of every arm of the problem, in [0, 1] and (0, 1], in any order.
    eta_reward, eta_cost : float or one an arm, in [0, 1]
        Variance over that of a Bernoulli variable of the same mean; 1 is always safe.

    Returns
    -------
    float or array
        The bound, of the shape of `budget` and `rho`. Infinity if a worse arm has mean reward 1.

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
    mu_r, mu_c = validation.check_arms(mean_reward, mean_cost)
    money = validation.check_array(
        "budget", budget, "a budget pays for at least a part of a play", above=0.0
    )
    money, exponent = validation.broadcast(budget=money, rho=read_rho(rho))
    tau = _horizons(money, mu_c)
    delta = gaps(mu_r, mu_c)
    worse = delta > 0.0
    plays = suboptimal_plays(tau, exponent, mu_r, mu_c, eta_reward, eta_cost)[..., worse]
    excess = np.asarray(excess_plays(money, mu_c.min()))[..., np.newaxis]
    best = nearest(max(ratios(mu_r, mu_c)))
    with np.errstate(over="ignore"):
        bound: Floats = np.asarray(np.sum(delta[worse] * (plays + excess), axis=-1) + 2.0 * best)
    return validation.unwrap_scalar(bound)


@overload
def regret_order(budget: float, rho: float) -> float: ...
@overload
def regret_order(budget: ArrayLike, rho: ArrayLike) -> Floats: ...
def regret_order(budget: ArrayLike, rho: ArrayLike) -> Any:
    r"""Compute the growth of the regret, without its constant (Theorem 6).

    .. math:: B^{1-\rho} \text{ for } 0 < \rho < 1, \qquad \log B \text{ for } \rho \ge 1

    Parameters
    ----------
    budget : float or array, at least 1
        Budget B.
    rho : float or array, positive
        Exploration parameter.

    Examples
    --------
    >>> regret_order(10_000, 0.25), round(regret_order(10_000, 1.0), 6)
    (1000.0, 9.21034)
    """
    money = validation.check_array("budget", budget, "an order describes large budgets", least=1.0)
    money, exponent = validation.broadcast(budget=money, rho=read_rho(rho))
    power = money ** np.maximum(1.0 - exponent, 0.0)
    return validation.unwrap_scalar(np.where(exponent < 1.0, power, np.log(money)))


def regret_order_name(rho: float) -> str:
    """Write the order of the regret as text (Theorem 6).

    Examples
    --------
    >>> regret_order_name(0.25), regret_order_name(2)
    ('O(B^0.75)', 'O(log B)')
    """
    exponent = read_rho(rho).item()
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


# ==== theory.least
# The least regret that is possible in the long run, on Bernoulli arms.
#
# .. math:: \log B \sum_{k:\, \Delta_k > 0} \frac{\mu^c_k \Delta_k}
#     {\inf\{kl(\mu^r_k, x) + kl(\mu^c_k, y) : x/y \ge q^*\}}, \qquad q^* = \max_k \mu^r_k/\mu^c_k
#
# A policy whose regret is below every power of the budget on all problems plays a worse arm k at
# least log(B) / inf times in the long run: it must tell the arm from one that looks like it and is
# better than the best. This is about the slope in log B, not about any one budget: at finite budgets
# regret may lie below.
#
# Lai & Robbins (1985). Asymptotically efficient adaptive allocation rules. Advances in Applied
# Mathematics 6. Burnetas & Katehakis (1996). Optimal adaptive policies for sequential allocation
# problems. Advances in Applied Mathematics 17.


def lower_bound(budget: Any, mean_reward: Any, mean_cost: Any) -> Any:
    """Return the asymptotic lower bound of regret for each budget, for independent Bernoulli arms.

    Parameters
    ----------
    budget : float or array
        Above 0, in units of the largest cost.
    mean_reward, mean_cost : arrays
        Of the arms: rewards in [0, 1], costs in (0, 1].

    Examples
    --------
    >>> float(lower_bound(10_000, [0.5, 0.3], [0.5, 0.6])).__round__(2)
    29.9
    """
    rewards, costs = (np.atleast_1d(np.asarray(x, float)) for x in (mean_reward, mean_cost))
    budgets = np.asarray(budget, float)
    if rewards.shape != costs.shape or rewards.ndim != 1 or not rewards.size:
        raise InvalidInput(
            "give a mean reward and a mean cost for each arm,"
            f" got {mean_reward!r} and {mean_cost!r}"
        )
    if not ((rewards >= 0.0) & (rewards <= 1.0) & (costs > 0.0) & (costs <= 1.0)).all():
        raise InvalidInput(
            "mean rewards must be in [0, 1] and mean costs in (0, 1],"
            f" got {rewards.tolist()} and {costs.tolist()}"
        )
    if not (budgets > 0.0).all():
        raise InvalidInput(f"budget must be above 0, got {budget!r}")
    best = float((rewards / costs).max())
    slope = 0.0
    for reward, cost in zip(rewards.tolist(), costs.tolist(), strict=True):
        lost = cost * best - reward  # a play of this arm loses so much
        if lost > 1e-12 * cost * best:  # those that tie with the best are no worse arms
            level: float = ball_level(reward, cost, best)[0]
            slope += lost / level
    found = np.log(budgets) * slope
    return float(found) if budgets.ndim == 0 else found
