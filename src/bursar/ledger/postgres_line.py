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
import time
from collections.abc import Sequence

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bursar.errors import StorageUnavailable
from bursar.ledger.postgres_error import Lost, Refused
from bursar.ledger.postgres_schema import migrate
from bursar.ledger.postgres_sql import ALL, Statement

__all__ = ["Call", "Line"]

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


class Line:
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
        except Refused:
            raise
        except psycopg.Error as error:
            self.close()
            raise Lost(str(error)) from error
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
                    raise Lost(str(wrong or "the connection is closed")) from wrong
                continue
            status = result.status
            if status in (_ROWS, _DONE):
                found.append(result)
            elif status == _SYNC:
                break
            elif status != _SKIPPED:
                wrong = wrong or psycopg.errors.error_from_result(result)
        if wrong is not None:
            raise Refused(str(wrong)) from wrong
        return found

    def _wait(self, events: int, until: float) -> int:
        if events != self._watched:
            self._poll.register(self._socket, events)
            self._watched = events
        ready = self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready:
            raise Lost("no answer in time")
        return ready[0][1]
