"""Connections to an SQLite file, set for money: durable commits, no hidden work, clear errors."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import msgspec

from bursar.errors import (
    BursarError,
    CorruptLedger,
    InvalidInput,
    NewerSchema,
    StorageInUse,
    StorageUnavailable,
)
from bursar.files import private_file
from bursar.ledger.chain import chain_events
from bursar.ledger.event import GENESIS, Event, decode_event_body
from bursar.ledger.store import CampaignTotals, LogHead

__all__ = [
    "AFTER",
    "APPLICATION",
    "OF",
    "PAGE",
    "START",
    "STEPS",
    "WriteAheadLog",
    "append",
    "checked_version",
    "connect",
    "connect_reader",
    "disconnect",
    "event_of",
    "events_of",
    "failure",
    "insert_campaign",
    "migrate",
    "version",
]

_OLDEST = (3, 51, 3)  # before it, two connections in WAL mode could corrupt a database
_BUSY = 5_000  # ms; our own lock keeps writers apart, this is for other programs

_SETTINGS = """
PRAGMA mmap_size = 0;
PRAGMA fullfsync = 1;
PRAGMA checkpoint_fullfsync = 1;
PRAGMA trusted_schema = 0;
PRAGMA cell_size_check = 1;
PRAGMA temp_store = MEMORY;
"""


def checked_version(found: str | None = None) -> None:
    """Refuse an SQLite whose write-ahead log is not safe."""
    found = found or apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) < _OLDEST:
        raise StorageUnavailable(
            f"SQLite must be 3.51.3 or later, got {found}, which can corrupt a log that two"
            " processes write; pip install --upgrade apsw"
        )


def connect(path: Path, *, create: bool = False, vfs: str | None = None) -> apsw.Connection:
    """Open a file for writing: write-ahead log, every commit on the disk before it returns."""
    checked_version()
    if create and vfs is None:
        private_file(path)  # it has secrets, and SQLite would let everybody read them
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_BUSY)
        # a file that was replaced has a log of the same name, which closing must not delete
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute(_SETTINGS).fetchall()
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
    checked_version()
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    connection.set_busy_timeout(_BUSY)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute(_SETTINGS).fetchall()
    return connection


def disconnect(connection: apsw.Connection | None) -> None:
    """Close a connection whatever state it is in."""
    if connection is not None:
        with contextlib.suppress(apsw.Error):
            connection.close(True)


def failure(path: Path, error: Exception) -> BursarError:
    """Return what an error of the database means to a user."""
    if isinstance(error, BursarError):
        return error
    said = str(error) or type(error).__name__
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return CorruptLedger(f"{str(path)!r} is not a whole SQLite file: {said}; restore a backup")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StorageInUse(
            f"{str(path)!r} is in use by another program: {said}; close it, and try again"
        )
    return StorageUnavailable(
        f"{str(path)!r} could not be read or written: {said}; nothing was booked, try again when"
        " the disk is well"
    )


# ==== ledger.wal
# The write-ahead log of an SQLite file: when it is brought into the file, and that it was.

_FULL = 1024  # pages, 4 MB
_PASSIVE, _TRUNCATE = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_TRUNCATE


class WriteAheadLog:
    """Counts the pages of the log of a connection, which never empties it by itself.

    SQLite would do it within a commit and keep an error to itself. Here it happens before a
    transaction, where an error stops what has not begun, and under the lock, so by one at a time.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages, self._due = 0, _FULL
        connection.set_wal_hook(self._written)

    @property
    def full(self) -> bool:
        """Whether it is time to bring the log into the file."""
        return self._pages >= self._due

    def empty(self, whole: bool = False) -> None:
        """Bring the log into the file; ``whole`` waits for readers until it is really empty."""
        self._pages, _ = self._connection.wal_checkpoint(mode=_TRUNCATE if whole else _PASSIVE)
        # a reader can keep the log from starting over: try again only when it has grown as much
        self._due = self._pages + _FULL

    def _written(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # it started over
            self._due = _FULL
        self._pages = pages
        return 0


# ==== ledger.sqlite_rows
# Rows of an SQLite ledger: events in, events out, each append following the one before.

START = LogHead(0, -(2**63), GENESIS)
"""Where a log without events ends."""

PAGE = (
    "SELECT seq, ts, kind, decision, body, hash FROM event WHERE campaign = ? AND seq > ?"
    " ORDER BY seq LIMIT ?"
)
AFTER = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND seq > ? ORDER BY seq"
)
OF = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND decision = ?"
    " AND decision <> '' ORDER BY seq"
)
_INSERT = "INSERT INTO event VALUES(?, ?, ?, ?, ?, ?, ?)"
# the row moves on only from the head that was decided on, and never by a grant beyond the budget
_UPDATE = (
    "UPDATE campaign SET state = ?1, budget = ?2, spent = ?3, held = ?4, seq = ?6, ts = ?7,"
    " hash = ?8 WHERE id = ?9 AND seq = ?10 AND (NOT ?5 OR ?3 + ?4 <= ?2)"
)


def event_of(row: Sequence[Any]) -> Event:
    """Return the event of a row."""
    seq, ts, kind, decision, body = row[:5]
    try:
        return Event(seq, ts, kind, decision, decode_event_body(body))
    except msgspec.DecodeError as error:
        raise CorruptLedger(f"event {seq} cannot be read: {error}; restore a backup") from error


