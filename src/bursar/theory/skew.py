r"""Asymmetry of the confidence interval of Theorem 1 around the sample mean.

.. math:: \frac{\bar\mu - B / 2A}{\sqrt{B^2 / 4A^2 - C / A}}
    = (x - y) \sqrt{\frac{\eta z^2}{4nxy + \eta z^2}}, \qquad
    x = \frac{\bar\mu - m}{M - m}, \quad y = \frac{M - \bar\mu}{M - m}

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, App. "Asymmetry of confidence interval". https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.theory import _domain
from bursar.theory._domain import Floats


@overload
def asymmetry(
    mean: float,
    n: float,
    z: float,
    eta: float = 1.0,
    low: float = 0.0,
    high: float = 1.0,
    squared: bool = False,
) -> float: ...
@overload
def asymmetry(
    mean: ArrayLike,
    n: ArrayLike,
    z: ArrayLike,
    eta: ArrayLike = 1.0,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    squared: bool = False,
) -> Floats: ...
def asymmetry(
    mean: ArrayLike,
    n: ArrayLike,
    z: ArrayLike,
    eta: ArrayLike = 1.0,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    squared: bool = False,
) -> Any:
    r"""Compute how far the mean lies from its interval's centre, in half widths.

    Parameters
    ----------
    mean : float or array in [low, high]
        Sample mean.
    n : float or array, positive
        Sample size; any weight above 0 will do.
    z : float or array, at least 0
        Number of standard deviations, as of `z_rho`.
    eta : float or array in [0, 1]
        Variance over that of a Bernoulli variable of the same mean.
    low, high : float or array
        Range [m, M] of the variable.
    squared : bool
        Give the square, which the paper's closed form is and its figure shows, in [0, 1].

    Returns
    -------
    float or array
        In [-1, 1]: -1 at `low`, 0 in the middle, 1 at `high`. The paper claims [0, 1] for its
        definition, which holds for the square only. 0 for an interval of width zero (``z = 0``
        or ``eta = 0``), which has no shape.

    Examples
    --------
    >>> round(asymmetry(0.9, 100, 3.0), 12), round(asymmetry(0.9, 100, 3.0, squared=True), 12)
    (0.3577708764, 0.128)
    >>> asymmetry([0.0, 0.5, 1.0], 10, 3.0)
    array([-1.,  0.,  1.])
    """
    centre, samples, deviations, ratio, m, big_m = _read(mean, n, z, eta, low, high)
    x, y = (centre - m) / (big_m - m), (big_m - centre) / (big_m - m)
    tilt = (2.0 * centre - (m + big_m)) / (big_m - m)  # exact in the middle of [0, 1]; x - y is not
    pull = np.sqrt(ratio / samples) * deviations
    # hypot and separate roots, because neither z² nor x y may over- or underflow.
    size = np.hypot(pull, 2.0 * np.sqrt(x) * np.sqrt(y))
    share = np.divide(pull, size, out=np.zeros_like(size), where=pull > 0.0)
    signed: Floats = np.asarray(np.clip(tilt * share, -1.0, 1.0))
    return _domain.plain(signed * signed if squared else signed)


def _read(
    mean: ArrayLike, n: ArrayLike, z: ArrayLike, eta: ArrayLike, low: ArrayLike, high: ArrayLike
) -> list[Floats]:
    values = _domain.together(
        mean=_domain.numbers("mean", mean),
        n=_domain.positive("n", n, "an arm without a sample has no interval"),
        z=_domain.at_least("z", z, 0.0, "z counts standard deviations"),
        eta=_domain.within("eta", eta, 0.0, 1.0, "1 is always safe"),
        low=_domain.numbers("low", low),
        high=_domain.numbers("high", high),
    )
    centre, *_, m, big_m = values
    _domain.require("low", m, m < big_m, "finite and below high", "swap them")
    _domain.require("high", big_m, m < big_m, "finite and above low", "swap them")
    inside = (centre >= m) & (centre <= big_m)
    _domain.require("mean", centre, inside, "in [low, high]", "pass the range that fits the data")
    return values
