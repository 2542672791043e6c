"""A store in a PostgreSQL database, for any number of threads, processes and hosts.

Each writer is one transaction that locks its campaign's row, so campaigns do not wait for one
another. Commits are synchronous: what was acknowledged survives a crash of the server, and the loss
of the server if there is a synchronous standby. Backups are made with PostgreSQL's own tools:
``pg_dump --schema=bursar`` or point-in-time recovery. A pooler in between must pool sessions, not
transactions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from bursar.errors import CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable
from bursar.ledger.chain import Written, chain_events, hash_snapshot, refused_totals
from bursar.ledger.event import (
    GENESIS,
    Event,
    decode_events,
    encode_event_body,
    hash_event,
)
from bursar.ledger.postgres_connection import (
    DriverError,
    PostgresConnection,
    PostgresPool,
    Statement,
    describe_url,
    format_error,
    postgres_error,
)
from bursar.ledger.sql import (
    EVENTS_AFTER,
    Row,
    SQLStore,
    SQLWriter,
    existing_campaign,
    unknown_campaign,
)
from bursar.ledger.store import CampaignTotals, LogHead

_PAGE = 5000  # events that are fetched at a time
_PREFETCH = 64  # events of other processes that are fetched together with the lock
_TOO_LARGE = 2**63

_BEGIN: Statement = ("BEGIN", ())
_COMMIT: Statement = ("COMMIT", ())
_ROLLBACK: Statement = ("ROLLBACK", ())
_LOCK = "SELECT id, seq, ts, hash FROM bursar.campaign WHERE name = $1 FOR UPDATE"
_HASH_AT = (
    "SELECT hash FROM bursar.event"
    " WHERE campaign = (SELECT id FROM bursar.campaign WHERE name = $1) AND seq = $2"
)
_CREATE = """
WITH made AS (INSERT INTO bursar.campaign(name, state, budget, spent, held, seq, ts, hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $11) ON CONFLICT (name) DO NOTHING RETURNING id)
INSERT INTO bursar.event(campaign, seq, ts, kind, decision, body, hash)
SELECT id, $6, $7, $8, $9, $10, $11 FROM made
"""
# The row moves on only from the head that was decided on, and never by a grant beyond the budget.
# Where it does not move, no event is added: one statement, so that COMMIT can be sent with it.
_APPEND = """
WITH moved AS (
    UPDATE bursar.campaign SET state = $1, budget = $2, spent = $3, held = $4, seq = $6, ts = $7,
        hash = $8
    WHERE id = $9 AND seq = $10 AND (NOT $5 OR $3 + $4 <= $2) RETURNING id)
INSERT INTO bursar.event(campaign, seq, ts, kind, decision, body, hash)
SELECT moved.id, e.* FROM moved, unnest(
    $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], $16::bytea[]) AS e
"""
# only of the log that was decided on, in case the append that goes with it is refused
_SAVE_SNAPSHOT = (
    "INSERT INTO bursar.snapshot SELECT id, $2, $3, $4 FROM bursar.campaign"
    " WHERE id = $1 AND hash = $5 AND seq >= $2"
    " ON CONFLICT (campaign, seq) DO UPDATE SET body = EXCLUDED.body, hash = EXCLUDED.hash"
)
_DROP_SNAPSHOTS = (
    "DELETE FROM bursar.snapshot WHERE campaign = $1 AND seq < (SELECT min(seq) FROM (SELECT seq"
    " FROM bursar.snapshot WHERE campaign = $1 ORDER BY seq DESC LIMIT 3) AS newest)"
)
_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"


class PostgresStore(SQLStore):
    """Campaigns in a database such as ``postgresql://user:secret@host/spend``.

    Their tables are in the schema ``bursar``, which is created if it does not exist. A writer waits
    at most ``deadline`` seconds for other writers. ``url`` does not show the password.
    """

    def __init__(self, url: str, *, deadline: float = 10.0) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(
                f"the URL of a PostgreSQL ledger is postgresql://host/database, got {url!r}"
            )
        self.url = describe_url(url)
        self._seen: dict[str, LastSeen] = {}
        self.location = repr(self.url)
        self._pool = PostgresPool(url, self.location, deadline)
        self.names()  # creates the tables now, or raises what is wrong

    def create(self, name: str, first: Event, totals: CampaignTotals) -> None:
        if first.seq != 1:
            raise refused_totals(totals, f"a campaign starts with event 1, got {first.seq}")
        _check_totals(totals)
        body = encode_event_body(first.body)
        last = hash_event(GENESIS, first, body)
        state, budget, spent, held, _ = totals
        row = [name, state, budget, spent, held, first.seq, first.ts, first.kind, first.decision]
        if not self._create((_CREATE, [*row, body.decode(), last]), name, last):
            raise existing_campaign(name)

    def open_writer(self, name: str) -> PostgresWriter:
        """Return a writer for a campaign; its ``with`` block is one transaction."""
        return PostgresWriter(self._pool, name, self._seen)

    def read_rows(self, statement: str, *values: Any) -> list[Row]:
        [found] = self._pool.run((statement, values))
        return found.fetchall()

    def execute(self, statement: str, *values: Any) -> None:
        self._pool.run((statement, values))

    def close(self) -> None:
        """Close idle connections; an open writer keeps its own until it ends."""
        self._pool.close()

    def _create(self, statement: Statement, name: str, last: bytes) -> bool:
        connection, _ = self._pool.begin(_BEGIN)
        try:
            created = connection.run(statement, _COMMIT)[0].rowcount
        except DriverError:
            self._pool.put_back(connection)
            # once more: this waits for the end of the lost transaction, and finds what it left
            again = [_BEGIN, statement, _COMMIT, (_HASH_AT, [name, 1])]
            connection, [_, done, _, first] = self._pool.begin(*again, patient=True)
            created = done.rowcount or first.fetchone() == (last,)
        self._pool.put_back(connection)
        return bool(created)


class LastSeen:
    """The head of a campaign's log that this process saw last."""

    __slots__ = ("campaign", "head", "others")

    def __init__(self, campaign: int, head: LogHead) -> None:
        self.campaign = campaign
        self.head = head
        self.others = 0  # transactions for which to expect that other processes write, too

    def move(self, head: LogHead) -> None:
        """Advance to a head that a writer found."""
        self.others = 100 if head.seq != self.head.seq else max(0, self.others - 1)
        self.head = head


