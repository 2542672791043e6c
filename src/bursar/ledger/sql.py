"""What the databases share: their tables, how these change, and the statements that read them.

Tables are changed by numbered steps that only go forward, the files in ``steps``. A step that has
been released is never edited: every database that took it stores its checksum. A change is a new
step at the end. In PostgreSQL the tables are in a schema of their own, ``bursar``, so that a
database can hold other tables, too; a fill factor lets a campaign's row change in place, without
touching an index.
"""

import contextlib
import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

from bursar.errors import CorruptLedger, NewerSchema, StorageUnavailable
from bursar.ledger import log, store
from bursar.ledger.log import Event, LogHead, decode_event

_LOG = logging.getLogger("bursar.ledger")

Row = tuple[Any, ...]
C = TypeVar("C")  # a connection


def _load_steps(database: str) -> tuple[str, ...]:
    found = {one.name: one.read_text() for one in files(__package__).joinpath("steps").iterdir()}
    return tuple(found[name] for name in sorted(found) if name.startswith(database))


# read with this module: a process may give up its rights before it opens a ledger
SQLITE_STEPS, POSTGRES_STEPS = _load_steps("sqlite"), _load_steps("postgres")


def check_version(run: Callable[..., list[Row]], steps: tuple[str, ...], location: str) -> int:
    """Return the number of steps that a database has taken; check that they are ours."""
    ((version,),) = run("SELECT schema_version FROM meta") or [(0,)]
    taken: dict[int, str] = dict(run("SELECT number, checksum FROM step"))
    if version > len(steps):
        raise NewerSchema(
            f"{location} has schema {version}, this bursar knows {len(steps)};"
            " use the newer bursar that wrote it"
        )
    for number, step in enumerate(steps[:version], 1):
        if taken.get(number) != checksum(step):
            raise CorruptLedger(
                f"step {number} of the schema of {location} was changed; restore a backup"
            )
    return int(version)


def take_steps(run: Callable[..., Any], steps: tuple[str, ...], had: int) -> None:
    """Take the steps that a database lacks; to be called in a transaction."""
    now = time.time_ns() // 1000
    for number, step in enumerate(steps[had:], had + 1):
        run(step)
        run("INSERT INTO step VALUES ($1, $2, $3)", (number, checksum(step), now))
    if had:
        run("UPDATE meta SET schema_version = $1", (len(steps),))
    else:
        run(
            "INSERT INTO meta(schema_version, instance, epoch, created) VALUES ($1, $2, 1, $3)",
            (len(steps), uuid4().hex, now),
        )


def checksum(step: str) -> str:
    """Return the checksum of a step; white space does not matter."""
    return blake2b(" ".join(step.split()).encode(), digest_size=16).hexdigest()


EMPTY_LOG = LogHead(0, -(2**63), log.GENESIS)
"""The head of a log without events."""

_ID = "SELECT id, seq FROM campaign WHERE name = $1"
_COLUMNS = "seq, ts, kind, decision, body"
EVENTS = f"SELECT {_COLUMNS}, hash FROM event WHERE campaign = $1"
EVENTS_AFTER = f"{EVENTS} AND seq > $2 ORDER BY seq LIMIT $3"
_PAGE = 1000  # events that are read at a time
_FIRST_PAGE = 128  # in case they are large
_PAGE_BYTES = 1 << 20  # of their bodies, about
# with the condition in the outer query, SQLite would read all events of the campaign
_OF_DECISION = (
    f"{EVENTS} AND seq IN (SELECT seq FROM event"
    " WHERE campaign = $1 AND decision = $2 AND decision <> '') ORDER BY seq"
)
_NAMES = "SELECT name FROM campaign"
_ROWS = "SELECT name, state, budget, spent, held, seq, ts FROM campaign"
_WITH_DECISION = (
    "SELECT name FROM campaign WHERE EXISTS (SELECT 1 FROM event"
    " WHERE campaign = campaign.id AND decision = $1 AND decision <> '')"
)
_SNAPSHOT = (
    "SELECT seq, body, hash FROM snapshot WHERE campaign = $1 AND seq < $2"
    " ORDER BY seq DESC LIMIT 1"
)
_SNAPSHOT_SIZES = "SELECT seq, length(body) FROM snapshot WHERE campaign = $1"
_HASH = "SELECT hash FROM event WHERE campaign = $1 AND seq = $2"
_RESTORED = f"SELECT max(ts) FROM event WHERE campaign = $1 AND kind = '{log.RESTORED}'"
_TOTALS = "SELECT budget, spent, held FROM campaign WHERE id = $1"
_DROP_LATER = "DELETE FROM snapshot WHERE campaign = $1 AND seq > $2 RETURNING seq"
_NEXT_EPOCH = "UPDATE meta SET epoch = epoch + 1 RETURNING epoch"
_RECORDS = "SELECT id, body FROM paper WHERE kind = $1"
_RECORD = "SELECT body FROM paper WHERE kind = $1 AND id = $2"
_INSERT_RECORD = "INSERT INTO paper VALUES ($1, $2, $3) ON CONFLICT (kind, id) DO"
_PUT_RECORD = f"{_INSERT_RECORD} UPDATE SET body = EXCLUDED.body"
_DELETE_RECORD = "DELETE FROM paper WHERE kind = $1 AND id = $2"


