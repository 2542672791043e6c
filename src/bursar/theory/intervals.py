r"""Confidence intervals for bounded variables and for reward per cost, and their levels.

.. math:: z_\rho(t) = \sqrt{2\rho\log t}, \qquad \alpha(t) < 1 - \sqrt{1 - t^{-\rho}}

Heyden et al. (2024), KDD '24, Theorems 1 to 3 and App. "Asymmetry of confidence interval".
"""

import math
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar import arrays
from bursar.arrays import Floats, check_array, check_values, to_floats, unwrap_scalar
from bursar.errors import InvalidInput
from bursar.jit.bounds import lower, upper
from bursar.jit.compile import specialize

_NORMAL = NormalDist()


def interval(
    mean: ArrayLike, n: ArrayLike, z: ArrayLike, eta: ArrayLike = 1.0,
    low: ArrayLike = 0.0, high: ArrayLike = 1.0,
) -> tuple[Any, Any]:  # fmt: skip
    """Return Theorem 1's asymmetric confidence interval of the mean of a bounded variable.

    Wilson's score interval, for any range and any variance. All arguments broadcast.

    Parameters
    ----------
    mean : array_like
        Sample mean, between ``low`` and ``high``.
    n : array_like
        Number of samples; 0 gives the whole range.
    z : array_like
        Standard deviations of the standard normal distribution that give the wanted coverage.
    eta : array_like
        Variance over the largest variance that the mean allows, in [0, 1]; 1 for Bernoulli data.
    low, high : array_like
        The range of the variable.

    Returns
    -------
    lower, upper : float or array
        Floats for scalar input, arrays otherwise.

    Examples
    --------
    >>> lower, upper = interval(0.3, n=10, z=1.959963984540054)
    >>> round(lower, 6), round(upper, 6)
    (0.107791, 0.603222)
    >>> interval(2.0, n=0, z=2.0, low=1.0, high=4.0)
    (1.0, 4.0)

    References
    ----------
    Heyden, Arzamasov, Fouché & Böhm (2024), Theorem 1. https://arxiv.org/abs/2306.07071
    """
    shape, (m, n_, z_, eta_, low_, high_) = arrays.broadcast_columns(
        mean=mean, n=n, z=z, eta=eta, low=low, high=high
    )
    check_values("n", n_, n_ >= 0.0, "0 or more samples")
    check_values("z", z_, z_ >= 0.0, "0 or more")
    check_values("eta", eta_, (eta_ >= 0.0) & (eta_ <= 1.0), "in [0, 1]")
    _check_ranges(low_, high_)
    m = arrays.check_means("mean", m, low_, high_)
    below, above = ends = np.empty_like(m), np.empty_like(m)
    _write_intervals(m, n_, z_, eta_, low_, high_, *ends)
    return unwrap_scalar(below.reshape(shape)), unwrap_scalar(above.reshape(shape))


def ratio_bound(
    mean_reward: ArrayLike,
    mean_cost: ArrayLike,
    n: ArrayLike,
    alpha: float = 0.05,
    *,
    z: ArrayLike | None = None,
    eta_reward: ArrayLike = 1.0,
    eta_cost: ArrayLike = 1.0,
    reward_range: tuple[float, float] = (0.0, 1.0),
    cost_range: tuple[float, float] = (0.0, 1.0),
) -> Any:
    """Return Theorem 2's upper bound on expected reward over expected cost.

    The upper bound of the reward over the lower bound of the cost, both at the same ``z``; exceeded
    with probability of at most ``alpha`` (nominal: it rests on the central limit theorem). It is
    infinite while the lower bound of the cost is 0.

    Parameters
    ----------
    mean_reward, mean_cost, n : array_like
        Sample means and number of samples.
    alpha : float
        Probability of a violation; gives ``z``, the two-sided normal quantile.
    z : array_like, optional
        Standard deviations, in place of ``alpha``.
    eta_reward, eta_cost : array_like
        As in :func:`interval`.
    reward_range, cost_range : (low, high)
        Ranges of the variables; costs cannot be negative.

    Examples
    --------
    The paper's Example 2: 1,000 plays of each of two arms.

    >>> ratio_bound([0.8, 0.1], [0.2, 0.1], 1000, z=4.05562).round(2).tolist()
    [5.5, 2.14]
    """
    if cost_range[0] < 0.0:
        raise InvalidInput(
            f"cost_range must start at 0 or above, got {cost_range!r}; costs cannot be negative"
        )
    if z is None:
        if not 0.0 < alpha <= 1.0:
            raise InvalidInput(f"alpha must be in (0, 1], got {alpha!r}; try alpha=0.05")
        z = z_from_alpha(alpha)
    _, reward = interval(mean_reward, n, z, eta_reward, *reward_range)
    least, most = interval(mean_cost, n, z, eta_cost, *cost_range)
    # a reward that is below 0 at its best loses least per cost where costs are highest
    cost = np.where(np.asarray(reward) >= 0.0, least, most)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(cost > 0.0, np.divide(reward, cost), np.inf)
    return unwrap_scalar(bound)


