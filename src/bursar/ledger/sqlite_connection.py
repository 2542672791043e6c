"""Connections to an SQLite file, set for money: durable commits, no hidden work, clear errors.

Here are also the statements that a store shares with backups: how tables are created and changed,
and how events are appended.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

from bursar.errors import BursarError, CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable
from bursar.files import make_private_file
from bursar.ledger.chain import chain_events, refused_totals
from bursar.ledger.event import GENESIS, Event
from bursar.ledger.schema import SQLITE_STEPS, check_steps, checksum
from bursar.ledger.store import CampaignTotals, LogHead

_OLDEST = (3, 51, 3)  # before it, two connections in WAL mode could corrupt a database
_BUSY = 5_000  # ms; our own lock separates writers, this is for other programs
_APPLICATION = 0x62757273  # "burs": marks our files among other SQLite files
_FULL = 1024  # pages of a write-ahead log, 4 MB
_PASSIVE, _TRUNCATE = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_TRUNCATE
_EMPTY = LogHead(0, -(2**63), GENESIS)  # of a log without events

_SETTINGS = """
PRAGMA mmap_size = 0;
PRAGMA fullfsync = 1;
PRAGMA checkpoint_fullfsync = 1;
PRAGMA trusted_schema = 0;
PRAGMA cell_size_check = 1;
PRAGMA temp_store = MEMORY;
"""
_INSERT = "INSERT INTO event VALUES(?, ?, ?, ?, ?, ?, ?)"
# the row moves on only from the head that was decided on, and never by a grant beyond the budget
_UPDATE = (
    "UPDATE campaign SET state = ?1, budget = ?2, spent = ?3, held = ?4, seq = ?6, ts = ?7,"
    " hash = ?8 WHERE id = ?9 AND seq = ?10 AND (NOT ?5 OR ?3 + ?4 <= ?2)"
)


def check_sqlite(version: str | None = None) -> None:
    """Refuse an SQLite whose write-ahead log is not safe."""
    version = version or apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < _OLDEST:
        raise StorageUnavailable(
            f"SQLite must be 3.51.3 or later, got {version}, which can corrupt a log that two"
            " processes write; pip install --upgrade apsw"
        )


def connect(path: Path, *, create: bool = False, vfs: str | None = None) -> apsw.Connection:
    """Open a file for writing, with a write-ahead log; every commit waits for the disk."""
    check_sqlite()
    if create and vfs is None:
        make_private_file(path)  # it has secrets, and SQLite would let everybody read them
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = _connect(path, flags, vfs)
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone() or ("none",)
        if mode != "wal":
            raise StorageUnavailable(
                f"{str(path)!r} cannot have a write-ahead log, got {mode!r}; use a local disk"
            )
        connection.execute("PRAGMA synchronous = FULL").fetchall()
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def connect_reader(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Open a file for reading only."""
    check_sqlite()
    return _connect(path, apsw.SQLITE_OPEN_READONLY, vfs)


def _connect(path: Path, flags: int, vfs: str | None) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_BUSY)
        # a file that was replaced has a log of the same name, which closing must not delete
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute(_SETTINGS).fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def disconnect(connection: apsw.Connection | None) -> None:
    """Close a connection in any state."""
    if connection is not None:
        with contextlib.suppress(apsw.Error):
            connection.close(True)


