"""Small records beside the logs of a PostgreSQL ledger, and looks at all campaigns at once."""

from __future__ import annotations

import time

from bursar.ledger import postgres_sql as sql
from bursar.ledger.postgres_pool import Pool
from bursar.ledger.postgres_rows import column
from bursar.ledger.store import Standing

__all__ = ["Papers"]


class Papers:
    """The part of a store that is not about one log."""

    _pool: Pool

    def standings(self) -> list[Standing]:
        """Return the row of every campaign."""
        [found] = self._pool.once((sql.STANDINGS, ()))
        rows = [[column(found, row, place) for place in range(7)] for row in range(found.ntuples)]
        return sorted(
            Standing(name.decode(), state.decode(), *(sql.whole(value) for value in numbers))
            for name, state, *numbers in rows
        )

    def campaigns_of(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""
        [found] = self._pool.once((sql.CAMPAIGNS_OF, [decision.encode()]))
        return sorted(column(found, row, 0).decode() for row in range(found.ntuples))

    def papers(self, kind: str) -> dict[str, bytes]:
        """Return the records of a kind."""
        [found] = self._pool.once((sql.PAPERS, [kind.encode()]))
        rows = range(found.ntuples)
        return dict(sorted((column(found, row, 0).decode(), column(found, row, 1)) for row in rows))

    def add_paper(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id; return whether it is ours that is kept."""
        self._pool.once((sql.ADD_PAPER, [kind.encode(), id.encode(), body]))
        return self.papers(kind).get(id) == body

    def put_paper(self, kind: str, id: str, body: bytes | None) -> None:
        """Keep a record in place of an older one; None: keep none."""
        key = [kind.encode(), id.encode()]
        if body is None:
            self._pool.once((sql.DROP_PAPER, key))
        else:
            self._pool.once((sql.PUT_PAPER, [*key, body]))

    def ping(self) -> None:
        """Write the time and commit it."""
        self.put_paper("ping", "", str(time.time_ns()).encode())
