"""Backups of an SQLite ledger: copied while it is in use, verified before they get their name."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from bursar.errors import CorruptLedger, InvalidInput, StorageUnavailable
from bursar.files import make_private_file, replace_file
from bursar.ledger.chain import check_chain
from bursar.ledger.event import RESTORED, Event, decode_event, unreadable_event
from bursar.ledger.locks import FairLock, check_location
from bursar.ledger.sql import EVENTS
from bursar.ledger.sqlite_connection import (
    append_events,
    connect,
    disconnect,
    disconnecting,
    has_tables,
    migrate,
    sqlite_error,
)
from bursar.ledger.store import CampaignTotals, LogHead

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
        check_chain(name, _read_log(connection, campaign), LogHead(*head))
        for campaign, name, *head, _, _, _ in campaigns
    )


def _read_log(connection: apsw.Connection, campaign: int) -> Iterator[tuple[Event, bytes]]:
    seq: Any = 0
    try:
        for row in connection.execute(_LOG, (campaign,)):
            seq = row[0]
            yield decode_event(row), row[5]
    except UnicodeDecodeError as error:
        raise unreadable_event(seq + 1, error) from error


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
            event = Event(seq + 1, now, RESTORED, "", {"epoch": epoch})
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
