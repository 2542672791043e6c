"""A line to a PostgreSQL server: prepared statements, many at a time, each wait with an end.

It speaks psycopg's libpq layer and not its cursors: a session is two round trips while others wait
for its lock, and cursors in pipeline mode took more than twice as long (measured). Waiting is ours
too, so that a server or network that falls silent cannot keep a caller for ever.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Sequence

from bursar.errors import BursarError, MissingExtra, StorageInUse, StorageUnavailable
from bursar.ledger.locks import watch
from bursar.ledger.postgres_schema import migrate
from bursar.ledger.postgres_sql import ALL, Statement

__all__ = [
    "Call",
    "ConnectionLost",
    "PipelineConnection",
    "Pool",
    "StatementRefused",
    "failure",
    "place_of",
    "said",
]

# ==== ledger.postgres_error
# What can go wrong with a PostgreSQL server, in bursar's words; also where psycopg is missed.

try:
    import psycopg
    from psycopg import pq
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq.abc import PGresult
except ImportError:
    raise MissingExtra(
        "postgresql:// needs psycopg, which is not installed; pip install 'bursar[postgres]'"
    ) from None


_BUSY = "55P03"  # the lock was not to be had in time


class ConnectionLost(Exception):
    """The server cannot be reached or is gone; whether it did what it was told is unknown."""


class StatementRefused(Exception):
    """The server says no; of what it was told together with that, it did nothing."""


def failure(place: str, error: Exception) -> BursarError:
    """Return what an error of the server or of the line to it means to a user."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _BUSY:
        return StorageInUse(
            f"{place} was busy: another process keeps the campaign ({said(error)});"
            " see pg_stat_activity, and try again"
        )
    return StorageUnavailable(
        f"{place} could not be read or written: {said(error)}; nothing was acknowledged,"
        " try again when the server is well"
    )


def said(error: Exception) -> str:
    """Return the words of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def place_of(url: str) -> str:
    """Return a URL without its password and options, for messages.

    >>> place_of("postgresql://ada:secret@db.example:5433/spend?sslmode=require")
    'postgresql://ada@db.example:5433/spend'
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise StorageUnavailable(
            f"the URL of the PostgreSQL ledger cannot be read: {said(error)}"
        ) from None
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


Call = tuple[Statement, Sequence[bytes]]

# plain numbers: to compare with an enumeration costs more than the rest of a look at a result
_DONE, _ROWS = int(pq.ExecStatus.COMMAND_OK), int(pq.ExecStatus.TUPLES_OK)
_SYNC, _SKIPPED = int(pq.ExecStatus.PIPELINE_SYNC), int(pq.ExecStatus.PIPELINE_ABORTED)
_ALIVE = int(pq.ConnStatus.OK)
_BINARY = 1

# what a ledger needs unless the URL says otherwise: the server that writes, and word of dead lines
_DEFAULTS = {
    "target_session_attrs": "read-write", "keepalives_idle": "5", "keepalives_interval": "2",
    "keepalives_count": "3", "tcp_user_timeout": "10000",
}  # fmt: skip
# plans are made once, while tables may still be empty, so they must not be those of empty tables;
# and a client that stops in a session must not keep the others waiting for ever
_SETTINGS = """
SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
SET client_encoding = 'UTF8'; SET statement_timeout = 0;
SET plan_cache_mode = 'force_generic_plan'; SET enable_seqscan = off;
SET idle_in_transaction_session_timeout = '30s';
SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3
"""


class PipelineConnection:
    """One connection, for one thread at a time."""

    def __init__(self, url: str, place: str, deadline: float) -> None:
        self._place = place
        self.name = f"bursar-{secrets.token_hex(8)}"  # by which the server knows this line
        self._deadline = deadline
        given = conninfo_to_dict(url)
        wanted = {"connect_timeout": str(max(2, round(deadline))), **_DEFAULTS, **given}
        wanted["application_name"] = self.name
        # prepare_threshold: scripts of several statements cannot be prepared
        self._connection = psycopg.connect(
            make_conninfo("", **wanted), autocommit=True, prepare_threshold=None
        )
        try:
            self._set_up()
        except BaseException:
            self._connection.close()
            raise

    def run(self, calls: Sequence[Call], patience: float = 0.0) -> list[pq.abc.PGresult]:
        """Send statements all at once; return their results, or raise Lost or Refused.

        After the first that is refused, the server skips the others.
        """
        server = self._server
        try:
            for (name, _, _, formats), values in calls:
                server.send_query_prepared(name, values, formats, _BINARY)
            return self._results(time.monotonic() + self._deadline + patience)
        except StatementRefused:
            raise
        except psycopg.Error as error:
            self.close()
            raise ConnectionLost(str(error)) from error
        except BaseException:  # what the server says next would be taken for another answer
            self.close()
            raise

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def abandon(self) -> None:
        """Let go, in a forked child, of a line that its parent goes on using.

        Closing as usual would tell the server that the parent has hung up; keeping the socket would
        keep the parent's locks after its death.
        """
        null = os.open(os.devnull, os.O_RDWR)
        with contextlib.suppress(psycopg.Error, OSError):
            os.dup2(null, self._server.socket)
        os.close(null)
        self._connection.close()

    def _set_up(self) -> None:
        connection = self._connection
        milliseconds = max(1, round(self._deadline * 1000))
        connection.execute(_SETTINGS.encode())
        connection.execute(f"SET lock_timeout = {milliseconds}".encode())
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StorageUnavailable(
                f"{self._place} must have the encoding UTF8, got {encoding}; make another database"
            )
        migrate(connection, self._place)
        self._server = server = connection.pgconn
        self._poll = select.poll()
        self._watched = 0
        self._socket = server.socket
        server.enter_pipeline_mode()
        for name, text, types, _ in ALL:
            server.send_prepare(name, text, types)
        self._results(time.monotonic() + self._deadline)

    def _results(self, until: float) -> list[pq.abc.PGresult]:
        server = self._server
        server.pipeline_sync()
        while server.flush():  # reading meanwhile: the server may wait for us to read
            if self._wait(select.POLLIN | select.POLLOUT, until) & ~select.POLLOUT:
                server.consume_input()
        found = []
        wrong: psycopg.Error | None = None
        while True:
            while server.is_busy():
                self._wait(select.POLLIN, until)
                server.consume_input()
            result = server.get_result()
            if result is None:  # the end of one statement, or of the line
                if server.status != _ALIVE:
                    raise ConnectionLost(str(wrong or "the connection is closed")) from wrong
                continue
            status = result.status
            if status in (_ROWS, _DONE):
                found.append(result)
            elif status == _SYNC:
                break
            elif status != _SKIPPED:
                wrong = wrong or psycopg.errors.error_from_result(result)
        if wrong is not None:
            raise StatementRefused(str(wrong)) from wrong
        return found

    def _wait(self, events: int, until: float) -> int:
        if events != self._watched:
            self._poll.register(self._socket, events)
            self._watched = events
        ready = self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready:
            raise ConnectionLost("no answer in time")
        return ready[0][1]


