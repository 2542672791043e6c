r"""Confidence levels, the standard deviations that belong to them, and the intervals' asymmetry.

.. math:: z_\rho(t) = \sqrt{2\rho\log t}, \qquad \alpha(t) < 1 - \sqrt{1 - t^{-\rho}}

Heyden et al. (2024), KDD '24, Theorem 3 and App. "Asymmetry of confidence interval".
"""

import math
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import (
    Floats,
    broadcast,
    check_array,
    check_values,
    map_elements,
    to_floats,
    unwrap_scalar,
)

_NORMAL = NormalDist()


def level(t: Floats, rho: float | Floats) -> Floats:
    """Evaluate Theorem 3's bound without checks: 1 - sqrt(1 - u) = u / (1 + sqrt(1 - u))."""
    # expm1, because 1 - u from a rounded u keeps no digit of a t close to 1 or of a small rho.
    root = np.sqrt(-np.expm1(-rho * np.log(t)))
    result: Floats = np.power(t, -rho) / (1.0 + root)
    return result


def check_rho(rho: ArrayLike) -> Floats:
    """Return the exploration parameter as float64 above zero."""
    hint = "rho = 0.25 is a good start, rho >= 1 gives logarithmic regret"
    return check_array("rho", rho, hint, above=0.0)


def _check_times(t: ArrayLike, rho: ArrayLike) -> list[Floats]:
    time = check_array("t", t, "the first round is t = 1", least=1.0)
    return broadcast(t=time, rho=check_rho(rho))


def alpha(t: ArrayLike, rho: ArrayLike = 1.0) -> Any:
    r"""Bound the probability that an arm's ratio lies above its index (Theorem 3).

    .. math:: \alpha(t) < 1 - \sqrt{1 - t^{-\rho}}

    The bound is 1 at ``t = 1``; its relative error is about 1e-15.

    Parameters
    ----------
    t : float or array, at least 1
        Round. (The paper says t > 0, but below 1 the root has no real value.)
    rho : float or array, positive
        Exploration parameter.

    Examples
    --------
    >>> round(alpha(100), 12)
    0.005012562893
    """
    return unwrap_scalar(level(*_check_times(t, rho)))


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
    time, exponent = _check_times(t, rho)
    return unwrap_scalar(map_elements(math.erfc, np.sqrt(exponent * np.log(time))))


def z_rho(t: ArrayLike, rho: ArrayLike = 1.0) -> Any:
    r"""Compute how many standard deviations wide ω-UCB's intervals are in round t (Theorem 3).

    .. math:: z_\rho(t) = \sqrt{2\rho\log t}

    Parameters as in `alpha`.

    Examples
    --------
    >>> round(z_rho(10_000), 12)
    4.291932052579
    """
    time, exponent = _check_times(t, rho)
    return unwrap_scalar(np.sqrt(2.0 * exponent * np.log(time)))


def z_from_alpha(alpha: ArrayLike) -> Any:
    r"""Find the two-sided normal quantile of a level, the z of Theorem 1.

    .. math:: z = -\Phi^{-1}(\alpha / 2), \qquad \mathrm{erfc}(z / \sqrt 2) = \alpha

    A level of 1 gives 0 and a level of 0 gives infinity; the relative error is about 1e-15 for
    every double in [0, 1].

    Examples
    --------
    >>> round(z_from_alpha(0.05), 12)
    1.95996398454
    """
    hint = "a level is a probability"
    levels = check_array("alpha", alpha, hint, least=0.0, most=1.0)
    return unwrap_scalar(map_elements(_quantile, levels))


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


def asymmetry(
    mean: ArrayLike, n: ArrayLike, z: ArrayLike, eta: ArrayLike = 1.0,
    low: ArrayLike = 0.0, high: ArrayLike = 1.0, squared: bool = False,
) -> Any:  # fmt: skip
    r"""Compute how far the mean lies from its interval's centre, in half widths.

    .. math:: \frac{\bar\mu - B / 2A}{\sqrt{B^2 / 4A^2 - C / A}}
        = (x - y) \sqrt{\frac{\eta z^2}{4nxy + \eta z^2}}, \qquad
        x = \frac{\bar\mu - m}{M - m}, \quad y = \frac{M - \bar\mu}{M - m}

    It is in [-1, 1]: -1 at `low`, 0 in the middle, 1 at `high`. The paper claims [0, 1] for its
    definition, which holds for the square only. 0 for an interval of width zero (``z = 0`` or
    ``eta = 0``), which has no shape.

    Parameters
    ----------
    mean, n, z, eta, low, high : float or array
        As in `bursar.interval`, with [m, M] the range; any n above 0 will do.
    squared : bool
        Give the square, which the paper's closed form is and its figure shows, in [0, 1].

    Examples
    --------
    >>> round(asymmetry(0.9, 100, 3.0), 12), round(asymmetry(0.9, 100, 3.0, squared=True), 12)
    (0.3577708764, 0.128)
    >>> asymmetry([0.0, 0.5, 1.0], 10, 3.0)
    array([-1.,  0.,  1.])
    """
    centre, samples, deviations, ratio, m, big_m = broadcast(
        mean=to_floats("mean", mean),
        n=check_array("n", n, "an arm without a sample has no interval", above=0.0),
        z=check_array("z", z, "z counts standard deviations", least=0.0),
        eta=check_array("eta", eta, "1 is always safe", least=0.0, most=1.0),
        low=to_floats("low", low),
        high=to_floats("high", high),
    )
    check_values("low", m, m < big_m, "finite and below high", "swap them")
    check_values("high", big_m, m < big_m, "finite and above low", "swap them")
    inside = (centre >= m) & (centre <= big_m)
    check_values("mean", centre, inside, "in [low, high]", "pass the range that fits the data")
    x, y = (centre - m) / (big_m - m), (big_m - centre) / (big_m - m)
    tilt = (2.0 * centre - (m + big_m)) / (big_m - m)  # exact in the middle of [0, 1]; x - y is not
    pull = np.sqrt(ratio / samples) * deviations
    # hypot and separate roots, because neither z² nor x y may over- or underflow.
    size = np.hypot(pull, 2.0 * np.sqrt(x) * np.sqrt(y))
    share = np.divide(pull, size, out=np.zeros_like(size), where=pull > 0.0)
    signed: Floats = np.asarray(np.clip(tilt * share, -1.0, 1.0))
    return unwrap_scalar(signed * signed if squared else signed)
