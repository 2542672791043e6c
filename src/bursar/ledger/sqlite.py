"""A store in one SQLite file, for any number of threads and processes of one machine.

Each session is one transaction: the fair lock, ``BEGIN IMMEDIATE``, the campaign's row, the events,
``COMMIT`` with its fsync. After any error the connection is thrown away and the next session opens
the file anew, so nothing is ever decided from what memory believes. Do not open the file with
another SQLite library in the same process: POSIX drops the locks of both when one closes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

from bursar.errors import (
    BursarError,
    CampaignExists,
    StorageInUse,
    StorageUnavailable,
    UnknownCampaign,
)
from bursar.ledger.backup import backup
from bursar.ledger.event import Event
from bursar.ledger.locks import FairLock, check_location, ledger_path, register_fork_guard
from bursar.ledger.sqlite_connection import (
    AFTER,
    OF,
    PAGE,
    START,
    WriteAheadLog,
    append,
    connect,
    connect_reader,
    disconnect,
    event_of,
    events_of,
    failure,
    insert_campaign,
    migrate,
)
from bursar.ledger.store import CampaignRow, CampaignTotals, LogHead

__all__ = ["SQLiteFile", "SQLiteRecords", "SQLiteStore", "SQLiteWriter"]

# ==== ledger.sqlite_file
# An SQLite file in use: one connection that writes, one that reads, and the lock around them.
#
# After an error the writing connection is thrown away, and its successor first brings the write-ahead
# log into the file: a page that a failed fsync left in memory must not lie under later commits.
# A fork closes both connections before it: SQLite remembers in memory which locks it holds, and a
# child that believes to have its parent's locks can destroy the file.


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
        self.heads: dict[str, tuple[int, LogHead]] = {}  # of campaigns, while nobody else writes
        self._version = -1  # of the data in the file when they were seen
        self._unsure = False  # whether the last transaction failed
        self._paused = False  # whether a fork is under way
        register_fork_guard(self)

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


# ==== ledger.sqlite_session
# A session of an SQLite ledger: one transaction on the log of one campaign.

_ROW = "SELECT id, epoch, seq, ts, hash FROM campaign, meta WHERE name = ?"
_SNAPSHOT = "SELECT seq, body, hash FROM snapshot WHERE campaign = ?"
_KEEP = "INSERT OR REPLACE INTO snapshot VALUES(?, ?, ?, ?)"


class SQLiteWriter:
    """What a store gives out for a ``with``; of no use before or after it."""

    __slots__ = ("_campaign", "_connection", "_epochs", "_file", "_name", "_sound", "head")

    head: LogHead
    _campaign: int

    def __init__(self, file: SQLiteFile, name: str, epochs: dict[str, int]) -> None:
        self._file = file
        self._name = name
        self._epochs = epochs
        self._sound = True  # whether all that was appended may be committed
        self._connection: apsw.Connection | None = None

    def __enter__(self) -> SQLiteWriter:
        self._connection = self._file.begin()
        try:
            self._campaign, self.head = self._file.heads.get(self._name) or self._look()
        except BaseException:
            self._connection = None
            self._file.undo()
            self._file.leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection = None
        try:
            if kind is not None or not self._sound:
                self._file.undo()
            else:
                self._file.commit()
                self._file.heads[self._name] = self._campaign, self.head
        finally:
            self._file.leave()
        if kind is None and not self._sound:
            raise StorageUnavailable("a step of this session failed; nothing of it was booked")

    @property
    def seq(self) -> int:
        """Number of the newest event there is."""
        return self.head.seq

    def events_after(self, seq: int) -> list[Event]:
        """Return the events after a number, in order."""
        if seq >= self.head.seq:
            return []
        return events_of(self._rows(AFTER, (self._campaign, seq)))

    def decision_events(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""
        return events_of(self._rows(OF, (self._campaign, decision)))

    def append(self, events: Sequence[Event], summary: CampaignTotals) -> None:
        """Add events that follow the head; they are durable when the session ends."""
        connection = self._open()
        self._sound = False
        try:
            self.head = append(connection, self._campaign, self.head, events, summary)
        except apsw.Error as error:
            self._file.drop()
            raise failure(self._file.path, error) from error
        self._sound = True

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot; a damaged one is as good as none."""
        for seq, content, kept in self._rows(_SNAPSHOT, (self._campaign,)):
            if kept == _digest(seq, content) and seq <= self.head.seq:
                return seq, content
        return None

    def save_snapshot(self, seq: int, content: bytes) -> None:
        """Keep the state after an event, in place of an older one."""
        self._rows(_KEEP, (self._campaign, seq, content, _digest(seq, content)))

    def _look(self) -> tuple[int, LogHead]:
        rows = self._rows(_ROW, (self._name,))
        if not rows:
            raise UnknownCampaign(f"no campaign named {self._name!r} in {str(self._file.path)!r}")
        campaign, epoch, *head = rows[0]
        known = self._epochs.get(self._name, epoch)
        self._epochs[self._name] = epoch
        if known != epoch:  # its numbers may be those of other events: whoever knows them must load
            raise StorageUnavailable(
                f"{str(self._file.path)!r} was restored from a backup; load {self._name!r} again"
            )
        return campaign, LogHead(*head)

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            raise StorageUnavailable(f"the session of {self._name!r} has ended; open another")
        return self._connection

    def _rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        connection = self._open()
        try:
            return connection.execute(statement, values).fetchall()
        except apsw.Error as error:
            self._sound = False
            self._file.drop()
            raise failure(self._file.path, error) from error


