"""Checks of single arguments, numbers and text; `bursar.arrays` checks arrays.

Every check returns the value it accepted, converted, or raises :class:`InvalidInput` with the
name, the requirement and the value.
"""

import math
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

from bursar.errors import InvalidInput


def check_number(name: str, value: Any) -> float:
    """Return a number, finite or not; refuse text, booleans, None and arrays."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidInput(f"{name} must be a number, got {value!r}; convert it")
    return float(value)


Reward = float | Decimal | bool
"""A reward as people have it: a number of Python or NumPy, or whether something succeeded."""


def parse_reward(name: str, value: Any) -> float:
    """Return a reward as a number: True is 1, False is 0."""
    value = unwrap_scalar(value)
    return float(value) if isinstance(value, bool | Decimal) else check_number(name, value)


def unwrap_scalar(value: Any) -> Any:
    """Return a scalar of NumPy as Python's own number, and anything else as it is."""
    # without an import of NumPy; an array, even one of a single number, is no number
    if type(value).__module__ == "numpy" and type(value).__name__ != "ndarray":
        return value.item() if hasattr(value, "item") else value
    return value


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
    """Return text that a log can store: of some length, valid as UTF-8, without NUL."""
    if not _is_plain_text(value) or not least <= len(value) <= most:
        raise InvalidInput(f"{name} must be text of {least} to {most} characters, got {value!r}")
    _check_characters(name, value)
    return value


def _is_plain_text(value: Any) -> bool:
    # the encoders of a log know text and enumerations of texts, but no other subclasses
    return type(value) is str or (isinstance(value, str) and isinstance(value, Enum))


def check_name(name: str, value: str, most: int = 128) -> str:
    """Return the name of something: text that people can read and that fits into an address."""
    if not _is_plain_text(value) or not 1 <= len(value) <= most or not value.isprintable():
        raise InvalidInput(
            f"{name} must be text of 1 to {most} printable characters, got {value!r}"
        )
    if value in (".", ".."):  # browsers and proxies leave them out of addresses
        raise InvalidInput(f"{name} must not be '.' or '..', got {value!r}; choose another")
    return value


MOST_LEVELS = 32
"""How deeply plain data may be nested."""


def check_plain(name: str, value: Any, level: int = 1) -> None:
    """Refuse data that some format of a ledger cannot keep: JSON, msgpack, or a database's text.

    Plain data are None, booleans, texts, integers of at most 64 bits, finite floats, lists, and
    dictionaries whose keys are texts.
    """
    if isinstance(value, str):
        _check_characters(name, value)
    elif isinstance(value, dict | list):
        if level > MOST_LEVELS:
            raise InvalidInput(f"{name} is nested more than {MOST_LEVELS} levels deep; flatten it")
        if isinstance(value, list):
            for number, one in enumerate(value):
                check_plain(f"{name}[{number}]", one, level + 1)
            return
        for key, one in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"the keys of {name} must be texts, got {key!r}")
            _check_characters(f"a key of {name}", key)
            check_plain(f"{name}.{key:.40}", one, level + 1)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise InvalidInput(
                f"{name} must be an integer of at most 64 bits, got one of {value.bit_length()};"
                " pass it as text"
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} must be finite, got {value!r}; pass null or a text")
    elif value is not None:
        raise InvalidInput(f"{name} must be plain data as JSON has it, got {value!r}; convert it")


def _check_characters(name: str, text: str) -> None:
    if "\0" in text or escape_surrogates(text) != text:
        raise InvalidInput(
            f"{name} must not have NUL or half of a surrogate pair, got {text[:100]!r}; remove them"
        )


def escape_surrogates(text: str) -> str:
    r"""Return text with everything escaped that UTF-8 cannot encode.

    >>> escape_surrogates("half a pair: " + chr(0xD83D))
    'half a pair: \\ud83d'
    """
    return text.encode(errors="backslashreplace").decode()