def events_of(rows: Sequence[Sequence[Any]]) -> list[Event]:
    """Return the events of rows; a start reads millions, so in one go."""
    try:
        return [Event(row[0], row[1], row[2], row[3], decode_event_body(row[4])) for row in rows]
    except msgspec.DecodeError:
        return [event_of(row) for row in rows]  # says which


def insert_campaign(connection: apsw.Connection, name: str, summary: CampaignTotals) -> int:
    """Add a campaign that has no event yet; return its number."""
    state, budget, *_ = summary
    connection.execute(
        "INSERT INTO campaign(name, state, budget, spent, held, seq, ts, hash)"
        " VALUES(?, ?, ?, 0, 0, ?, ?, ?)",
        (name, state, budget, *START),
    )
    return connection.last_insert_rowid()


def append(
    connection: apsw.Connection,
    campaign: int,
    head: LogHead,
    events: Sequence[Event],
    new: CampaignTotals,
) -> LogHead:
    """Add events that follow a head, and what they come to; return the new head."""
    rows = [
        (campaign, event.seq, event.ts, event.kind, event.decision, body.decode(), mark)
        for event, body, mark in chain_events(head, events)
    ]
    after = LogHead(rows[-1][1], rows[-1][2], rows[-1][6]) if rows else head
    try:
        if len(rows) == 1:
            connection.execute(_INSERT, rows[0])
        else:
            connection.executemany(_INSERT, rows)
        connection.execute(_UPDATE, (*new, *after, campaign, head.seq))
    except apsw.ConstraintError as error:
        raise _refused(new, str(error)) from error
    if connection.changes() != 1:
        raise _refused(new, "a grant beyond the budget, or an event twice")
    return after


def _refused(new: CampaignTotals, why: str) -> CorruptLedger:
    return CorruptLedger(
        f"the ledger refused spent {new.spent} + held {new.held} of budget {new.budget}: {why};"
        " nothing was booked, verify the campaign"
    )


# ==== ledger.sqlite_schema
# The tables of an SQLite ledger, as numbered steps that only go forward.
#
# A step that has been released is never edited: its checksum lies in every database it made. A change
# is a new step at the end. Before a database with content is changed, a copy of it is put beside it.

APPLICATION = 0x62757273  # "burs": tells our files from other SQLite files

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE meta(
        schema_version INTEGER NOT NULL, instance TEXT NOT NULL, epoch INTEGER NOT NULL,
        created INTEGER NOT NULL) STRICT;
    CREATE TABLE step(
        number INTEGER PRIMARY KEY, checksum TEXT NOT NULL, ts INTEGER NOT NULL) STRICT;
    CREATE TABLE campaign(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        budget INTEGER NOT NULL, spent INTEGER NOT NULL CHECK(spent >= 0),
        held INTEGER NOT NULL CHECK(held >= 0), seq INTEGER NOT NULL, ts INTEGER NOT NULL,
        hash BLOB NOT NULL) STRICT;
    CREATE TABLE event(
        campaign INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL, kind TEXT NOT NULL,
        decision TEXT NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL,
        PRIMARY KEY(campaign, seq)) STRICT, WITHOUT ROWID;
    CREATE INDEX event_of_decision ON event(campaign, decision) WHERE decision <> '';
    CREATE TABLE snapshot(
        campaign INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
        hash BLOB NOT NULL) STRICT;
    """,
    """
    CREATE TABLE paper(
        kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY(kind, id)) STRICT, WITHOUT ROWID;
    """,
)


def version(connection: apsw.Connection) -> int:
    """Return the number of steps a database has taken; 0 for an empty one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables:
        return 0
    (owner,) = connection.execute("PRAGMA application_id").fetchone() or (0,)
    if owner != APPLICATION or "meta" not in tables:
        raise InvalidInput(
            f"{connection.filename!r} is a SQLite database of something else; name another file"
        )
    (found,) = connection.execute("SELECT schema_version FROM meta").fetchone() or (0,)
    return int(found)


def migrate(connection: apsw.Connection, copy: Callable[[Path], object]) -> None:
    """Take the steps that a database lacks, in one transaction, after ``copy`` to a file beside."""
    had = version(connection)
    if had > len(STEPS):
        raise NewerSchema(
            f"{connection.filename!r} has schema {had}, this bursar knows {len(STEPS)};"
            " use the newer bursar that wrote it"
        )
    _check_steps(connection, had)
    if had == len(STEPS):
        return
    if had:
        copy(Path(f"{connection.filename}.schema-{had}-{time.time_ns() // 10**9}"))
    with connection:  # a savepoint: all steps or none
        now = time.time_ns() // 1000
        for number, step in enumerate(STEPS[had:], had + 1):
            connection.execute(step).fetchall()
            connection.execute("INSERT INTO step VALUES(?, ?, ?)", (number, _checksum(step), now))
        if had:
            connection.execute("UPDATE meta SET schema_version = ?", (len(STEPS),))
        else:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(
                "INSERT INTO meta VALUES(?, ?, 1, ?)", (len(STEPS), uuid4().hex, now)
            )


def _check_steps(connection: apsw.Connection, had: int) -> None:
    if not had:
        return
    rows: list[Any] = connection.execute("SELECT number, checksum FROM step").fetchall()
    taken = dict(rows)
    for number, step in enumerate(STEPS[:had], 1):
        if taken.get(number) != _checksum(step):
            raise CorruptLedger(
                f"step {number} of the schema of {connection.filename!r} is not the one of this"
                " bursar; restore a backup"
            )


def _checksum(step: str) -> str:
    return blake2b(" ".join(step.split()).encode(), digest_size=16).hexdigest()
