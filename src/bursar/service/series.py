"""The history of a campaign, thinned out: at most 2,000 buckets, however long the log is."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from bursar.campaign.events import (
    ADOPTED,
    ARM_ADDED,
    BUDGET_SET,
    CONFIRMED,
    CORRECTED,
    CREATED,
    DEFAULTED,
    ENDINGS,
    GRANTS,
    OUTCOMES,
    RECONCILED,
    RULES,
    TOLD,
    check_kind,
)
from bursar.campaign.records import OPEN, DecisionRecord, load_decision
from bursar.errors import InvalidInput, UnknownCampaign
from bursar.ledger import Event, Store
from bursar.money import Coin

__all__ = ["MOST", "Bucket", "RunningTotals", "Series", "SeriesCache"]

# ==== service.flow
# The flow of money in a log: sums that follow each event, with little memory.


class RunningTotals:
    """Spent, held, budget, reward and asks of a campaign, as its events go by.

    It remembers open decisions only, so a long log needs no more memory than a short one. After
    every event the sums are those of the campaign; a test holds them against each other.

    Attributes
    ----------
    budget, spent, held : int
        Units of money.
    reward : float
        What was brought.
    asks : int
        Decisions so far.
    arms : list of str
        Keys of the arms, in the order they were added.
    """

    def __init__(self) -> None:
        self.seq = self.ts = 0
        self.budget = self.spent = self.held = self.asks = 0
        self.reward = 0.0
        self.arms: list[str] = []
        self._waiting: dict[str, DecisionRecord] = {}

    def follow(self, event: Event) -> int:
        """Take an event into account; return what it adds to the spending of its decision."""
        check_kind(event)
        before = self.spent
        kind, body = event.kind, event.body
        if kind in GRANTS:
            self._asked(event)
        elif kind in OUTCOMES:
            self._told(event)
        elif kind in ENDINGS:
            self._ended(event)
        elif kind == CONFIRMED:
            self._waiting[event.decision].money = "confirmed"
        elif kind == CREATED:
            self.budget = body["budget"]
            self.arms = [key for key, _ in body["arms"]]
        elif kind == ARM_ADDED:
            self.arms.append(body["key"])
        elif kind == BUDGET_SET:
            self.budget = body["budget"]
        elif kind == RECONCILED:
            self.spent += body["gap"]
        self.seq, self.ts = event.seq, event.ts
        return self.spent - before

    def _asked(self, event: Event) -> None:
        one = load_decision([event])
        assert one is not None  # it has an event
        self._waiting[event.decision] = one
        self.held += one.hold
        self.asks += 1

    def _told(self, event: Event) -> None:
        body = event.body
        one = self._waiting.get(event.decision) or DecisionRecord(**body["was"])
        if "cost" in body:
            if one.money in OPEN:
                self.held -= one.hold
            self.spent += body["cost"] - one.charged
            one.charged, one.money = body["cost"], "settled"
        if "reward" in body:
            self._rewarded(one, event.kind, body)
        if one.done:
            self._waiting.pop(event.decision, None)

    def _rewarded(self, one: DecisionRecord, kind: str, body: dict[str, Any]) -> None:
        counted = one.rewarded in ("observed", "defaulted") and one.reward is not None
        if kind == CORRECTED and counted:
            self.reward -= one.reward or 0.0
        late = kind == TOLD and body.get("late", False)
        one.reward = body["reward"]
        one.rewarded = "late" if late else "defaulted" if kind == DEFAULTED else "observed"
        if one.reward is not None and not late:
            self.reward += one.reward

    def _ended(self, event: Event) -> None:
        one = self._waiting[event.decision]
        self.held -= one.hold
        charge = event.body.get("charge", 0)
        self.spent += charge
        one.charged += charge
        one.money = event.kind
        if one.money != "lapsed" and one.rewarded == "pending":
            one.rewarded = "none"
        if one.done:
            self._waiting.pop(event.decision, None)


# ==== service.bucket
# A stretch of time in the history of a campaign.


@dataclass(slots=True)
class Bucket:
    """A stretch of time: how money stood at its end, its extremes, and the asks within."""

    start: int  # time of its first and last event, in µs
    end: int
    spent: int
    held: int
    budget: int
    reward: float
    asks: int
    low: int  # least and most of spent + held
    high: int
    arms: Counter[int] = field(default_factory=Counter)  # asks by arm

    @classmethod
    def at(cls, flow: RunningTotals) -> Bucket:
        """Return a bucket of one moment."""
        total = flow.spent + flow.held
        return cls(
            flow.ts, flow.ts, flow.spent, flow.held, flow.budget, flow.reward, flow.asks, total,
            total,
        )  # fmt: skip

    def stands(self, flow: RunningTotals) -> None:
        """Take a later moment in: how money stands now."""
        self.end, self.spent, self.held, self.budget = flow.ts, flow.spent, flow.held, flow.budget
        self.reward, self.asks = flow.reward, flow.asks
        total = flow.spent + flow.held
        self.low, self.high = min(self.low, total), max(self.high, total)

    def take(self, later: Bucket) -> None:
        """Become one with the bucket that follows: its end, and the extremes of both."""
        self.end, self.spent, self.held, self.budget = (
            later.end, later.spent, later.held, later.budget,
        )  # fmt: skip
        self.reward, self.asks = later.reward, later.asks
        self.low, self.high = min(self.low, later.low), max(self.high, later.high)
        self.arms.update(later.arms)


MOST = 2000
_FINEST = 1000  # µs that the first buckets are wide
_NAMED = 30  # arms with columns of their own, those with the most asks
_CHANGES = 500  # of money and rules, the newest
_MARKED = frozenset((*RULES, ADOPTED, CORRECTED))  # kinds of those changes
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
        self.flow = RunningTotals()
        self.coin = Coin()
        self.complete = False
        self.buckets: dict[int, Bucket] = {}
        self.changes: deque[Event] = deque(maxlen=_CHANGES)
        self._lock = threading.Lock()

    def follow(self, event: Event) -> None:
        """Take the next event of the log into account."""
        if event.kind == CREATED:
            self.coin = Coin(**event.body["config"]["coin"])
        self.flow.follow(event)
        if event.kind in _MARKED:
            self.changes.append(event)
        place = event.ts // self.width
        last = self.buckets.get(place)
        if last is not None:
            last.stands(self.flow)
        else:
            last = self.buckets[place] = Bucket.at(self.flow)
        if event.kind in GRANTS:
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


class SeriesCache:
    """The series of all campaigns of a store, each made when somebody asks for it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._series: dict[str, Series] = {}
        self._lock = threading.Lock()

    def get(self, name: str, pieces: int = 50) -> Series:
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
