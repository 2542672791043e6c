r"""True means of distributions on [0, 1] that have a closed form but no name in numpy.

.. math::
    \text{exponential, cut off:}\quad & 1/\lambda - 1/(e^\lambda - 1) \\
    \text{normal, clipped:}\quad & m(\Phi(b) - \Phi(a)) + s(\varphi(a) - \varphi(b)) + 1 - \Phi(b),
        \quad a = -m/s,\ b = (1 - m)/s \\
    \text{lognormal, capped:}\quad & e^{m + s^2/2}\,\Phi(-m/s - s) + \Phi(m/s) \\
    \text{Kumaraswamy:}\quad & b\,B(1 + 1/a, b)
"""

from __future__ import annotations

import math

import numpy as np

from bursar.checks import Floats

__all__ = ["capped_lognormal", "clipped_normal", "cut_exponential", "kumaraswamy"]


def cut_exponential(rate: Floats) -> Floats:
    """Return the means of exponential values on the condition that they are below 1.

    >>> cut_exponential(np.array([1e-3, 50.0])).round(4).tolist()
    [0.4999, 0.02]
    """
    return np.asarray(1.0 / rate - np.exp(-rate) / (1.0 - np.exp(-rate)))


def clipped_normal(location: Floats, deviation: Floats) -> Floats:
    """Return the means of normal values clipped into [0, 1].

    >>> clipped_normal(np.array([0.5, 0.0]), np.array([0.3, 1e-3])).round(4).tolist()
    [0.5, 0.0004]
    """
    low, high = -location / deviation, (1.0 - location) / deviation
    inside = location * (_cdf(high) - _cdf(low)) + deviation * (_density(low) - _density(high))
    return np.asarray(inside + _cdf(-high))


def capped_lognormal(location: Floats, deviation: Floats) -> Floats:
    """Return the means of min(1, exp(normal)).

    >>> capped_lognormal(np.array([-3.0, 5.0]), np.array([0.01, 0.5])).round(4).tolist()
    [0.0498, 1.0]
    """
    ratio = location / deviation
    below = np.exp(location + deviation**2 / 2.0) * _cdf(-ratio - deviation)
    return np.asarray(below + _cdf(ratio))


def kumaraswamy(a: Floats, b: Floats) -> Floats:
    """Return the means of Kumaraswamy's distribution, whose cdf is 1 - (1 - x^a)^b.

    >>> kumaraswamy(np.array([1.0, 2.0]), np.array([1.0, 1.0])).round(4).tolist()
    [0.5, 0.6667]
    """
    logs = [
        math.log(q) + math.lgamma(1.0 + 1.0 / p) + math.lgamma(q) - math.lgamma(1.0 + 1.0 / p + q)
        for p, q in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return np.exp(logs)


def _cdf(x: Floats) -> Floats:
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in x.tolist()])


def _density(x: Floats) -> Floats:
    return np.asarray(np.exp(-(x**2) / 2.0) / math.sqrt(2.0 * math.pi))
