"""The write-ahead log of an SQLite file: when it is brought into the file, and that it was."""

from __future__ import annotations

import apsw

__all__ = ["WriteAheadLog"]

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
