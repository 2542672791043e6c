r"""Plays of a suboptimal arm before time step τ (Theorem 4), and the gaps that they depend on.

.. math:: E[n_k(\tau)] \le 1 + n_k^*(\tau) + \xi(\tau, \rho)

Gaps are computed in exact rational arithmetic and rounded once: a difference of two ratios in
float64 cancels, and only exact numbers tell a tie with the best arm from a tiny gap. A sum of 1e12
terms is its first terms, an integral and two end corrections (Euler-Maclaurin, `NIST DLMF 2.10.1
<https://dlmf.nist.gov/2.10>`_). The integrands are analytic, and on panels no wider than the
distance to the next singularity 16 nodes leave an error far below one unit in the last place.

Heyden et al. (2024), KDD '24, Sec. 3, Theorem 4, Lemma 1, and the proof of Theorem 6.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast, check_arms, check_array, map_elements, unwrap_scalar
from bursar.errors import InvalidInput
from bursar.theory.intervals import check_rho, level


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

    Gaps are correctly rounded; 0 for the best arm and for arms that tie with it. A tie is a tie of
    the doubles: 0.3 / 0.1 and 0.9 / 0.3 differ by 5e-16 in binary, which makes a tiny gap and a
    huge `n_star`. Nudge such means until the ratios are equal or apart.

    Parameters
    ----------
    mean_reward, mean_cost : array
        Means of every arm of the problem, in [0, 1] and (0, 1].

    Examples
    --------
    >>> gaps([0.8, 0.1, 0.4], [0.2, 0.1, 0.1])
    array([0., 3., 0.])
    """
    exact = ratios(*check_arms(mean_reward, mean_cost))
    best = max(exact)
    return np.array([nearest(best - ratio) for ratio in exact])


def proportional_gaps(mean_reward: ArrayLike, mean_cost: ArrayLike) -> Floats:
    r"""Compute every arm's proportional gap δ.

    .. math:: \delta_k = \frac{\Delta_k}{\Delta_k + 1 / \mu_k^c}, \qquad
        \frac{\mu_k^r + \delta_k (1 - \mu_k^r)}{\mu_k^c - \delta_k\mu_k^c} = \frac{\mu_1^r}{\mu_1^c}

    The share of the way to a reward of 1 and a cost of 0 that arm k would have to go to catch up
    with the best arm, in [0, 1] and correctly rounded. Parameters and ties as in `gaps`.

    Examples
    --------
    >>> proportional_gaps([0.5, 0.0], [0.5, 0.5])
    array([0.        , 0.33333333])
    """
    mu_r, mu_c = check_arms(mean_reward, mean_cost)
    exact = ratios(mu_r, mu_c)
    best = max(exact)
    catch_up = [
        Fraction(cost) * (best - ratio) for cost, ratio in zip(mu_c.tolist(), exact, strict=True)
    ]
    return np.array([nearest(step / (step + 1)) for step in catch_up])


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def integrate(function: Callable[[Floats], Floats], edges: Floats) -> float:
    """Integrate a vectorised `function` over the panels between consecutive `edges`.

    Examples
    --------
    >>> abs(integrate(np.exp, np.array([0.0, 0.5, 1.0])) - np.expm1(1.0)) < 1e-15
    np.True_
    """
    half = np.diff(edges)[:, np.newaxis] / 2.0
    points = edges[:-1, np.newaxis] + half * (1.0 + _NODES)
    return float(np.sum(function(points) * _WEIGHTS * half))


_DIRECT = 2**14  # terms added one by one; from there on Euler-Maclaurin's f''' is below 1e-15


