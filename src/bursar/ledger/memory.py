"""A store that lives as long as the process, for experiments, tests and simulations."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence

from bursar.ledger import store
from bursar.ledger.log import GENESIS, Event, LogHead, encode_event_body, hash_event

_PAGE = 1000  # events that are read at a time


class MemoryStore(store.Store):
    """Logs in lists; nothing is written to a disk."""

    url = "memory"

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._records: dict[tuple[str, str], bytes] = {}
        self._updating = threading.Lock()

    def names(self) -> list[str]:
        return sorted(self._logs)

    def create(self, name: str, first: Event, totals: store.CampaignTotals) -> None:
        if name in self._logs:
            raise store.existing_campaign(name)
        self._logs[name] = _Log(first, totals)

    def open_writer(self, name: str) -> _Log:
        """Return a writer; an error in its ``with`` block leaves the log as it was."""
        try:
            return self._logs[name]
        except KeyError:
            raise store.unknown_campaign(name, self.url) from None

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield events with their hashes."""
        log = MemoryStore.open_writer(self, name)
        start = min(after // _PAGE, len(log.hashes) - 1)
        before = log.hashes[start]
        while page := log.events[start * _PAGE : (start + 1) * _PAGE]:
            store.check_wanted()
            for event in page:
                before = hash_event(before, event, encode_event_body(event.body))
                if event.seq > after:
                    yield event, before
            start += 1
            if len(page) < _PAGE:
                return
            if start == len(log.hashes):
                log.hashes.append(before)

    def last_seq(self, name: str) -> int:
        return MemoryStore.open_writer(self, name).seq

    def campaign_rows(self) -> list[store.CampaignRow]:
        logs = [(name, self._logs[name]) for name in self.names()]
        return [store.CampaignRow(name, *log.totals[:4], *log.head[:2]) for name, log in logs]

    def find_campaigns(self, decision: str) -> list[str]:
        return [name for name in self.names() if self._logs[name].decision_events(decision)]

    def records(self, kind: str) -> dict[str, bytes]:
        found = sorted(self._records.copy().items())  # a copy: other threads may add some
        return {id: body for (of, id), body in found if of == kind}

    def record(self, kind: str, id: str) -> bytes | None:
        return self._records.get((kind, id))

    def insert_record(self, kind: str, id: str, body: bytes) -> bool:
        return self._records.setdefault((kind, id), body) == body

    def put_record(self, kind: str, id: str, body: bytes | None) -> None:
        if body is None:
            self._records.pop((kind, id), None)
        else:
            self._records[kind, id] = body

    def update_records(self, kind: str, change: store.RecordChange) -> None:
        with self._updating:
            for id, body in change(self.records(kind)).items():
                self.put_record(kind, id, body)

    def ping(self) -> None:
        """Do nothing: memory is always available."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class _Log:
    """The log of one campaign, which is its own writer: nothing in memory needs a commit."""

    generation = 0

    def __init__(self, first: Event, totals: store.CampaignTotals) -> None:
        self.lock = threading.RLock()
        self.events = [first]
        self.seq = first.seq
        self.totals = totals
        self.hashes = [GENESIS]  # before each page that was read
        self._snapshots: tuple[tuple[int, bytes], ...] = ()
        self._by_decision: defaultdict[str, list[Event]] = defaultdict(list)
        self._indexed = 0  # number of events in that index

    def __enter__(self) -> _Log:
        self.lock.acquire()
        self._before = self.seq, self.totals, self._snapshots
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self.seq, self.totals, self._snapshots = self._before
            del self.events[self.seq :]
            del self.hashes[self.seq // _PAGE + 1 :]
            self._by_decision.clear()
            self._indexed = 0
        self.lock.release()

    @property
    def head(self) -> LogHead:
        last = self.events[-1]
        # hashes are computed when the log is read: events in memory are not tampered with before
        return LogHead(last.seq, last.ts, b"")

    def events_after(self, seq: int) -> list[Event]:
        return self.events[seq:]

    def decision_events(self, decision: str) -> list[Event]:
        if self._indexed < len(self.events):  # most campaigns never need the index
            for event in self.events[self._indexed :]:
                if event.decision:
                    self._by_decision[event.decision].append(event)
            self._indexed = len(self.events)
        return list(self._by_decision.get(decision, ()))

    def append(self, events: Sequence[Event], totals: store.CampaignTotals) -> None:
        self.events += events
        self.totals = totals
        self.seq = events[-1].seq

    def load_snapshot(self, before: int = store.LAST) -> tuple[int, bytes] | None:
        return next((one for one in reversed(self._snapshots) if one[0] < before), None)

    def save_snapshot(self, seq: int, content: bytes) -> None:
        kept = dict(self._snapshots) | {seq: content}
        for surplus in store.find_surplus({one: len(kept[one]) for one in kept}):
            del kept[surplus]
        self._snapshots = tuple(sorted(kept.items()))
