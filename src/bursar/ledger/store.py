"""What a store must do: hold the logs of campaigns, and let one writer at a time append.

The same protocol for memory, SQLite and PostgreSQL. A session is one transaction on one campaign:
while it is open nobody else, in whatever thread, process or host, can append to that campaign, so
what was decided from the log up to its head is decided from the newest there is. Leaving a session
without an error makes all that was appended durable at once; leaving it with one, nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from bursar.ledger.event import Event

__all__ = ["CampaignRow", "CampaignTotals", "LogHead", "LogWriter", "Store"]


class LogHead(NamedTuple):
    """Where a log ends: number, time and hash of its last event."""

    seq: int
    ts: int
    hash: bytes


class CampaignTotals(NamedTuple):
    """What a campaign's row tells without reading its log; units of money as in the log.

    Stores keep it beside the log in the same transaction and let the database refuse what can never
    be: negative amounts, or a grant (``granted``) after which spent + held exceed the budget.
    """

    state: str
    budget: int
    spent: int
    held: int
    granted: bool  # whether this transaction made a new hold


class CampaignRow(NamedTuple):
    """A campaign's row as it stands: units of money as in the log, ``ts`` of its last event."""

    name: str
    state: str
    budget: int
    spent: int
    held: int
    seq: int
    ts: int


class LogWriter(Protocol):
    """One transaction on the log of one campaign."""

    @property
    def head(self) -> LogHead:
        """Where the log ends."""

    @property
    def seq(self) -> int:
        """Number of the newest event there is."""

    def events_after(self, seq: int) -> list[Event]:
        """Return the events after a number, in order."""

    def decision_events(self, decision: str) -> list[Event]:
        """Return the events of one decision, in order."""

    def append(self, events: Sequence[Event], summary: CampaignTotals) -> None:
        """Add events that follow the head; they are durable when the session ends."""

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return number and content of the newest snapshot of the state, if there is one."""

    def save_snapshot(self, seq: int, content: bytes) -> None:
        """Keep the state after an event, so that a restart need not read all before it."""


class Store(Protocol):
    """Logs of campaigns, by name."""

    url: str

    def names(self) -> list[str]:
        """Return the campaigns there are."""

    def create(self, name: str, first: Event, summary: CampaignTotals) -> None:
        """Start a campaign with its first event (number 1); refuse a name that is taken."""

    def open_writer(self, name: str) -> AbstractContextManager[LogWriter]:
        """Open a transaction on a campaign; refuse a name that is not there."""

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield committed events with their stored hashes, without keeping writers waiting."""

    def campaign_rows(self) -> list[CampaignRow]:
        """Return the row of every campaign, by name, without reading any log."""

    def find_campaigns(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""

    def records(self, kind: str) -> dict[str, bytes]:
        """Return the small records of a kind that are kept beside the logs, by id."""

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id; return whether it is ours that is kept."""

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        """Keep a record in place of an older one; None: keep none."""

    def ping(self) -> None:
        """Write and commit something small; raise StorageUnavailable if that fails."""

    def close(self) -> None:
        """Give back files and connections."""
