"""Events: what happened in a campaign, in order. Everything else is computed from them.

Bodies are plain data (strings, integers, floats, lists, dictionaries), encoded as JSON in exactly
one way, so that the hash of an event is a hash of its meaning. Each hash covers the one before: an
event cannot be changed, dropped or moved without changing all later hashes.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from bursar.errors import CorruptLedger

GENESIS = bytes(16)
"""The hash before the first event."""

RESTORED = "restored"
"""The one kind of event that the ledger itself writes; `bursar.campaign.events` has the others."""

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(dict[str, Any])
_DEEPEST = 64  # levels of a body that are read as they are; new events have fewer
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')  # a text, or a bracket outside of texts


class Event(Struct, frozen=True, gc=False):
    """One entry of a log: number, time (µs since 1970), kind, decision, details."""

    seq: int
    ts: int
    kind: str
    decision: str  # id of the decision that it is about, or ""
    body: dict[str, Any]


class FlatBody(dict[str, Any]):
    """A body in which values below the 64th level are texts; ``encoded`` is the body in the log.

    Earlier versions accepted contexts so deep that no reader could follow them.
    """

    encoded: bytes


def encode_event_body(body: dict[str, Any]) -> bytes:
    """Return the body of an event as bytes; equal bodies have equal bytes."""
    return body.encoded if type(body) is FlatBody else _ENCODER.encode(body)


def decode_event_body(data: bytes | str) -> dict[str, Any]:
    """Return the body that was encoded."""
    text = data if isinstance(data, str) else data.decode()
    if text.count("[") + text.count("{") <= _DEEPEST:
        return _DECODER.decode(text)
    flat = _flatten(text)
    if flat == text:
        return _DECODER.decode(text)
    body = FlatBody(_DECODER.decode(flat))
    body.encoded = text.encode()
    return body


def _flatten(text: str) -> str:
    """Return JSON in which all that is too deep is a text, without recursion."""
    parts: list[str] = []
    depth = start = copied = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == _DEEPEST + 1:
                start = token.start()
        elif token[0] in "]}":
            if depth == _DEEPEST + 1:
                deep = _ENCODER.encode(text[start : token.end()]).decode()
                parts += text[copied:start], deep
                copied = token.end()
            depth -= 1
    return "".join(parts) + text[copied:]


def hash_event(before: bytes, event: Event, body: bytes) -> bytes:
    """Return the hash of an event, given the hash of the one before and its encoded body."""
    head = f"{event.seq}\0{event.ts}\0{event.kind}\0{event.decision}\0".encode()
    return blake2b(before + head + body, digest_size=16).digest()


def decode_event(row: Sequence[Any]) -> Event:
    """Return the event of a row whose first columns are those of an event."""
    seq, ts, kind, decision, body = row[:5]
    try:
        event = Event(seq, ts, kind, decision, decode_event_body(body))
    except Exception as error:  # a flipped bit can raise anything
        raise unreadable_event(seq, error) from error
    if (type(seq), type(ts), type(kind), type(decision)) != (int, int, str, str):
        raise unreadable_event(seq, "its columns have other types")
    return event


def decode_events(rows: Sequence[Sequence[Any]]) -> list[Event]:
    """Return the events of rows; a start reads millions, so in one loop."""
    try:
        return [Event(row[0], row[1], row[2], row[3], decode_event_body(row[4])) for row in rows]
    except Exception:
        return [decode_event(row) for row in rows]  # says which event it is


def unreadable_event(seq: int, reason: object) -> CorruptLedger:
    """Return the error for an event that cannot be decoded."""
    return CorruptLedger(f"event {seq} cannot be read: {reason}; restore a backup")
