"""What a query says: whole numbers, yes or no, one of a few words."""

from __future__ import annotations

import math

from starlette.requests import Request

from bursar.service.refused import Refused

__all__ = ["choice", "flag", "seconds", "whole"]


def whole(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else -1
    if not least <= value <= most:
        raise Refused("invalid", f"{name} must be from {least} to {most}, got {text!r}")
    return value


def flag(request: Request, name: str, default: bool = False) -> bool:
    """Return a yes or no of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise Refused("invalid", f"{name} must be true or false, got {text!r}")
    return text == "true"


def choice(request: Request, name: str, default: str, words: tuple[str, ...]) -> str:
    """Return one of a few words of the query."""
    text = request.query_params.get(name, default)
    if text not in words:
        raise Refused("invalid", f"{name} must be one of {', '.join(words)}, got {text!r}")
    return text


def seconds(name: str, text: str | None) -> float | None:
    """Return a time to wait that a header or a query has; None if it is not there."""
    if text is None:
        return None
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1e9:
        raise Refused("invalid", f"{name} must be a number above 0, got {text!r}")
    return value
