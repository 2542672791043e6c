"""A store in a PostgreSQL database, for any number of threads, processes and hosts.

Each session is one transaction that locks its campaign's row, so campaigns do not wait for one
another. Commits are synchronous: what was acknowledged survives a crash of the server, and its
loss too if there is a synchronous standby. Backups are PostgreSQL's own business: ``pg_dump
--schema=bursar`` or point-in-time recovery. A pooler in between must give out whole sessions.
"""

from __future__ import annotations

from collections.abc import Iterator

from bursar.errors import InvalidInput, UnknownCampaign
from bursar.ledger import postgres_sql as sql
from bursar.ledger.event import Event
from bursar.ledger.postgres_commit import create_campaign
from bursar.ledger.postgres_error import place_of
from bursar.ledger.postgres_history import Seen
from bursar.ledger.postgres_papers import Papers
from bursar.ledger.postgres_pool import Pool
from bursar.ledger.postgres_rows import HASH, PAGE, column, row_of
from bursar.ledger.postgres_session import PostgresSession
from bursar.ledger.store import Summary

__all__ = ["PostgresStore"]


class PostgresStore(Papers):
    """Campaigns in a database such as ``postgresql://user:secret@host/spend``.

    Their tables lie in the schema ``bursar``, which is made if it is not there. A session waits at
    most ``deadline`` seconds for those of others, and for an answer of the server. ``url`` is
    without the password.
    """

    def __init__(self, url: str, *, deadline: float = 10.0) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(f"a PostgreSQL ledger is at postgresql://host/database, got {url!r}")
        self.url = place_of(url)
        self._seen: dict[str, Seen] = {}
        self._pool = Pool(url, repr(self.url), deadline)
        self.names()  # make the tables now, or say what is wrong

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        [found] = self._pool.once((sql.NAMES, ()))
        return sorted(column(found, row, 0).decode() for row in range(found.ntuples))

    def create(self, name: str, first: Event, summary: Summary) -> None:
        """Start a campaign with its first event."""
        create_campaign(self._pool, name, first, summary)

    def session(self, name: str) -> PostgresSession:
        """Open a transaction on a campaign."""
        return PostgresSession(self._pool, name, self._seen)

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield committed events with their hashes, in pages, without keeping writers waiting."""
        [found] = self._pool.once((sql.NUMBER, [name.encode()]))
        if not found.ntuples:
            raise UnknownCampaign(f"no campaign named {name!r} in {self._pool.place}")
        campaign = column(found, 0, 0)
        while True:
            values = [campaign, sql.number(after), sql.number(PAGE)]
            [rows] = self._pool.once((sql.AFTER, values))  # no line is kept between pages
            if not rows.ntuples:
                return
            for row in range(rows.ntuples):
                yield row_of(rows, row), column(rows, row, HASH)
            after = sql.whole(column(rows, rows.ntuples - 1, 0))

    def close(self) -> None:
        """Give back connections; a session that is open keeps its own until it ends."""
        self._pool.close()