class PostgresWriter(SQLWriter):
    """One transaction on the log of one campaign, in two round trips.

    The first locks the campaign's row and fetches its head, with the events that other processes
    have added; the second moves the row, adds the events and commits. Appended events are held
    back until then.
    """

    _base: LogHead  # before what was appended
    _totals: CampaignTotals  # after what was appended

    def __init__(self, pool: PostgresPool, name: str, seen: dict[str, LastSeen]) -> None:
        self._pool = pool
        self._name = name
        self._seen = seen
        self._connection: PostgresConnection | None = None
        self._tail: list[Event] = []  # up to the base, as far as it was fetched with the lock
        self._new: list[Written] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._sound = True  # whether all that was appended may be committed

    def __enter__(self) -> PostgresWriter:
        self._pool.lock_campaign(self._name)
        try:
            self._begin(self._seen.get(self._name))
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._sound and (self._new or self._snapshot):
                self._commit()
        finally:
            self._end()
        if kind is None and not self._sound:
            raise StorageUnavailable("an append to this writer failed; nothing was written")

    def events_after(self, seq: int) -> list[Event]:
        new = [event for event, _, _ in self._new if event.seq > seq]
        found: list[Event] = []
        if self._tail and seq >= self._tail[0].seq - 1:
            found = self._tail[seq - self._tail[0].seq + 1 :]
            seq = max(seq, self._tail[-1].seq)
        while seq < self._base.seq:
            page = self._events(EVENTS_AFTER, seq, _PAGE)
            if not page:
                raise CorruptLedger(
                    f"event {seq + 1} of {self._name!r} is missing; restore a backup"
                )
            found += page
            seq = page[-1].seq
        return found + new

    def decision_events(self, decision: str) -> list[Event]:
        new = [event for event, _, _ in self._new if decision and event.decision == decision]
        return super().decision_events(decision) + new

    def append(self, events: Sequence[Event], totals: CampaignTotals) -> None:
        self._require_connection()
        sound, self._sound = self._sound, False
        new = list(chain_events(self.head, events))
        _check_totals(totals)
        self._new += new
        self._totals = totals
        if new:
            last, _, hash = new[-1]
            self.head = LogHead(last.seq, last.ts, hash)
        self._sound = sound  # an append that failed before is not forgotten

    def load_snapshot(self) -> tuple[int, bytes] | None:
        return self._snapshot or super().load_snapshot()

    def save_snapshot(self, seq: int, content: bytes) -> None:
        """Store the state after an event; the two before it are kept as well."""
        self._require_connection()
        self._snapshot = seq, content

    def _begin(self, seen: LastSeen | None) -> None:
        statements: list[Statement] = [_BEGIN, (_LOCK, [self._name])]
        if seen is not None and seen.others:
            # a statement of its own: it must see what was committed during the wait for the lock
            statements.append((EVENTS_AFTER, [seen.campaign, seen.head.seq, _PREFETCH]))
        self._connection, [_, locked, *tail] = self._pool.begin(*statements)
        row = locked.fetchone()
        if row is None:
            self._seen.pop(self._name, None)
            raise unknown_campaign(self._name, self._pool.location)
        self._campaign, *head = row
        self.head = self._base = LogHead(*head)
        if seen is None:
            self._seen[self._name] = LastSeen(self._campaign, self.head)
            return
        if tail:
            self._tail = decode_events(tail[0].fetchall())
        elif self.head.seq > seen.head.seq:
            self._tail = self._events(EVENTS_AFTER, seen.head.seq, _PREFETCH)
        if not self._follows(seen):
            del self._seen[self._name]  # raised once: who loads the campaign again may go on
            raise StorageUnavailable(
                f"{self._pool.location} was restored from a backup; load {self._name!r} again"
            )
        seen.move(self.head)

    def _follows(self, seen: LastSeen) -> bool:
        """Return whether the log contains all that was seen, or was replaced by a restore."""
        seq, _, last = seen.head
        if self._campaign != seen.campaign or self.head.seq < seq:
            return False
        if self.head.seq > seq and (not self._tail or self._tail[-1].seq < self.head.seq):
            return self._rows(_HASH_AT, self._name, seq) == [(last,)]  # the tail is not complete
        for event in self._tail:
            last = hash_event(last, event, encode_event_body(event.body))
        return self.head.hash == last

    def _commit(self) -> None:
        connection = self._require_connection()
        statements: list[Statement] = []
        if self._new:
            statements.append((_APPEND, self._append_values()))
        if self._snapshot is not None:
            seq, content = self._snapshot
            values = [self._campaign, seq, content, hash_snapshot(seq, content), self.head.hash]
            statements += [(_SAVE_SNAPSHOT, values), (_DROP_SNAPSHOTS, [self._campaign])]
        try:
            *done, end = connection.run(*statements, _COMMIT)
        except DriverError as error:
            self._put_back()
            if not self._was_committed(connection.name, error):
                raise postgres_error(self._pool.location, error) from error
        else:
            if end.statusmessage != "COMMIT":
                raise StorageUnavailable(
                    f"{self._pool.location} rolled back a commit; nothing was written, retry"
                )
            if self._new and done[0].rowcount != len(self._new):
                raise refused_totals(self._totals, "the log has moved on")
        self._seen[self._name].head = self.head

    def _append_values(self) -> list[Any]:
        events = [event for event, _, _ in self._new]
        return [
            *self._totals, *self.head, self._campaign, self._base.seq,
            [event.seq for event in events], [event.ts for event in events],
            [event.kind for event in events], [event.decision for event in events],
            [body.decode() for _, body, _ in self._new], [hash for _, _, hash in self._new],
        ]  # fmt: skip

    def _was_committed(self, connection: str, error: Exception) -> bool:
        """Return whether a commit without an answer was made: the log is asked, nothing guessed."""
        with contextlib.suppress(
            StorageInUse, StorageUnavailable
        ):  # else it ends when the server notices
            self._pool.run((_TERMINATE, [connection]))
        # the lost transaction holds this lock until its end, so the answer behind it is final
        asked = [_BEGIN, (_LOCK, [self._name]), (_HASH_AT, [self._name, self.head.seq]), _ROLLBACK]
        try:
            line, [_, _, found, _] = self._pool.begin(*asked, patient=True)
        except (StorageInUse, StorageUnavailable) as later:
            raise StorageUnavailable(
                f"{self._pool.location} was lost during a commit ({format_error(error)}) and cannot"
                f" be asked whether it was made ({format_error(later)}); load the campaign again"
                " when the server is available"
            ) from later
        self._pool.put_back(line)
        return found.fetchone() == (self.head.hash,)

    def _events(self, text: str, *values: Any) -> list[Event]:
        return decode_events(self._rows(text, self._campaign, *values))

    def _rows(self, statement: str, *values: Any) -> list[Row]:
        connection = self._require_connection()
        try:
            return connection.run((statement, values))[0].fetchall()
        except DriverError as error:
            self._put_back()
            raise postgres_error(self._pool.location, error) from error

    def _require_connection(self) -> PostgresConnection:
        if self._connection is None:
            raise StorageUnavailable(f"the writer of {self._name!r} has ended; open another")
        return self._connection

    def _put_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.put_back(connection)

    def _end(self) -> None:
        self._put_back()  # rolls back what was not committed
        self._pool.unlock_campaign(self._name)


def _check_totals(totals: CampaignTotals) -> None:
    """Refuse here, where it was decided, what the database would refuse later."""
    amounts = totals.budget, totals.spent, totals.held
    if min(amounts) < 0 or max(amounts) >= _TOO_LARGE:
        raise refused_totals(totals, "amounts are from 0 to 2^63")
    if totals.granted and totals.spent + totals.held > totals.budget:
        raise refused_totals(totals, "a grant beyond the budget")
