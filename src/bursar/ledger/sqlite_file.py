"""An SQLite file in use: one connection that writes, one that reads, and the lock around them.

After an error the writing connection is thrown away, and its successor first brings the write-ahead
log into the file: a page that a failed fsync left in memory must not lie under later commits.
A fork closes both connections before it: SQLite remembers in memory which locks it holds, and a
child that believes to have its parent's locks can destroy the file.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from bursar.errors import BursarError, StorageInUse, StorageUnavailable
from bursar.ledger import forking
from bursar.ledger.backup import backup
from bursar.ledger.lock import FairLock
from bursar.ledger.sqlite_connection import connect, connect_reader, disconnect, failure
from bursar.ledger.sqlite_schema import migrate
from bursar.ledger.store import Head
from bursar.ledger.wal import WriteAheadLog

__all__ = ["SQLiteFile"]


class SQLiteFile:
    """The connections of one process to one database."""

    def __init__(self, path: Path, deadline: float, vfs: str | None) -> None:
        self.path = path
        self._name = str(path)
        self._deadline = deadline
        self._vfs = vfs
        self._state = "open"
        self._pid = os.getpid()
        self._owner = 0  # thread that is between enter and leave
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._lock: FairLock | None = None
        self._writer: apsw.Connection | None = None
        self._reader: apsw.Connection | None = None
        self._inode = 0  # of the file they opened; 0 before the first time
        self.heads: dict[str, tuple[int, Head]] = {}  # of campaigns, while nobody else writes
        self._version = -1  # of the data in the file when they were seen
        self._unsure = False  # whether the last transaction failed
        self._paused = False  # whether a fork is under way
        forking.watch(self)

    def begin(self) -> apsw.Connection:
        """Wait for the file, then begin a transaction; the connection is ours until end()."""
        writer = self.enter()
        try:
            writer.execute("BEGIN IMMEDIATE")
            if writer.data_version() != self._version:  # somebody else wrote
                self.heads.clear()
                self._version = writer.data_version()
        except BaseException as error:
            self.drop()
            self.leave()
            if isinstance(error, apsw.Error):
                raise failure(self.path, error) from error
            raise
        return writer

    def commit(self) -> None:
        """Make the transaction durable."""
        if self._writer is None:
            raise StorageUnavailable(f"{self._name!r} failed in this session; nothing was booked")
        try:
            self._writer.execute("COMMIT")
            self._version = self._writer.data_version()
        except BaseException as error:
            self.drop()  # what came of the transaction is on the disk
            if isinstance(error, apsw.Error):
                raise failure(self.path, error) from error
            raise

    def undo(self) -> None:
        """Undo the transaction."""
        if self._writer is not None:
            try:
                self._writer.execute("ROLLBACK")
            except apsw.Error:
                self.drop()

    def enter(self) -> apsw.Connection:
        """Wait for the file, then return the connection that writes; it is ours until leave()."""
        if self._state != "open" or self._pid != os.getpid():
            self._check_state()
        me = threading.get_ident()
        if self._owner == me:
            raise StorageInUse(
                f"this thread has a session of {self._name!r} open; leave it before the next"
            )
        if not self._writing.acquire(timeout=self._deadline):
            raise StorageInUse(
                f"{self._name!r} was busy for {self._deadline:g} s: another thread keeps it;"
                " leave sessions as soon as they are written"
            )
        self._owner = me
        try:
            if self._lock is None:
                self._check_state()
                self._lock = FairLock(self.path, self._deadline)
            self._lock.acquire()
            try:
                return self._ready()
            except BaseException:
                self._lock.release()
                raise
        except BaseException as error:
            self._owner = 0
            self._writing.release()
            if isinstance(error, apsw.Error | OSError):
                raise failure(self.path, error) from error
            raise

    def leave(self) -> None:
        """Let others have the file."""
        if self._lock is not None:
            self._lock.release()
        self._owner = 0
        self._writing.release()

    def drop(self) -> None:
        """Throw the writing connection away after an error; the next enter() opens another."""
        disconnect(self._writer)
        self._writer = None
        self._unsure = True

    def page(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement from the connection that reads, in one short look."""
        with self._reading:
            try:
                self._check_state()
                self._check_inode()
                if self._reader is None:
                    self._reader = connect_reader(self.path, self._vfs)
                return self._reader.execute(statement, values).fetchall()
            except (apsw.Error, OSError) as error:
                disconnect(self._reader)
                self._reader = None
                raise failure(self.path, error) from error

    def close(self) -> None:
        """Bring the log into the file and give everything back; wait for an open session."""
        if self._state != "open":
            return
        try:
            writer = self.enter()
        except StorageInUse:
            raise
        except BursarError:  # broken: what is in the log stays there
            self._shut()
        else:
            # without space, or with readers elsewhere, the log stays: every commit is safe in it
            with contextlib.suppress(apsw.Error):
                writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            with self._reading:
                self._shut()
            self._owner = 0
            self._writing.release()
        self._state = "closed"

    def before_fork(self) -> None:
        """Close all, unless a session is open in this thread: then the child cannot have it."""
        self._paused = self._owner != threading.get_ident() and self._writing.acquire(
            timeout=self._deadline
        )
        if self._paused:
            self._reading.acquire()
            self._shut()

    def after_fork(self, child: bool) -> None:
        """Go on: both processes open the file anew when they need it."""
        if self._paused:
            self._reading.release()
            self._writing.release()
            self._pid = os.getpid()
        elif child:
            self._owner = 0
            self._state = "forked"

    def _ready(self) -> apsw.Connection:
        writer = self._writer
        if writer is None:
            return self._open()
        self._check_inode()
        if self._log.full:
            try:
                self._log.empty()
            except apsw.Error:
                self.drop()
                raise
        return writer

    def _open(self) -> apsw.Connection:
        if self._inode:
            self._check_inode()
        writer = connect(self.path, create=not self._inode, vfs=self._vfs)
        try:
            self._log = WriteAheadLog(writer)
            migrate(writer, lambda copy: backup(writer, copy))
            # what a killed process wrote is seen before it is on the disk; this puts it there
            self._log.empty(whole=self._unsure)
            self._inode = self.path.stat().st_ino
        except BaseException:
            disconnect(writer)
            raise
        self._writer, self._unsure, self._version = writer, False, -1
        return writer

    def _check_inode(self) -> None:
        # what a transaction writes to a file without a name is lost; and the log that lies here is
        # not that of the new file, so there is no going on with it
        if os.stat(self._name).st_ino != self._inode:  # noqa: PTH116  each session pays for it
            raise StorageUnavailable(
                f"{self._name!r} was replaced by another file while in use; stop all that use it,"
                " remove the -wal and -shm files, and put backups in place with restore"
            )

    def _check_state(self) -> None:
        if self._state == "open" and self._pid != os.getpid():
            self._state = "forked"
        if self._state == "forked":
            raise StorageUnavailable(
                f"the process was forked while {self._name!r} was being used; open it anew"
            )
        if self._state == "closed":
            raise StorageUnavailable(f"{self._name!r} was closed; open it anew")

    def _shut(self) -> None:
        disconnect(self._reader)
        disconnect(self._writer)
        if self._lock is not None:
            self._lock.close()
        self._reader = self._writer = self._lock = None
