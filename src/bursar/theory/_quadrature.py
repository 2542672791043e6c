"""Gauss-Legendre quadrature on panels, the smooth part of every long sum in this package.

A sum of 1e12 terms is its first terms, an integral and two end corrections (Euler-Maclaurin,
`NIST DLMF 2.10.1 <https://dlmf.nist.gov/2.10>`_). The integrands here are analytic and the callers
choose panels no wider than the distance to the next singularity, where 16 nodes leave an error
far below one unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bursar.theory._domain import Floats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def integrate(function: Callable[[Floats], Floats], edges: Floats) -> float:
    """Integrate a vectorised `function` over the panels between consecutive `edges`.

    Examples
    --------
    >>> abs(integrate(np.exp, np.array([0.0, 0.5, 1.0])) - np.expm1(1.0)) < 1e-15
    np.True_
    """
    half = np.diff(edges)[:, np.newaxis] / 2.0
    points = edges[:-1, np.newaxis] + half * (1.0 + NODES)
    return float(np.sum(function(points) * WEIGHTS * half))
