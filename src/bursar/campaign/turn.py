"""A turn: one campaign, held still by a session, and the events that happen in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bursar.campaign.alarm import raise_alarms
from bursar.campaign.recall import choice_of
from bursar.campaign.records import Choice
from bursar.campaign.state import State
from bursar.errors import UnknownArm, UnknownDecision, nearest
from bursar.ledger import Event, Session

__all__ = ["Turn"]


class Turn(Struct):
    """What the rules of a campaign look at and write to."""

    state: State
    session: Session
    now: int
    is_steady: Callable[[int], bool]  # whether a clock that shows this can be believed
    events: list[Event] = []
    granted: bool = False  # whether the last word on what is available was a grant
    broken: bool = False  # whether the state can no longer be trusted

    def emit(self, kind: str, decision: str = "", **body: Any) -> Event:
        """Let something happen: number it, stamp it later than all before, take it into account."""
        return self.happen(kind, decision, body)

    def happen(self, kind: str, decision: str, body: dict[str, Any]) -> Event:
        """Do as :meth:`emit` does, for those who have the body."""
        state, now = self.state, self.now
        event = Event(state.seq + 1, now if now > state.ts else state.ts + 1, kind, decision, body)
        try:
            state.apply(event)
        except BaseException:
            self.broken = True
            raise
        if kind == "asked":
            self.granted = True
        elif self.granted and state.budget < state.spent + state.held:
            self.granted = False  # a cut or an overrun after a grant is no fault of the grant
        self.events.append(event)
        if state.brain.noticed:
            raise_alarms(self)
        return event

    def find(self, decision: str) -> tuple[Choice | None, bool]:
        """Return a decision, and whether it had to be brought back from the log."""
        here = self.state.choices.get(decision)
        if here is not None:
            return here, False
        fresh = [event for event in self.events if event.decision == decision]
        return choice_of([*self.session.of(decision), *fresh], self.state.arms), True

    def known(self, decision: str) -> tuple[Choice, bool]:
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
