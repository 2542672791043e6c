r"""Regret of ω-UCB: the worst case of Theorem 5 and the order of Theorem 6.

.. math:: \text{Regret} \le \sum_{k=2}^K\Delta_k\left(1 + n_k^*(\tau_B) + \xi(\tau_B,\rho)\right)
    + \mathcal X(B)\sum_{k=2}^K\Delta_k + \frac{2\mu_1^r}{\mu_1^c}

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorems 5 and 6. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.errors import InvalidInput
from bursar.theory import _domain
from bursar.theory._domain import Floats
from bursar.theory.confidence import read_rho
from bursar.theory.excess import excess_plays
from bursar.theory.gap import gaps, nearest, ratios
from bursar.theory.horizon import tau_budget
from bursar.theory.plays import suboptimal_plays


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
    mu_r, mu_c = _domain.arms(mean_reward, mean_cost)
    money = _domain.positive("budget", budget, "a budget pays for at least a part of a play")
    money, exponent = _domain.together(budget=money, rho=read_rho(rho))
    tau = _horizons(money, mu_c)
    delta = gaps(mu_r, mu_c)
    worse = delta > 0.0
    plays = suboptimal_plays(tau, exponent, mu_r, mu_c, eta_reward, eta_cost)[..., worse]
    excess = np.asarray(excess_plays(money, mu_c.min()))[..., np.newaxis]
    best = nearest(max(ratios(mu_r, mu_c)))
    with np.errstate(over="ignore"):
        bound: Floats = np.asarray(np.sum(delta[worse] * (plays + excess), axis=-1) + 2.0 * best)
    return _domain.plain(bound)


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
    money = _domain.at_least("budget", budget, 1.0, "an order describes large budgets")
    money, exponent = _domain.together(budget=money, rho=read_rho(rho))
    power = money ** np.maximum(1.0 - exponent, 0.0)
    return _domain.plain(np.where(exponent < 1.0, power, np.log(money)))


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
