r"""Confidence levels and the number of standard deviations that belongs to them.

.. math:: z_\rho(t) = \sqrt{2\rho\log t}, \qquad \alpha(t) < 1 - \sqrt{1 - t^{-\rho}}

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorem 3. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math
import sys
from statistics import NormalDist
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.theory import _domain
from bursar.theory._domain import Floats

_NORMAL = NormalDist()
_RHO_HINT = "rho = 0.25 is a good start, rho >= 1 gives logarithmic regret"
_TIME_HINT = "the first round is t = 1"


def level(t: Floats, rho: float | Floats) -> Floats:
    """Evaluate Theorem 3's bound without checks: 1 - sqrt(1 - u) = u / (1 + sqrt(1 - u))."""
    # expm1, because 1 - u from a rounded u keeps no digit of a t close to 1 or of a small rho.
    root = np.sqrt(-np.expm1(-rho * np.log(t)))
    result: Floats = np.power(t, -rho) / (1.0 + root)
    return result


def read_rho(rho: ArrayLike) -> Floats:
    """Return the exploration parameter as float64 above zero."""
    return _domain.positive("rho", rho, _RHO_HINT)


def _read(t: ArrayLike, rho: ArrayLike) -> list[Floats]:
    return _domain.together(t=_domain.at_least("t", t, 1.0, _TIME_HINT), rho=read_rho(rho))


@overload
def alpha(t: float, rho: float = 1.0) -> float: ...
@overload
def alpha(t: ArrayLike, rho: ArrayLike = 1.0) -> Floats: ...
def alpha(t: ArrayLike, rho: ArrayLike = 1.0) -> Any:
    r"""Bound the probability that an arm's ratio lies above its index (Theorem 3).

    .. math:: \alpha(t) < 1 - \sqrt{1 - t^{-\rho}}

    Parameters
    ----------
    t : float or array, at least 1
        Round. (The paper says t > 0, but below 1 the root has no real value.)
    rho : float or array, positive
        Exploration parameter.

    Returns
    -------
    float or array
        The bound, 1 at ``t = 1``; relative error about 1e-15.

    Examples
    --------
    >>> round(alpha(100), 12)
    0.005012562893
    """
    return _domain.plain(level(*_read(t, rho)))


@overload
def alpha_exact(t: float, rho: float = 1.0) -> float: ...
@overload
def alpha_exact(t: ArrayLike, rho: ArrayLike = 1.0) -> Floats: ...
def alpha_exact(t: ArrayLike, rho: ArrayLike = 1.0) -> Any:
    r"""Compute the nominal level that z(t) stands for, before Theorem 3 rounds it up.

    .. math:: \alpha(t) = 1 - \mathrm{erf}(z_\rho(t) / \sqrt 2) = \mathrm{erfc}\sqrt{\rho\log t}

    Parameters as in `alpha`. The relative error is about ``5e-16 * (1 + rho log t)``, because a
    tail probability magnifies the rounding of its argument.

    Examples
    --------
    >>> alpha_exact(10_000) < alpha(10_000)
    True
    """
    time, exponent = _read(t, rho)
    return _domain.plain(_domain.each(math.erfc, np.sqrt(exponent * np.log(time))))


@overload
def z_rho(t: float, rho: float = 1.0) -> float: ...
@overload
def z_rho(t: ArrayLike, rho: ArrayLike = 1.0) -> Floats: ...
def z_rho(t: ArrayLike, rho: ArrayLike = 1.0) -> Any:
    r"""Compute how many standard deviations wide ω-UCB's intervals are in round t (Theorem 3).

    .. math:: z_\rho(t) = \sqrt{2\rho\log t}

    Parameters as in `alpha`.

    Examples
    --------
    >>> round(z_rho(10_000), 12)
    4.291932052579
    """
    time, exponent = _read(t, rho)
    return _domain.plain(np.sqrt(2.0 * exponent * np.log(time)))


@overload
def z_from_alpha(alpha: float) -> float: ...
@overload
def z_from_alpha(alpha: ArrayLike) -> Floats: ...
def z_from_alpha(alpha: ArrayLike) -> Any:
    r"""Find the two-sided normal quantile of a level, the z of Theorem 1.

    .. math:: z = -\Phi^{-1}(\alpha / 2), \qquad \mathrm{erfc}(z / \sqrt 2) = \alpha

    Parameters
    ----------
    alpha : float or array in [0, 1]
        Level; 1 gives 0 and 0 gives infinity.

    Returns
    -------
    float or array
        The quantile; relative error about 1e-15 for every double.

    Examples
    --------
    >>> round(z_from_alpha(0.05), 12)
    1.95996398454
    """
    hint = "a level is a probability"
    levels = _domain.within("alpha", alpha, 0.0, 1.0, hint)
    return _domain.plain(_domain.each(_quantile, levels))


def _quantile(alpha: float) -> float:
    if alpha == 0.0:
        return math.inf
    if alpha >= 2.0 * sys.float_info.min:
        return abs(_NORMAL.inv_cdf(alpha / 2.0))  # abs, because alpha = 1 gives -0.0
    # alpha / 2 is no double any more: solve sqrt(2/pi) e^(-z²/2) / z (1 - 1/z² + ...) = alpha.
    z = 37.5
    for _ in range(4):
        w = 1.0 / (z * z)
        mills = 1.0 - w * (1.0 - 3.0 * w * (1.0 - 5.0 * w * (1.0 - 7.0 * w)))
        excess = -z * z / 2.0 - math.log(z / mills) + 0.5 * math.log(2.0 / math.pi)
        z += (excess - math.log(alpha)) * mills / z
    return z
