"""Rows of an SQLite ledger: events in, events out, each append following the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from bursar.errors import CorruptLedger
from bursar.ledger.chain import following
from bursar.ledger.event import GENESIS, Event, decoded
from bursar.ledger.store import Head, Summary

__all__ = ["AFTER", "OF", "PAGE", "START", "append", "event_of", "events_of", "insert_campaign"]

START = Head(0, -(2**63), GENESIS)
"""Where a log without events ends."""

PAGE = (
    "SELECT seq, ts, kind, decision, body, hash FROM event WHERE campaign = ? AND seq > ?"
    " ORDER BY seq LIMIT ?"
)
AFTER = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND seq > ? ORDER BY seq"
)
OF = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND decision = ?"
    " AND decision <> '' ORDER BY seq"
)
_INSERT = "INSERT INTO event VALUES(?, ?, ?, ?, ?, ?, ?)"
# the row moves on only from the head that was decided on, and never by a grant beyond the budget
_UPDATE = (
    "UPDATE campaign SET state = ?1, budget = ?2, spent = ?3, held = ?4, seq = ?6, ts = ?7,"
    " hash = ?8 WHERE id = ?9 AND seq = ?10 AND (NOT ?5 OR ?3 + ?4 <= ?2)"
)


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of a row."""
    seq, ts, kind, decision, body = row[:5]
    try:
        return Event(seq, ts, kind, decision, decoded(body))
    except msgspec.DecodeError as error:
        raise CorruptLedger(f"event {seq} cannot be read: {error}; restore a backup") from error


def events_of(rows: Sequence[Sequence[Any]]) -> list[Event]:
    """Return the events of rows; a start reads millions, so in one go."""
    try:
        return [Event(row[0], row[1], row[2], row[3], decoded(row[4])) for row in rows]
    except msgspec.DecodeError:
        return [event_of(row) for row in rows]  # says which


def insert_campaign(connection: apsw.Connection, name: str, summary: Summary) -> int:
    """Add a campaign that has no event yet; return its number."""
    state, budget, *_ = summary
    connection.execute(
        "INSERT INTO campaign(name, state, budget, spent, held, seq, ts, hash)"
        " VALUES(?, ?, ?, 0, 0, ?, ?, ?)",
        (name, state, budget, *START),
    )
    return connection.last_insert_rowid()


def append(
    connection: apsw.Connection, campaign: int, head: Head, events: Sequence[Event], new: Summary
) -> Head:
    """Add events that follow a head, and what they come to; return the new head."""
    rows = [
        (campaign, event.seq, event.ts, event.kind, event.decision, body.decode(), mark)
        for event, body, mark in following(head, events)
    ]
    after = Head(rows[-1][1], rows[-1][2], rows[-1][6]) if rows else head
    try:
        if len(rows) == 1:
            connection.execute(_INSERT, rows[0])
        else:
            connection.executemany(_INSERT, rows)
        connection.execute(_UPDATE, (*new, *after, campaign, head.seq))
    except apsw.ConstraintError as error:
        raise _refused(new, str(error)) from error
    if connection.changes() != 1:
        raise _refused(new, "a grant beyond the budget, or an event twice")
    return after


def _refused(new: Summary, why: str) -> CorruptLedger:
    return CorruptLedger(
        f"the ledger refused spent {new.spent} + held {new.held} of budget {new.budget}: {why};"
        " nothing was booked, verify the campaign"
    )
