"""How new events follow a log: numbered without a gap, later than all before, hashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bursar.errors import CorruptLedger
from bursar.ledger.event import Event, chained, encoded
from bursar.ledger.store import Head

__all__ = ["Written", "following"]

Written = tuple[Event, bytes, bytes]
"""An event, its body as bytes, and its hash."""


def following(head: Head, events: Sequence[Event]) -> Iterator[Written]:
    """Yield events that follow a head, as they are written; refuse those that do not."""
    seq, ts, last = head
    for event in events:
        if event.seq != seq + 1 or event.ts <= ts:
            raise CorruptLedger(
                f"event {event.seq} at {event.ts} does not follow event {seq} at {ts};"
                " nothing was booked, load the campaign again"
            )
        body = encoded(event.body)
        last = chained(last, event, body)
        seq, ts = event.seq, event.ts
        yield event, body, last
