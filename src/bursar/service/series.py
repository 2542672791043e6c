"""The history of a campaign, thinned out: at most 2,000 buckets, however long the log is."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import replace
from itertools import islice
from typing import Any

from bursar.campaign.records import MADE
from bursar.errors import InvalidInput, UnknownCampaign
from bursar.ledger import Event, Store
from bursar.money import Coin
from bursar.service.bucket import Bucket
from bursar.service.flow import Flow

__all__ = ["MOST", "Series", "Shelf"]

MOST = 2000
_FINEST = 1000  # µs that the first buckets are wide
_NAMED = 30  # arms with columns of their own, those with the most asks
_CHANGES = 500  # of money and rules, the newest
_USUAL = frozenset(
    (
        "asked",
        "confirmed",
        "told",
        "defaulted",
        "voided",
        "released",
        "lapsed",
        "policy-error",
        "policy-slow",
        "changed",
    )
)
_PIECE = 20_000  # events that one look at the log takes in


class Series:
    """The history of one campaign; follows its log as that grows.

    Buckets are equally wide in time; when there are too many, each takes in its neighbour and the
    width doubles. Times without events have no bucket. The newest changes of money and rules, which
    are rare in a long log, are noted on the way (``changes``).

    Parameters
    ----------
    most : int
        Buckets to keep.
    """

    def __init__(self, most: int = MOST) -> None:
        if most < 2:
            raise InvalidInput(f"a series needs 2 buckets or more, got {most!r}")
        self.most, self.width = most, _FINEST
        self.flow = Flow()
        self.coin = Coin()
        self.complete = False
        self.buckets: dict[int, Bucket] = {}
        self.changes: deque[Event] = deque(maxlen=_CHANGES)
        self._lock = threading.Lock()

    def follow(self, event: Event) -> None:
        """Take the next event of the log into account."""
        if event.kind == "created":
            self.coin = Coin(**event.body["config"]["coin"])
        self.flow.follow(event)
        if event.kind not in _USUAL:
            self.changes.append(event)
        place = event.ts // self.width
        last = self.buckets.get(place)
        if last is not None:
            last.stands(self.flow)
        else:
            last = self.buckets[place] = Bucket.at(self.flow)
        if event.kind in MADE:
            last.arms[event.body["arm"]] += 1
        while len(self.buckets) > self.most:
            self.widen()

    def widen(self) -> None:
        """Make buckets twice as wide."""
        self.width *= 2
        merged: dict[int, Bucket] = {}
        for place, bucket in self.buckets.items():
            before = merged.setdefault(place // 2, bucket)
            if before is not bucket:
                before.take(bucket)
        self.buckets = merged

    def advance(self, store: Store, name: str, piece: int = _PIECE) -> bool:
        """Read on in the log, a piece at most; return whether that was all there is."""
        with self._lock:
            read = 0
            for event, _ in islice(store.read(name, self.flow.seq), piece):
                self.follow(event)
                read += 1
            self.complete = read < piece
            return self.complete

    def thinned(self, points: int = MOST) -> list[Bucket]:
        """Return no more buckets than that many; neighbours are merged, extremes are kept."""
        with self._lock:
            kept = [replace(one, arms=one.arms.copy()) for one in self.buckets.values()]
        together = -(-len(kept) // max(points, 1))
        found: list[Bucket] = []
        for number, one in enumerate(kept):
            if number % together:
                found[-1].take(one)
            else:
                found.append(one)
        return found

    def as_dict(self, points: int = MOST) -> dict[str, Any]:
        """Return the history as columns: times in seconds, money as decimal texts."""
        if not 2 <= points <= MOST:
            raise InvalidInput(f"points must be from 2 to {MOST:,}, got {points!r}")
        rows, money = self.thinned(points), self.coin.text
        total = sum((one.arms for one in rows), start=Counter())
        named = sorted(sorted(range(len(self.flow.arms)), key=lambda n: -total[n])[:_NAMED])
        return {
            "seq": self.flow.seq,
            "complete": self.complete,
            "currency": self.coin.currency,
            "t": [one.end / 1e6 for one in rows],
            "start": [one.start / 1e6 for one in rows],
            "spent": [money(one.spent) for one in rows],
            "held": [money(one.held) for one in rows],
            "budget": [money(one.budget) for one in rows],
            "low": [money(one.low) for one in rows],
            "high": [money(one.high) for one in rows],
            "reward": [one.reward for one in rows],
            "asks": [one.asks for one in rows],
            "arms": {
                self.flow.arms[number]: [one.arms[number] for one in rows] for number in named
            },
            "others": [
                sum(one.arms.values()) - sum(one.arms[number] for number in named) for one in rows
            ],
        }


class Shelf:
    """The series of all campaigns of a store, each made when somebody asks for it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._series: dict[str, Series] = {}
        self._lock = threading.Lock()

    def of(self, name: str, pieces: int = 50) -> Series:
        """Return the series of a campaign, brought up to date as far as so many pieces of the log.

        What ``complete`` says is whether that was the whole log; ask again for the rest.
        """
        with self._lock:
            series = self._series.setdefault(name, Series())
        try:
            for _ in range(pieces):
                if series.advance(self.store, name):
                    break
        except UnknownCampaign:
            self._series.pop(name, None)  # names that anybody makes up are not kept
            raise
        return series
