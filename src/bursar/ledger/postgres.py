"""A store in a PostgreSQL database, for any number of threads, processes and hosts.

Each writer is one transaction that locks its campaign's row, so campaigns do not wait for one
another. Commits are synchronous: what was acknowledged survives a crash of the server, and the loss
of the server if there is a synchronous standby. Backups are made with PostgreSQL's own tools:
``pg_dump --schema=bursar`` or point-in-time recovery. A pooler in between must pool sessions, not
transactions.

Connections are psycopg's, in its pipeline mode and from its pool. A writer needs two round trips
while others wait for its lock: statements go out together in a pipeline. After any error the
connection is closed, so an answer is never taken for that of another statement. Every wait has an
end: a server or network that falls silent does not block a caller.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any

from bursar import errors
from bursar.formatting import hide_password
from bursar.ledger import sql
from bursar.ledger.locks import register_fork_guard
from bursar.ledger.log import Event, LoggedRow, LogHead, chain_events, decode_events, hash_snapshot
from bursar.ledger.store import LAST, CampaignTotals, existing_campaign, unknown_campaign

try:
    import psycopg
    from psycopg.adapt import AdaptersMap
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.array import ListBinaryDumper
    from psycopg.types.numeric import Int8BinaryDumper
    from psycopg.types.string import BytesBinaryDumper, StrBinaryDumper
    from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout
except ImportError:
    raise errors.MissingExtra(
        "postgresql:// needs psycopg and psycopg_pool, which are not installed;"
        " pip install 'bursar[postgres]'"
    ) from None

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # no output unless configured

Statement = tuple[str, Sequence[Any]]
"""An SQL text with parameters $1, $2, ... and their values."""

_PAGE = 5000  # events that are fetched at a time
_PREFETCH = 65  # events that are fetched together with the lock: the last seen, and newer ones
_TOO_LARGE = 2**63

_BEGIN: Statement = ("BEGIN", ())
_COMMIT: Statement = ("COMMIT", ())
_ROLLBACK: Statement = ("ROLLBACK", ())
# The last column: whether the row was written by one of our transactions, which note their number.
# Tables that were loaded from a dump, or changed by hand, have rows of other transactions.
_LOCK = (
    "SELECT id, seq, ts, hash, coalesce(xmin::text = (written % 4294967296)::text, true)"
    " FROM bursar.campaign WHERE name = $1 FOR UPDATE"
)
_HEADS = "SELECT name, seq, hash FROM bursar.campaign"
_LOADING = "SELECT set_config('idle_in_transaction_session_timeout', '60s', true)"
_HASH_AT = (
    "SELECT hash FROM bursar.event"
    " WHERE campaign = (SELECT id FROM bursar.campaign WHERE name = $1) AND seq = $2"
)
_CREATE = """
WITH made AS (INSERT INTO bursar.campaign(
    name, state, budget, spent, held, seq, ts, hash, written)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $11, txid_current())
    ON CONFLICT (name) DO NOTHING RETURNING id)
INSERT INTO bursar.event(campaign, seq, ts, kind, decision, body, hash)
SELECT id, $6, $7, $8, $9, $10, $11 FROM made
"""
# The row moves on only from the head that was decided on, and never by a grant beyond the budget.
# Where it does not move, no event is added: one statement, so that COMMIT can be sent with it.
_APPEND = """
WITH moved AS (
    UPDATE bursar.campaign SET state = $1, budget = $2, spent = $3, held = $4, seq = $6, ts = $7,
        hash = $8, written = txid_current()
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
_DROP_SNAPSHOTS = "DELETE FROM bursar.snapshot WHERE campaign = $1 AND seq = ANY($2::bigint[])"
# the table itself stays free: a ping of another process must not wait for this
_LOCK_RECORDS = "SELECT pg_advisory_xact_lock(hashtextextended($2, $1))"
_TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1"

_LARGEST = 16  # connections of one process
_SOON = 1.0  # seconds after which a caller without a connection finds out why
_LOCK_NOT_AVAILABLE = "55P03"
_ADVISORY = int.from_bytes(b"bursar", "big")  # key of the lock for changing tables

# the defaults send integers in as few bytes as they need, each size a statement of its own
_ADAPTERS = AdaptersMap(psycopg.adapters)
_ADAPTERS.register_dumper(int, Int8BinaryDumper)
_ADAPTERS.register_dumper(str, StrBinaryDumper)
_ADAPTERS.register_dumper(bytes, BytesBinaryDumper)
_ADAPTERS.register_dumper(list, ListBinaryDumper)

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "cursor_factory": psycopg.RawCursor,
    "context": _ADAPTERS,
    "prepare_threshold": None,
}
# unless the URL says otherwise: the server that accepts writes, and early news of a dead network
_DEFAULTS = {
    "target_session_attrs": "read-write", "keepalives_idle": "5", "keepalives_interval": "2",
    "keepalives_count": "3", "tcp_user_timeout": "10000",
}  # fmt: skip
# Plans are made once, while tables may still be empty, so they must not be those of empty tables.
# A client that stops inside a transaction must not block the others: they wait longer than it may.
_SETTINGS = """
SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
SET client_encoding = 'UTF8'; SET search_path = bursar; SET statement_timeout = 0;
SET plan_cache_mode = 'force_generic_plan'; SET enable_seqscan = off;
SET idle_in_transaction_session_timeout = '4s';
SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3
"""


