r"""The largest ratio of two means that two samples of different weight still allow.

.. math:: \sup\{x/y : A\,kl(r, x) + C\,kl(c, y) \le z^2/2\}

On the edge of the region the point of the largest ratio is known but for one number: with
:math:`y = c\,e^{-u}` the multiplier is :math:`\mu = C(c - y)/(1 - y)` and
:math:`x = (r + \mu/A)/(1 + \mu/A)`. So one equation in u is left, whose square root is nearly a
straight line: Newton's method, kept within a bracket. For normal data it is Fieller's interval.
"""

from __future__ import annotations

import math

from bursar.compiled import compiled
from bursar.divergence import bernoulli_kl

__all__ = ["allows", "largest_ratio"]

_EXACT = 1e-13
_FARTHEST = 700.0  # of u: a ratio beyond is hardly a double any more


@compiled
def allows(weight_r: float, r: float, weight_c: float, c: float, z: float, ratio: float) -> bool:
    """Return whether a point of that ratio is in the region: far less work than the largest.

    Among all points of a ratio the one of the least divergence is the root of a quadratic. Rounding
    can only make it another point of that ratio, so a yes is always right.
    """
    if ratio <= r / c:
        return z >= 0.0
    half = 0.5 * (weight_r * (ratio + r) + weight_c * (1.0 + c * ratio))
    last = weight_r * r + weight_c * c
    y = last / (half + math.sqrt(max(half * half - (weight_r + weight_c) * ratio * last, 0.0)))
    x = ratio * y
    if not (r <= x < 1.0 and y <= c):
        return False
    spent = weight_r * bernoulli_kl(r, x, 1.0 - x) + weight_c * bernoulli_kl(c, y, 1.0 - y)
    return 2.0 * spent < z * z


@compiled
def largest_ratio(weight_r: float, r: float, weight_c: float, c: float, z: float) -> float:
    """Return the supremum, for means inside (0, 1).

    >>> round(largest_ratio(100.0, 0.5, 100.0, 0.5, 0.0), 12)
    1.0
    >>> round(largest_ratio(1e8, 0.5, 1e8, 0.25, 2.0), 6)  # as normal: 2 (1 + 2e-4 sqrt(1 + 3))
    2.0008
    """
    ratio = r / c
    if z <= 0.0:
        return ratio
    part_c = (1.0 - c) / (weight_c * c)  # squared relative errors
    part_r = (1.0 - r) / (weight_r * r)
    u = z * part_c / math.sqrt(part_c + part_r)
    low, high = 0.0, math.inf
    for _ in range(100):
        y = c * math.exp(-u)
        rest_y = 1.0 - y
        gap = -c * math.expm1(-u)  # c - y
        mu = weight_c * gap / rest_y
        lift = mu / weight_r
        x, rest_x = (r + lift) / (1.0 + lift), (1.0 - r) / (1.0 + lift)
        level = weight_r * bernoulli_kl(r, x, rest_x) + weight_c * bernoulli_kl(c, y, rest_y)
        root = math.sqrt(2.0 * level)
        ratio = x / y
        if root > z:
            high = u
        else:
            low = u
            if low > _FARTHEST:
                return math.inf
        slope_mu = weight_c * y * (1.0 - c) / (rest_y * rest_y)
        slope_x = rest_x / (weight_r * (1.0 + lift)) * slope_mu / x  # of log x
        step = (z - root) * root / (mu * (1.0 + slope_x)) if mu > 0.0 else math.inf
        last, u = u, u + step
        if not low < u < high:
            u = 0.5 * (low + high) if high < math.inf else 2.0 * last
        if abs(u - last) <= _EXACT * last:
            break
    return ratio
