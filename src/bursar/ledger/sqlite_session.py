"""A session of an SQLite ledger: one transaction on the log of one campaign."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from types import TracebackType
from typing import Any

import apsw

from bursar.errors import StorageUnavailable, UnknownCampaign
from bursar.ledger.event import Event
from bursar.ledger.sqlite_connection import failure
from bursar.ledger.sqlite_file import SQLiteFile
from bursar.ledger.sqlite_rows import AFTER, OF, append, events_of
from bursar.ledger.store import Head, Summary

__all__ = ["SQLiteSession"]

_ROW = "SELECT id, epoch, seq, ts, hash FROM campaign, meta WHERE name = ?"
_SNAPSHOT = "SELECT seq, body, hash FROM snapshot WHERE campaign = ?"
_KEEP = "INSERT OR REPLACE INTO snapshot VALUES(?, ?, ?, ?)"


class SQLiteSession:
    """What a store gives out for a ``with``; of no use before or after it."""

    __slots__ = ("_campaign", "_connection", "_epochs", "_file", "_name", "_sound", "head")

    head: Head
    _campaign: int

    def __init__(self, file: SQLiteFile, name: str, epochs: dict[str, int]) -> None:
        self._file = file
        self._name = name
        self._epochs = epochs
        self._sound = True  # whether all that was appended may be committed
        self._connection: apsw.Connection | None = None

    def __enter__(self) -> SQLiteSession:
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

    def after(self, seq: int) -> list[Event]:
        """Return the events after a number, in order."""
        if seq >= self.head.seq:
            return []
        return events_of(self._rows(AFTER, (self._campaign, seq)))

    def of(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""
        return events_of(self._rows(OF, (self._campaign, decision)))

    def append(self, events: Sequence[Event], summary: Summary) -> None:
        """Add events that follow the head; they are durable when the session ends."""
        connection = self._open()
        self._sound = False
        try:
            self.head = append(connection, self._campaign, self.head, events, summary)
        except apsw.Error as error:
            self._file.drop()
            raise failure(self._file.path, error) from error
        self._sound = True

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot; a damaged one is as good as none."""
        for seq, content, kept in self._rows(_SNAPSHOT, (self._campaign,)):
            if kept == _digest(seq, content) and seq <= self.head.seq:
                return seq, content
        return None

    def keep_snapshot(self, seq: int, content: bytes) -> None:
        """Keep the state after an event, in place of an older one."""
        self._rows(_KEEP, (self._campaign, seq, content, _digest(seq, content)))

    def _look(self) -> tuple[int, Head]:
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
        return campaign, Head(*head)

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
