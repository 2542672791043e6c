"""The domain of a formula: numbers in, the reason why not, and numbers out again.

Every public function of `bursar.theory` reads its arguments here, so that a value outside of a
theorem is refused with the same words everywhere and never turns into a NaN further down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.checks import Floats, numbers, together
from bursar.errors import InvalidInput

__all__ = [
    "Floats",
    "arms",
    "at_least",
    "each",
    "mean_cost",
    "numbers",
    "plain",
    "positive",
    "require",
    "together",
    "whole",
    "within",
]


def require(name: str, values: Floats, ok: NDArray[np.bool_], domain: str, hint: str) -> Floats:
    """Return `values` if `ok` everywhere and finite, or name the first that is not."""
    bad = ~(ok & np.isfinite(values))
    if bad.any():
        first = float(values[bad].flat[0])
        raise InvalidInput(f"{name} must be {domain}, got {first!r}; {hint}")
    return values


def positive(name: str, value: ArrayLike, hint: str) -> Floats:
    """Return `value` as float64 above zero."""
    values = numbers(name, value)
    return require(name, values, values > 0.0, "positive", hint)


def at_least(name: str, value: ArrayLike, least: float, hint: str) -> Floats:
    """Return `value` as float64 not below `least`."""
    values = numbers(name, value)
    return require(name, values, values >= least, f"at least {least:g}", hint)


def within(name: str, value: ArrayLike, low: float, high: float, hint: str) -> Floats:
    """Return `value` as float64 in the closed interval [low, high]."""
    values = numbers(name, value)
    ok = (values >= low) & (values <= high)
    return require(name, values, ok, f"in [{low:g}, {high:g}]", hint)


def whole(name: str, value: ArrayLike, hint: str) -> Floats:
    """Return `value` as float64 made of whole numbers from 1 on."""
    values = numbers(name, value)
    ok = (values >= 1.0) & (values == np.floor(values))
    return require(name, values, ok, "a whole number of at least 1", hint)


def mean_cost(name: str, value: ArrayLike) -> Floats:
    """Return `value` as float64 in (0, 1], the costs of the theorems."""
    values = numbers(name, value)
    hint = "divide costs by the largest one possible, and drop arms that cost nothing"
    return require(name, values, (values > 0.0) & (values <= 1.0), "in (0, 1]", hint)


def arms(mean_rewards: ArrayLike, mean_costs: ArrayLike) -> tuple[Floats, Floats]:
    """Return the mean rewards in [0, 1] and mean costs in (0, 1] of all arms of a problem."""
    hint = "divide rewards by the largest one possible"
    mu_r = within("mean_reward", mean_rewards, 0.0, 1.0, hint)
    mu_c = mean_cost("mean_cost", mean_costs)
    if mu_r.ndim != 1 or mu_r.shape != mu_c.shape or mu_r.size == 0:
        raise InvalidInput(
            "mean_reward and mean_cost must be two lists of the same length, one entry an arm, "
            f"got shapes {mu_r.shape} and {mu_c.shape}; pass every arm of the problem"
        )
    return mu_r, mu_c


def each(function: Callable[..., float], *values: Floats) -> Floats:
    """Apply a function of plain numbers to every element of arrays of one shape."""
    columns = (array.ravel().tolist() for array in values)
    results = [function(*row) for row in zip(*columns, strict=True)]
    return np.array(results, dtype=np.float64).reshape(values[0].shape)


def plain(values: Floats) -> Any:
    """Return a 0-d array as a Python float and any other array as it is."""
    return values.item() if values.ndim == 0 else values