def xi(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> Any:
    r"""Compute ξ, the plays of a worse arm that failing intervals cause (Theorem 4).

    .. math:: \xi(\tau,\rho) = (\tau-K)\,\alpha(\tau) + \sum_{t=K+1}^{\tau}\alpha(t),
        \qquad \alpha(t) = 1-\sqrt{1-t^{-\rho}}

    This form of the paper's ξ, with the `alpha` of Theorem 3, has positive terms only; the
    paper's own loses as many digits as τ has. The Euler-Maclaurin formula ends long sums: the
    relative error is below 1e-14 for τ up to 1e12 and rho from 1e-3 to 10. ξ decreases in rho. In τ
    it grows without end for rho <= 1, but for rho > 2 it ends up decreasing.

    Parameters
    ----------
    tau : whole number or array, at least `arms`
        Time step.
    rho : float or array, positive
        Exploration parameter.
    arms : whole number or array, at least 1
        Number K of arms.

    Examples
    --------
    >>> round(xi(10_000, 1.0, 10), 12)
    3.941009268132
    """
    return unwrap_scalar(map_elements(_xi, *_check_times(tau, rho, arms)))


def xi_upper(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> Any:
    r"""Compute the closed form above ξ that shows its order (proof of Theorem 6).

    .. math:: \xi(\tau,\rho) \le (\tau-K)\,\alpha(\tau) + (K+1)^{-\rho}
        + \int_{K+1}^{\tau} t^{-\rho}\,dt

    Parameters as in `xi`. At ``tau = arms`` the result is 0 like ξ itself: the paper's integral
    would run backwards there, and its formula gives a negative number.

    Examples
    --------
    >>> round(xi_upper(10_000, 1.0, 10), 12)
    7.402866678211
    """
    return unwrap_scalar(map_elements(_xi_upper, *_check_times(tau, rho, arms)))


def check_tau(tau: ArrayLike) -> Floats:
    """Return a time step as float64, whole and from 1 on."""
    return check_array("tau", tau, "it counts plays; round it", least=1.0, whole=True)


def _check_times(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> list[Floats]:
    hint = "it counts the arms of the problem"
    whole_arms = check_array("arms", arms, hint, least=1.0, whole=True)
    values = broadcast(tau=check_tau(tau), rho=check_rho(rho), arms=whole_arms)
    early = values[0] < values[2]
    if early.any():
        time, count = (float(value[early].flat[0]) for value in (values[0], values[2]))
        raise InvalidInput(
            f"tau must be at least arms = {count:g}, got {time!r}; "
            "the theorem begins after every arm was played once"
        )
    return values


def _xi(tau: float, rho: float, arms: float) -> float:
    last = (tau - arms) * float(level(np.array(tau), rho))
    if tau - arms <= _DIRECT:
        return last + _direct(arms, tau, rho)
    start = max(arms, float(_DIRECT))
    return last + _direct(arms, start, rho) + _euler_maclaurin(start, tau, rho)


def _direct(start: float, stop: float, rho: float) -> float:
    """Sum alpha(t) over start < t <= stop."""
    return float(np.sum(level(start + np.arange(1.0, stop - start + 1.0), rho)))


def _euler_maclaurin(start: float, stop: float, rho: float) -> float:
    """Sum alpha(t) over start < t <= stop as an integral in log t and its end corrections."""
    span = math.log1p((stop - start) / start)
    # Width 1 keeps away from the branch point at log t = 0, 8 / rho follows the decay t^-rho.
    panels = math.ceil(span * max(1.0, rho / 8.0))

    def integrand(log_ratio: Floats) -> Floats:
        t = start * np.exp(log_ratio)
        return t * level(t, rho)

    ends = np.array([start, stop])
    value = level(ends, rho)
    if value[0] == 0.0:
        return 0.0  # rho above 77; the panels would be many
    slope = -rho / (2.0 * ends) * ends**-rho / np.sqrt(-np.expm1(-rho * np.log(ends)))
    integral = integrate(integrand, np.linspace(0.0, span, panels + 1))
    return integral + float(np.diff(value / 2.0 + slope / 12.0)[0])


def _xi_upper(tau: float, rho: float, arms: float) -> float:
    if tau == arms:
        return 0.0
    first = arms + 1.0
    span = math.log1p((tau - first) / first)
    # (tau^(1-rho) - first^(1-rho)) / (1-rho), steady also where rho is close to 1
    stretch = (1.0 - rho) * span
    mean = math.expm1(stretch) / stretch if stretch else 1.0
    integral = math.pow(first, 1.0 - rho) * span * mean
    return (tau - arms) * float(level(np.array(tau), rho)) + math.pow(first, -rho) + integral


def n_star(
    tau: ArrayLike, rho: ArrayLike, mean_reward: ArrayLike, mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0, eta_cost: ArrayLike = 1.0,
) -> Floats:  # fmt: skip
    r"""Compute the plays after which an arm's own interval seldom misleads (Lemma 1).

    .. math:: n_k^*(\tau) = \frac{8\rho\log\tau}{\delta_k^2}
        \max\left\{\frac{\eta_k^r\mu_k^r}{1-\mu_k^r}, \frac{\eta_k^c(1-\mu_k^c)}{\mu_k^c}\right\}

    One entry per arm, on a last axis after those of `tau` and `rho`. Infinity for arms as good as
    the best, and for worse arms whose mean reward is 1: the lemma needs a mean below 1.

    Parameters
    ----------
    tau, rho : whole number and float, or arrays
        As in `xi`, with tau from 1 on.
    mean_reward, mean_cost : array
        Means of every arm of the problem, in [0, 1] and (0, 1].
    eta_reward, eta_cost : float or one per arm, in [0, 1]
        Variance over that of a Bernoulli variable of the same mean; 1 is always safe.

    Examples
    --------
    >>> n_star(100, 2.0, [0.5, 0.0], [0.5, 0.5])
    array([         inf, 663.14450678])
    """
    mu_r, mu_c = check_arms(mean_reward, mean_cost)
    eta_r = _check_eta("eta_reward", eta_reward, mu_r)
    eta_c = _check_eta("eta_cost", eta_cost, mu_c)
    time, exponent = broadcast(tau=check_tau(tau), rho=check_rho(rho))
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
    tau: ArrayLike, rho: ArrayLike, mean_reward: ArrayLike, mean_cost: ArrayLike,
    eta_reward: ArrayLike = 1.0, eta_cost: ArrayLike = 1.0,
) -> Floats:  # fmt: skip
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


def _check_eta(name: str, eta: ArrayLike, means: Floats) -> Floats:
    values = check_array(name, eta, "1 is always safe", least=0.0, most=1.0)
    if values.shape not in ((), means.shape):
        raise InvalidInput(
            f"{name} must be one number or one per arm ({means.size}), got shape {values.shape}; "
            "1 is always safe"
        )
    return np.broadcast_to(values, means.shape)
