r"""The horizon of a budget.

.. math:: \tau_B = \left\lfloor 2B / \min_k\mu_k^c \right\rfloor

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24, Theorem 5. https://arxiv.org/abs/2306.07071
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from bursar.errors import InvalidInput
from bursar.theory import _domain
from bursar.theory._domain import Floats


@overload
def tau_budget(budget: float, min_cost: float) -> int: ...
@overload
def tau_budget(budget: ArrayLike, min_cost: ArrayLike) -> Floats: ...
def tau_budget(budget: ArrayLike, min_cost: ArrayLike) -> Any:
    r"""Compute the horizon that a budget hardly ever outlives (Theorem 5).

    .. math:: \tau_B = \left\lfloor 2B / \min_k\mu_k^c \right\rfloor

    Parameters
    ----------
    budget : float or array, positive
        Budget B.
    min_cost : float or array in (0, 1]
        Smallest mean cost of an arm.

    Returns
    -------
    int or array
        The floor of the exact quotient of the two doubles. The double 0.1 lies above one tenth,
        so a budget of 100 gives 1999 with it, where float division would round up to 2000.

    Examples
    --------
    >>> tau_budget(100, 0.1), tau_budget(100, 0.125)
    (1999, 1600)
    """
    values = read(budget, min_cost)
    if values[0].ndim == 0:
        return exact(*(value.item() for value in values))
    return _domain.each(exact, *values)


def exact(budget: float, min_cost: float) -> int:
    """Return the exact floor of 2 budget / min_cost."""
    return math.floor(2 * Fraction(budget) / Fraction(min_cost))


def read(budget: ArrayLike, min_cost: ArrayLike) -> list[Floats]:
    """Return budget and smallest mean cost as float64 of one shape, inside their domains."""
    values = _domain.together(
        budget=_domain.positive("budget", budget, "a budget pays for at least a part of a play"),
        min_cost=_domain.mean_cost("min_cost", min_cost),
    )
    # Divided in logarithms, because the quotient itself is what may overflow.
    far = np.log10(values[0]) - np.log10(values[1]) > 300.0
    if far.any():
        money, cost = (float(value[far].flat[0]) for value in values)
        raise InvalidInput(
            f"budget / min_cost must be below 1e300, got {money!r} / {cost!r}; "
            "no run is that long, check the units"
        )
    return values
