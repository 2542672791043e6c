r"""ξ: the plays that Theorem 4 allows for confidence intervals that fail.

.. math:: \xi(\tau,\rho) = (\tau-K)\left(2-\sqrt{1-\tau^{-\rho}}\right)
    - \sum_{t=K+1}^{\tau}\sqrt{1-t^{-\rho}}

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorem 4 and the proof of Theorem 6. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.errors import InvalidInput
from bursar.theory import _domain
from bursar.theory._domain import Floats
from bursar.theory._quadrature import integrate
from bursar.theory.confidence import level, read_rho

_DIRECT = 2**14  # terms added one by one; from there on Euler-Maclaurin's f''' is below 1e-15


@overload
def xi(tau: float, rho: float, arms: float) -> float: ...
@overload
def xi(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> Floats: ...
def xi(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> Any:
    r"""Compute ξ, the plays of a worse arm that failing intervals cause (Theorem 4).

    .. math:: \xi(\tau,\rho) = (\tau-K)\,\alpha(\tau) + \sum_{t=K+1}^{\tau}\alpha(t),
        \qquad \alpha(t) = 1-\sqrt{1-t^{-\rho}}

    This form of the paper's ξ, with the `alpha` of Theorem 3, has positive terms only; the
    paper's own loses as many digits as τ has. The Euler-Maclaurin formula ends long sums.

    Parameters
    ----------
    tau : whole number or array, at least `arms`
        Time step.
    rho : float or array, positive
        Exploration parameter.
    arms : whole number or array, at least 1
        Number K of arms.

    Returns
    -------
    float or array
        ξ; relative error below 1e-14 for τ up to 1e12 and rho from 1e-3 to 10. It decreases in
        rho. In τ it grows without end for rho <= 1, but for rho > 2 it ends up decreasing.

    Examples
    --------
    >>> round(xi(10_000, 1.0, 10), 12)
    3.941009268132
    """
    return _domain.plain(_domain.each(_xi, *_read(tau, rho, arms)))


@overload
def xi_upper(tau: float, rho: float, arms: float) -> float: ...
@overload
def xi_upper(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> Floats: ...
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
    return _domain.plain(_domain.each(_xi_upper, *_read(tau, rho, arms)))


def read_tau(tau: ArrayLike) -> Floats:
    """Return a time step as float64, whole and from 1 on."""
    return _domain.whole("tau", tau, "it counts plays; round it")


def _read(tau: ArrayLike, rho: ArrayLike, arms: ArrayLike) -> list[Floats]:
    whole_arms = _domain.whole("arms", arms, "it counts the arms of the problem")
    values = _domain.together(tau=read_tau(tau), rho=read_rho(rho), arms=whole_arms)
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