def _digest(seq: int, content: bytes) -> bytes:
    return blake2b(seq.to_bytes(8, "big") + content, digest_size=16).digest()


# ==== ledger.sqlite_papers
# Small records beside the logs of an SQLite ledger, and looks at all campaigns at once.

_STANDINGS = "SELECT name, state, budget, spent, held, seq, ts FROM campaign ORDER BY name"
_CAMPAIGNS_OF = (
    "SELECT name FROM campaign WHERE EXISTS (SELECT 1 FROM event"
    " WHERE campaign = campaign.id AND decision = ? AND decision <> '') ORDER BY name"
)
_PAPERS = "SELECT id, body FROM paper WHERE kind = ? ORDER BY id"
_PAPER = "SELECT body FROM paper WHERE kind = ? AND id = ?"
_ADD = "INSERT INTO paper VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
_PUT = "INSERT OR REPLACE INTO paper VALUES(?, ?, ?)"
_DROP = "DELETE FROM paper WHERE kind = ? AND id = ?"


class SQLiteRecords:
    """The part of a store that is not about one log."""

    _file: SQLiteFile

    def campaign_rows(self) -> list[CampaignRow]:
        """Return the row of every campaign."""
        return [CampaignRow(*row) for row in self._file.page(_STANDINGS, ())]

    def find_campaigns(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""
        return [name for (name,) in self._file.page(_CAMPAIGNS_OF, (decision,))]

    def records(self, kind: str) -> dict[str, bytes]:
        """Return the records of a kind."""
        return dict(self._file.page(_PAPERS, (kind,)))

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id; return whether it is ours that is kept."""
        self._write(_ADD, (kind, id, body))
        return self._file.page(_PAPER, (kind, id)) == [(body,)]

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        """Keep a record in place of an older one; None: keep none."""
        if body is None:
            self._write(_DROP, (kind, id))
        else:
            self._write(_PUT, (kind, id, body))

    def ping(self) -> None:
        """Write the time and commit it."""
        self._write(_PUT, ("ping", "", str(time.time_ns()).encode()))

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        connection = self._file.begin()
        try:
            connection.execute(statement, values)
            self._file.commit()
        except apsw.Error as error:
            self._file.drop()
            raise failure(self._file.path, error) from error
        finally:
            self._file.leave()


_NAMES = "SELECT name FROM campaign ORDER BY name"
_NUMBER = "SELECT id FROM campaign WHERE name = ?"
_PAGE = 1000  # events that a reader takes at a time


class SQLiteStore(SQLiteRecords):
    """Campaigns in a file such as ``sqlite:///spend.db``, which is made if it is not there.

    A session waits at most ``deadline`` seconds for those of other threads and processes.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, deadline: float = 10.0, vfs: str | None = None
    ) -> None:
        self.path = check_location(ledger_path(url))
        self.url = f"sqlite:///{self.path}"
        self._vfs = vfs
        self._epochs: dict[str, int] = {}  # by campaign: a session tells of a restore once each
        self._file = SQLiteFile(self.path, deadline, vfs)
        self._file.enter()  # make the tables now, or say what is wrong
        self._file.leave()

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        return [name for (name,) in self._file.page(_NAMES, ())]

    def create(self, name: str, first: Event, summary: CampaignTotals) -> None:
        """Start a campaign with its first event."""
        connection = self._file.begin()
        try:
            if connection.execute(_NUMBER, (name,)).fetchone():
                raise CampaignExists(
                    f"a campaign named {name!r} already exists; choose another name"
                )
            campaign = insert_campaign(connection, name, summary)
            append(connection, campaign, START, [first], summary)
            self._file.commit()
        except apsw.Error as error:
            self._file.drop()
            raise failure(self.path, error) from error
        except BaseException:
            self._file.undo()
            raise
        finally:
            self._file.leave()

    def open_writer(self, name: str) -> SQLiteWriter:
        """Open a transaction on a campaign."""
        return SQLiteWriter(self._file, name, self._epochs)

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield committed events with their hashes, in pages, without keeping writers waiting."""
        found = self._file.page(_NUMBER, (name,))
        if not found:
            raise UnknownCampaign(f"no campaign named {name!r} in {str(self.path)!r}")
        while rows := self._file.page(PAGE, (*found[0], after, _PAGE)):
            for row in rows:
                yield event_of(row), row[5]
            after = rows[-1][0]

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy all campaigns, verified, to a new file; return the number of events in it."""
        try:
            reader = connect_reader(self.path, self._vfs)
        except apsw.Error as error:
            raise failure(self.path, error) from error
        try:
            return backup(reader, Path(path))
        finally:
            disconnect(reader)

    def close(self) -> None:
        """Give back files and connections."""
        self._file.close()
