"""Checks of single arguments, numbers and text; `bursar.arrays` checks arrays.

Every check returns the value it accepted, converted, or raises :class:`InvalidInput` with the
name, the requirement and the value.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from bursar.errors import InvalidInput


def check_number(name: str, value: Any) -> float:
    """Return a number, finite or not; refuse text, booleans, None and arrays."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidInput(f"{name} must be a number, got {value!r}; convert it")
    return float(value)


def check_positive(name: str, value: Any, hint: str) -> float:
    """Return a finite number above 0."""
    number = check_number(name, value)
    if not 0.0 < number < math.inf:
        raise InvalidInput(f"{name} must be positive and finite, got {value!r}; {hint}")
    return number


def check_int(name: str, value: Any, least: int, hint: str) -> int:
    """Return a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name} must be a whole number, {least} or more, got {value!r}; {hint}")
    return int(value)


def check_text(name: str, value: str, least: int = 0, most: int = 1000) -> str:
    """Return text that a log can store: of some length, and valid as UTF-8."""
    if (
        not isinstance(value, str)
        or not least <= len(value) <= most
        or escape_surrogates(value) != value
    ):
        raise InvalidInput(f"{name} must be text of {least} to {most} characters, got {value!r}")
    return value


def escape_surrogates(text: str) -> str:
    r"""Return text with everything escaped that UTF-8 cannot encode.

    >>> escape_surrogates("half a pair: " + chr(0xD83D))
    'half a pair: \\ud83d'
    """
    return text.encode(errors="backslashreplace").decode()