def eta(
    mean: ArrayLike,
    variance: ArrayLike,
    n: ArrayLike | None = None,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    min_samples: int = 30,
    eta_min: float = 0.0,
) -> Any:
    """Estimate eta of Theorem 1 from a sample: variance / ((high - mean)(mean - low)).

    Parameters
    ----------
    mean, variance : array_like
        Sample mean and *biased* sample variance (divided by n). With it the Bhatia-Davis inequality
        holds for the sample itself, so eta needs no correction and is exactly 1 for Bernoulli data.
    n : array_like, optional
        Number of samples; where it is below ``min_samples`` the estimate is 1.
    low, high : array_like
        The range of the variable.
    min_samples : int
        Samples from which on the variance is trusted; 30 in the paper.
    eta_min : float
        Smallest estimate. 0 as in the paper, where 30 equal values make an interval of no width.

    Examples
    --------
    >>> round(eta(0.4, 0.02), 6), eta(0.4, 0.02, n=29), eta(1.0, 0.0)
    (0.083333, 1.0, 1.0)
    """
    shape, (m, v, count, low_, high_) = arrays.broadcast_columns(
        mean=mean, variance=variance, n=min_samples if n is None else n, low=low, high=high
    )
    check_values("variance", v, v >= 0.0, "0 or more")
    _check_ranges(low_, high_)
    m = arrays.check_means("mean", m, low_, high_)
    if not 0.0 <= eta_min <= 1.0:
        raise InvalidInput(f"eta_min must be in [0, 1], got {eta_min!r}; 0 is the paper's choice")
    width = high_ - low_
    most = (m - low_) / width * ((high_ - m) / width)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.clip(v / (width * width) / most, eta_min, 1.0)
    known = (count >= min_samples) & (most > 0.0)
    return unwrap_scalar(np.where(known, estimate, 1.0).reshape(shape))


def _check_ranges(low: Floats, high: Floats) -> None:
    with np.errstate(over="ignore"):
        bad = ~((high > low) & np.isfinite(high - low))
    if bad.any():
        raise InvalidInput(
            f"high must be above low by a finite width, got low={low[bad][0]:g} and"
            f" high={high[bad][0]:g}; swap or narrow them"
        )


def _intervals(
    mean: Floats, n: Floats, z: Floats, eta: Floats, low: Floats, high: Floats,
    below: Floats, above: Floats,
) -> None:  # fmt: skip
    for i in range(mean.size):
        a = z[i] * z[i] * eta[i] / n[i] if n[i] > 0.0 else np.inf
        if a == np.inf:
            below[i], above[i] = low[i], high[i]
            continue
        if a == 0.0:  # no spread: the sample mean itself, untouched by a division
            below[i], above[i] = mean[i], mean[i]
            continue
        width = high[i] - low[i]
        x, y = (mean[i] - low[i]) / width, (high[i] - mean[i]) / width
        p = upper(x, y, a)
        # adding the lower end may cost the last digit, and the mean must not fall outside for it
        below[i] = min(low[i] + width * lower(x, y, a), mean[i])
        above[i] = high[i] if p == 1.0 else max(low[i] + width * p, mean[i])


_write_intervals = specialize(_intervals, "interval")


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
    return arrays.broadcast(t=time, rho=check_rho(rho))


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
    return unwrap_scalar(arrays.map_elements(math.erfc, np.sqrt(exponent * np.log(time))))


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
    return unwrap_scalar(arrays.map_elements(_quantile, levels))


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
    centre, samples, deviations, ratio, m, big_m = arrays.broadcast(
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
