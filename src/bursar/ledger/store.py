"""What a store must do: hold the logs of campaigns, and let one writer at a time append.

The protocol is the same for memory, SQLite and PostgreSQL. A writer is one transaction on one
campaign: while it is open no other thread, process or host can append to that campaign, so what is
decided from the log up to its head is decided from the newest events. When its ``with`` block ends
without an error, everything that was appended becomes durable at once; with an error, nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from bursar.errors import BursarError, CampaignExists, CorruptLedger, UnknownCampaign
from bursar.ledger.log import Event, LogHead

LAST = 2**63 - 1
"""A number that no event reaches."""

MOST_SNAPSHOTS = 256  # of a campaign
MOST_SNAPSHOT_BYTES = 64 << 20  # of all of them
_NEWEST = 3  # that are always kept, in case one is damaged


def find_surplus(sizes: Mapping[int, int]) -> list[int]:
    """Return the snapshots to drop, given their sizes by event.

    Those whose neighbours are nearest go first, so that every event of a long log stays near one.

    >>> find_surplus({10 * n: 1 for n in range(1, MOST_SNAPSHOTS + 3)})
    [10, 30]
    """
    kept, total, dropped = sorted(sizes), sum(sizes.values()), []
    while len(kept) > _NEWEST and (len(kept) > MOST_SNAPSHOTS or total > MOST_SNAPSHOT_BYTES):
        around = [0, *kept]  # the state before the first event is known, too
        gaps = [around[at + 2] - around[at] for at in range(len(kept) - _NEWEST)]
        dropped.append(kept.pop(gaps.index(min(gaps))))
        total -= sizes[dropped[-1]]
    return dropped


class CampaignTotals(NamedTuple):
    """State and money of a campaign after an append, in the units of the log.

    Stores write them beside the log in the same transaction, and let the database refuse what must
    never happen: negative amounts, or a grant (``granted``) after which spent + held exceed the
    budget.
    """

    state: str
    budget: int
    spent: int
    held: int
    granted: bool  # whether this transaction made a new hold

    def refusal(self, why: str) -> CorruptLedger:
        """Return the error for totals that a ledger never accepts."""
        return CorruptLedger(
            f"the ledger refused spent {self.spent} + held {self.held} of budget {self.budget}:"
            f" {why}; nothing was written, verify the campaign"
        )


class CampaignRow(NamedTuple):
    """The row of a campaign, in the units of the log; ``seq`` and ``ts`` of its last event."""

    name: str
    state: str
    budget: int
    spent: int
    held: int
    seq: int
    ts: int


RecordChange = Callable[[dict[str, bytes]], Mapping[str, bytes | None]]
"""Returns the records to write, by id, given all records of their kind; None deletes one."""


class LogWriter(Protocol):
    """One transaction on the log of one campaign."""

    @property
    def head(self) -> LogHead:
        """The end of the log."""

    @property
    def seq(self) -> int:
        """Number of the newest event."""

    @property
    def generation(self) -> int:
        """A number that changes when the log was set back: its events may be others than before."""

    def events_after(self, seq: int) -> list[Event]:
        """Return the events after a number, in order."""

    def decision_events(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""

    def append(self, events: Sequence[Event], totals: CampaignTotals) -> None:
        """Add events that follow the head; they are durable when the ``with`` block ends."""

    def load_snapshot(self, before: int = LAST) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot that is not damaged, or None.

        Only snapshots after events before a number are considered.
        """

    def save_snapshot(self, seq: int, content: bytes) -> None:
        """Store the state after an event, so that a reader need not read the log before it.

        Snapshots that :func:`find_surplus` finds are dropped.
        """


class Store(Protocol):
    """Logs of campaigns, by name, and small records beside them."""

    url: str

    def names(self) -> list[str]:
        """Return the names of all campaigns, sorted."""

    def create(self, name: str, first: Event, totals: CampaignTotals) -> None:
        """Create a campaign with its first event (number 1); refuse a name that is taken."""

    def open_writer(self, name: str) -> AbstractContextManager[LogWriter]:
        """Return a writer for a campaign; refuse an unknown name."""

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield committed events with their stored hashes, without blocking writers."""

    def last_seq(self, name: str) -> int:
        """Return the number of the newest committed event of a campaign."""

    def campaign_rows(self) -> list[CampaignRow]:
        """Return the row of every campaign, by name, without reading any log."""

    def find_campaigns(self, decision: str) -> list[str]:
        """Return the names of the campaigns that made a decision with this id."""

    def records(self, kind: str) -> dict[str, bytes]:
        """Return the small records of a kind that are stored beside the logs, by id."""

    def record(self, kind: str, id: str) -> bytes | None:
        """Return one record, or None if there is none."""

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        """Insert a record unless its id is taken; return whether the stored one equals it."""

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        """Insert or replace a record; delete it if ``body`` is None."""

    def update_records(self, kind: str, change: RecordChange) -> None:
        """Change records in one transaction: all that ``change`` returns are written, or none.

        ``change`` gets the records of the kind and returns those to write, None to delete one.
        Until they are durable no other thread, process or host updates records of that kind, so
        nothing that ``change`` has seen is overwritten unseen. If it raises, nothing is written.
        """

    def ping(self) -> None:
        """Write and commit something small; raise StorageUnavailable if that fails."""

    def settle(self) -> None:
        """Do what was put off; called when nothing has happened for a while."""
        return

    def close(self) -> None:
        """Close files and connections."""


class ReadStopped(BursarError, RuntimeError):
    """The read of a log whose result is no longer wanted."""

    code = "deadline-passed"


READ_STOPPED: ContextVar[Callable[[], bool]] = ContextVar("read_stopped", default=bool)
"""Tells a thread that reads a log whether to stop, since its caller has left."""


def check_wanted() -> None:
    """Raise ReadStopped if this thread should read no more; stores call it for every page."""
    if READ_STOPPED.get()():
        raise ReadStopped("the caller of this read has left; it was stopped")


def unknown_campaign(name: str, location: str) -> UnknownCampaign:
    """Return the error for a name that no campaign has."""
    return UnknownCampaign(f"no campaign named {name!r} in {location}")


def existing_campaign(name: str) -> CampaignExists:
    """Return the error for a name that is taken."""
    return CampaignExists(f"a campaign named {name!r} already exists; choose another name")
