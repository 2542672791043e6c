"""The flow of money in a log: sums that follow each event, with little memory."""

from __future__ import annotations

from typing import Any

from bursar.campaign.recall import choice_of
from bursar.campaign.records import MADE, OPEN, Choice
from bursar.ledger import Event

__all__ = ["Flow"]


class Flow:
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
        self._waiting: dict[str, Choice] = {}

    def follow(self, event: Event) -> int:
        """Take an event into account; return what it adds to the spending of its decision."""
        before = self.spent
        kind, body = event.kind, event.body
        if kind in MADE:
            self._asked(event)
        elif kind in ("told", "corrected", "defaulted"):
            self._told(event)
        elif kind in ("voided", "released", "lapsed"):
            self._ended(event)
        elif kind == "confirmed":
            self._waiting[event.decision].money = "confirmed"
        elif kind == "created":
            self.budget = body["budget"]
            self.arms = [key for key, _ in body["arms"]]
        elif kind == "arm-added":
            self.arms.append(body["key"])
        elif kind == "budget-set":
            self.budget = body["budget"]
        elif kind == "reconciled":
            self.spent += body["gap"]
        self.seq, self.ts = event.seq, event.ts
        return self.spent - before

    def _asked(self, event: Event) -> None:
        one = choice_of([event])
        assert one is not None  # it has an event
        self._waiting[event.decision] = one
        self.held += one.hold
        self.asks += 1

    def _told(self, event: Event) -> None:
        body = event.body
        one = self._waiting.get(event.decision) or Choice(**body["was"])
        if "cost" in body:
            if one.money in OPEN:
                self.held -= one.hold
            self.spent += body["cost"] - one.charged
            one.charged, one.money = body["cost"], "settled"
        if "reward" in body:
            self._rewarded(one, event.kind, body)
        if one.done:
            self._waiting.pop(event.decision, None)

    def _rewarded(self, one: Choice, kind: str, body: dict[str, Any]) -> None:
        counted = one.rewarded in ("observed", "defaulted") and one.reward is not None
        if kind == "corrected" and counted:
            self.reward -= one.reward or 0.0
        late = kind == "told" and body.get("late", False)
        one.reward = body["reward"]
        one.rewarded = "late" if late else "defaulted" if kind == "defaulted" else "observed"
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
