"""A transaction: one campaign held still, and events that are committed together."""

import heapq
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bursar.campaign.events import ASKED, CHANGED, DEFAULTED, LAPSED, RELEASED
from bursar.campaign.records import OPEN, DecisionRecord, load_decision
from bursar.campaign.state import State
from bursar.errors import UnknownArm, UnknownDecision, suggest
from bursar.ledger import Event, LogWriter

_MOST = 1000  # decisions whose deadlines one transaction looks at; the next one goes on


class Transaction(Struct, gc=False):
    """What a command reads and writes; it is in no cycle that would need the garbage collector."""

    state: State
    writer: LogWriter
    now: int
    is_steady: Callable[[int], bool]  # whether a clock that shows this time can be trusted
    events: list[Event] = []
    granted: bool = False  # whether the newest change of what is available is a grant
    broken: bool = False  # whether the state can no longer be trusted

    def append_event(self, kind: str, body: dict[str, Any], decision: str = "") -> None:
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
            _append_noticed(self)

    def find_decision(self, decision: str) -> tuple[DecisionRecord | None, bool]:
        """Return a decision or None, and whether it had to be loaded from the log."""
        record = self.state.decisions.get(decision)
        if record is not None:
            return record, False
        events = self.writer.decision_events(decision)
        events += [event for event in self.events if event.decision == decision]
        return load_decision(events, self.state.arms), True

    def get_decision(self, decision: str) -> tuple[DecisionRecord, bool]:
        """Return a decision as :meth:`find_decision` does, or raise UnknownDecision."""
        record, loaded = self.find_decision(decision)
        if record is None:
            raise UnknownDecision(
                f"{self.state.name} has no decision {decision!r}; pass the id that an ask returned"
            )
        return record, loaded

    def arm_number(self, key: str) -> int:
        """Return the number of an arm; raise UnknownArm if there is none."""
        if key not in self.state.keys:
            raise UnknownArm(f"{self.state.name} has no arm {key!r}{suggest(key, self.state.keys)}")
        return self.state.keys[key]


def _append_noticed(transaction: Transaction) -> None:
    """Append an event for each change that the tests found; each test begins again from there."""
    state = transaction.state
    noticed, reset = state.learner.noticed, state.config.on_change == "reset"
    while noticed:
        number, what = next(iter(noticed))
        found = noticed.pop((number, what))
        body = {
            "key": state.arms[number].key, "what": what, "before": found.before,
            "after": found.after, "older": found.older, "newer": found.newer, "reset": reset,
        }  # fmt: skip
        transaction.append_event(CHANGED, body)


def release_expired(transaction: Transaction) -> int:
    """End holds and waits for rewards that are overdue; return how many events that took."""
    deadlines, now = transaction.state.deadlines, transaction.now
    if not (deadlines and deadlines[0][0] <= now and transaction.is_steady(now)):
        return 0
    before, seen = len(transaction.events), 0
    while deadlines and deadlines[0][0] <= now and seen < _MOST:
        record = transaction.state.decisions.get(heapq.heappop(deadlines)[1])
        if record is not None:
            seen += 1
            _expire(transaction, record)
    return len(transaction.events) - before


def _expire(transaction: Transaction, record: DecisionRecord) -> None:
    state, now = transaction.state, transaction.now
    if record.money in OPEN and record.expires <= now:
        if state.config.ask_ttl is not None and record.money == "held":
            transaction.append_event(RELEASED, {}, record.id)  # not confirmed: no money has moved
        else:
            charge = record.hold if state.config.on_lapse == "charge" else 0
            transaction.append_event(LAPSED, {"charge": charge}, record.id)
    if record.id in state.decisions and record.rewarded == "pending" and record.due <= now:
        transaction.append_event(DEFAULTED, {"reward": state.config.default_reward}, record.id)
    if record.id in state.decisions:
        heapq.heappush(state.deadlines, (state.next_deadline(record), record.id))