class _Pipeline(psycopg.Pipeline):
    """Ends with a Sync; psycopg's own also asks for a flush.

    By that message PostgreSQL takes the client for busy, and would never end the transaction of one
    that has stopped.
    """

    def _exit_gen(self) -> Generator[Any, Any, None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
        finally:
            yield from self._fetch_gen(flush=False)


class PostgresConnection(psycopg.Connection[sql.Row]):
    """A connection for one thread at a time, closed by any error."""

    patience = 20.0  # seconds to wait for an answer, a lock included
    name: str  # by which the server knows it
    source: ConnectionPool[PostgresConnection]  # to which it is returned

    def run(self, *statements: Statement) -> list[psycopg.Cursor[sql.Row]]:
        """Send statements in one round trip; return a cursor with the result of each.

        After one that fails, the server skips the others.
        """
        try:
            self._pipeline = _Pipeline(self)
            with self.pipeline():
                return [self.execute(text, values, binary=True) for text, values in statements]
        except BaseException:
            self.close()
            raise

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Run an exchange with the server; fail if it takes longer than ``patience``."""
        return super().wait(self._limit(gen), *args, **options)

    def abandon(self) -> None:
        """Drop, in a forked child, a connection that its parent goes on using.

        To close it as usual would end the parent's session; to keep the socket would keep the
        parent's locks after its death.
        """
        null = os.open(os.devnull, os.O_RDWR)
        with contextlib.suppress(psycopg.Error, OSError):
            os.dup2(null, self.pgconn.socket)
        os.close(null)
        self.close()

    def _limit(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        until = time.monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > until:
                    break
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value
        self.close()
        with contextlib.suppress(psycopg.Error):
            gen.close()
        raise psycopg.OperationalError("no answer in time")


class PostgresStore(sql.SQLStore):
    """Campaigns in a database such as ``postgresql://user:secret@host/spend``.

    Their tables are in the schema ``bursar``, which is created if it does not exist. A writer waits
    at most ``deadline`` seconds for other writers. ``url`` does not show the password. Threads wait
    for a campaign at its lock, without a connection.
    """

    def __init__(self, url: str, *, deadline: float = 10.0) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise errors.InvalidInput(
                "the URL of a PostgreSQL ledger is postgresql://host/database, got"
                f" {hide_password(url)!r}"
            )
        self.url = describe_url(url)
        self.location = repr(self.url)
        self.seen: dict[str, sql.SeenLog] = {}
        self.others: Counter[str] = Counter()  # transactions in which to expect other processes
        self.generations: Counter[str] = Counter()  # how often a log was set back
        self._deadline = deadline
        given = conninfo_to_dict(url)
        wanted = {"connect_timeout": str(max(2, round(deadline))), **_DEFAULTS, **given}
        self._conninfo = make_conninfo("", **wanted)
        self._configure = partial(_configure, location=self.location, deadline=deadline)
        self._pool: ConnectionPool[PostgresConnection] | None = None
        self._start()
        register_fork_guard(self)
        self.names()  # creates the tables now, or raises what is wrong

    def create(self, name: str, first: Event, totals: CampaignTotals) -> None:
        _check_totals(totals)
        [row], head = chain_events(sql.EMPTY_LOG, [first])
        statement: Statement = (_CREATE, [name, *totals[:4], *row])
        connection, _ = self.begin(_BEGIN)
        try:
            created = connection.run(statement, _COMMIT)[0].rowcount > 0
        except psycopg.Error:
            self.put_back(connection)
            # once more: this waits for the end of the lost transaction, and finds what it left
            again = [_BEGIN, statement, _COMMIT, (_HASH_AT, [name, 1])]
            connection, [_, done, _, found] = self.begin(*again, patient=True)
            created = done.rowcount > 0 or found.fetchone() == (head.hash,)
        self.put_back(connection)
        if not created:
            raise existing_campaign(name)

    def ping(self) -> None:
        """Write the time, and look for logs that were set back: idle processes notice it, too."""
        super().ping()
        before = self.seen.copy()
        for name, seq, hash in self.read_rows(_HEADS) if before else ():
            head = before[name].head if name in before else sql.EMPTY_LOG
            if seq < head.seq or (seq == head.seq and hash != head.hash):
                with contextlib.suppress(errors.StorageInUse), self.open_writer(name):
                    pass  # records it

    def open_writer(self, name: str) -> PostgresWriter:
        """Return a writer for a campaign; its ``with`` block is one transaction."""
        return PostgresWriter(self, name)

    def read_rows(self, statement: str, *values: Any) -> list[sql.Row]:
        [found] = self.run((statement, values))
        return self.fetch(found)

    def fetch(self, found: psycopg.Cursor[sql.Row]) -> list[sql.Row]:
        """Return the rows of a result."""
        try:
            return found.fetchall()
        except UnicodeDecodeError as error:
            raise sql.bad_text(self.location, error) from error

    def execute(self, statement: str, *values: Any) -> None:
        self.run((statement, values))

    @contextlib.contextmanager
    def lock_records(self, kind: str) -> Iterator[Callable[..., list[sql.Row]]]:
        connection, _ = self.begin(_BEGIN, (_LOCK_RECORDS, [_ADVISORY, kind]))

        def run(text: str, *values: Any) -> list[sql.Row]:
            [found] = connection.run((text, values))
            return found.fetchall() if found.description else []

        try:
            yield run
            [end] = connection.run(_COMMIT)
        except psycopg.Error as error:
            raise postgres_error(self.location, error) from error
        finally:
            self.put_back(connection)  # which rolls back after an error
        self.check_committed(end)

    def check_committed(self, end: psycopg.Cursor[sql.Row]) -> None:
        """Raise StorageUnavailable if a COMMIT ended in a rollback."""
        if end.statusmessage != "COMMIT":
            raise errors.StorageUnavailable(
                f"{self.location} rolled back a commit; nothing was written, retry"
            )

    def lock_campaign(self, name: str) -> threading.Lock:
        """Wait for the other threads of this process on a campaign; return the lock to release."""
        lock = self._locks[name]
        if not lock.acquire(timeout=self._deadline):
            raise errors.StorageInUse(
                f"campaign {name!r} was in use by another thread for {self._deadline:g} s;"
                " end its transaction, then retry"
            )
        return lock

    def begin(
        self, *statements: Statement, patient: bool = False
    ) -> tuple[PostgresConnection, list[psycopg.Cursor[sql.Row]]]:
        """Run first statements on a connection; return it, to be put back, and their results.

        An idle connection may have died since its last use; nothing was done on it, so another
        takes its place. With ``patient``, wait for a server that restarts.
        """
        for attempt in (1, 2):
            connection = self._take(patient)
            try:
                return connection, connection.run(*statements)
            except BaseException as error:
                self.put_back(connection)
                if not isinstance(error, psycopg.Error):
                    raise
                # as far as a client can tell, the server is gone
                lost = error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
                if attempt == 2 or not lost:
                    raise postgres_error(self.location, error) from error
            self._open_pool().drain()  # the other idle connections have died, too
        raise AssertionError  # the second attempt returns or raises

    def run(self, *statements: Statement) -> list[psycopg.Cursor[sql.Row]]:
        """Run statements that need no transaction of their own."""
        connection, found = self.begin(*statements)
        self.put_back(connection)
        return found

    def put_back(self, connection: PostgresConnection) -> None:
        """Return a connection to the pool; roll back a transaction that is under way."""
        with self._lock:
            self._used.discard(connection)
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        connection.source.putconn(connection)

    def close(self) -> None:
        """Close idle connections; an open writer keeps its own until it ends."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def before_fork(self) -> None:
        """End the pool's threads, which a child would not have."""
        self._lock.acquire()
        self.close()

    def after_fork(self, child: bool) -> None:
        """Give the child connections of its own."""
        if child:
            for connection in self._used:
                connection.abandon()
            self._start()
        else:
            self._lock.release()

    def _start(self) -> None:
        self._lock = threading.RLock()  # a fork may come while the same thread has it
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._used: set[PostgresConnection] = set()

    def _take(self, patient: bool) -> PostgresConnection:
        until = time.monotonic() + self._deadline
        while True:
            pool = self._open_pool()
            try:
                connection = pool.getconn(min(_SOON, self._deadline))
                break
            except PoolClosed:  # by a fork
                continue
            except PoolTimeout as error:
                late = time.monotonic() >= until
                if late or not patient:
                    self._check_server()
                if late:
                    raise postgres_error(self.location, error) from error
        connection.source = pool
        with self._lock:
            self._used.add(connection)
        return connection

    def _open_pool(self) -> ConnectionPool[PostgresConnection]:
        with self._lock:
            if self._pool is None:
                self._check_server()
                self._pool = ConnectionPool(
                    self._conninfo,
                    connection_class=PostgresConnection,
                    kwargs=_OPTIONS,
                    configure=self._configure,
                    min_size=0,
                    max_size=_LARGEST,
                    reconnect_timeout=_SOON / 2,  # the next caller makes it try again
                    open=True,
                )
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _check_server(self) -> None:
        """Create the tables if there are none; raise what is wrong with the server."""
        try:
            with PostgresConnection.connect(self._conninfo, **_OPTIONS) as connection:
                self._configure(connection)
        except psycopg.Error as error:
            raise postgres_error(self.location, error) from error


class PostgresWriter(sql.SQLWriter[PostgresConnection]):
    """One transaction on the log of one campaign, in two round trips.

    The first locks the campaign's row and fetches its head, with the events that other processes
    have added; the second moves the row, adds the events and commits. Appended events are held
    back until then.
    """

    _store: PostgresStore
    _lock: threading.Lock  # of this process on the campaign
    _base: LogHead  # before what was appended
    _totals: CampaignTotals  # after what was appended

    def __init__(self, store: PostgresStore, name: str) -> None:
        super().__init__(store, name)
        self._tail: list[Event] = []  # up to the base, as far as it was fetched with the lock
        self._new: list[Event] = []
        self._new_rows: list[LoggedRow] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._surplus: list[int] = []  # snapshots that go when it is saved

    def __enter__(self) -> PostgresWriter:
        self._lock = self._store.lock_campaign(self._name)
        try:
            while self._begin(self._store.seen.get(self._name)):
                self._commit()  # that it was set back, whatever becomes of this transaction
                self._put_back()
                self._new, self._new_rows = [], []
        except BaseException:
            self._end()
            raise
        self.generation = self._store.generations[self._name]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._connection is None:
                raise errors.StorageUnavailable("a step of this writer failed; nothing was written")
            if kind is None and (self._new or self._snapshot):
                self._commit()
        finally:
            self._end()

    def events_after(self, seq: int) -> list[Event]:
        new = [event for event in self._new if event.seq > seq]
        found: list[Event] = []
        if self._tail and seq >= self._tail[0].seq - 1:
            found = self._tail[seq - self._tail[0].seq + 1 :]
            seq = max(seq, self._tail[-1].seq)
        while seq < self._base.seq:
            page = decode_events(
                sql.read_events(self._rows, sql.EVENTS_AFTER, self._campaign, seq, _PAGE)
            )
            if not page:
                raise errors.CorruptLedger(
                    f"event {seq + 1} of {self._name!r} is missing; restore a backup"
                )
            found += page
            seq = page[-1].seq
        return found + new

    def decision_events(self, decision: str) -> list[Event]:
        new = [event for event in self._new if decision and event.decision == decision]
        return super().decision_events(decision) + new

    def append(self, events: Sequence[Event], totals: CampaignTotals) -> None:
        self._require_connection()
        try:
            rows, head = chain_events(self.head, events)
            _check_totals(totals)
        except BaseException:  # even if it is swallowed, nothing may be committed
            self._put_back()
            raise
        self._new += events
        self._new_rows += rows
        self._totals, self.head = totals, head

    def load_snapshot(self, before: int = LAST) -> tuple[int, bytes] | None:
        self._rows(_LOADING)  # a long log may be read next, and nothing sent meanwhile
        new, kept = self._snapshot, super().load_snapshot(before)
        if new is None or new[0] >= before or (kept is not None and kept[0] > new[0]):
            return kept
        return new

    def save_snapshot(self, seq: int, content: bytes) -> None:
        self._require_connection()
        self._surplus = self._find_surplus(seq, content)
        self._snapshot = seq, content

    def _begin(self, seen: sql.SeenLog | None) -> bool:
        """Lock the campaign; return whether it was set back and that is yet to be committed."""
        statements: list[Statement] = [_BEGIN, (_LOCK, [self._name])]
        # the event that was seen last, and newer ones
        since = () if seen is None else (seen.campaign, seen.head.seq - 1, _PREFETCH)
        if since and self._store.others[self._name]:
            # a statement of its own: it must see what was committed during the wait for the lock
            statements.append((sql.EVENTS_AFTER, since))
        self._connection, [_, locked, *tail] = self._store.begin(*statements)
        row = locked.fetchone()
        if row is None:
            raise unknown_campaign(self._name, self._store.location)
        self._campaign, *head, ours = row
        self.head = self._base = LogHead(*head)
        found = sql.SeenLog(self._campaign, self.head)
        if seen is None or seen == found:
            self._store.others[self._name] = max(0, self._store.others[self._name] - 1)
        else:
            rows = self._store.fetch(tail[0]) if tail else self._rows(sql.EVENTS_AFTER, *since)
            if self._campaign == seen.campaign and rows and rows[0][5] == seen.head.hash:
                self._tail = decode_events(rows[1:])
                self._store.others[self._name] = 100
            else:  # it does not have the event that was seen last
                self._store.generations[self._name] += 1
                ours = ours and self._is_marked(seen)
        if ours:
            self._store.seen[self._name] = found
        else:
            self._mark_restored(seen)
        return not ours

    def _commit(self) -> None:
        connection = self._require_connection()
        statements: list[Statement] = []
        if self._new:
            columns = map(list, zip(*self._new_rows, strict=True))
            head = [*self._totals, *self.head, self._campaign, self._base.seq]
            statements.append((_APPEND, [*head, *columns]))
        if self._snapshot is not None:
            seq, content = self._snapshot
            values = [self._campaign, seq, content, hash_snapshot(seq, content), self.head.hash]
            drop = (_DROP_SNAPSHOTS, [self._campaign, self._surplus])
            statements += [drop, (_SAVE_SNAPSHOT, values)]
        try:
            *done, end = connection.run(*statements, _COMMIT)
        except psycopg.Error as error:
            self._put_back()
            if not self._was_committed(connection.name, error):
                raise postgres_error(self._store.location, error) from error
        else:
            self._store.check_committed(end)
            if self._new and done[0].rowcount != len(self._new):
                raise self._totals.refusal("the log has moved on")
        self._store.seen[self._name] = sql.SeenLog(self._campaign, self.head)

    def _was_committed(self, connection: str, error: Exception) -> bool:
        """Return whether a commit without an answer was made: the log is asked, nothing guessed."""
        # if this fails, the lost transaction ends when the server notices
        with contextlib.suppress(errors.StorageInUse, errors.StorageUnavailable):
            self._store.run((_TERMINATE, [connection]))
        # the lost transaction holds this lock until its end, so the answer behind it is final
        asked = [_BEGIN, (_LOCK, [self._name]), (_HASH_AT, [self._name, self.head.seq]), _ROLLBACK]
        try:
            line, [_, _, found, _] = self._store.begin(*asked, patient=True)
        except (errors.StorageInUse, errors.StorageUnavailable) as later:
            raise errors.StorageUnavailable(
                f"{self._store.location} was lost during a commit ({format_error(error)}) and"
                f" cannot be asked whether it was made ({format_error(later)}); load the campaign"
                " again when the server is available"
            ) from later
        self._store.put_back(line)
        return found.fetchone() == (self.head.hash,)

    def _rows(self, statement: str, *values: Any) -> list[sql.Row]:
        connection = self._require_connection()
        try:
            return self._store.fetch(connection.run((statement, values))[0])
        except psycopg.Error as error:
            self._put_back()
            raise postgres_error(self._store.location, error) from error

    def _put_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._store.put_back(connection)

    def _end(self) -> None:
        self._put_back()  # rolls back what was not committed
        self._lock.release()


def _check_totals(totals: CampaignTotals) -> None:
    """Refuse here, where it was decided, what the database would refuse later."""
    amounts = totals.budget, totals.spent, totals.held
    if min(amounts) < 0 or max(amounts) >= _TOO_LARGE:
        raise totals.refusal("amounts are from 0 to 2^63")
    if totals.granted and totals.spent + totals.held > totals.budget:
        raise totals.refusal("a grant beyond the budget")


def _configure(connection: PostgresConnection, location: str, deadline: float) -> None:
    """Make a new connection ready for use."""
    connection.patience = 2 * deadline
    connection.name = f"bursar-{secrets.token_hex(8)}"
    connection.execute(_SETTINGS.encode())
    connection.execute(f"SET application_name = '{connection.name}'".encode())
    connection.execute(f"SET lock_timeout = {max(1, round(deadline * 1000))}".encode())
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise errors.StorageUnavailable(
            f"{location} has the encoding {encoding}; create a database with the encoding UTF8"
        )
    _migrate(connection, location)
    connection.prepare_threshold = 0  # from here on no text has several statements


def _migrate(connection: PostgresConnection, location: str) -> None:
    """Take the steps that a database lacks, in one transaction, in one process at a time."""
    if _count_steps(connection, location) == len(sql.POSTGRES_STEPS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1)", (_ADVISORY,))
        had = _count_steps(connection, location)  # another process may have been faster
        sql.take_steps(connection.execute, sql.POSTGRES_STEPS, had)


def _count_steps(connection: PostgresConnection, location: str) -> int:
    # to_regclass would answer from a cache that waiting for the advisory lock does not refresh
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'bursar'")
    tables = {name for (name,) in found}
    if not tables:
        return 0
    if "meta" not in tables:
        raise errors.InvalidInput(
            f"the schema 'bursar' of {location} belongs to another program; name another database"
        )
    return sql.check_version(
        lambda text: connection.execute(text).fetchall(), sql.POSTGRES_STEPS, location
    )


def postgres_error(location: str, error: Exception) -> errors.BursarError:
    """Return what an error of psycopg means to a user."""
    if isinstance(error, psycopg.Error) and error.sqlstate == _LOCK_NOT_AVAILABLE:
        return errors.StorageInUse(
            f"{location} is in use: another process has locked the campaign"
            f" ({format_error(error)}); see pg_stat_activity, then retry"
        )
    return errors.StorageUnavailable(
        f"{location} could not be read or written: {format_error(error)}; nothing was"
        " acknowledged, retry when the server is available"
    )


def format_error(error: Exception) -> str:
    """Return the message of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def describe_url(url: str) -> str:
    """Return a URL without its password and options, for messages.

    >>> describe_url("postgresql://ada:secret@db.example:5433/spend?sslmode=require")
    'postgresql://ada@db.example:5433/spend'
    """
    authority, _, path = url.partition("://")[2].partition("/")
    try:
        parts = conninfo_to_dict(url)
        port = str(parts.get("port") or "").replace(",", "")
        parsed = authority.count("@") <= 1 and "@" not in path.partition("?")[0]
        parsed = parsed and (not port or port.isdigit())
    except psycopg.Error:
        parsed = False
    if not parsed:  # libpq would quote what it cannot parse, which may be a part of the password
        raise errors.InvalidInput(
            "the URL of the PostgreSQL ledger cannot be parsed; write it as"
            " postgresql://user:password@host:5432/database, and the characters / @ % : of a"
            " password as %2F %40 %25 %3A"
        )
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"