def sqlite_error(path: Path, error: Exception) -> BursarError:
    """Return what an error of SQLite or of the file system means to a user."""
    if isinstance(error, BursarError):
        return error
    message = str(error) or type(error).__name__
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return CorruptLedger(
            f"{str(path)!r} is not a complete SQLite file: {message}; restore a backup"
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StorageInUse(
            f"{str(path)!r} is in use by another program: {message}; close it, then retry"
        )
    return StorageUnavailable(
        f"{str(path)!r} could not be read or written: {message}; nothing was written, retry when"
        " the disk is available"
    )


class WriteAheadLog:
    """Counts the pages of a connection's log, and copies them into the file when it is told to.

    SQLite would do so within a commit, and ignore an error. Here it happens before a transaction,
    where an error stops what has not begun, and under the lock, so in one process at a time.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages, self._due = 0, _FULL
        connection.set_wal_hook(self._count)

    @property
    def full(self) -> bool:
        """Whether it is time to copy the log into the file."""
        return self._pages >= self._due

    def empty(self, whole: bool = False) -> None:
        """Copy the log into the file; ``whole`` waits for readers until the log is empty."""
        self._pages, _ = self._connection.wal_checkpoint(mode=_TRUNCATE if whole else _PASSIVE)
        # a reader can keep the log from starting over; try again when it has grown as much again
        self._due = self._pages + _FULL

    def _count(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # it started over
            self._due = _FULL
        self._pages = pages
        return 0


def schema_version(connection: apsw.Connection) -> int:
    """Return the number of steps that a database has taken; 0 for an empty one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables:
        return 0
    (owner,) = connection.execute("PRAGMA application_id").fetchone() or (0,)
    if owner != _APPLICATION or "meta" not in tables:
        raise InvalidInput(
            f"{connection.filename!r} is an SQLite database of another program; name another file"
        )
    (found,) = connection.execute("SELECT schema_version FROM meta").fetchone() or (0,)
    return int(found)


def migrate(connection: apsw.Connection, copy: Callable[[Path], object]) -> None:
    """Take the steps that a database lacks, in one transaction.

    Before a database with content is changed, ``copy`` is called to copy it to a file beside it.
    """
    had = schema_version(connection)
    rows: list[Any] = []
    if had:
        rows = connection.execute("SELECT number, checksum FROM step").fetchall()
    check_steps(SQLITE_STEPS, had, dict(rows), repr(connection.filename))
    if had == len(SQLITE_STEPS):
        return
    if had:
        copy(Path(f"{connection.filename}.schema-{had}-{time.time_ns() // 10**9}"))
    with connection:  # a savepoint: all steps or none
        now = time.time_ns() // 1000
        for number, step in enumerate(SQLITE_STEPS[had:], had + 1):
            connection.execute(step).fetchall()
            connection.execute("INSERT INTO step VALUES(?, ?, ?)", (number, checksum(step), now))
        if had:
            connection.execute("UPDATE meta SET schema_version = ?", (len(SQLITE_STEPS),))
        else:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            meta = len(SQLITE_STEPS), uuid4().hex, now
            connection.execute("INSERT INTO meta VALUES(?, ?, 1, ?)", meta)


def insert_campaign(
    connection: apsw.Connection, name: str, first: Event, totals: CampaignTotals
) -> None:
    """Add a campaign with its first event."""
    connection.execute(
        "INSERT INTO campaign(name, state, budget, spent, held, seq, ts, hash)"
        " VALUES(?, ?, ?, 0, 0, ?, ?, ?)",
        (name, totals.state, totals.budget, *_EMPTY),
    )
    append_events(connection, connection.last_insert_rowid(), _EMPTY, [first], totals)


def append_events(
    connection: apsw.Connection,
    campaign: int,
    head: LogHead,
    events: Sequence[Event],
    totals: CampaignTotals,
) -> LogHead:
    """Add events that follow a head, and the totals after them; return the new head."""
    rows = [
        (campaign, event.seq, event.ts, event.kind, event.decision, body.decode(), hash)
        for event, body, hash in chain_events(head, events)
    ]
    after = LogHead(rows[-1][1], rows[-1][2], rows[-1][6]) if rows else head
    try:
        if len(rows) == 1:
            connection.execute(_INSERT, rows[0])
        else:
            connection.executemany(_INSERT, rows)
        connection.execute(_UPDATE, (*totals, *after, campaign, head.seq))
    except apsw.ConstraintError as error:
        raise refused_totals(totals, str(error)) from error
    if connection.changes() != 1:
        raise refused_totals(totals, "a grant beyond the budget, or an event twice")
    return after
