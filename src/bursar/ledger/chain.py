"""The chain of a log: events are numbered without gaps, ordered in time, and hashed."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from bursar.errors import CorruptLedger
from bursar.ledger.event import GENESIS, Event, encode_event_body, hash_event
from bursar.ledger.store import CampaignTotals, LogHead

LoggedRow = tuple[int, int, str, str, str, bytes]
"""An event as it is written: seq, ts, kind, decision, encoded body, hash."""


def chain_events(head: LogHead, events: Sequence[Event]) -> tuple[list[LoggedRow], LogHead]:
    """Return the rows of events that follow a head, and the new head; refuse other events."""
    rows = []
    for event in events:
        if event.seq != head.seq + 1 or event.ts <= head.ts:
            raise CorruptLedger(
                f"event {event.seq} at {event.ts} does not follow event {head.seq} at {head.ts};"
                " nothing was written, load the campaign again"
            )
        body = encode_event_body(event.body)
        head = LogHead(event.seq, event.ts, hash_event(head.hash, event, body))
        rows.append((event.seq, event.ts, event.kind, event.decision, body.decode(), head.hash))
    return rows, head


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


def refused_totals(totals: CampaignTotals, why: str) -> CorruptLedger:
    """Return the error for totals that a ledger never accepts."""
    return CorruptLedger(
        f"the ledger refused spent {totals.spent} + held {totals.held} of budget {totals.budget}:"
        f" {why}; nothing was written, verify the campaign"
    )
