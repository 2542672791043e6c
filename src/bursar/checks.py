"""Checks of what callers pass in: arrays of numbers, their shapes, domains and ranges."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.errors import InvalidInput

__all__ = [
    "Floats",
    "columns_of",
    "inside",
    "numbers",
    "positive",
    "real",
    "require",
    "shaped",
    "together",
    "whole",
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
