"""A log: the events of a campaign in order. Everything else is computed from them.

Events are numbered without gaps, ordered in time, and hashed. Bodies are plain data (strings,
integers, floats, lists, dictionaries), encoded as JSON in exactly one way, so that the hash of an
event is a hash of its meaning. Each hash covers the one before: an event cannot be changed, dropped
or moved without changing all later hashes.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

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


class LogHead(NamedTuple):
    """The end of a log: number, time and hash of its last event."""

    seq: int
    ts: int
    hash: bytes


LoggedRow = tuple[int, int, str, str, str, bytes]
"""An event as it is written: seq, ts, kind, decision, encoded body, hash."""


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


def chain_events(head: LogHead, events: Sequence[Event]) -> tuple[list[LoggedRow], LogHead]:
    """Return the rows of events that follow a head, and the new head; refuse other events."""
    rows = []
    last, last_ts, last_hash = head  # a head for each event would take longer than its hash
    for event in events:
        seq, ts = event.seq, event.ts
        if seq != last + 1 or ts <= last_ts:
            raise CorruptLedger(
                f"event {seq} at {ts} does not follow event {last} at {last_ts};"
                " nothing was written, load the campaign again"
            )
        body = encode_event_body(event.body)
        last, last_ts, last_hash = seq, ts, hash_event(last_hash, event, body)
        rows.append((seq, ts, event.kind, event.decision, body.decode(), last_hash))
    return rows, LogHead(last, last_ts, last_hash)


def check_chain(
    name: str, events: Iterable[tuple[Event, bytes]], head: LogHead, since: int = 0
) -> int:
    """Check events with their hashes against each other and against the head; return the last.

    The head shows whether events are missing at the end, which no hash of another event can.
    Events after the head, appended meanwhile, are checked like all others. With ``since`` the
    first event has that number and is trusted: the log up to it is in a snapshot.
    """
    seq, ts, last = max(since - 1, 0), -(2**63), GENESIS
    for event, stored in events:
        if event.seq != seq + 1:
            raise _broken(name, seq + 1, f"is missing; the next one is {event.seq}")
        if event.ts <= ts:
            raise _broken(name, event.seq, f"is dated {event.ts}, not after {ts}")
        trusted = event.seq == since
        last = stored if trusted else hash_event(last, event, encode_event_body(event.body))
        if last != stored:
            raise _broken(name, event.seq, "does not match its hash")
        seq, ts = event.seq, event.ts
        if seq == head.seq and head.hash not in (last, b""):
            raise _broken(name, seq, "is not the last event of the campaign's row")
    if seq < head.seq:
        raise _broken(name, seq + 1, f"is missing; there were {head.seq}")
    return seq


def _broken(name: str, seq: int, what: str) -> CorruptLedger:
    return CorruptLedger(f"event {seq} of {name!r} {what}; restore a backup")


def hash_snapshot(seq: int, content: bytes) -> bytes:
    """Return the hash that is stored with a snapshot of the state after an event."""
    return blake2b(seq.to_bytes(8, "big") + content, digest_size=16).digest()
