"""Theorems 1 and 2: confidence intervals for bounded variables and for reward per cost."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import (
    Floats,
    broadcast_columns,
    check_means,
    check_values,
    restore_shape,
    unwrap_scalar,
)
from bursar.errors import InvalidInput
from bursar.jit.bounds import lower, upper
from bursar.jit.compile import specialize
from bursar.theory import z_from_alpha


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
    shape, (m, n_, z_, eta_, low_, high_) = broadcast_columns(
        mean=mean, n=n, z=z, eta=eta, low=low, high=high
    )
    check_values("n", n_, n_ >= 0.0, "0 or more samples")
    check_values("z", z_, z_ >= 0.0, "0 or more")
    check_values("eta", eta_, (eta_ >= 0.0) & (eta_ <= 1.0), "in [0, 1]")
    _check_ranges(low_, high_)
    m = check_means("mean", m, low_, high_)
    below, above = ends = np.empty_like(m), np.empty_like(m)
    _write_intervals(m, n_, z_, eta_, low_, high_, *ends)
    return restore_shape(below, shape), restore_shape(above, shape)


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
    shape, (m, v, count, low_, high_) = broadcast_columns(
        mean=mean, variance=variance, n=min_samples if n is None else n, low=low, high=high
    )
    check_values("variance", v, v >= 0.0, "0 or more")
    _check_ranges(low_, high_)
    m = check_means("mean", m, low_, high_)
    if not 0.0 <= eta_min <= 1.0:
        raise InvalidInput(f"eta_min must be in [0, 1], got {eta_min!r}; 0 is the paper's choice")
    width = high_ - low_
    most = (m - low_) / width * ((high_ - m) / width)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.clip(v / (width * width) / most, eta_min, 1.0)
    return restore_shape(np.where((count >= min_samples) & (most > 0.0), estimate, 1.0), shape)


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
