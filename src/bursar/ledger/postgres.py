"""A store in a PostgreSQL database, for any number of threads, processes and hosts.

Each session is one transaction that locks its campaign's row, so campaigns do not wait for one
another. Commits are synchronous: what was acknowledged survives a crash of the server, and its
loss too if there is a synchronous standby. Backups are PostgreSQL's own business: ``pg_dump
--schema=bursar`` or point-in-time recovery. A pooler in between must give out whole sessions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from types import TracebackType

from bursar.errors import CorruptLedger, InvalidInput, StorageUnavailable, UnknownCampaign
from bursar.ledger import postgres_sql as sql
from bursar.ledger.chain import Written, chain_events
from bursar.ledger.event import Event, encode_event_body, hash_event
from bursar.ledger.postgres_connection import Call, Pool, place_of
from bursar.ledger.postgres_transaction import (
    HASH,
    PAGE,
    PostgresTransaction,
    append_call,
    check_summary,
    column,
    create_campaign,
    events_of,
    refused,
    row_of,
)
from bursar.ledger.store import CampaignRow, CampaignTotals, LogHead

__all__ = ["PostgresRecords", "PostgresStore", "PostgresWriter", "SeenHeads"]

# ==== ledger.postgres_papers
# Small records beside the logs of a PostgreSQL ledger, and looks at all campaigns at once.


class PostgresRecords:
    """The part of a store that is not about one log."""

    _pool: Pool

    def campaign_rows(self) -> list[CampaignRow]:
        """Return the row of every campaign."""
        [found] = self._pool.once((sql.STANDINGS, ()))
        rows = [[column(found, row, place) for place in range(7)] for row in range(found.ntuples)]
        return sorted(
            CampaignRow(name.decode(), state.decode(), *(sql.whole(value) for value in numbers))
            for name, state, *numbers in rows
        )

    def find_campaigns(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""
        [found] = self._pool.once((sql.CAMPAIGNS_OF, [decision.encode()]))
        return sorted(column(found, row, 0).decode() for row in range(found.ntuples))

    def records(self, kind: str) -> dict[str, bytes]:
        """Return the records of a kind."""
        [found] = self._pool.once((sql.PAPERS, [kind.encode()]))
        rows = range(found.ntuples)
        return dict(sorted((column(found, row, 0).decode(), column(found, row, 1)) for row in rows))

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id; return whether it is ours that is kept."""
        self._pool.once((sql.ADD_PAPER, [kind.encode(), id.encode(), body]))
        return self.records(kind).get(id) == body

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        """Keep a record in place of an older one; None: keep none."""
        key = [kind.encode(), id.encode()]
        if body is None:
            self._pool.once((sql.DROP_PAPER, key))
        else:
            self._pool.once((sql.PUT_PAPER, [*key, body]))

    def ping(self) -> None:
        """Write the time and commit it."""
        self.put_record("ping", "", str(time.time_ns()).encode())


# ==== ledger.postgres_history
# Whether a log goes on from where this process saw it last, or was replaced behind its back.

_LASTING = 100


class SeenHeads:
    """What a process saw last of a campaign."""

    __slots__ = ("campaign", "head", "others")

    def __init__(self, campaign: int, head: LogHead) -> None:
        self.campaign = campaign
        self.head = head
        self.others = 0  # for how many sessions to expect that others write too

    def move(self, head: LogHead) -> None:
        """Go on to a head that a session found."""
        self.others = _LASTING if head.seq != self.head.seq else max(0, self.others - 1)
        self.head = head

    def leads_to(
        self, campaign: int, head: LogHead, tail: Sequence[Event], hash_at: Callable[[int], bytes]
    ) -> bool:
        """Return whether a log with this head contains all that was seen.

        ``tail`` are the events since, as far as they are known; else ``hash_at`` is asked for the
        hash of the last event that was seen.
        """
        seq, _, last = self.head
        if campaign != self.campaign or head.seq < seq:
            return False
        if head.seq == seq:
            return head.hash == last
        if tail and tail[-1].seq == head.seq:
            for event in tail:
                last = hash_event(last, event, encode_event_body(event.body))
            return head.hash == last
        return hash_at(seq) == last


