"""A transaction: one campaign, held still by a session, and the events that happen in it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from bursar.campaign.events import (
    ASKED,
    CHANGED,
    CONFIRMED,
    CORRECTED,
    DEFAULTED,
    ENDINGS,
    LAPSED,
    OUTCOMES,
    RELEASED,
    unknown_kind,
)
from bursar.campaign.records import OPEN, Arm, DecisionRecord
from bursar.campaign.state import State, day_of
from bursar.errors import UnknownArm, UnknownDecision, nearest
from bursar.ledger import Event, LogWriter

__all__ = ["Transaction", "load_decision", "raise_alarms", "release_expired"]

# ==== campaign.alarm
# The alarm: the mean cost or reward of an arm is not what it was; a price or quality changed.


def raise_alarms(transaction: Transaction) -> None:
    """Let an event say what the tests have noticed; each test begins again from there."""
    state = transaction.state
    noticed, reset = state.learner.noticed, state.config.on_change == "reset"
    while noticed:
        number, what = next(iter(noticed))
        found = noticed.pop((number, what))
        transaction.append_event(
            CHANGED, key=state.arms[number].key, what=what, before=found.before,
            after=found.after, older=found.older, newer=found.newer, reset=reset,
        )  # fmt: skip


# ==== campaign.recall
# Bring a decision back that has left the memory: from its own events in the log.


def load_decision(events: Sequence[Event], arms: Sequence[Arm] = ()) -> DecisionRecord | None:
    """Return a decision as its events left it, or None if there are none.

    ``arms`` say since when each is learned: what was learned before stays as it was.
    """
    if not events:
        return None
    first, *rest = events
    body = first.body
    choice = DecisionRecord(
        first.decision, first.seq, first.ts, body["arm"], body["hold"], day_of(first.ts),
        body["expires"], body["due"], body["print"], body["p"], body["constrained"],
        body.get("context"),
    )  # fmt: skip
    reset = arms[choice.arm].reset if arms else 0
    for event in rest:
        _follow(choice, event, reset)
    return choice


def _follow(choice: DecisionRecord, event: Event, reset: int) -> None:
    body = event.body
    if event.kind == CONFIRMED:
        choice.money, choice.expires = "confirmed", body["expires"]
    elif event.kind in ENDINGS:
        choice.money, choice.charged = event.kind, body.get("charge", 0)
        if event.kind != LAPSED and choice.rewarded == "pending":
            choice.rewarded = "none"
    elif event.kind in OUTCOMES:
        if event.kind == CORRECTED and choice.learned > reset:
            choice.learned = 0
        if "report" in body:
            choice.reports[body["report"]] = body["print"]
        if "cost" in body:
            choice.cost = choice.charged = body["cost"]
            choice.money = "settled"
        if "reward" in body:
            choice.reward = body["reward"]
            late = "late" if body.get("late") else "observed"
            choice.rewarded = "defaulted" if event.kind == DEFAULTED else late
        known = choice.cost is not None and choice.reward is not None
        if known and choice.rewarded != "late" and not choice.learned:
            choice.learned = event.seq
    else:
        raise unknown_kind(event)


class Transaction(Struct):
    """What the rules of a campaign look at and write to."""

    state: State
    writer: LogWriter
    now: int
    is_steady: Callable[[int], bool]  # whether a clock that shows this can be believed
    events: list[Event] = []
    granted: bool = False  # whether the last word on what is available was a grant
    broken: bool = False  # whether the state can no longer be trusted

    def append_event(self, kind: str, decision: str = "", /, **body: Any) -> Event:
        """Append an event, stamped later than all before, and apply it to the state."""
        state, now = self.state, self.now
        event = Event(state.seq + 1, now if now > state.ts else state.ts + 1, kind, decision, body)
        try:
            state.apply(event)
        except BaseException:
            self.broken = True
            raise
        if kind == ASKED:
            self.granted = True
        elif self.granted and state.budget < state.spent + state.held:
            self.granted = False  # a cut or an overrun after a grant is no fault of the grant
        self.events.append(event)
        if state.learner.noticed:
            raise_alarms(self)
        return event

    def find(self, decision: str) -> tuple[DecisionRecord | None, bool]:
        """Return a decision, and whether it had to be brought back from the log."""
        here = self.state.decisions.get(decision)
        if here is not None:
            return here, False
        fresh = [event for event in self.events if event.decision == decision]
        return load_decision(
            [*self.writer.decision_events(decision), *fresh], self.state.arms
        ), True

    def known(self, decision: str) -> tuple[DecisionRecord, bool]:
        """Return a decision as :meth:`find` does; refuse one that was never made."""
        choice, recalled = self.find(decision)
        if choice is None:
            raise UnknownDecision(
                f"{self.state.name} never made a decision {decision!r}; pass what ask() returned"
            )
        return choice, recalled

    def arm(self, key: str) -> int:
        """Return the number of an arm."""
        if key not in self.state.keys:
            raise UnknownArm(f"{self.state.name} has no arm {key!r}{nearest(key, self.state.keys)}")
        return self.state.keys[key]


# ==== campaign.reaping
# What happens by itself: holds that lapse or are released, rewards that never came.

_MOST = 1000  # a transaction; the rest comes at the next


def release_expired(transaction: Transaction) -> int:
    """End what is overdue; return how many holds and waits ended."""
    state = transaction.state
    if not (
        state.deadlines
        and state.deadlines[0][0] <= transaction.now
        and transaction.is_steady(transaction.now)
    ):
        return 0
    before, looked = len(transaction.events), 0
    while state.deadlines and state.deadlines[0][0] <= transaction.now and looked < _MOST:
        _, decision = heapq.heappop(state.deadlines)
        choice = state.decisions.get(decision)
        if choice is not None:
            looked += 1
            _look_at(transaction, choice)
    return len(transaction.events) - before


def _look_at(transaction: Transaction, choice: DecisionRecord) -> None:
    state = transaction.state
    if choice.money in OPEN and choice.expires <= transaction.now:
        if state.config.ask_ttl is not None and choice.money == "held":
            transaction.append_event(
                RELEASED, choice.id
            )  # it was never confirmed: no money has moved
        else:
            charge = choice.hold if state.config.on_lapse == "charge" else 0
            transaction.append_event(LAPSED, choice.id, charge=charge)
    if (
        choice.id in state.decisions
        and choice.rewarded == "pending"
        and choice.due <= transaction.now
    ):
        transaction.append_event(DEFAULTED, choice.id, reward=state.config.default_reward)
    if choice.id in state.decisions:
        heapq.heappush(state.deadlines, (state.next_look(choice), choice.id))
