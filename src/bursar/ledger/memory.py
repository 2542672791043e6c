"""A store that lives and dies with the process: for trying out, tests and simulations."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence

from bursar.errors import CampaignExists, UnknownCampaign
from bursar.ledger.event import GENESIS, Event, chained, encoded
from bursar.ledger.store import Head, Summary

__all__ = ["MemoryStore"]


class _Log:
    """The log of one campaign, which is its own session: nothing in memory needs committing."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.events: list[Event] = []
        self.decisions: defaultdict[str, list[Event]] = defaultdict(list)
        self.summary: Summary | None = None
        self._kept: tuple[int, bytes] | None = None

    def __enter__(self) -> _Log:
        self.lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    @property
    def head(self) -> Head:
        last = self.events[-1]
        # hashes are made when the log is read: nothing in memory can be tampered with in between
        return Head(last.seq, last.ts, b"")

    def after(self, seq: int) -> list[Event]:
        return self.events[seq:]

    def of(self, decision: str) -> list[Event]:
        return list(self.decisions.get(decision, ()))

    def append(self, events: Sequence[Event], summary: Summary) -> None:
        self.events.extend(events)
        for event in events:
            if event.decision:
                self.decisions[event.decision].append(event)
        self.summary = summary

    def snapshot(self) -> tuple[int, bytes] | None:
        return self._kept

    def keep_snapshot(self, seq: int, content: bytes) -> None:
        self._kept = seq, content


class MemoryStore:
    """Logs in lists; as durable as the process."""

    url = "memory"

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}

    def names(self) -> list[str]:
        """Return the campaigns there are."""
        return sorted(self._logs)

    def create(self, name: str, first: Event, summary: Summary) -> None:
        """Start a campaign."""
        if name in self._logs:
            raise CampaignExists(f"there is a campaign {name!r} already; give another name")
        log = _Log()
        log.append([first], summary)
        self._logs[name] = log

    def session(self, name: str) -> _Log:
        """Open a transaction; an error on the way leaves the log as it was."""
        return self._log(name)

    def read(self, name: str, after: int = 0) -> Iterator[tuple[Event, bytes]]:
        """Yield events with their hashes."""
        before = GENESIS
        for event in list(self._log(name).events):
            before = chained(before, event, encoded(event.body))
            if event.seq > after:
                yield event, before

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""

    def _log(self, name: str) -> _Log:
        if name not in self._logs:
            raise UnknownCampaign(f"no campaign named {name!r} in memory")
        return self._logs[name]
