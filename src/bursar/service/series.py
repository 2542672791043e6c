"""The history of a campaign for charts: at most 2,000 buckets, however long the log is."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from bursar.campaign import events as kinds
from bursar.campaign.records import OPEN, DecisionRecord, make_record
from bursar.errors import InvalidInput, UnknownCampaign
from bursar.ledger import Event, Store
from bursar.money import Coin

MOST = 2000
_FINEST = 1000  # width of the first buckets in µs
_NAMED = 30  # arms with columns of their own, those with the most asks
_CHANGES = 500  # changes of money and rules that are kept, the newest
_MARKED = frozenset((*kinds.RULES, kinds.ADOPTED, kinds.CORRECTED))  # kinds of those changes
_PIECE = 20_000  # events that one step reads from the log
_COUNTED = ("observed", "defaulted")  # states of rewards that are part of the sum


class SeriesCache:
    """The series of all campaigns of a store, each built when it is first needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._series: dict[str, Series] = {}
        self._lock = threading.Lock()

    def get(self, name: str, pieces: int = 50) -> Series:
        """Return the series of a campaign after reading new events, up to a number of pieces.

        Its attribute ``complete`` is false if the log goes on; call again for the rest.
        """
        with self._lock:
            series = self._series.setdefault(name, Series())
        try:
            for _ in range(pieces):
                if series.advance(self.store, name):
                    break
        except UnknownCampaign:
            self._series.pop(name, None)  # do not keep names of campaigns that do not exist
            raise
        return series


