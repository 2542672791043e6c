"""A store in one SQLite file, for any number of threads and processes of one machine.

Each writer is one transaction: the fair lock, ``BEGIN IMMEDIATE``, the campaign's row, the events,
``COMMIT`` with its fsync. After any error the connection is closed and the next writer opens the
file again, so nothing is ever decided from what is in memory. Do not open the file with another
SQLite library in the same process: POSIX drops the locks of both when one closes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from bursar.errors import BursarError, StorageInUse, StorageUnavailable
from bursar.ledger.backup import backup
from bursar.ledger.chain import hash_snapshot
from bursar.ledger.event import Event, decode_events
from bursar.ledger.locks import FairLock, check_location, ledger_path, register_fork_guard
from bursar.ledger.sql import EMPTY_LOG, Row, SQLStore, SQLWriter, bad_text, read_events
from bursar.ledger.sqlite_connection import (
    WriteAheadLog,
    append_events,
    connect,
    connect_writer,
    disconnect,
    disconnecting,
    migrate,
    sqlite_error,
)
from bursar.ledger.store import CampaignTotals, LogHead, existing_campaign, unknown_campaign

_HEAD = "SELECT id, epoch, seq, ts, hash FROM campaign, meta WHERE name = ?"
_CREATE = (
    "INSERT INTO campaign(name, state, budget, spent, held, seq, ts, hash)"
    " VALUES(?, ?, ?, 0, 0, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_AFTER = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND seq > ? ORDER BY seq"
)
_SAVE_SNAPSHOT = "INSERT OR REPLACE INTO snapshot VALUES(?, ?, ?, ?)"
_DROP_SNAPSHOT = "DELETE FROM snapshot WHERE campaign = ? AND seq = ?"


class SQLiteStore(SQLStore):
    """Campaigns in a file such as ``sqlite:///spend.db``, which is created if it does not exist.

    A writer waits at most ``deadline`` seconds for those of other threads and processes.

    A process has one connection that writes and one that reads. After an error the writing
    connection is closed, and the next one first copies the write-ahead log into the file: a page
    that a failed fsync left in memory must not be under later commits. A fork closes both
    connections before it: SQLite remembers in memory which locks it holds, and a child that
    believes to have its parent's locks can destroy the file.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, deadline: float = 10.0, vfs: str | None = None
    ) -> None:
        self.path = check_location(ledger_path(url))
        self.url = f"sqlite:///{self.path}"
        self.location = repr(str(self.path))
        self.heads: dict[str, tuple[int, LogHead]] = {}  # while no other process writes
        self.epochs: dict[str, int] = {}  # by campaign: each one raises once after a restore
        self._deadline = deadline
        self._vfs = vfs
        self._state = "open"
        self._pid = os.getpid()
        self._owner = 0  # thread between acquire and release
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._lock: FairLock | None = None
        self._writer: apsw.Connection | None = None
        self._reader: apsw.Connection | None = None
        self._inode = 0  # of the file they opened; 0 before the first time
        self._data_version = -1  # of the file when the heads were read
        self._failed = False  # whether the last transaction failed
        self._paused = False  # whether a fork is under way
        register_fork_guard(self)
        self.acquire()  # creates the tables now, or raises what is wrong
        self.release()

    def create(self, name: str, first: Event, totals: CampaignTotals) -> None:
        with self.transaction() as connection:
            connection.execute(_CREATE, (name, totals.state, totals.budget, *EMPTY_LOG))
            if connection.changes() == 0:
                raise existing_campaign(name)
            campaign = connection.last_insert_rowid()
            append_events(connection, campaign, EMPTY_LOG, [first], totals)

    def open_writer(self, name: str) -> SQLiteWriter:
        """Return a writer for a campaign; its ``with`` block is one transaction."""
        return SQLiteWriter(self, name)

    def execute(self, statement: str, *values: Any) -> None:
        with self.transaction() as connection:
            connection.execute(statement, values)

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy all campaigns, verified, to a new file; return the number of events in it."""
        try:
            with disconnecting(connect(self.path, vfs=self._vfs)) as reader:
                return backup(reader, Path(path))
        except apsw.Error as error:
            raise sqlite_error(self.path, error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Begin a transaction; commit it when the block ends without an error."""
        connection = self.begin()
        try:
            yield connection
            self.commit()
        except apsw.Error as error:
            raise self.fail(error) from error
        except BaseException:
            self.roll_back()
            raise
        finally:
            self.release()

    def begin(self) -> apsw.Connection:
        """Wait for the file, then begin a transaction; to be followed by release()."""
        writer = self.acquire()
        try:
            writer.execute("BEGIN IMMEDIATE")
            if writer.data_version() != self._data_version:  # another process wrote
                self.heads.clear()
                self._data_version = writer.data_version()
        except BaseException as error:
            failed = self.fail(error)
            self.release()
            raise failed from error
        return writer

    def commit(self) -> None:
        """Make the transaction durable."""
        if self._writer is None:
            raise StorageUnavailable(f"{self.location} failed in this writer; nothing was written")
        try:
            self._writer.execute("COMMIT")
            self._data_version = self._writer.data_version()
        except BaseException as error:  # whether it was committed is on the disk
            raise self.fail(error) from error

    def roll_back(self) -> None:
        """Undo the transaction."""
        if self._writer is not None:
            try:
                self._writer.execute("ROLLBACK")
            except apsw.Error as error:
                self.fail(error)

    def fail(self, error: BaseException) -> BaseException:
        """Close the writing connection after an error; return the error to raise."""
        disconnect(self._writer)
        self._writer = None
        self._failed = True
        return sqlite_error(self.path, error) if isinstance(error, apsw.Error) else error

    def acquire(self) -> apsw.Connection:
        """Wait for the file, then return the connection that writes, until release()."""
        self._check_state()
        me = threading.get_ident()
        if self._owner == me:
            raise StorageInUse(
                f"this thread has a writer of {self.location} open; end it before the next"
            )
        if not self._writing.acquire(timeout=self._deadline):
            raise StorageInUse(
                f"{self.location} was in use by another thread for {self._deadline:g} s;"
                " end its writer, then retry"
            )
        self._owner = me
        try:
            if self._lock is None:
                self._check_state()
                self._lock = FairLock(self.path, self._deadline)
            self._lock.acquire()
            try:
                return self._prepare_writer()
            except BaseException:
                self._lock.release()
                raise
        except BaseException as error:
            self._owner = 0
            self._writing.release()
            if isinstance(error, apsw.Error | OSError):
                raise sqlite_error(self.path, error) from error
            raise

    def release(self) -> None:
        """Let other threads and processes have the file."""
        if self._lock is not None:
            self._lock.release()
        self._owner = 0
        self._writing.release()

    def read_rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement from the connection that reads, in a short transaction."""
        with self._reading:
            try:
                self._check_state()
                self._check_inode()
                if self._reader is None:
                    self._reader = connect(self.path, vfs=self._vfs)
                return self._reader.execute(statement, values).fetchall()
            except (apsw.Error, OSError, UnicodeDecodeError) as error:
                disconnect(self._reader)
                self._reader = None
                raise sqlite_error(self.path, error) from error

    def close(self) -> None:
        """Copy the log into the file and close everything; wait for an open writer."""
        if self._state != "open":
            return
        try:
            writer = self.acquire()
        except StorageInUse:
            raise
        except BursarError:  # broken: what is in the log stays there
            self._close_all()
        else:
            # without space, or with readers elsewhere, the log stays: every commit is safe in it
            with contextlib.suppress(apsw.Error):
                writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            with self._reading:
                self._close_all()
            self._owner = 0
            self._writing.release()
        self._state = "closed"

    def before_fork(self) -> None:
        """Close everything, unless this thread has a writer open: the child cannot have that."""
        self._paused = self._owner != threading.get_ident() and self._writing.acquire(
            timeout=self._deadline
        )
        if self._paused:
            self._reading.acquire()
            self._close_all()

    def after_fork(self, child: bool) -> None:
        """Go on: both processes open the file again when they need it."""
        if self._paused:
            self._reading.release()
            self._writing.release()
            self._pid = os.getpid()
        elif child:
            self._owner = 0
            self._state = "forked"

    def _prepare_writer(self) -> apsw.Connection:
        writer = self._writer
        if writer is None:
            return self._open_writer()
        self._check_inode()
        if self._log.full:
            try:
                self._log.empty()
            except apsw.Error as error:
                self.fail(error)
                raise
        return writer

    def _open_writer(self) -> apsw.Connection:
        if self._inode:
            self._check_inode()
        writer = connect_writer(self.path, create=not self._inode, vfs=self._vfs)
        try:
            self._log = WriteAheadLog(writer)
            migrate(writer, lambda copy: backup(writer, copy))
            # what a killed process wrote can be read before it is on the disk; this puts it there
            self._log.empty(whole=self._failed)
            self._inode = self.path.stat().st_ino
        except BaseException:
            disconnect(writer)
            raise
        self._writer, self._failed, self._data_version = writer, False, -1
        return writer

    def _check_inode(self) -> None:
        # what a transaction writes to a file without a name is lost; and the log at this path is
        # not that of the new file, so there is no going on with it
        if os.stat(self.path).st_ino != self._inode:  # noqa: PTH116  each writer pays for it
            raise StorageUnavailable(
                f"{self.location} was replaced by another file while in use; stop all programs that"
                " use it, remove the -wal and -shm files, and restore backups with restore"
            )

    def _check_state(self) -> None:
        if self._state == "open" and self._pid != os.getpid():
            self._state = "forked"
        if self._state == "forked":
            raise StorageUnavailable(
                f"the process was forked while {self.location} was being used; open it again"
            )
        if self._state == "closed":
            raise StorageUnavailable(f"{self.location} was closed; open it again")

    def _close_all(self) -> None:
        disconnect(self._reader)
        disconnect(self._writer)
        if self._lock is not None:
            self._lock.close()
        self._reader = self._writer = self._lock = None


class SQLiteWriter(SQLWriter):
    """One transaction on the log of one campaign; of no use before or after its ``with``."""

    def __init__(self, store: SQLiteStore, name: str) -> None:
        self._store = store
        self._name = name
        self._connection: apsw.Connection | None = None

    def __enter__(self) -> SQLiteWriter:
        self._connection = self._store.begin()
        try:
            self._campaign, self.head = self._store.heads.get(self._name) or self._read_head()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection = None
        try:
            if kind is not None:
                self._store.roll_back()
            else:
                self._store.commit()
                self._store.heads[self._name] = self._campaign, self.head
        finally:
            self._store.release()

    def events_after(self, seq: int) -> list[Event]:
        if seq >= self.head.seq:
            return []
        return decode_events(read_events(self._rows, _AFTER, self._campaign, seq))

    def append(self, events: Sequence[Event], totals: CampaignTotals) -> None:
        connection = self._require_connection()
        try:
            self.head = append_events(connection, self._campaign, self.head, events, totals)
        except BaseException as error:  # even if it is swallowed, nothing may be committed
            raise self._store.fail(error) from error

    def save_snapshot(self, seq: int, content: bytes) -> None:
        for surplus in self._find_surplus(seq, content):
            self._rows(_DROP_SNAPSHOT, self._campaign, surplus)
        self._rows(_SAVE_SNAPSHOT, self._campaign, seq, content, hash_snapshot(seq, content))

    def _read_head(self) -> tuple[int, LogHead]:
        rows = self._rows(_HEAD, self._name)
        if not rows:
            raise unknown_campaign(self._name, self._store.location)
        campaign, epoch, *head = rows[0]
        known = self._store.epochs.get(self._name, epoch)
        self._store.epochs[self._name] = epoch
        if known != epoch:  # its numbers may be those of other events: callers must load it again
            raise StorageUnavailable(
                f"{self._store.location} was restored from a backup; load {self._name!r} again"
            )
        return campaign, LogHead(*head)

    def _require_connection(self) -> apsw.Connection:
        if self._connection is None:
            raise StorageUnavailable(f"the writer of {self._name!r} has ended; open another")
        return self._connection

    def _rows(self, statement: str, *values: Any) -> list[Row]:
        connection = self._require_connection()
        try:
            return connection.execute(statement, values).fetchall()
        except UnicodeDecodeError as error:
            raise bad_text(self._store.location, error) from error
        except apsw.Error as error:
            raise self._store.fail(error) from error
