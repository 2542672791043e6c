"""The spool: a SQLite file of outcomes that could not be delivered yet."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from bursar.errors import (
    BursarError,
    IdempotencyMismatch,
    InvalidData,
    InvalidInput,
    OutcomeConflict,
    TooLarge,
    UnknownCampaign,
    UnknownDecision,
)

_FINAL = (
    InvalidInput, InvalidData, OutcomeConflict, IdempotencyMismatch, TooLarge,
    UnknownCampaign, UnknownDecision,
)  # fmt: skip
_BUSY = 10_000  # ms to wait for another process; calls are never sent inside a transaction
_MAGIC = b"SQLite format 3\0"
_SCHEMA = """
PRAGMA journal_mode = DELETE;  -- one file, as users were promised
PRAGMA synchronous = EXTRA;    -- a call is on disk before its error is raised
CREATE TABLE IF NOT EXISTS calls(
  id INTEGER PRIMARY KEY AUTOINCREMENT, method TEXT, path TEXT, body TEXT) STRICT;
"""


class SpooledCall(NamedTuple):
    """A stored request."""

    id: int
    method: str
    path: str
    body: Any


class Spool:
    """A file of calls, shared by any number of threads and processes.

    A call is durable before ``store`` returns, and deleted after it was delivered. A crash between
    the two delivers it twice, which counts once because calls carry their own ids.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise InvalidInput(f"spool must be a file in an existing folder, got {str(path)!r}")
        if path.is_file() and path.read_bytes()[: len(_MAGIC)] not in (b"", _MAGIC):
            raise InvalidInput(f"spool {str(path)!r} is not a spool; give another file")
        self.path = path
        self.refused = path.with_name(path.name + ".refused")
        self._local = threading.local()

    def accepts(self, error: BaseException) -> bool:
        """Return whether a call that failed with this error may succeed later."""
        return not isinstance(error, _FINAL)

    def store(self, calls: Sequence[tuple[str, str, Any]]) -> None:
        """Append calls, given as method, path and body, in one transaction; raise OSError."""
        rows = [(method, path, json.dumps(body)) for method, path, body in calls]
        try:
            connection = self._connect()
            with connection:
                connection.executemany("INSERT INTO calls(method, path, body) VALUES(?,?,?)", rows)
        except apsw.Error as error:
            raise OSError(str(error)) from error

    def load(self) -> list[SpooledCall]:
        """Return the stored calls, oldest first."""
        if not self.path.exists():
            return []
        rows = self._connect().execute("SELECT id, method, path, body FROM calls ORDER BY id")
        return [SpooledCall(id, method, path, json.loads(body)) for id, method, path, body in rows]

    def delete(self, ids: Sequence[int]) -> None:
        """Delete delivered calls; another process may have deleted them already."""
        connection = self._connect()
        with connection:
            connection.executemany("DELETE FROM calls WHERE id = ?", [(one,) for one in ids])

    def refuse(self, call: SpooledCall, error: BursarError) -> None:
        """Write a call that will never be accepted to a file beside the spool."""
        line = json.dumps({"refused": str(error), "code": error.code, "call": call._asdict()})
        file = os.open(self.refused, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as target:
            target.write(line + "\n")
            target.flush()
            os.fsync(target.fileno())

    def _connect(self) -> apsw.Connection:
        """Return this thread's connection; a forked child must not use its parent's."""
        local = self._local
        if getattr(local, "pid", None) != os.getpid() or not self.path.exists():
            self.path.touch(0o600)
            local.connection = apsw.Connection(str(self.path))
            local.connection.set_busy_timeout(_BUSY)
            local.connection.execute(_SCHEMA).fetchall()  # to run every statement
            local.pid = os.getpid()
        connection: apsw.Connection = local.connection
        return connection
