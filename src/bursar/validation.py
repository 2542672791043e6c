"""Checks of what callers pass in: arrays of numbers, their shapes, domains and ranges."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.errors import InvalidInput

__all__ = [
    "Floats",
    "arms",
    "at_least",
    "columns_of",
    "domain_positive",
    "domain_require",
    "domain_whole",
    "each",
    "inside",
    "mean_cost",
    "numbers",
    "plain",
    "positive",
    "real",
    "require",
    "shaped",
    "together",
    "whole",
    "within",
]

Floats = NDArray[np.float64]


def numbers(name: str, value: ArrayLike) -> Floats:
    """Return ``value`` as an array of float64, or say that it is not made of numbers."""
    try:
        raw = np.asarray(value)
        # float("0.5") would parse: text is refused, numbers of other libraries ("O") are not
        if raw.dtype.kind in "biufO":
            return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInput(f"{name} must be a number or an array of numbers, got {value!r}; convert it")


def together(**values: Floats) -> list[Floats]:
    """Broadcast arrays against each other, or say whose shapes do not fit."""
    try:
        return list(np.broadcast_arrays(*values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in values.items())
        raise InvalidInput(
            f"shapes do not fit together: {shapes}; give equal lengths or single numbers"
        ) from None


def real(name: str, value: Any) -> float:
    """Return a plain number, finite or not; refuse text, truth values, nothing and arrays."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidInput(f"{name} must be a number, got {value!r}; convert it")
    return float(value)


def positive(name: str, value: Any, hint: str) -> float:
    """Return a number above 0 and finite."""
    number = real(name, value)
    if not 0.0 < number < np.inf:
        raise InvalidInput(f"{name} must be positive and finite, got {value!r}; {hint}")
    return number


def whole(name: str, value: Any, least: int, hint: str) -> int:
    """Return a whole number that is not below ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name} must be a whole number, {least} or more, got {value!r}; {hint}")
    return int(value)


def columns_of(**named: ArrayLike) -> tuple[tuple[int, ...], list[Floats]]:
    """Broadcast named values to one shape; return it and the values as flat float arrays."""
    broad = together(**{name: numbers(name, value) for name, value in named.items()})
    for name, array in zip(named, broad, strict=True):
        if not np.isfinite(array).all():
            bad = array[~np.isfinite(array)].flat[0]
            raise InvalidInput(f"{name} must be finite, got {bad}; leave out what was not observed")
    return broad[0].shape, [np.ravel(b).copy() for b in broad]


def shaped(flat: Floats, shape: tuple[int, ...]) -> Any:
    """Give a flat result the shape of the input back; a float for scalar input."""
    return float(flat[0]) if shape == () else flat.reshape(shape)


def require(holds: NDArray[np.bool_], name: str, values: Floats, domain: str) -> None:
    """Raise unless the condition holds everywhere; the message shows the first offender."""
    if not holds.all():
        raise InvalidInput(f"{name} must be {domain}, got {values[~holds][0]:g}")


def inside(mean: Floats, low: Any, high: Any, name: str) -> Floats:
    """Return means clipped to their range; raise if one lies outside by more than round-off."""
    slack = 1e-9 * (high - low)  # a running mean may leave its range by a few last digits
    outside = (mean < low - slack) | (mean > high + slack)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        bottom, top = (np.broadcast_to(v, mean.shape)[first] for v in (low, high))
        raise InvalidInput(
            f"{name} must be in its range [{bottom:g}, {top:g}], got {mean[first]:g};"
            " pass the range that fits the data"
        )
    return np.clip(mean, low, high)


# ==== theory._domain
# The domain of a formula: numbers in, the reason why not, and numbers out again.
#
# Every public function of `bursar.theory` reads its arguments here, so that a value outside of a
# theorem is refused with the same words everywhere and never turns into a NaN further down.


def domain_require(
    name: str, values: Floats, ok: NDArray[np.bool_], domain: str, hint: str
) -> Floats:
    """Return `values` if `ok` everywhere and finite, or name the first that is not."""
    bad = ~(ok & np.isfinite(values))
    if bad.any():
        first = float(values[bad].flat[0])
        raise InvalidInput(f"{name} must be {domain}, got {first!r}; {hint}")
    return values


def domain_positive(name: str, value: ArrayLike, hint: str) -> Floats:
    """Return `value` as float64 above zero."""
    values = numbers(name, value)
    return domain_require(name, values, values > 0.0, "positive", hint)


def at_least(name: str, value: ArrayLike, least: float, hint: str) -> Floats:
    """Return `value` as float64 not below `least`."""
    values = numbers(name, value)
    return domain_require(name, values, values >= least, f"at least {least:g}", hint)


def within(name: str, value: ArrayLike, low: float, high: float, hint: str) -> Floats:
    """Return `value` as float64 in the closed interval [low, high]."""
    values = numbers(name, value)
    ok = (values >= low) & (values <= high)
    return domain_require(name, values, ok, f"in [{low:g}, {high:g}]", hint)


def domain_whole(name: str, value: ArrayLike, hint: str) -> Floats:
    """Return `value` as float64 made of whole numbers from 1 on."""
    values = numbers(name, value)
    ok = (values >= 1.0) & (values == np.floor(values))
    return domain_require(name, values, ok, "a whole number of at least 1", hint)


def mean_cost(name: str, value: ArrayLike) -> Floats:
    """Return `value` as float64 in (0, 1], the costs of the theorems."""
    values = numbers(name, value)
    hint = "divide costs by the largest one possible, and drop arms that cost nothing"
    return domain_require(name, values, (values > 0.0) & (values <= 1.0), "in (0, 1]", hint)


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