# ==== ledger.postgres_pool
# The lines of one process to its PostgreSQL server: some in use, a few kept for the next.

_KEPT = 4  # idle lines


class Pool:
    """Lines for the taking, and a lock a campaign, so that its threads wait here on no line."""

    def __init__(self, url: str, place: str, deadline: float) -> None:
        self.place = place
        self.deadline = deadline
        self._url = url
        self._idle: list[PipelineConnection] = []
        self._start_afresh()
        watch(self)
        weakref.finalize(self, _hang_up, self._idle)

    def take_turn(self, name: str) -> None:
        """Wait for the other threads of this process on a campaign."""
        if not self._turns[name].acquire(timeout=self.deadline):
            raise StorageInUse(
                f"campaign {name!r} was busy for {self.deadline:g} s: another thread keeps it;"
                " end its session, and try again"
            )

    def end_turn(self, name: str) -> None:
        """Let the next thread in."""
        lock = self._turns[name]
        if lock.locked():  # not so for a session that a fork has cut off
            lock.release()

    def begun(self, calls: Sequence[Call]) -> tuple[PipelineConnection, list[PGresult]]:
        """Take a line and run the first statements on it.

        A line that was kept may have died since; nothing was done on it, so another takes its
        place. A new one that fails is the caller's to know.
        """
        while True:
            line, new = self._taken()
            try:
                return line, line.run(calls, self.deadline)
            except BaseException as error:
                self.drop(line)
                if isinstance(error, ConnectionLost) and not new:
                    continue
                if isinstance(error, ConnectionLost | StatementRefused):
                    raise failure(self.place, error) from error
                raise

    def once(self, *calls: Call) -> list[PGresult]:
        """Run statements that need no transaction of their own."""
        line, found = self.begun(calls)
        self.put_back(line)
        return found

    def put_back(self, line: PipelineConnection) -> None:
        """Keep a line that has nothing under way for the next user."""
        with self._lock:
            self._used.discard(line)
            if len(self._idle) < _KEPT and not self._closed:
                self._idle.append(line)
                return
        line.close()

    def drop(self, line: PipelineConnection | None) -> None:
        """Hang up: the server undoes what was under way."""
        if line is not None:
            with self._lock:
                self._used.discard(line)
            line.close()

    def reopened(self, until: float) -> PipelineConnection:
        """Return a new line, trying again until a moment; raise the last error then."""
        pause = 0.01
        while True:
            try:
                line = self._opened()
            except (ConnectionLost, StatementRefused, psycopg.Error) as error:
                if time.monotonic() + pause > until:
                    raise ConnectionLost(str(error)) from error
                time.sleep(pause)
                pause = min(2 * pause, 0.5)
                continue
            with self._lock:
                self._used.add(line)
            return line

    def close(self) -> None:
        """Hang up all lines that are not in use; those follow when they are put back."""
        with self._lock:
            self._closed = True
            _hang_up(self._idle)

    def before_fork(self) -> None:
        """Let no line be half taken while the process is copied."""
        self._lock.acquire()

    def after_fork(self, child: bool) -> None:
        """Give the child lines of its own."""
        if not child:
            self._lock.release()
            return
        for line in [*self._idle, *self._used]:
            line.abandon()
        self._start_afresh()

    def _taken(self) -> tuple[PipelineConnection, bool]:
        """Return a line, and whether it is new."""
        with self._lock:
            if self._idle:
                line = self._idle.pop()
                self._used.add(line)
                return line, False
        try:
            line = self._opened()
        except (ConnectionLost, StatementRefused, psycopg.Error) as error:
            raise failure(self.place, error) from error
        with self._lock:
            self._used.add(line)
        return line, True

    def _start_afresh(self) -> None:
        self._lock = threading.RLock()  # a fork may come while the same thread has it
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._idle.clear()
        self._used: set[PipelineConnection] = set()
        self._closed = False

    def _opened(self) -> PipelineConnection:
        self._closed = False  # a closed store opens again when it is used
        return PipelineConnection(self._url, self.place, self.deadline)


def _hang_up(lines: list[PipelineConnection]) -> None:
    while lines:
        lines.pop().close()