def read_events(run: Callable[..., list[Row]], statement: str, *values: Any) -> list[Row]:
    """Return the rows of events of a campaign; if the database cannot read one, say which.

    ``run`` raises CorruptLedger for rows that are no texts, or not on a page that is whole.
    """
    try:
        return run(statement, *values)
    except CorruptLedger as error:
        with contextlib.suppress(StorageUnavailable):  # some errors have ended the connection
            for seq, *_ in run(statement.replace(_COLUMNS, "seq", 1), *values):
                try:
                    run(EVENTS_AFTER, values[0], seq - 1, 1)
                except CorruptLedger as reason:
                    raise log.unreadable_event(seq, reason.__cause__ or reason) from error
        raise


def bad_text(location: str, error: UnicodeDecodeError) -> CorruptLedger:
    """Return the error for a text in a database that a flipped bit has made invalid."""
    return CorruptLedger(f"{location} has a text that is not UTF-8: {error}; restore a backup")


class SQLStore(store.Store):
    """A store in a database, which adds how statements are run and how logs are written."""

    location: str  # for messages

    @abstractmethod
    def read_rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement that needs no transaction."""

    @abstractmethod
    def execute(self, statement: str, *values: Any) -> None:
        """Run a statement in a transaction of its own."""

    @abstractmethod
    def lock_records(self, kind: str) -> AbstractContextManager[Callable[..., list[Row]]]:
        """Return a transaction that alone updates records of a kind, as a function of statements.

        It is committed when its ``with`` block ends without an error.
        """

    def names(self) -> list[str]:
        return sorted(name for (name,) in self.read_rows(_NAMES))

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield committed events with their hashes, in pages, without blocking writers."""
        campaign, _ = self._find_campaign(name)
        count = _FIRST_PAGE
        while rows := read_events(self.read_rows, EVENTS_AFTER, campaign, after, count):
            store.check_wanted()
            for row in rows:
                yield decode_event(row), row[5]
            after = rows[-1][0]
            size = sum(len(row[4]) for row in rows) // len(rows)
            count = max(1, min(_PAGE, _PAGE_BYTES // max(size, 1)))

    def last_seq(self, name: str) -> int:
        return self._find_campaign(name)[1]

    def _find_campaign(self, name: str) -> tuple[int, int]:
        """Return the id of a campaign, and the number of its newest event."""
        rows = self.read_rows(_ID, name)
        if not rows:
            raise store.unknown_campaign(name, self.location)
        return rows[0]

    def campaign_rows(self) -> list[store.CampaignRow]:
        return sorted(store.CampaignRow(*row) for row in self.read_rows(_ROWS))

    def find_campaigns(self, decision: str) -> list[str]:
        return sorted(name for (name,) in self.read_rows(_WITH_DECISION, decision))

    def records(self, kind: str) -> dict[str, bytes]:
        return dict(sorted(self.read_rows(_RECORDS, kind)))

    def record(self, kind: str, id: str) -> bytes | None:
        found = self.read_rows(_RECORD, kind, id)
        return found[0][0] if found else None

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        self.execute(f"{_INSERT_RECORD} NOTHING", kind, id, body)
        return self.record(kind, id) == body

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        _write_record(self.execute, kind, id, body)

    def update_records(self, kind: str, change: store.RecordChange) -> None:
        with self.lock_records(kind) as run:
            for id, body in change(dict(sorted(run(_RECORDS, kind)))).items():
                _write_record(run, kind, id, body)

    def ping(self) -> None:
        """Write the time and commit it."""
        self.put_record("ping", "", str(time.time_ns()).encode())


def _write_record(run: Callable[..., Any], kind: str, id: str, body: bytes | None) -> None:
    if body is None:
        run(_DELETE_RECORD, kind, id)
    else:
        run(_PUT_RECORD, kind, id, body)


class SeenLog(NamedTuple):
    """A log as this process saw it last: the id of its campaign, and its head."""

    campaign: int
    head: LogHead


class SQLWriter(store.LogWriter, Generic[C]):
    """A transaction of a database on the log of one campaign; of no use outside its ``with``."""

    head: LogHead = EMPTY_LOG
    generation = 0
    _campaign: int  # its id
    _connection: C | None = None  # while the transaction is open

    def __init__(self, owner: SQLStore, name: str) -> None:
        self._store: Any = owner
        self._name = name

    def _require_connection(self) -> C:
        if self._connection is None:
            raise StorageUnavailable(f"the writer of {self._name!r} has ended; open another")
        return self._connection

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement in the transaction."""

    @property
    def seq(self) -> int:
        return self.head.seq

    def _has_seen(self, seen: SeenLog) -> bool:
        """Return whether the log still has the newest event that this process saw."""
        if self._campaign != seen.campaign:
            return False
        return self._rows(_HASH, self._campaign, seen.head.seq) == [(seen.head.hash,)]

    def _is_marked(self, seen: SeenLog) -> bool:
        """Return whether a restore, or another process, has recorded that the log was set back.

        Times rise along a log, so an event that is later than all that was seen is a new one.
        """
        ((newest,),) = self._rows(_RESTORED, self._campaign)
        return newest is not None and newest > seen.head.ts

    def _mark_restored(self, seen: SeenLog | None) -> None:
        """Record that events are missing, as a restore does: nothing is granted any more."""
        ((epoch,),) = self._rows(_NEXT_EPOCH)
        self._rows(_DROP_LATER, self._campaign, self.head.seq)  # of events that are no more
        ((budget, spent, held),) = self._rows(_TOTALS, self._campaign)
        last = self.head.ts if seen is None else max(self.head.ts, seen.head.ts)
        now = max(last + 1, time.time_ns() // 1000)
        event = Event(self.head.seq + 1, now, log.RESTORED, "", {"epoch": epoch})
        _LOG.error(
            "the log of %r was set back to event %d%s; the campaign is unreconciled and grants"
            " nothing until what was spent since is entered: bursar campaign reconcile",
            self._name,
            self.head.seq,
            "" if seen is None else f", event {seen.head.seq} was seen before",
        )
        totals = store.CampaignTotals("unreconciled", budget, spent, held, granted=False)
        self.append([event], totals)

    def decision_events(self, decision: str) -> list[Event]:
        return log.decode_events(read_events(self._rows, _OF_DECISION, self._campaign, decision))

    def load_snapshot(self, before: int = store.LAST) -> tuple[int, bytes] | None:
        before = min(before, self.head.seq + 1)
        while found := self._rows(_SNAPSHOT, self._campaign, before):
            [(before, content, stored)] = found
            if stored == log.hash_snapshot(before, content):
                return before, content
        return None

    def _find_surplus(self, seq: int, content: bytes) -> list[int]:
        """Return the snapshots to drop when one is saved."""
        sizes: dict[int, int] = dict(self._rows(_SNAPSHOT_SIZES, self._campaign))
        return store.find_surplus(sizes | {seq: len(content)})