# ==== ledger.postgres_session
# A session of a PostgreSQL ledger: one transaction on the log of one campaign, in two round trips.
#
# The first locks the campaign's row and brings the head with the events that other processes have
# added; the second moves the row, adds the events and commits. What is appended waits here until
# then.

_PREFETCH = 64  # events of others that come along with the lock


class PostgresWriter:
    """What a store gives out for a ``with``; of no use before or after it."""

    __slots__ = (
        "_base", "_campaign", "_name", "_new", "_seen", "_snapshot", "_sound", "_summary", "_tail",
        "_transaction", "head",
    )  # fmt: skip

    head: LogHead
    _base: LogHead  # before what was appended
    _campaign: int
    _summary: CampaignTotals  # of what was appended

    def __init__(self, pool: Pool, name: str, seen: dict[str, SeenHeads]) -> None:
        self._name = name
        self._seen = seen
        self._transaction = PostgresTransaction(pool, name)
        self._tail: list[Event] = []  # up to the base, as far as it came along with the lock
        self._new: list[Written] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._sound = True  # whether all that was appended may be committed

    def __enter__(self) -> PostgresWriter:
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

    def events_after(self, seq: int) -> list[Event]:
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

    def decision_events(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""
        if not decision:
            return []
        found = self._events(sql.OF, decision.encode())
        return found + [event for event, _, _ in self._new if event.decision == decision]

    def append(self, events: Sequence[Event], summary: CampaignTotals) -> None:
        """Add events that follow the head; they are durable when the session ends."""
        self._transaction.check_open()
        sound, self._sound = self._sound, False
        new = list(chain_events(self.head, events))
        check_summary(summary)
        self._new += new
        self._summary = summary
        if new:
            last, _, mark = new[-1]
            self.head = LogHead(last.seq, last.ts, mark)
        self._sound = sound  # an append that failed before is not forgotten

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot; a damaged one is as good as none."""
        if self._snapshot is not None:
            return self._snapshot
        [found] = self._transaction.run((sql.SNAPSHOTS, [sql.number(self._campaign)]))
        for row in range(found.ntuples):
            seq, content = sql.whole(column(found, row, 0)), column(found, row, 1)
            if seq <= self.head.seq and column(found, row, 2) == _digest(seq, content):
                return seq, content
        return None

    def save_snapshot(self, seq: int, content: bytes) -> None:
        """Keep the state after an event, and a few older ones."""
        self._transaction.check_open()
        self._snapshot = seq, content

    def _begin(self, seen: SeenHeads | None) -> None:
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
        self.head = self._base = LogHead(seq, ts, column(row, 0, 3))
        if seen is None:
            self._seen[self._name] = SeenHeads(self._campaign, self.head)
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


class PostgresStore(PostgresRecords):
    """Campaigns in a database such as ``postgresql://user:secret@host/spend``.

    Their tables lie in the schema ``bursar``, which is made if it is not there. A session waits at
    most ``deadline`` seconds for those of others, and for an answer of the server. ``url`` is
    without the password.
    """

    def __init__(self, url: str, *, deadline: float = 10.0) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise InvalidInput(f"a PostgreSQL ledger is at postgresql://host/database, got {url!r}")
        self.url = place_of(url)
        self._seen: dict[str, SeenHeads] = {}
        self._pool = Pool(url, repr(self.url), deadline)
        self.names()  # make the tables now, or say what is wrong

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        [found] = self._pool.once((sql.NAMES, ()))
        return sorted(column(found, row, 0).decode() for row in range(found.ntuples))

    def create(self, name: str, first: Event, summary: CampaignTotals) -> None:
        """Start a campaign with its first event."""
        create_campaign(self._pool, name, first, summary)

    def open_writer(self, name: str) -> PostgresWriter:
        """Open a transaction on a campaign."""
        return PostgresWriter(self._pool, name, self._seen)

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
