"""Events: what happened in a campaign, in order; the only truth that is kept.

Bodies are plain data (texts, whole numbers, floats, lists, dictionaries) written as JSON in one way
only, so that a hash of an event is a hash of its meaning. Each hash covers the one before: nobody
can change, drop or swap an event without all later hashes telling.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["GENESIS", "RESTORED", "Event", "decode_event_body", "encode_event_body", "hash_event"]

GENESIS = bytes(16)
"""The hash before the first event."""

RESTORED = "restored"
"""The one kind of event that the ledger itself writes; `bursar.campaign.events` has the others."""

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder()


class Event(Struct, frozen=True, gc=False):
    """One thing that happened: number in the log, time (µs since 1970), kind, decision, details."""

    seq: int
    ts: int
    kind: str
    decision: str  # id of the decision that it is about, or ""
    body: dict[str, Any]


def encode_event_body(body: dict[str, Any]) -> bytes:
    """Return the body of an event as bytes: the same for the same meaning."""
    return _ENCODER.encode(body)


def decode_event_body(data: bytes | str) -> dict[str, Any]:
    """Return the body that bytes stand for."""
    body: dict[str, Any] = _DECODER.decode(data)
    return body


def hash_event(before: bytes, event: Event, body: bytes) -> bytes:
    """Return the hash of an event, given the hash of the one before and its encoded body."""
    head = f"{event.seq}\0{event.ts}\0{event.kind}\0{event.decision}\0".encode()
    return blake2b(before + head + body, digest_size=16).digest()
