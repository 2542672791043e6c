"""A store in one SQLite file, for any number of threads and processes of one machine.

Each session is one transaction: the fair lock, ``BEGIN IMMEDIATE``, the campaign's row, the events,
``COMMIT`` with its fsync. After any error the connection is thrown away and the next session opens
the file anew, so nothing is ever decided from what memory believes. Do not open the file with
another SQLite library in the same process: POSIX drops the locks of both when one closes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from bursar.errors import CampaignExists, UnknownCampaign
from bursar.ledger.backup import backup
from bursar.ledger.event import Event
from bursar.ledger.place import checked_place, path_of
from bursar.ledger.sqlite_connection import connect_reader, disconnect, failure
from bursar.ledger.sqlite_file import SQLiteFile
from bursar.ledger.sqlite_papers import Papers
from bursar.ledger.sqlite_rows import PAGE, START, append, event_of, insert_campaign
from bursar.ledger.sqlite_session import SQLiteSession
from bursar.ledger.store import Summary

__all__ = ["SQLiteStore"]

_NAMES = "SELECT name FROM campaign ORDER BY name"
_NUMBER = "SELECT id FROM campaign WHERE name = ?"
_PAGE = 1000  # events that a reader takes at a time


class SQLiteStore(Papers):
    """Campaigns in a file such as ``sqlite:///spend.db``, which is made if it is not there.

    A session waits at most ``deadline`` seconds for those of other threads and processes.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, deadline: float = 10.0, vfs: str | None = None
    ) -> None:
        self.path = checked_place(path_of(url))
        self.url = f"sqlite:///{self.path}"
        self._vfs = vfs
        self._epochs: dict[str, int] = {}  # by campaign: a session tells of a restore once each
        self._file = SQLiteFile(self.path, deadline, vfs)
        self._file.enter()  # make the tables now, or say what is wrong
        self._file.leave()

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        return [name for (name,) in self._file.page(_NAMES, ())]

    def create(self, name: str, first: Event, summary: Summary) -> None:
        """Start a campaign with its first event."""
        connection = self._file.begin()
        try:
            if connection.execute(_NUMBER, (name,)).fetchone():
                raise CampaignExists(f"there is a campaign {name!r} already; give another name")
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

    def session(self, name: str) -> SQLiteSession:
        """Open a transaction on a campaign."""
        return SQLiteSession(self._file, name, self._epochs)

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
