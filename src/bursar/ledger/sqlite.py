"""A store in one SQLite file, for any number of threads and processes of one machine.

Each writer is one transaction: the fair lock, ``BEGIN IMMEDIATE``, the campaign's row, the events,
``COMMIT`` with its fsync. After any error the connection is closed and the next writer opens the
file again, so nothing is ever decided from what is in memory. Do not open the file with another
SQLite library in the same process: POSIX drops the locks of both when one closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from bursar.errors import BursarError, StorageInUse, StorageUnavailable
from bursar.ledger import sqlite_file
from bursar.ledger.locks import FairLock, check_location, ledger_path, register_fork_guard
from bursar.ledger.log import Event, LogHead, decode_events, hash_snapshot
from bursar.ledger.sql import EMPTY_LOG, Row, SeenLog, SQLStore, SQLWriter, bad_text, read_events
from bursar.ledger.sqlite_file import append_events, connect, disconnect, sqlite_error
from bursar.ledger.store import CampaignTotals, existing_campaign, unknown_campaign

_HEAD = "SELECT id, seq, ts, hash FROM campaign WHERE name = ?"
_CREATE = (
    "INSERT INTO campaign(name, state, budget, spent, held, seq, ts, hash)"
    " VALUES(?, ?, ?, 0, 0, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_AFTER = (
    "SELECT seq, ts, kind, decision, body FROM event WHERE campaign = ? AND seq > ? ORDER BY seq"
)
_OLD = 10.0  # seconds after which the log is copied into the file, full or not
_FRESH = 0.00025  # seconds for which a check of the files holds: each costs a commit 2 to 3%
_NO_FILE = (0, 0)
_WAL, _SHM = 0, 1
_statx = getattr(ctypes.CDLL(None), "statx", None)  # of Linux
_HERE, _NUMBER = -100, 0x100  # AT_FDCWD, STATX_INO
_STATX, _STATX_IDS = ctypes.c_char * 256, struct.Struct("=32xQ96xII")
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
        self.heads: dict[str, SeenLog] = {}  # while no other process writes
        self.seen: dict[str, SeenLog] = {}  # to notice that a log was set back
        self.generations: Counter[str] = Counter()  # how often that was
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
        self._file = _NO_FILE  # that they opened
        self._name = os.fspath(self.path)
        self._beside = [os.fsencode(f"{self.path}-{one}") for one in ("wal", "shm")]
        self._checked = 0.0  # when a commit found all files in place
        self._opened: list[tuple[int, ...]] | None = None  # of these files, while they are open
        self._written = (0, 0)  # time of its last change, and size: changed by checkpoints only
        self._due = 0.0  # time of the next checkpoint
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
        with contextlib.suppress(BursarError):  # it was created, and the next one tries again
            self.settle()

    def ping(self) -> None:
        """Write the time, and copy the log into the file, which must be possible, too."""
        super().ping()
        self.settle()

    def settle(self) -> None:
        """Copy the log into the file, so that an idle ledger does not depend on its log."""
        self.acquire()
        try:
            self._checkpoint()
        except apsw.Error as error:
            raise self.fail(error) from error
        finally:
            self.release()

    def open_writer(self, name: str) -> SQLiteWriter:
        """Return a writer for a campaign; its ``with`` block is one transaction."""
        return SQLiteWriter(self, name)

    def execute(self, statement: str, *values: Any) -> None:
        with self.transaction() as connection:
            connection.execute(statement, values)

    @contextlib.contextmanager
    def lock_records(self, kind: str) -> Iterator[Callable[..., list[Row]]]:
        with self.transaction() as connection:  # excludes all other writers of the file
            yield lambda text, *values: connection.execute(text, values).fetchall()

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy all campaigns, verified, to a new file; return the number of events in it."""
        try:
            with sqlite_file.disconnecting(connect(self.path, vfs=self._vfs)) as reader:
                return sqlite_file.backup(reader, Path(path))
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
            self._check_files(commit=True)  # what went to a log without a name is not acknowledged
            self._checked = time.monotonic()
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
        self._failed, self._checked = True, 0.0
        if self._reader is None:
            self._opened = None  # with no file open, other processes may delete those beside it
        return sqlite_error(self.path, error) if isinstance(error, apsw.Error | OSError) else error

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
            return self._prepare_writer()
        except BaseException as error:
            with contextlib.suppress(OSError):  # the first error tells more
                self.release()
            if isinstance(error, apsw.Error | OSError):
                raise sqlite_error(self.path, error) from error
            raise

    def release(self) -> None:
        """Let other threads and processes have the file."""
        try:
            if self._lock is not None:
                self._lock.release()
        finally:
            self._owner = 0
            self._writing.release()

    def read_rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement from the connection that reads, in a short transaction."""
        with self._reading:
            try:
                self._check_state()
                self._check_file()
                if self._opened not in (None, [_identify(one) for one in self._beside]):
                    raise self._lost_log("the next write finds out what is missing")
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
            self.release()
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
        now = time.monotonic()
        if self._file != _NO_FILE and now - self._checked > _FRESH:
            self._check_files()
        if self._writer is None:
            return self._open_writer()
        if self._log.full or now >= self._due:
            try:
                self._checkpoint()
            except apsw.Error as error:
                self.fail(error)
                raise
        return self._writer

    def _open_writer(self) -> apsw.Connection:
        writer = connect(self.path, write=True, create=self._file == _NO_FILE, vfs=self._vfs)
        try:
            self._log = sqlite_file.WriteAheadLog(writer)
            sqlite_file.migrate(writer, lambda copy: sqlite_file.backup(writer, copy))
            # what a killed process wrote can be read before it is on the disk; this puts it there
            self._checkpoint(whole=self._failed)
            found = self.path.stat()
            self._file = found.st_dev, found.st_ino
            self._opened = [_identify(one) for one in self._beside]
        except BaseException:
            disconnect(writer)
            raise
        self._writer, self._failed, self._data_version = writer, False, -1
        return writer

    def _checkpoint(self, *, whole: bool = False) -> None:
        self._log.empty(whole)
        self._due = time.monotonic() + _OLD
        found = self.path.stat()
        self._written = found.st_mtime_ns, found.st_size

    def _check_file(self) -> os.stat_result:
        # what a transaction writes to a file without a name is lost; and the log at this path is
        # not that of the new file, so there is no going on with it
        found = os.stat(self._name)  # noqa: PTH116  each writer pays for it
        if (found.st_dev, found.st_ino) != self._file:
            raise StorageUnavailable(
                f"{self.location} was replaced by another file while in use; stop all programs that"
                " use it, remove the -wal and -shm files, and restore backups with restore"
            )
        return found

    def _check_files(self, *, commit: bool = False) -> None:
        """Check that the file and those beside it are those that were opened; only with the lock.

        After a commit only those that it was written to; the -shm has locks for other processes.
        """
        found = self._check_file()
        written = found.st_mtime_ns, found.st_size
        beside = self._opened
        if beside is not None and (
            _identify(self._beside[_WAL]) != beside[_WAL]
            or (not commit and _identify(self._beside[_SHM]) != beside[_SHM])
        ):
            saved = self._save_lost_log(written == self._written)
            with self._reading:
                self._disconnect()
            raise self._lost_log(
                "what it contained was saved in the ledger" if saved else
                "campaigns that now lack events become unreconciled"
            )  # fmt: skip
        if not commit and written != self._written:
            # another process copied the log into the file; or the file was overwritten, which
            # SQLite does not notice: read everything again
            self._written = written
            self.heads.clear()
            if self._writer is not None:
                self._writer.release_memory()

    def _save_lost_log(self, file_unchanged: bool) -> bool:
        """Copy a log that has lost its name into the file; return whether nothing is lost."""
        wal = self._beside[_WAL]
        if self._opened is not None and _identify(wal) == self._opened[_WAL]:
            return True  # only the -shm is lost, which is made again from the log
        log = Path(os.fsdecode(wal))
        if self._writer is None or not file_unchanged or (log.exists() and log.stat().st_size):
            return False  # others went on without it
        try:
            self._checkpoint(whole=True)
        except apsw.Error:
            return False
        return True

    def _lost_log(self, then: str) -> StorageUnavailable:
        return StorageUnavailable(
            f"the -wal or -shm file of {self.location} was deleted or replaced while in use;"
            f" {then}; this call was not acknowledged, so retry it, and leave these files alone"
            " while any program uses the ledger"
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

    def _disconnect(self) -> None:
        disconnect(self._reader)
        disconnect(self._writer)
        self._reader = self._writer = self._opened = None

    def _close_all(self) -> None:
        self._disconnect()
        if self._lock is not None:
            self._lock.close()
        self._lock = None


def _identify(path: bytes) -> tuple[int, ...]:
    """Return number and device of a file, which stay when it is only renamed.

    ``os.stat`` reads the times as well. Linux (from 6.13) gives a file whose times were read a new
    time at its next write, and a commit waits a third longer for the disk; statx can leave them.
    """
    found = _STATX()
    if _statx is not None and _statx(_HERE, path, 0, _NUMBER, found) == 0:
        return _STATX_IDS.unpack_from(found)
    try:
        other = os.stat(path)  # noqa: PTH116  each writer pays for it
    except FileNotFoundError:
        return _NO_FILE
    return other.st_ino, os.major(other.st_dev), os.minor(other.st_dev)


class SQLiteWriter(SQLWriter[apsw.Connection]):
    """One transaction on the log of one campaign."""

    _store: SQLiteStore

    def __enter__(self) -> SQLiteWriter:
        self._connection = self._store.begin()
        try:
            known = self._store.heads.get(self._name)
            if known is not None:
                self._campaign, self.head = known
            elif self._read_head():
                self.__exit__(None)  # commits it, whatever becomes of this transaction
                return self.__enter__()
            self.generation = self._store.generations[self._name]
        except BaseException as error:
            if self._connection is not None:
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
                seen = SeenLog(self._campaign, self.head)
                self._store.heads[self._name] = self._store.seen[self._name] = seen
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

    def _read_head(self) -> bool:
        """Read the head of the log; return whether it was set back, which is recorded then."""
        rows = self._rows(_HEAD, self._name)
        if not rows:
            raise unknown_campaign(self._name, self._store.location)
        self._campaign, *head = rows[0]
        self.head = LogHead(*head)
        seen = self._store.seen.get(self._name)
        if seen in (None, (self._campaign, self.head)) or self._has_seen(seen):
            return False
        self._store.generations[self._name] += 1
        if self._is_marked(seen):
            return False
        self._mark_restored(seen)
        return True

    def _rows(self, statement: str, *values: Any) -> list[Row]:
        connection = self._require_connection()
        try:
            return connection.execute(statement, values).fetchall()
        except UnicodeDecodeError as error:
            raise bad_text(self._store.location, error) from error
        except apsw.Error as error:
            raise self._store.fail(error) from error
