"""Slugs: a policy and its parameters as text, ``name:parameter=value,parameter=value``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from bursar.errors import InvalidParameter, InvalidSlug, UnknownParameter, UnknownPolicy, suggest

if TYPE_CHECKING:
    from bursar.policies.base import Policy

_TRUTH = {"true": True, "false": False}
_KINDS: dict[str, tuple[str, Any]] = {
    "float": ("a number", Real),
    "int": ("a whole number", Integral),
    "bool": ("True or False", bool),
    "str": ("text", str),
}


def parse(slug: str, table: Mapping[str, type[Policy]]) -> Policy:
    """Return the policy of a slug; say what is wrong with one that names none."""
    if not isinstance(slug, str):
        raise InvalidSlug(f"a policy is named by text such as 'omega-ucb:rho=0.25', got {slug!r}")
    name, _, rest = slug.strip().partition(":")
    if name not in table:
        raise UnknownPolicy(f"no policy named {name!r}{suggest(name, table)}")
    cls = table[name]
    kinds = kinds_of(cls)
    values: dict[str, Any] = {}
    for part in rest.split(",") if rest else []:
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not text:
            raise InvalidSlug(
                f"{slug!r}: {part!r} is not of the form parameter=value, as in 'omega-ucb:rho=0.25'"
            )
        if key not in kinds:
            raise UnknownParameter(f"{name} has no parameter {key!r}{suggest(key, kinds)}")
        if key in values:
            raise InvalidSlug(f"{slug!r} gives {key} twice; keep one of them")
        values[key] = _read(name, key, kinds[key], text)
    return cls(**values)


def kinds_of(cls: Any) -> dict[str, str]:
    """Return the type of each parameter as text: float, int, bool or str, perhaps ``| None``."""
    return {
        # annotations are text already where a module postpones their evaluation
        f.name: f.type.__name__ if isinstance(f.type, type) else str(f.type)
        for f in sorted(fields(cls), key=lambda f: f.name == "ties")  # the shared one last
    }


def check_params(name: str, key: str, kind: str, value: Any) -> Any:
    """Return a parameter given in Python as its type; say so if it is of another."""
    base, _, rest = kind.partition(" | ")
    if value is None and rest == "None":
        return None
    wanted, types = _KINDS[base]
    if not isinstance(value, types) or (isinstance(value, bool) and base != "bool"):
        raise InvalidParameter(f"{name}: {key} must be {wanted}, got {value!r}")
    return float(value) if base == "float" else int(value) if base == "int" else value


def _read(name: str, key: str, kind: str, text: str) -> Any:
    if kind.startswith("str"):
        return text
    if kind.startswith("bool"):
        if text.lower() not in _TRUTH:
            raise InvalidParameter(f"{name}: {key} must be true or false, got {text!r}")
        return _TRUTH[text.lower()]
    try:
        over, _, under = text.partition("/")  # decimals, exponents and quotients: 0.25, 1e-3, 1/4
        number = float(over) / float(under) if under else float(text)
        if math.isfinite(number) and not kind.startswith("int"):
            return number
        if number.is_integer() and abs(number) < 2**53:
            return int(number)
    except (ValueError, ZeroDivisionError):
        pass
    wanted = "a whole number" if kind.startswith("int") else "a number such as 0.25 or 1/4"
    raise InvalidParameter(f"{name}: {key} must be {wanted}, got {text!r}")
