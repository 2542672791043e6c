"""Events: what happened in a campaign, in order. Everything else is computed from them.

Bodies are plain data (strings, integers, floats, lists, dictionaries), encoded as JSON in exactly
one way, so that the hash of an event is a hash of its meaning. Each hash covers the one before: an
event cannot be changed, dropped or moved without changing all later hashes.
"""

from __future__ import annotations

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
_DECODER = msgspec.json.Decoder()


class Event(Struct, frozen=True, gc=False):
    """One entry of a log: number, time (µs since 1970), kind, decision, details."""

    seq: int
    ts: int
    kind: str
    decision: str  # id of the decision that it is about, or ""
    body: dict[str, Any]


def encode_event_body(body: dict[str, Any]) -> bytes:
    """Return the body of an event as bytes; equal bodies have equal bytes."""
    return _ENCODER.encode(body)


def decode_event_body(data: bytes | str) -> dict[str, Any]:
    """Return the body that was encoded."""
    body: dict[str, Any] = _DECODER.decode(data)
    return body


def hash_event(before: bytes, event: Event, body: bytes) -> bytes:
    """Return the hash of an event, given the hash of the one before and its encoded body."""
    head = f"{event.seq}\0{event.ts}\0{event.kind}\0{event.decision}\0".encode()
    return blake2b(before + head + body, digest_size=16).digest()


def decode_event(row: Sequence[Any]) -> Event:
    """Return the event of a row whose first columns are those of an event."""
    seq, ts, kind, decision, body = row[:5]
    try:
        return Event(seq, ts, kind, decision, decode_event_body(body))
    except msgspec.DecodeError as error:
        raise CorruptLedger(f"event {seq} cannot be read: {error}; restore a backup") from error


def decode_events(rows: Sequence[Sequence[Any]]) -> list[Event]:
    """Return the events of rows; a start reads millions, so in one loop."""
    try:
        return [Event(row[0], row[1], row[2], row[3], decode_event_body(row[4])) for row in rows]
    except msgspec.DecodeError:
        return [decode_event(row) for row in rows]  # says which event it is
