"""The options of an ask, and the ids of decisions."""

import os
import random
import time
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypedDict

import msgspec

from bursar.errors import InvalidInput
from bursar.money import Amount, format_amount
from bursar.validation import check_name, check_plain, check_text, unwrap_scalar

_CONTEXT_LIMIT = 16_384  # bytes
_CANONICAL = msgspec.json.Encoder(order="deterministic")

_RANDOM = random.Random()
os.register_at_fork(after_in_child=_RANDOM.seed)  # else both would make the same ids
_bits, _now = _RANDOM.getrandbits, time.time_ns


def new_id() -> str:
    """Return a new id for a decision.

    Time comes first, as in UUIDv7, so that neighbours in time are neighbours in an index.
    """
    return f"{_now() // 1_000_000 << 80 | _bits(80):032x}"


def check_new_id(given: str) -> str:
    """Return a caller's own id of a decision; refuse what a database might not take."""
    return check_name("id", given)


class AskKeywords(TypedDict, total=False):
    """The options of an ask as callers give them."""

    among: Sequence[str] | None
    exclude: Sequence[str] | None
    context: dict[str, Any] | None
    hold: Amount | None


class AskOptions(NamedTuple):
    """What an ask may say: arms to choose among or to exclude, a context to record, and a hold.

    The fingerprint tells two asks with the same id apart if their options differ.
    """

    among: tuple[str, ...] | None
    exclude: tuple[str, ...] | None
    context: dict[str, Any] | None
    fingerprint: str
    hold: str | None = None

    def keys(self, known: Iterable[str]) -> tuple[str, ...] | None:
        """Return the arms that the options leave, or None for all."""
        if self.exclude is None:
            return self.among
        few = known if self.among is None else self.among
        return tuple(key for key in few if key not in self.exclude)


ANY = AskOptions(None, None, None, "*")
"""The usual ask: all arms, no context."""


def make_ask_options(
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
    hold: Amount | None = None,
) -> AskOptions:
    """Return the options of an ask; refuse what a log cannot keep."""
    if among is None and not exclude and context is None and hold is None:
        return ANY
    few, out = _check_keys("among", among), _check_keys("exclude", exclude)
    if few == ():
        raise InvalidInput("among must name at least one arm, got none; leave it out for all")
    if not out and context is None and hold is None:
        return AskOptions(few, None, None, _encode(few))
    digest = kept = None
    if context is not None:
        encoded = _encode_context(context)
        digest = blake2b(encoded, digest_size=16).hexdigest()
        kept = msgspec.json.decode(encoded)  # a copy: the caller may change its own
    options: dict[str, Any] = {"among": few, "context": digest, "exclude": out}
    if hold is None:
        return AskOptions(few, out, kept, _encode(options))
    text = _format_hold(hold)  # only here: the asks of earlier versions had none
    return AskOptions(few, out, kept, _encode(options | {"hold": text}), text)


def number_batch(options: AskOptions, n: int) -> AskOptions:
    """Return the options of a batch whose id is the caller's, with its size in the fingerprint."""
    kept = {"among": None, "context": None, "exclude": None} | _decode(options.fingerprint)
    return options._replace(fingerprint=_encode(kept | {"n": n}))


def is_batch(fingerprint: str) -> bool:
    """Return whether an ask was part of a batch whose id was the caller's."""
    return fingerprint.startswith("{") and "n" in _decode(fingerprint)


def _decode(fingerprint: str) -> dict[str, Any]:
    kept = {} if fingerprint == "*" else msgspec.json.decode(fingerprint)
    return {"among": kept} if isinstance(kept, list) else kept


def load_ask_options(fingerprint: str, context: dict[str, Any] | None = None) -> AskOptions:
    """Return the options of an ask in the log."""
    kept = _decode(fingerprint)
    among, exclude = (
        None if keys is None else tuple(keys) for keys in map(kept.get, ("among", "exclude"))
    )
    return AskOptions(among, exclude, context, fingerprint, kept.get("hold"))


def _check_keys(name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of arms, got the text {given!r}")
    return tuple(sorted({check_text(f"an arm of {name}", key) for key in given}))


def _format_hold(hold: Amount) -> str:
    # an estimate need not be exact, so a float is what it is printed as
    plain = unwrap_scalar(hold)
    text = format_amount("hold", repr(plain) if type(plain) is float else plain)
    if text == "0":
        raise InvalidInput(
            f"hold must be above 0, got {hold!r}; leave it out for the campaign's rule"
        )
    return text


def _encode_context(context: dict[str, Any]) -> bytes:
    if not isinstance(context, dict):
        raise InvalidInput(f"context must be a mapping of names to plain data, got {context!r}")
    check_plain("context", context)
    try:
        encoded = _CANONICAL.encode(context)
    except (TypeError, ValueError) as error:  # a subclass of a plain type
        raise InvalidInput(f"context must be plain data: {error}") from error
    if len(encoded) > _CONTEXT_LIMIT:
        raise InvalidInput(
            f"context must be at most {_CONTEXT_LIMIT:,} bytes, got {len(encoded):,}"
        )
    return encoded


def _encode(value: Any) -> str:
    return _CANONICAL.encode(value).decode()