class Series:
    """The history of one campaign, which follows its log as that grows.

    Buckets are equally wide in time. When there are too many, neighbours are merged and the width
    doubles. Times without events have no bucket. The newest changes of money and rules, which are
    rare in a long log, are kept in ``changes``.
    """

    def __init__(self, most: int = MOST) -> None:
        if most < 2:
            raise InvalidInput(f"a series needs 2 buckets or more, got {most!r}")
        self.most = most
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self.width = _FINEST
        self.totals = RunningTotals()
        self.coin = Coin()
        self.complete = False
        self.buckets: dict[int, Bucket] = {}
        self.changes: deque[Event] = deque(maxlen=_CHANGES)
        self._hash = b""  # of the last event that was applied

    def advance(self, store: Store, name: str, piece: int = _PIECE) -> bool:
        """Read the next events of the log, a piece at most; return whether the log ended."""
        with self._lock:
            read = 0
            for event, hash in islice(self._read_on(store, name), piece):
                self.follow(event)
                self._hash = hash
                read += 1
            self.complete = read < piece
            return self.complete

    def _read_on(self, store: Store, name: str) -> Iterator[tuple[Event, bytes]]:
        """Return the events that follow; from the first if the log was set back meanwhile."""
        if self.totals.seq:
            events = store.read(name, self.totals.seq - 1)
            if (last := next(events, None)) is not None and last[1] == self._hash:
                return events
            self._clear()
        return store.read(name)

    def follow(self, event: Event) -> None:
        """Apply the next event of the log."""
        if event.kind == kinds.CREATED:
            self.coin = Coin(**event.body["config"]["coin"])
        self.totals.follow(event)
        if event.kind in _MARKED:
            self.changes.append(event)
        number = event.ts // self.width
        bucket = self.buckets.get(number)
        if bucket is None:
            used = self.totals.spent + self.totals.held
            bucket = self.buckets[number] = Bucket(event.ts, low=used, high=used)
        bucket.add(self.totals)
        if event.kind in kinds.GRANTS:
            bucket.arms[event.body["arm"]] += 1
        while len(self.buckets) > self.most:
            self.widen()

    def widen(self) -> None:
        """Double the width of the buckets."""
        self.width *= 2
        merged: dict[int, Bucket] = {}
        for number, bucket in self.buckets.items():
            earlier = merged.setdefault(number // 2, bucket)
            if earlier is not bucket:
                earlier.merge(bucket)
        self.buckets = merged

    def thin(self, points: int = MOST) -> list[Bucket]:
        """Return a limited number of buckets; neighbours are merged, extremes are kept."""
        with self._lock:
            buckets = [replace(one, arms=one.arms.copy()) for one in self.buckets.values()]
        group = -(-len(buckets) // max(points, 1))
        found: list[Bucket] = []
        for number, one in enumerate(buckets):
            if number % group:
                found[-1].merge(one)
            else:
                found.append(one)
        return found

    def as_dict(self, points: int = MOST) -> dict[str, Any]:
        """Return the history as columns: times in seconds, money as decimal texts."""
        if not 2 <= points <= MOST:
            raise InvalidInput(f"points must be from 2 to {MOST:,}, got {points!r}")
        rows, money, keys = self.thin(points), self.coin.text, self.totals.arms
        asks = sum((one.arms for one in rows), start=Counter())
        named = sorted(sorted(range(len(keys)), key=lambda arm: -asks[arm])[:_NAMED])
        columns = ("spent", "held", "budget", "low", "high")
        return {
            "seq": self.totals.seq,
            "complete": self.complete,
            "currency": self.coin.currency,
            "t": [one.end / 1e6 for one in rows],
            "start": [one.start / 1e6 for one in rows],
            **{name: [money(getattr(one, name)) for one in rows] for name in columns},
            "reward": [one.reward for one in rows],
            "asks": [one.asks for one in rows],
            "arms": {keys[arm]: [one.arms[arm] for one in rows] for arm in named},
            "others": [one.arms.total() - sum(one.arms[arm] for arm in named) for one in rows],
        }


@dataclass(slots=True)
class Bucket:
    """A stretch of time: the totals at its end, their extremes, and the asks within it."""

    start: int  # times of its first and last event, in µs
    end: int = 0
    spent: int = 0
    held: int = 0
    budget: int = 0
    reward: float = 0.0
    asks: int = 0
    low: int = 0  # least and most of spent + held
    high: int = 0
    arms: Counter[int] = field(default_factory=Counter)  # asks by arm

    def add(self, totals: RunningTotals) -> None:
        """Extend it by one event."""
        used = totals.spent + totals.held
        self._extend(totals, totals.ts, used, used)

    def merge(self, later: Bucket) -> None:
        """Extend it by the bucket that follows."""
        self._extend(later, later.end, later.low, later.high)
        self.arms.update(later.arms)

    def _extend(self, last: RunningTotals | Bucket, end: int, low: int, high: int) -> None:
        self.end, self.reward, self.asks = end, last.reward, last.asks
        self.spent, self.held, self.budget = last.spent, last.held, last.budget
        self.low, self.high = min(self.low, low), max(self.high, high)


class RunningTotals:
    """The totals of a campaign after each event of its log.

    Only open decisions are kept, so a long log needs no more memory than a short one. After every
    event the totals equal those of the campaign's state, which a test checks.
    """

    def __init__(self) -> None:
        self.seq = self.ts = 0  # of the last event
        self.budget = self.spent = self.held = 0  # in units
        self.asks, self.reward = 0, 0.0
        self.arms: list[str] = []  # their keys, in the order in which they were added
        self._open: dict[str, DecisionRecord] = {}

    def follow(self, event: Event) -> int:
        """Apply the next event; return what it adds to the spending of its decision."""
        kinds.check_kind(event)
        before = self.spent
        kind, body = event.kind, event.body
        if kind in kinds.DECISIONS:
            self._follow_decision(event)
        elif kind == kinds.CREATED:
            self.budget = body["budget"]
            self.arms = [key for key, _ in body["arms"]]
        elif kind == kinds.ARM_ADDED:
            self.arms.append(body["key"])
        elif kind == kinds.BUDGET_SET:
            self.budget = body["budget"]
        elif kind == kinds.RECONCILED:
            self.spent += body["gap"]
        self.seq, self.ts = event.seq, event.ts
        return self.spent - before

    def _follow_decision(self, event: Event) -> None:
        if event.kind in kinds.GRANTS:
            self._open[event.decision] = one = make_record(event)
            self.held += one.hold
            self.asks += 1
            return
        one = self._open.get(event.decision) or DecisionRecord(**event.body["was"])
        was_open, charged, reward = one.money in OPEN, one.charged, one.reward
        counted = one.rewarded in _COUNTED
        one.apply(event)
        if was_open and one.money not in OPEN:
            self.held -= one.hold
        self.spent += one.charged - charged
        if "reward" in event.body and one.rewarded != "late":
            if event.kind == kinds.CORRECTED and counted:
                self.reward -= reward or 0.0
            self.reward += one.reward or 0.0
        if one.done:
            self._open.pop(event.decision, None)
