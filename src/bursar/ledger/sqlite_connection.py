"""Connections to an SQLite file, set for money: durable commits, no hidden work, clear errors."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

from bursar.errors import BursarError, CorruptLedger, StorageInUse, StorageUnavailable
from bursar.files import private_file

__all__ = ["checked_version", "connect", "connect_reader", "disconnect", "failure"]

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
