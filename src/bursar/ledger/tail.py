"""The end of a log, checked before it is believed: at a start, and after any failure."""

from __future__ import annotations

from bursar.errors import CorruptLedger
from bursar.ledger.event import GENESIS, chained, encoded
from bursar.ledger.store import Head, Store

__all__ = ["check_tail"]


def check_tail(store: Store, name: str, seq: int, head: Head) -> None:
    """Check the events after ``seq`` up to the head: none is missing, each has its hash.

    What lies before ``seq`` is in a snapshot; :func:`bursar.ledger.verify.verify` checks it all.
    """
    last, number = (GENESIS, 0) if seq == 0 else (None, seq - 1)
    for event, kept in store.read(name, number):
        if event.seq > head.seq:
            break
        if event.seq != number + 1:
            raise _bad(name, number + 1, f"is missing, the next is {event.seq}")
        if last is not None and chained(last, event, encoded(event.body)) != kept:
            raise _bad(name, event.seq, "does not have its hash")
        last, number = kept, event.seq
    if number < head.seq:
        raise _bad(name, number + 1, f"is missing, there were {head.seq}")
    if head.hash not in (last, b""):
        raise _bad(name, number, "is not the one the campaign ended with")


def _bad(name: str, seq: int, what: str) -> CorruptLedger:
    return CorruptLedger(f"event {seq} of {name!r} {what}; restore a backup")
