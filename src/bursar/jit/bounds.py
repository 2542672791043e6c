r"""Theorem 1's interval on [0, 1], in a form that is exact at its edges.

With :math:`a = z^2\eta/n` the bounds are the roots p of :math:`(x - p)^2 = a\,p(1 - p)`, x the
sample mean mapped to [0, 1] and y = 1 - x. The textbook form B/2A ± sqrt(B²/4A² - C/A) subtracts
nearly equal numbers: an arm that never cost anything gets a lower bound of about -1e-17 there, and
so an index of -1e16. Here nothing is subtracted: the lower bound is 0 if and only if x is 0, and
the upper bound is 1 if and only if y is 0.
"""

import math

from bursar.jit.compile import compiled


@compiled
def lower(x: float, y: float, a: float) -> float:
    """Return the lower bound of a mean in [0, 1]; ``x`` the sample mean, ``y`` its complement."""
    if x <= 0.0:
        return 0.0
    if y <= 0.0:
        x, y = 1.0, 0.0
    s = math.sqrt(a * (x * y + 0.25 * a))
    return x * (x / (x + 0.5 * a + s))  # not x*x/(…): x² must not underflow


@compiled
def upper(x: float, y: float, a: float) -> float:
    """Return the upper bound of a mean in [0, 1]; ``x`` the sample mean, ``y`` its complement."""
    if y <= 0.0:
        return 1.0
    if x <= 0.0:
        x, y = 0.0, 1.0
    s = math.sqrt(a * (x * y + 0.25 * a))
    p = (x + 0.5 * a + s) / (1.0 + a)
    if p <= 0.5:
        return p
    return 1.0 - y * (y / (y + 0.5 * a + s))  # small distances to 1 keep their digits


@compiled
def eta_of(x: float, y: float, variance: float, least: float) -> float:
    """Return the estimate of eta: a biased variance over the largest one that the mean allows."""
    most = x * y
    if most <= 0.0:
        return 1.0
    return min(1.0, max(least, variance / most))


@compiled
def ratio(reward: float, cost: float) -> float:
    """Return reward per cost; infinity for a free arm with any reward."""
    if cost > 0.0:
        return reward / cost
    return math.inf if reward > 0.0 else 0.0
