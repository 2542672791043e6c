"""A session of a PostgreSQL ledger: one transaction on the log of one campaign, in two round trips.

The first locks the campaign's row and brings the head with the events that other processes have
added; the second moves the row, adds the events and commits. What is appended waits here until
then.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from types import TracebackType

from bursar.errors import CorruptLedger, StorageUnavailable, UnknownCampaign
from bursar.ledger import postgres_sql as sql
from bursar.ledger.chain import Written, following
from bursar.ledger.event import Event
from bursar.ledger.postgres_commit import check_summary, refused
from bursar.ledger.postgres_history import Seen
from bursar.ledger.postgres_line import Call
from bursar.ledger.postgres_pool import Pool
from bursar.ledger.postgres_rows import PAGE, append_call, column, events_of
from bursar.ledger.postgres_transaction import Transaction
from bursar.ledger.store import Head, Summary

__all__ = ["PostgresSession"]

_PREFETCH = 64  # events of others that come along with the lock


class PostgresSession:
    """What a store gives out for a ``with``; of no use before or after it."""

    __slots__ = (
        "_base", "_campaign", "_name", "_new", "_seen", "_snapshot", "_sound", "_summary", "_tail",
        "_transaction", "head",
    )  # fmt: skip

    head: Head
    _base: Head  # before what was appended
    _campaign: int
    _summary: Summary  # of what was appended

    def __init__(self, pool: Pool, name: str, seen: dict[str, Seen]) -> None:
        self._name = name
        self._seen = seen
        self._transaction = Transaction(pool, name)
        self._tail: list[Event] = []  # up to the base, as far as it came along with the lock
        self._new: list[Written] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._sound = True  # whether all that was appended may be committed

    def __enter__(self) -> PostgresSession:
        transaction = self._transaction
        transaction.take_turn()
        try:
            self._begin(self._seen.get(self._name))
        except BaseException:
            transaction.roll_back()
            transaction.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._sound and (self._new or self._snapshot):
                self._commit()
            else:
                self._transaction.roll_back()
        finally:
            self._transaction.end()
        if kind is None and not self._sound:
            raise StorageUnavailable("an append of this session failed; nothing of it was booked")

    @property
    def seq(self) -> int:
        """Number of the newest event there is."""
        return self.head.seq

    def after(self, seq: int) -> list[Event]:
        """Return the events after a number, in order."""
        new = [event for event, _, _ in self._new if event.seq > seq]
        found: list[Event] = []
        if self._tail and seq >= self._tail[0].seq - 1:
            found = self._tail[seq - self._tail[0].seq + 1 :]
            seq = max(seq, self._tail[-1].seq)
        while seq < self._base.seq:
            page = self._events(sql.AFTER, sql.number(seq), sql.number(PAGE))
            if not page:
                raise CorruptLedger(
                    f"event {seq + 1} of {self._name!r} is missing; restore a backup"
                )
            found += page
            seq = page[-1].seq
        return found + new

    def of(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""
        if not decision:
            return []
        found = self._events(sql.OF, decision.encode())
        return found + [event for event, _, _ in self._new if event.decision == decision]

    def append(self, events: Sequence[Event], summary: Summary) -> None:
        """Add events that follow the head; they are durable when the session ends."""
        self._transaction.check_open()
        sound, self._sound = self._sound, False
        new = list(following(self.head, events))
        check_summary(summary)
        self._new += new
        self._summary = summary
        if new:
            last, _, mark = new[-1]
            self.head = Head(last.seq, last.ts, mark)
        self._sound = sound  # an append that failed before is not forgotten

    def snapshot(self) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot; a damaged one is as good as none."""
        if self._snapshot is not None:
            return self._snapshot
        [found] = self._transaction.run((sql.SNAPSHOTS, [sql.number(self._campaign)]))
        for row in range(found.ntuples):
            seq, content = sql.whole(column(found, row, 0)), column(found, row, 1)
            if seq <= self.head.seq and column(found, row, 2) == _digest(seq, content):
                return seq, content
        return None

    def keep_snapshot(self, seq: int, content: bytes) -> None:
        """Keep the state after an event, and a few older ones."""
        self._transaction.check_open()
        self._snapshot = seq, content

    def _begin(self, seen: Seen | None) -> None:
        calls: list[Call] = []
        if seen is not None and seen.others:
            # a statement of its own: it must see what was committed while the lock was waited for
            values = (seen.campaign, seen.head.seq, _PREFETCH)
            calls.append((sql.AFTER, [sql.number(value) for value in values]))
        row, *tail = self._transaction.begin(calls)
        if not row.ntuples:
            self._seen.pop(self._name, None)
            raise UnknownCampaign(f"no campaign named {self._name!r} in {self._transaction.place}")
        self._campaign, seq, ts = (sql.whole(column(row, 0, place)) for place in range(3))
        self.head = self._base = Head(seq, ts, column(row, 0, 3))
        if seen is None:
            self._seen[self._name] = Seen(self._campaign, self.head)
            return
        if tail:
            self._tail = events_of(tail[0])
        elif self.head.seq > seen.head.seq:
            self._tail = self._events(sql.AFTER, sql.number(seen.head.seq), sql.number(_PREFETCH))
        if not seen.leads_to(self._campaign, self.head, self._tail, self._hash_at):
            del self._seen[self._name]  # said once: whoever loads it again may go on
            raise StorageUnavailable(
                f"{self._transaction.place} was restored from a backup; load {self._name!r} again"
            )
        seen.move(self.head)

    def _commit(self) -> None:
        calls: list[Call] = []
        if self._new:
            calls.append(append_call(self._campaign, self._base.seq, self._new, self._summary))
        if self._snapshot is not None:
            seq, content = self._snapshot
            key = [sql.number(self._campaign), sql.number(seq)]
            values = [*key, content, _digest(seq, content), self.head.hash]
            calls += [(sql.KEEP, values), (sql.FORGET, key[:1])]
        found = self._transaction.commit(calls, self.head.seq, self.head.hash)
        if found is not None and self._new and found[0].command_tuples != len(self._new):
            raise refused(self._summary, "the log has moved on")
        self._seen[self._name].head = self.head

    def _events(self, statement: sql.Statement, *values: bytes) -> list[Event]:
        [found] = self._transaction.run((statement, [sql.number(self._campaign), *values]))
        return events_of(found)

    def _hash_at(self, seq: int) -> bytes:
        [found] = self._transaction.run((sql.HASH_OF, [self._name.encode(), sql.number(seq)]))
        return column(found, 0, 0) if found.ntuples else b""


def _digest(seq: int, content: bytes) -> bytes:
    return blake2b(seq.to_bytes(8, "big") + content, digest_size=16).digest()
