"""Connections to a PostgreSQL ledger: psycopg's pipeline mode and psycopg's pool, set for money.

A writer needs two round trips while others wait for its lock: statements go out together in a
pipeline. After any error the connection is closed, so an answer is never taken for that of another
statement. Every wait has an end: a server or network that falls silent does not block a caller.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from bursar.errors import BursarError, InvalidInput, MissingExtra, StorageInUse, StorageUnavailable
from bursar.ledger.locks import register_fork_guard
from bursar.ledger.sql import POSTGRES_STEPS, Row, check_version, take_steps

try:
    import psycopg
    from psycopg.adapt import AdaptersMap
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.types.array import ListBinaryDumper
    from psycopg.types.numeric import Int8BinaryDumper
    from psycopg.types.string import BytesBinaryDumper, StrBinaryDumper
    from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout
except ImportError:
    raise MissingExtra(
        "postgresql:// needs psycopg and psycopg_pool, which are not installed;"
        " pip install 'bursar[postgres]'"
    ) from None

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # no output unless configured

DriverError = psycopg.Error
Statement = tuple[str, Sequence[Any]]
"""An SQL text with parameters $1, $2, ... and their values."""

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
# A client that stops inside a transaction must not block the others for ever.
_SETTINGS = """
SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
SET client_encoding = 'UTF8'; SET search_path = bursar; SET statement_timeout = 0;
SET plan_cache_mode = 'force_generic_plan'; SET enable_seqscan = off;
SET idle_in_transaction_session_timeout = '30s';
SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3
"""


class PostgresConnection(psycopg.Connection[Row]):
    """A connection for one thread at a time, closed by any error."""

    patience = 20.0  # seconds to wait for an answer, a lock included
    name: str  # by which the server knows it
    source: ConnectionPool[PostgresConnection]  # to which it is returned

    def run(self, *statements: Statement) -> list[psycopg.Cursor[Row]]:
        """Send statements in one round trip; return a cursor with the result of each.

        After one that fails, the server skips the others.
        """
        try:
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


class PostgresPool:
    """The connections of one process to its server, and a lock per campaign.

    Threads wait for a campaign at its lock, without a connection.
    """

    def __init__(self, url: str, location: str, deadline: float) -> None:
        self.location = location
        self.deadline = deadline
        given = conninfo_to_dict(url)
        wanted = {"connect_timeout": str(max(2, round(deadline))), **_DEFAULTS, **given}
        self._conninfo = make_conninfo("", **wanted)
        self._configure = partial(_configure, location=location, deadline=deadline)
        self._pool: ConnectionPool[PostgresConnection] | None = None
        self._start()
        register_fork_guard(self)

    def lock_campaign(self, name: str) -> None:
        """Wait for the other threads of this process on a campaign."""
        if not self._locks[name].acquire(timeout=self.deadline):
            raise StorageInUse(
                f"campaign {name!r} was in use by another thread for {self.deadline:g} s;"
                " end its transaction, then retry"
            )

    def unlock_campaign(self, name: str) -> None:
        """Let the next thread use a campaign."""
        lock = self._locks[name]
        if lock.locked():  # a forked child has new locks
            lock.release()

    def begin(
        self, *statements: Statement, patient: bool = False
    ) -> tuple[PostgresConnection, list[psycopg.Cursor[Row]]]:
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
                if attempt == 2 or not _is_lost(error):
                    raise postgres_error(self.location, error) from error
            self._open_pool().drain()  # the other idle connections have died, too
        raise AssertionError  # the second attempt returns or raises

    def run(self, *statements: Statement) -> list[psycopg.Cursor[Row]]:
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
        """Close idle connections; those in use are closed when they are put back."""
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
        until = time.monotonic() + self.deadline
        while True:
            pool = self._open_pool()
            try:
                connection = pool.getconn(min(_SOON, self.deadline))
                break
            except PoolClosed:  # by a fork
                continue
            except PoolTimeout as error:
                late = time.monotonic() >= until
                if late or not patient:
                    self._connect().close()  # raises why the server cannot be reached
                if late:
                    raise postgres_error(self.location, error) from error
        connection.source = pool
        with self._lock:
            self._used.add(connection)
        return connection

    def _open_pool(self) -> ConnectionPool[PostgresConnection]:
        with self._lock:
            if self._pool is None:
                self._connect().close()  # creates the tables now, or raises what is wrong
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

    def _connect(self) -> PostgresConnection:
        try:
            connection = PostgresConnection.connect(self._conninfo, **_OPTIONS)
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            raise postgres_error(self.location, error) from error
        return connection


def _configure(connection: PostgresConnection, location: str, deadline: float) -> None:
    """Make a new connection ready for use."""
    connection.patience = 2 * deadline
    connection.name = f"bursar-{secrets.token_hex(8)}"
    connection.execute(_SETTINGS.encode())
    connection.execute(f"SET application_name = '{connection.name}'".encode())
    connection.execute(f"SET lock_timeout = {max(1, round(deadline * 1000))}".encode())
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StorageUnavailable(
            f"{location} has the encoding {encoding}; create a database with the encoding UTF8"
        )
    _migrate(connection, location)
    connection.prepare_threshold = 0  # from here on no text has several statements


def _migrate(connection: PostgresConnection, location: str) -> None:
    """Take the steps that a database lacks, in one transaction, in one process at a time."""
    if _count_steps(connection, location) == len(POSTGRES_STEPS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1)", (_ADVISORY,))
        had = _count_steps(connection, location)  # another process may have been faster
        take_steps(connection.execute, POSTGRES_STEPS, had)


def _count_steps(connection: PostgresConnection, location: str) -> int:
    # to_regclass would answer from a cache that waiting for the advisory lock does not refresh
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'bursar'")
    tables = {name for (name,) in found}
    if not tables:
        return 0
    if "meta" not in tables:
        raise InvalidInput(
            f"the schema 'bursar' of {location} belongs to another program; name another database"
        )
    return check_version(lambda text: connection.execute(text).fetchall(), POSTGRES_STEPS, location)


def _is_lost(error: psycopg.Error) -> bool:
    """Return whether the server is gone, as far as its client can tell."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def postgres_error(location: str, error: Exception) -> BursarError:
    """Return what an error of psycopg means to a user."""
    if isinstance(error, psycopg.Error) and error.sqlstate == _LOCK_NOT_AVAILABLE:
        return StorageInUse(
            f"{location} is in use: another process has locked the campaign"
            f" ({format_error(error)}); see pg_stat_activity, then retry"
        )
    return StorageUnavailable(
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
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise StorageUnavailable(
            f"the URL of the PostgreSQL ledger cannot be parsed: {format_error(error)}"
        ) from None
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"
