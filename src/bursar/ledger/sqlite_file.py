"""An SQLite file: connections set for money, its tables, and backups of it.

Connections have durable commits, no hidden work and clear errors. Backups are copied while the file
is in use, and verified before they get their name.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from bursar.errors import BursarError, CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable
from bursar.files import make_private_file, replace_file
from bursar.ledger import log
from bursar.ledger.locks import FairLock, check_location
from bursar.ledger.log import Event, LogHead
from bursar.ledger.sql import EVENTS, SQLITE_STEPS, Row, bad_text, check_version, take_steps
from bursar.ledger.store import CampaignTotals

_OLDEST = (3, 51, 3)  # before it, two connections in WAL mode could corrupt a database
_BUSY = 5_000  # ms; our own lock separates writers, this is for other programs
_APPLICATION = 0x62757273  # "burs": marks our files among other SQLite files
_FULL = 1024  # pages of a write-ahead log, 4 MB
_PASSIVE, _TRUNCATE = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_TRUNCATE

_SETTINGS = """
PRAGMA mmap_size = 0;
PRAGMA fullfsync = 1;
PRAGMA checkpoint_fullfsync = 1;
PRAGMA trusted_schema = 0;
PRAGMA cell_size_check = 1;
PRAGMA temp_store = MEMORY;
"""
_WRITER_SETTINGS = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"
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


def connect(
    path: Path, *, write: bool = False, create: bool = False, vfs: str | None = None
) -> apsw.Connection:
    """Open a file, for reading only or with ``write``; it must exist unless ``create`` is given.

    A file for writing gets a write-ahead log, and every commit waits for the disk.
    """
    check_sqlite()
    if create and vfs is None:
        make_private_file(path)  # it has secrets, and SQLite would let everybody read them
    flags = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
    flags |= apsw.SQLITE_OPEN_CREATE if create else 0
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_BUSY)
        # a file that was replaced has a log of the same name, which closing must not delete
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute(_SETTINGS).fetchall()
        if write:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone() or ("none",)
            if mode != "wal":
                raise StorageUnavailable(
                    f"{str(path)!r} cannot have a write-ahead log, got {mode!r}; use a local disk"
                )
            connection.execute(_WRITER_SETTINGS).fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def disconnect(connection: apsw.Connection | None) -> None:
    """Close a connection in any state."""
    if connection is not None:
        with contextlib.suppress(apsw.Error):
            connection.close(True)


@contextlib.contextmanager
def disconnecting(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    """Close a connection at the end of a block."""
    try:
        yield connection
    finally:
        disconnect(connection)


def sqlite_error(path: Path, error: Exception) -> BursarError:
    """Return what an error of SQLite or of the file system means to a user."""
    if isinstance(error, BursarError):
        return error
    message = str(error) or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return bad_text(repr(str(path)), error)
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


def has_tables(connection: apsw.Connection) -> bool:
    """Return whether a database has our tables; refuse those of another program."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    (owner,) = connection.execute("PRAGMA application_id").fetchone() or (0,)
    if tables and (owner != _APPLICATION or "meta" not in tables):
        raise InvalidInput(
            f"{connection.filename!r} is an SQLite database of another program; name another file"
        )
    return bool(tables)


def migrate(connection: apsw.Connection, copy: Callable[[Path], object]) -> None:
    """Take the steps that a database lacks, in one transaction.

    Before a database with content is changed, ``copy`` is called to copy it to a file beside it.
    """

    def run(text: str, values: Sequence[Any] = ()) -> list[Row]:
        return connection.execute(text, values).fetchall()

    location = repr(connection.filename)
    had = check_version(run, SQLITE_STEPS, location) if has_tables(connection) else 0
    if had == len(SQLITE_STEPS):
        return
    if had:
        copy(Path(f"{connection.filename}.schema-{had}-{time.time_ns() // 10**9}"))
    with connection:  # a savepoint: all steps or none
        take_steps(run, SQLITE_STEPS, had)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")


def append_events(
    connection: apsw.Connection,
    campaign: int,
    head: LogHead,
    events: Sequence[Event],
    totals: CampaignTotals,
) -> LogHead:
    """Add events that follow a head, and the totals after them; return the new head."""
    rows, after = log.chain_events(head, events)
    try:
        connection.executemany(_INSERT, [(campaign, *row) for row in rows])
        connection.execute(_UPDATE, (*totals, *after, campaign, head.seq))
    except apsw.ConstraintError as error:
        raise totals.refusal(str(error)) from error
    if connection.changes() != 1:
        raise totals.refusal("a grant beyond the budget, or an event twice")
    return after


# backups

