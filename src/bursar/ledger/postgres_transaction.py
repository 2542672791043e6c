"""A transaction on one campaign of a PostgreSQL ledger: a turn among threads, a line, an end."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg.pq.abc import PGresult

from bursar.errors import StorageUnavailable
from bursar.ledger import postgres_sql as sql
from bursar.ledger.postgres_commit import was_committed
from bursar.ledger.postgres_error import Lost, Refused, failure
from bursar.ledger.postgres_line import Call, Line
from bursar.ledger.postgres_pool import Pool

__all__ = ["Transaction"]


class Transaction:
    """Begun once and ended once; after any error of the server its line is hung up."""

    __slots__ = ("_line", "_name", "_pool", "place")

    def __init__(self, pool: Pool, name: str) -> None:
        self.place = pool.place
        self._pool = pool
        self._name = name
        self._line: Line | None = None

    def take_turn(self) -> None:
        """Wait for the other threads of this process on the campaign."""
        self._pool.take_turn(self._name)

    def begin(self, calls: Sequence[Call]) -> list[PGresult]:
        """Lock the campaign; return the results of that and of ``calls``."""
        first: list[Call] = [(sql.BEGIN, ()), (sql.LOCK, [self._name.encode()])]
        self._line, found = self._pool.begun([*first, *calls])
        return found[1:]

    def check_open(self) -> Line:
        """Return the line, while the transaction lasts."""
        if self._line is None:
            raise StorageUnavailable(f"the session of {self._name!r} has ended; open another")
        return self._line

    def run(self, *calls: Call) -> list[PGresult]:
        """Run statements inside the transaction."""
        line = self.check_open()
        try:
            return line.run(calls)
        except (Lost, Refused) as error:
            self._hang_up()
            raise failure(self.place, error) from error

    def commit(self, calls: Sequence[Call], seq: int, last: bytes) -> list[PGresult] | None:
        """Run the last statements and commit, in one go; return the results.

        None stands for a commit whose answer was lost and which the log shows to have been made:
        it has the event of number ``seq`` with the hash ``last``.
        """
        line = self.check_open()
        try:
            found = line.run([*calls, (sql.COMMIT, ())])
        except Lost as error:
            self._hang_up()
            if not was_committed(self._pool, line, error, self._name, seq, last):
                raise failure(self.place, error) from error
            return None
        except Refused as error:
            raise failure(self.place, error) from error
        self._put_back()
        if found[-1].command_status != b"COMMIT":
            raise StorageUnavailable(
                f"{self.place} rolled back a commit; nothing was booked, try again"
            )
        return found

    def roll_back(self) -> None:
        """Undo; without a line the server does so by itself."""
        if self._line is not None:
            try:
                self._line.run([(sql.ROLLBACK, ())])
            except (Lost, Refused):
                self._hang_up()
            else:
                self._put_back()

    def end(self) -> None:
        """Let the next one in."""
        self._hang_up()  # unless it was put back: something was raised on the way
        self._pool.end_turn(self._name)

    def _put_back(self) -> None:
        line, self._line = self.check_open(), None
        self._pool.put_back(line)

    def _hang_up(self) -> None:
        line, self._line = self._line, None
        self._pool.drop(line)
