"""Rows of a PostgreSQL ledger: events in, events out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from psycopg.pq.abc import PGresult

from bursar.errors import CorruptLedger
from bursar.ledger import postgres_sql as sql
from bursar.ledger.chain import Written
from bursar.ledger.event import Event, decoded
from bursar.ledger.postgres_line import Call
from bursar.ledger.store import Summary

__all__ = ["HASH", "PAGE", "append_call", "column", "events_of", "row_of"]

PAGE = 5000
"""Events that are fetched at a time."""

"""An event with its encoded body and its hash."""

HASH = 5
"""Place of the hash among the columns of an event."""


def column(result: PGresult, row: int, place: int) -> bytes:
    """Return a value that is never NULL."""
    value = result.get_value(row, place)
    assert value is not None
    return value


def row_of(result: PGresult, row: int) -> Event:
    """Return the event of a row."""
    seq, ts, kind, decision, body = (column(result, row, place) for place in range(5))
    try:
        content = decoded(body)
    except msgspec.DecodeError as error:
        number = sql.whole(seq)
        raise CorruptLedger(f"event {number} cannot be read: {error}; restore a backup") from error
    return Event(sql.whole(seq), sql.whole(ts), kind.decode(), decision.decode(), content)


def events_of(result: PGresult) -> list[Event]:
    """Return the events of all rows."""
    return [row_of(result, row) for row in range(result.ntuples)]


def append_call(campaign: int, before: int, new: Sequence[Written], summary: Summary) -> Call:
    """Return the statement that adds events after a number, with what they come to."""
    last, body, last_hash = new[-1]
    number = sql.number
    row = [
        summary.state.encode(), number(summary.budget), number(summary.spent), number(summary.held),
        b"\1" if summary.granted else b"\0", number(last.seq), number(last.ts), last_hash,
        number(campaign), number(before),
    ]  # fmt: skip
    if len(new) == 1:
        return sql.APPEND_ONE, [*row, last.kind.encode(), last.decision.encode(), body]
    events = [event for event, _, _ in new]
    return sql.APPEND, [
        *row,
        sql.array(sql.INT, [number(event.seq) for event in events]),
        sql.array(sql.INT, [number(event.ts) for event in events]),
        sql.array(sql.TEXT, [event.kind.encode() for event in events]),
        sql.array(sql.TEXT, [event.decision.encode() for event in events]),
        sql.array(sql.TEXT, [body for _, body, _ in new]),
        sql.array(sql.BYTES, [last for _, _, last in new]),
    ]
