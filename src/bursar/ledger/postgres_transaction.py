"""A transaction on one campaign of a PostgreSQL ledger: a turn among threads, a line, an end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import msgspec
from psycopg.pq.abc import PGresult

from bursar.errors import CampaignExists, CorruptLedger, StorageUnavailable
from bursar.ledger import postgres_sql as sql
from bursar.ledger.chain import Written
from bursar.ledger.event import GENESIS, Event, decode_event_body, encode_event_body, hash_event
from bursar.ledger.postgres_connection import (
    Call,
    ConnectionLost,
    PipelineConnection,
    Pool,
    StatementRefused,
    failure,
    said,
)
from bursar.ledger.store import CampaignTotals

__all__ = [
    "HASH",
    "PAGE",
    "PostgresTransaction",
    "append_call",
    "check_summary",
    "column",
    "create_campaign",
    "events_of",
    "refused",
    "row_of",
    "was_committed",
]

# ==== ledger.postgres_rows
# Rows of a PostgreSQL ledger: events in, events out.

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
        content = decode_event_body(body)
    except msgspec.DecodeError as error:
        number = sql.whole(seq)
        raise CorruptLedger(f"event {number} cannot be read: {error}; restore a backup") from error
    return Event(sql.whole(seq), sql.whole(ts), kind.decode(), decision.decode(), content)


def events_of(result: PGresult) -> list[Event]:
    """Return the events of all rows."""
    return [row_of(result, row) for row in range(result.ntuples)]


def append_call(
    campaign: int, before: int, new: Sequence[Written], summary: CampaignTotals
) -> Call:
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


# ==== ledger.postgres_commit
# Commits of a PostgreSQL ledger whose answer got lost: what was done is looked up, not guessed.

_TOO_LARGE = 2**63


def was_committed(
    pool: Pool, old: PipelineConnection, error: ConnectionLost, name: str, seq: int, last: bytes
) -> bool:
    """Return whether the log has the event with a hash that a lost line was to commit."""
    key = name.encode()
    try:
        line = pool.reopened(time.monotonic() + pool.deadline)
        try:
            with contextlib.suppress(StatementRefused):  # then it takes as long as it takes
                line.run([(sql.HANG_UP, [old.name.encode()])])
            # the lost transaction holds this lock until its end, so behind it the answer is final
            asked = [key, sql.number(seq)]
            calls: list[Call] = [(sql.BEGIN, ()), (sql.LOCK, [key]), (sql.HASH_OF, asked)]
            found = line.run([*calls, (sql.ROLLBACK, ())])[2]
        except BaseException:
            pool.drop(line)
            raise
    except (ConnectionLost, StatementRefused) as later:
        raise StorageUnavailable(
            f"{pool.place} was lost during a commit ({said(error)}) and cannot be asked whether it"
            f" was done ({said(later)}); load the campaign again when the server is well"
        ) from later
    pool.put_back(line)
    return bool(found.ntuples) and column(found, 0, 0) == last


def create_campaign(pool: Pool, name: str, first: Event, summary: CampaignTotals) -> None:
    """Add a campaign with its first event; refuse a name that is taken."""
    if first.seq != 1:
        raise refused(summary, f"a campaign starts with event 1, got {first.seq}")
    check_summary(summary)
    body = encode_event_body(first.body)
    last = hash_event(GENESIS, first, body)
    values = [
        name.encode(), summary.state.encode(), sql.number(summary.budget),
        sql.number(summary.spent), sql.number(summary.held), sql.number(first.seq),
        sql.number(first.ts), first.kind.encode(), first.decision.encode(), body, last,
    ]  # fmt: skip
    calls: list[Call] = [(sql.CREATE, values), (sql.COMMIT, ())]
    line, _ = pool.begun([(sql.BEGIN, ())])
    try:
        made, ours = line.run(calls)[0].command_tuples, False
    except ConnectionLost:
        # once more: this waits for the end of the lost transaction, and finds what it left
        pool.drop(line)
        line, made, ours = _once_more(pool, calls, name.encode(), last)
    except BaseException as error:
        pool.drop(line)
        if isinstance(error, StatementRefused):
            raise failure(pool.place, error) from error
        raise
    pool.put_back(line)
    if not made and not ours:
        raise CampaignExists(f"there is a campaign {name!r} already; give another name")


def _once_more(
    pool: Pool, calls: Sequence[Call], name: bytes, last: bytes
) -> tuple[PipelineConnection, int | None, bool]:
    try:
        line = pool.reopened(time.monotonic() + pool.deadline)
        try:
            first = (sql.HASH_OF, [name, sql.number(1)])
            found = line.run([(sql.BEGIN, ()), *calls, first])
        except BaseException:
            pool.drop(line)
            raise
    except (ConnectionLost, StatementRefused) as error:
        raise failure(pool.place, error) from error
    ours = bool(found[-1].ntuples) and column(found[-1], 0, 0) == last
    return line, found[1].command_tuples, ours


def check_summary(new: CampaignTotals) -> None:
    """Refuse here, where it was decided, what the database would refuse later."""
    amounts = new.budget, new.spent, new.held
    if min(amounts) < 0 or max(amounts) >= _TOO_LARGE:
        raise refused(new, "amounts are from 0 to 2^63")
    if new.granted and new.spent + new.held > new.budget:
        raise refused(new, "a grant beyond the budget")


def refused(new: CampaignTotals, why: str) -> CorruptLedger:
    """Return the error for what can never be."""
    return CorruptLedger(
        f"the ledger refused spent {new.spent} + held {new.held} of budget {new.budget}: {why};"
        " nothing was booked, verify the campaign"
    )


class PostgresTransaction:
    """Begun once and ended once; after any error of the server its line is hung up."""

    __slots__ = ("_line", "_name", "_pool", "place")

    def __init__(self, pool: Pool, name: str) -> None:
        self.place = pool.place
        self._pool = pool
        self._name = name
        self._line: PipelineConnection | None = None

    def take_turn(self) -> None:
        """Wait for the other threads of this process on the campaign."""
        self._pool.take_turn(self._name)

    def begin(self, calls: Sequence[Call]) -> list[PGresult]:
        """Lock the campaign; return the results of that and of ``calls``."""
        first: list[Call] = [(sql.BEGIN, ()), (sql.LOCK, [self._name.encode()])]
        self._line, found = self._pool.begun([*first, *calls])
        return found[1:]

    def check_open(self) -> PipelineConnection:
        """Return the line, while the transaction lasts."""
        if self._line is None:
            raise StorageUnavailable(f"the session of {self._name!r} has ended; open another")
        return self._line

    def run(self, *calls: Call) -> list[PGresult]:
        """Run statements inside the transaction."""
        line = self.check_open()
        try:
            return line.run(calls)
        except (ConnectionLost, StatementRefused) as error:
            self._hang_up()
            raise failure(self.place, error) from error

    def commit(self, calls: Sequence[Call], seq: int, last: bytes) -> list[PGresult] | None:
        """Run the last statements and commit, in one go; return the results.

        None stands for a commit whose answer was lost and which the log shows to have been made:
        it has the event of number ``seq`` with the hash ``last``.
        """
        line = self.check_open()
        try:
            found = line.run([*calls, (sql.COMMIT, ())])
        except ConnectionLost as error:
            self._hang_up()
            if not was_committed(self._pool, line, error, self._name, seq, last):
                raise failure(self.place, error) from error
            return None
        except StatementRefused as error:
            raise failure(self.place, error) from error
        self._put_back()
        if found[-1].command_status != b"COMMIT":
            raise StorageUnavailable(
                f"{self.place} rolled back a commit; nothing was booked, try again"
            )
        return found

    def roll_back(self) -> None:
        """Undo; without a line the server does so by itself."""
        if self._line is not None:
            try:
                self._line.run([(sql.ROLLBACK, ())])
            except (ConnectionLost, StatementRefused):
                self._hang_up()
            else:
                self._put_back()

    def end(self) -> None:
        """Let the next one in."""
        self._hang_up()  # unless it was put back: something was raised on the way
        self._pool.end_turn(self._name)

    def _put_back(self) -> None:
        line, self._line = self.check_open(), None
        self._pool.put_back(line)

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        self._pool.drop(line)
