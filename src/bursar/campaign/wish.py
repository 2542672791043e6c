"""What an ask may say: which arms, and what to note."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from bursar.campaign.words import words
from bursar.errors import InvalidInput

__all__ = ["ANY", "Wish", "wish", "wish_of"]

_NOTE = 16_384  # bytes of a context
_CANONICAL = msgspec.json.Encoder(order="deterministic")


class Wish(NamedTuple):
    """Arms to choose among and arms to leave out, what to note, and a print of it all."""

    among: tuple[str, ...] | None
    exclude: tuple[str, ...] | None
    context: dict[str, Any] | None
    fingerprint: str

    def keys(self, known: Iterable[str]) -> tuple[str, ...] | None:
        """Return the arms that it leaves of those there are, or None for all."""
        if self.exclude is None:
            return self.among
        few = known if self.among is None else self.among
        return tuple(key for key in few if key not in self.exclude)


ANY = Wish(None, None, None, "*")
"""The usual ask: all arms, nothing to note."""


def wish(
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
) -> Wish:
    """Return a wish; refuse what cannot be kept in a log."""
    if among is None and not exclude and context is None:
        return ANY
    few, out = _keys("among", among), _keys("exclude", exclude)
    if few is not None and not few:
        raise InvalidInput("among must name at least one arm, got none; leave it out for all")
    if not out and context is None:
        return Wish(few, None, None, _text(few))
    note = None if context is None else blake2b(_noted(context), digest_size=16).hexdigest()
    return Wish(few, out, context, _text({"among": few, "context": note, "exclude": out}))


def wish_of(fingerprint: str, context: dict[str, Any] | None) -> Wish:
    """Return the wish that a log tells of."""
    if fingerprint == "*":
        return ANY
    said = msgspec.json.decode(fingerprint)
    if isinstance(said, list):
        return Wish(tuple(said), None, None, fingerprint)
    among, exclude = (
        None if keys is None else tuple(keys) for keys in (said["among"], said["exclude"])
    )
    return Wish(among, exclude, context, fingerprint)


def _keys(name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of arms, got the text {given!r}")
    return tuple(sorted({words(f"an arm of {name}", key) for key in given}))


def _noted(context: dict[str, Any]) -> bytes:
    if not isinstance(context, dict):
        raise InvalidInput(f"context must be a mapping of names to plain data, got {context!r}")
    try:
        found = _CANONICAL.encode(context)
        plain = msgspec.json.decode(found) == context
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"context must be plain data: {error}") from error
    if not plain:  # NaN, keys that are no texts, tuples: they would come back as something else
        raise InvalidInput(f"context must be plain data as JSON has it, got {context!r}")
    if len(found) > _NOTE:
        raise InvalidInput(f"context must be at most {_NOTE:,} bytes, got {len(found):,}")
    return found


def _text(value: Any) -> str:
    return _CANONICAL.encode(value).decode()