_DEADLINE = 10.0  # seconds to wait for the lock of a ledger
_CAMPAIGNS = "SELECT id, name, seq, ts, hash, budget, spent, held FROM campaign"
_LOG = f"{EVENTS} ORDER BY seq"


def backup(source: apsw.Connection, path: Path) -> int:
    """Copy a database to a new file, as it is at one moment; return the number of its events."""
    if path.exists():
        raise InvalidInput(f"the file {str(path)!r} already exists; choose another name")
    try:
        with replace_file(path) as partial:
            events = _copy(source, partial)
        _sync_folder(path)
    except (apsw.Error, OSError, UnicodeDecodeError) as error:
        raise sqlite_error(path, error) from error
    return events


def check_file(connection: apsw.Connection) -> int:
    """Check pages and hash chains of a whole database; return the number of its events."""
    ((found, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise CorruptLedger(f"{connection.filename!r} is damaged: {found}; use another backup")
    campaigns: list[Any] = connection.execute(_CAMPAIGNS).fetchall()
    return sum(
        log.check_chain(name, _read_log(connection, campaign), LogHead(*head))
        for campaign, name, *head, _, _, _ in campaigns
    )


def _read_log(connection: apsw.Connection, campaign: int) -> Iterator[tuple[Event, bytes]]:
    seq: Any = 0
    try:
        for row in connection.execute(_LOG, (campaign,)):
            seq = row[0]
            yield log.decode_event(row), row[5]
    except UnicodeDecodeError as error:
        raise log.unreadable_event(seq + 1, error) from error


def restore(source: Path, target: Path, *, replace: bool = False) -> int:
    """Put a verified backup in place; return the new epoch.

    A backup does not contain what was spent after it, so every campaign gets the event ``restored``
    and grants nothing until it is reconciled. With ``replace`` an existing ledger, even one in use,
    becomes the backup in one transaction; a copy of the ledger before is stored beside it.
    """
    source, target = source.resolve(), check_location(target)
    if not source.is_file():
        raise StorageUnavailable(f"no backup at {str(source)!r}; check its path")
    if target.exists() and not replace:
        raise InvalidInput(
            f"a ledger already exists at {str(target)!r}; move it, or replace it with --replace"
        )
    lock = FairLock(target, _DEADLINE)
    try:
        lock.acquire()
        return _restore(source, target)
    except (apsw.Error, OSError, UnicodeDecodeError) as error:
        raise sqlite_error(target, error) from error
    finally:
        lock.close()  # releases it


def _restore(source: Path, target: Path) -> int:
    old = connect(target, write=True) if target.exists() else None
    new: apsw.Connection | None = None
    staged = target.with_name(f".{target.name}.restoring")
    try:
        with replace_file(staged) as partial:
            with disconnecting(connect(source)) as reader:
                _copy(reader, partial)
            new = apsw.Connection(str(partial))
            migrate(new, lambda _: None)  # the backup itself is not changed
            before = _read_epoch(old)
            epoch = 1 + max(_read_epoch(new), before)
            _mark_restored(new, epoch)
            if old is not None:
                if before:
                    backup(old, target.with_name(f"{target.name}.before-epoch-{epoch}"))
                with old.backup("main", new, "main") as copy:
                    copy.step(-1)
                old.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            disconnect(new)
        staged.unlink() if old is not None else staged.replace(target)
        _sync_folder(target)
    finally:
        disconnect(new)
        disconnect(old)
    return epoch


def _mark_restored(connection: apsw.Connection, epoch: int) -> None:
    """Number the epoch, and record in every log that the events after the backup are unknown."""
    with connection:
        connection.execute("UPDATE meta SET epoch = ?", (epoch,))
        rows: list[Any] = connection.execute(_CAMPAIGNS).fetchall()
        for campaign, _, seq, ts, hash, budget, spent, held in rows:
            now = max(ts + 1, time.time_ns() // 1000)
            event = Event(seq + 1, now, log.RESTORED, "", {"epoch": epoch})
            totals = CampaignTotals("unreconciled", budget, spent, held, granted=False)
            append_events(connection, campaign, LogHead(seq, ts, hash), [event], totals)


def _read_epoch(connection: apsw.Connection | None) -> int:
    """Return the epoch of a database; 0 if there is none or it is empty."""
    if connection is None or not has_tables(connection):
        return 0
    (epoch,) = connection.execute("SELECT epoch FROM meta").fetchone() or (0,)
    return int(epoch)


def _copy(source: apsw.Connection, target: Path) -> int:
    make_private_file(target)
    with disconnecting(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as pages:
            pages.step(-1)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, no log beside it
        return check_file(copy)


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
