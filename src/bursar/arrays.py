"""Arrays of floats that callers pass: conversion, shapes and domains.

Every check returns the values it accepted, as float64, or raises :class:`InvalidInput` with the
name, the requirement and the first value that breaks it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.errors import InvalidInput

Floats = NDArray[np.float64]


def check_array(
    name: str,
    value: ArrayLike,
    hint: str = "",
    *,
    above: float | None = None,
    least: float | None = None,
    most: float = np.inf,
    whole: bool = False,
) -> Floats:
    """Return finite float64 values above ``above`` or from ``least`` on, and up to ``most``.

    >>> check_array("rho", [0.25, -1], "try 0.25", above=0.0)
    Traceback (most recent call last):
    bursar.errors.InvalidInput: rho must be positive, got -1.0; try 0.25
    """
    values = to_floats(name, value)
    low = above if least is None else least
    holds = values <= most
    if low is not None:
        holds &= values > low if least is None else values >= low
    if whole:
        holds &= values == np.floor(values)
    if np.isfinite(most):
        domain = f"in {'(' if least is None else '['}{low:g}, {most:g}]"
    elif least is None:
        domain = "positive" if above == 0.0 else f"above {above:g}"
    else:
        domain = f"{'a whole number of ' if whole else ''}at least {least:g}"
    return check_values(name, values, holds, domain, hint)


def check_values(
    name: str, values: Floats, holds: NDArray[np.bool_], domain: str, hint: str = ""
) -> Floats:
    """Return ``values`` if they are finite and ``holds`` is true of all; name the first if not."""
    bad = ~(holds & np.isfinite(values))
    if bad.any():
        first = float(values[bad].flat[0])
        way_out = f"; {hint}" if hint else ""
        raise InvalidInput(f"{name} must be {domain}, got {first!r}{way_out}")
    return values


def check_means(name: str, means: Floats, low: Any, high: Any) -> Floats:
    """Return means clipped to their range; raise if one lies outside by more than round-off."""
    slack = 1e-9 * (high - low)  # a running mean may leave its range by a few last digits
    outside = (means < low - slack) | (means > high + slack)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        bottom, top = (np.broadcast_to(v, means.shape)[first] for v in (low, high))
        raise InvalidInput(
            f"{name} must be in its range [{bottom:g}, {top:g}], got {means[first]:g};"
            " pass the range that fits the data"
        )
    return np.clip(means, low, high)


def check_arms(mean_rewards: ArrayLike, mean_costs: ArrayLike) -> tuple[Floats, Floats]:
    """Return the mean rewards in [0, 1] and the mean costs in (0, 1] of all arms of a problem."""
    hint = "divide rewards by the largest possible one"
    mu_r = check_array("mean_reward", mean_rewards, hint, least=0.0, most=1.0)
    hint = "divide costs by the largest possible one, and drop arms that cost nothing"
    mu_c = check_array("mean_cost", mean_costs, hint, above=0.0, most=1.0)
    if mu_r.ndim != 1 or mu_r.shape != mu_c.shape or mu_r.size == 0:
        raise InvalidInput(
            "mean_reward and mean_cost must be two lists of the same length, one entry per arm, "
            f"got shapes {mu_r.shape} and {mu_c.shape}; pass every arm of the problem"
        )
    return mu_r, mu_c


def to_floats(name: str, value: ArrayLike) -> Floats:
    """Return a number or an array of numbers as float64, finite or not."""
    try:
        raw = np.asarray(value)
        # float("0.5") would parse: text is refused, numbers of other libraries ("O") are not
        if raw.dtype.kind in "biufO":
            return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInput(f"{name} must be a number or an array of numbers, got {value!r}; convert it")


def broadcast(**values: Floats) -> list[Floats]:
    """Return arrays broadcast against each other; raise if their shapes do not match."""
    try:
        return list(np.broadcast_arrays(*values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in values.items())
        raise InvalidInput(
            f"shapes do not match: {shapes}; pass equal lengths or single numbers"
        ) from None


def broadcast_columns(**named: ArrayLike) -> tuple[tuple[int, ...], list[Floats]]:
    """Broadcast finite values to one shape; return it and the values as flat float arrays."""
    arrays = broadcast(**{name: to_floats(name, value) for name, value in named.items()})
    for name, array in zip(named, arrays, strict=True):
        hint = "leave out values that were not observed"
        check_values(name, array, np.isfinite(array), "finite", hint)
    return arrays[0].shape, [np.ravel(array).copy() for array in arrays]


def unwrap_scalar(values: Floats) -> Any:
    """Return a 0-d array as a float and any other array unchanged."""
    return values.item() if values.ndim == 0 else values


def map_elements(function: Callable[..., float], *values: Floats) -> Floats:
    """Apply a function of plain numbers to each element of arrays of one shape."""
    columns = (array.ravel().tolist() for array in values)
    results = [function(*row) for row in zip(*columns, strict=True)]
    return np.array(results, dtype=np.float64).reshape(values[0].shape)
