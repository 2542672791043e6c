"""Small records beside the logs of an SQLite ledger, and looks at all campaigns at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import apsw

from bursar.ledger.sqlite_connection import failure
from bursar.ledger.sqlite_file import SQLiteFile
from bursar.ledger.store import Standing

__all__ = ["Papers"]

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


class Papers:
    """The part of a store that is not about one log."""

    _file: SQLiteFile

    def standings(self) -> list[Standing]:
        """Return the row of every campaign."""
        return [Standing(*row) for row in self._file.page(_STANDINGS, ())]

    def campaigns_of(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""
        return [name for (name,) in self._file.page(_CAMPAIGNS_OF, (decision,))]

    def papers(self, kind: str) -> dict[str, bytes]:
        """Return the records of a kind."""
        return dict(self._file.page(_PAPERS, (kind,)))

    def add_paper(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id; return whether it is ours that is kept."""
        self._write(_ADD, (kind, id, body))
        return self._file.page(_PAPER, (kind, id)) == [(body,)]

    def put_paper(self, kind: str, id: str, body: bytes | None) -> None:
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
