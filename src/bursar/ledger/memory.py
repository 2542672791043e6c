"""A store that lives and dies with the process: for trying out, tests and simulations."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence

from bursar.errors import CampaignExists, UnknownCampaign
from bursar.ledger.event import GENESIS, Event, encode_event_body, hash_event
from bursar.ledger.store import CampaignRow, CampaignTotals, LogHead

__all__ = ["MemoryStore"]


class _Log:
    """The log of one campaign, which is its own session: nothing in memory needs committing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.events: list[Event] = []
        self.seq = 0
        self.summary: CampaignTotals | None = None
        self._indexed = 0  # events that are in the next
        self._decisions: defaultdict[str, list[Event]] = defaultdict(list)
        self._kept: tuple[int, bytes] | None = None
        self._before: tuple[int, CampaignTotals | None, tuple[int, bytes] | None] = 0, None, None

    def __enter__(self) -> _Log:
        self.lock.acquire()
        self._before = self.seq, self.summary, self._kept
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.seq, self.summary, self._kept = self._before
            del self.events[self.seq :]
            self._indexed = 0
            self._decisions.clear()
        self.lock.release()

    @property
    def head(self) -> LogHead:
        last = self.events[-1]
        # hashes are made when the log is read: nothing in memory can be tampered with in between
        return LogHead(last.seq, last.ts, b"")

    def events_after(self, seq: int) -> list[Event]:
        return self.events[seq:]

    def decision_events(self, decision: str) -> list[Event]:
        if self._indexed < len(self.events):  # few ask for the past of a decision
            for event in self.events[self._indexed :]:
                if event.decision:
                    self._decisions[event.decision].append(event)
            self._indexed = len(self.events)
        return list(self._decisions.get(decision, ()))

    def append(self, events: Sequence[Event], summary: CampaignTotals) -> None:
        self.events += events
        self.summary = summary
        self.seq = events[-1].seq

    def standing(self, name: str) -> CampaignRow:
        """Return the row of this log."""
        assert self.summary is not None  # there is one from the first event on
        return CampaignRow(name, *self.summary[:4], *self.head[:2])

    def load_snapshot(self) -> tuple[int, bytes] | None:
        return self._kept

    def save_snapshot(self, seq: int, content: bytes) -> None:
        self._kept = seq, content


class MemoryStore:
    """Logs in lists; as durable as the process."""

    url = "memory"

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._papers: dict[tuple[str, str], bytes] = {}

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        return sorted(self._logs)

    def create(self, name: str, first: Event, summary: CampaignTotals) -> None:
        """Start a campaign."""
        if name in self._logs:
            raise CampaignExists(f"a campaign named {name!r} already exists; choose another name")
        log = _Log()
        log.append([first], summary)
        self._logs[name] = log

    def open_writer(self, name: str) -> _Log:
        """Open a transaction; an error on the way leaves the log as it was."""
        try:
            return self._logs[name]
        except KeyError:
            raise UnknownCampaign(f"no campaign named {name!r} in memory") from None

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield events with their hashes."""
        before = GENESIS
        for event in list(MemoryStore.open_writer(self, name).events):
            before = hash_event(before, event, encode_event_body(event.body))
            if event.seq > after:
                yield event, before

    def campaign_rows(self) -> list[CampaignRow]:
        """Return the row of every campaign."""
        return [self._logs[name].standing(name) for name in self.names()]

    def find_campaigns(self, decision: str) -> list[str]:
        """Return the campaigns that made a decision of that id."""
        return [name for name in self.names() if self._logs[name].decision_events(decision)]

    def records(self, kind: str) -> dict[str, bytes]:
        """Return the records of a kind."""
        return {key: body for (of, key), body in sorted(self._papers.items()) if of == kind}

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        """Keep a record unless there is one of that id."""
        return self._papers.setdefault((kind, id), body) == body

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        """Keep a record, or none."""
        if body is None:
            self._papers.pop((kind, id), None)
        else:
            self._papers[kind, id] = body

    def ping(self) -> None:
        """Do nothing: memory is always there."""

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""
