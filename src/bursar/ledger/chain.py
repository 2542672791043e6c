"""How new events follow a log: numbered without a gap, later than all before, hashed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bursar.errors import CorruptLedger
from bursar.ledger.event import GENESIS, Event, encode_event_body, hash_event
from bursar.ledger.store import LogHead

__all__ = ["Written", "chain_events", "check_chain"]

Written = tuple[Event, bytes, bytes]
"""An event, its body as bytes, and its hash."""


def chain_events(head: LogHead, events: Sequence[Event]) -> Iterator[Written]:
    """Yield events that follow a head, as they are written; refuse those that do not."""
    seq, ts, last = head
    for event in events:
        if event.seq != seq + 1 or event.ts <= ts:
            raise CorruptLedger(
                f"event {event.seq} at {event.ts} does not follow event {seq} at {ts};"
                " nothing was booked, load the campaign again"
            )
        body = encode_event_body(event.body)
        last = hash_event(last, event, body)
        seq, ts = event.seq, event.ts
        yield event, body, last


def check_chain(
    name: str, events: Iterable[tuple[Event, bytes]], head: LogHead, since: int = 0
) -> int:
    """Check events with their hashes against each other and against the head; return the last.

    The head tells of events that are missing at the end, which no hash of another event can.
    Events after the head, appended meanwhile, are checked like all others. With ``since`` the
    first event is that number and is believed: what it ends is in a snapshot.
    """
    seq, ts, last = max(since - 1, 0), -(2**63), GENESIS
    for event, kept in events:
        if event.seq != seq + 1:
            raise _bad(name, seq + 1, f"is missing, the next is {event.seq}")
        if event.ts <= ts:
            raise _bad(name, event.seq, f"is dated {event.ts}, not after {ts}")
        believed = event.seq == since
        last = kept if believed else hash_event(last, event, encode_event_body(event.body))
        if last != kept:
            raise _bad(name, event.seq, "does not have its hash")
        seq, ts = event.seq, event.ts
        if seq == head.seq and head.hash not in (last, b""):
            raise _bad(name, seq, "is not the one the campaign ended with")
    if seq < head.seq:
        raise _bad(name, seq + 1, f"is missing, there were {head.seq}")
    return seq


def _bad(name: str, seq: int, what: str) -> CorruptLedger:
    return CorruptLedger(f"event {seq} of {name!r} {what}; restore a backup")
