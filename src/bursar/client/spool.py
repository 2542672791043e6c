"""The spool: a SQLite file of outcomes that could not be delivered yet."""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from bursar import errors
from bursar.files import make_private_file

_FINAL = (
    errors.InvalidInput, errors.OutcomeConflict, errors.IdempotencyMismatch, errors.TooLarge,
    errors.UnknownCampaign, errors.UnknownDecision,
)  # fmt: skip
_BUSY = 10_000  # ms to wait for another process; calls are never sent inside a transaction
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

    @property
    def campaign(self) -> str:
        """The campaign in the path, quoted; the path itself if there is none."""
        parts = self.path.split("/")
        return parts[3] if parts[2:3] == ["campaigns"] and len(parts) > 3 else self.path

    def is_needless(self, error: errors.BursarError) -> bool:
        """Return whether the error means that there is nothing to do: no hold to release."""
        return self.path.endswith("/void") and isinstance(error, errors.UnknownDecision)


@dataclass(frozen=True)
class UndeliveredCall:
    """An outcome, or a hold to release, that the service has not accepted.

    Attributes
    ----------
    path : str
        Where it is sent; campaign and decision stand in it.
    body : mapping
        What is sent.
    code, reason : str
        The answer of the service; empty if this client has not sent it yet.
    refused : bool
        Whether it was refused for good: then it is not sent again.
    """

    path: str
    body: Any
    code: str
    reason: str
    refused: bool


class Spool:
    """A file of calls, shared by any number of threads and processes.

    A call is durable before ``store`` returns, and deleted after it was delivered. A crash between
    the two delivers it twice, which counts once because calls carry their own ids.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise errors.InvalidInput(
                f"spool must be a file in an existing folder, got {str(path)!r}"
            )
        self.path = path
        self.refused = path.with_name(path.name + ".refused")
        self._local = threading.local()
        if path.is_file():
            self._check_format()

    def accepts(self, error: BaseException) -> bool:
        """Return whether a call that failed with this error may succeed later."""
        return not isinstance(error, _FINAL)

    def store(self, calls: Sequence[tuple[str, str, Any]]) -> None:
        """Append calls, given as method, path and body, in one transaction."""
        rows = [(method, path, json.dumps(body)) for method, path, body in calls]
        with self._connect() as connection, connection:
            connection.executemany("INSERT INTO calls(method, path, body) VALUES(?,?,?)", rows)

    def load(self) -> list[SpooledCall]:
        """Return the stored calls, oldest first."""
        if not self.path.exists():
            return []
        with self._connect() as connection:
            rows = connection.execute("SELECT id, method, path, body FROM calls ORDER BY id")
            return [
                SpooledCall(id, method, path, _decode_body(body)) for id, method, path, body in rows
            ]

    def delete(self, ids: Sequence[int]) -> None:
        """Delete delivered calls; another process may have deleted them already."""
        with self._connect() as connection, connection:
            connection.executemany("DELETE FROM calls WHERE id = ?", [(one,) for one in ids])

    def refuse(self, call: SpooledCall, error: errors.BursarError) -> None:
        """Write a call that will never be accepted to a file beside the spool."""
        line = json.dumps({"refused": str(error), "code": error.code, "call": call._asdict()})
        try:
            make_private_file(self.refused)
            with self.refused.open("a+b", buffering=0) as file:
                end = file.seek(0, os.SEEK_END)
                # a line that a full disk cut off must not take the next one with it
                whole = not end or os.pread(file.fileno(), 1, end - 1) == b"\n"
                content = (line + "\n" if whole else f"\n{line}\n").encode()
                written = file.write(content)
                if written < len(content):
                    raise OSError(f"only {written} of {len(content)} bytes were written")
                os.fsync(file.fileno())
        except OSError as trouble:
            raise errors.StorageUnavailable(f"cannot write {self.refused}: {trouble}") from trouble

    def list_refused(self) -> Iterator[UndeliveredCall]:
        """Yield the calls that were refused for good; lines that were cut off are left out."""
        if not self.refused.exists():
            return
        for line in self.refused.read_text("utf-8", "replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                kept = json.loads(line)
                path, body = kept["call"]["path"], kept["call"]["body"]
                yield UndeliveredCall(path, body, kept["code"], kept["refused"], refused=True)

    @contextmanager
    def _connect(self) -> Iterator[apsw.Connection]:
        """Yield this thread's connection; its errors become StorageUnavailable.

        A forked child must not use its parent's, and calls in a file that was deleted are lost.
        """
        local = self._local
        try:
            if getattr(local, "owner", ()) != self._owner():
                self.path.touch(0o600)
                local.connection = apsw.Connection(str(self.path))
                local.connection.set_busy_timeout(_BUSY)
                local.connection.execute(_SCHEMA).fetchall()  # to run every statement
                local.owner = self._owner()
            yield local.connection
        except (OSError, apsw.Error) as error:
            raise errors.StorageUnavailable(f"the spool {self.path} failed: {error}") from error

    def _owner(self) -> tuple[int, int, int] | None:
        """Return what a connection belongs to: a process and a file."""
        with suppress(FileNotFoundError):
            found = self.path.stat()
            return os.getpid(), found.st_dev, found.st_ino
        return None

    def _check_format(self) -> None:
        # through SQLite: closing the file by hand would drop the locks of this process
        try:
            probe = apsw.Connection(str(self.path), apsw.SQLITE_OPEN_READONLY)
            probe.execute("PRAGMA schema_version").fetchall()
        except apsw.NotADBError:
            raise errors.InvalidInput(
                f"spool {str(self.path)!r} is not a spool; give another file"
            ) from None
        except apsw.Error:  # in use, or to be recovered: the first call says what is wrong
            return


def _decode_body(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # damaged: the service refuses it, and it is set aside with its text
        return {"damaged": text}
