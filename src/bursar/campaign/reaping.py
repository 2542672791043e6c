"""What happens by itself: holds that lapse or are released, rewards that never came."""

from __future__ import annotations

import heapq

from bursar.campaign.records import OPEN, Choice
from bursar.campaign.turn import Turn

__all__ = ["reap"]

_MOST = 1000  # a turn; the rest comes at the next


def reap(turn: Turn) -> int:
    """End what is overdue; return how many holds and waits ended."""
    state = turn.state
    if not (state.deadlines and state.deadlines[0][0] <= turn.now and turn.is_steady(turn.now)):
        return 0
    before, looked = len(turn.events), 0
    while state.deadlines and state.deadlines[0][0] <= turn.now and looked < _MOST:
        _, decision = heapq.heappop(state.deadlines)
        choice = state.choices.get(decision)
        if choice is not None:
            looked += 1
            _look_at(turn, choice)
    return len(turn.events) - before


def _look_at(turn: Turn, choice: Choice) -> None:
    state = turn.state
    if choice.money in OPEN and choice.expires <= turn.now:
        if state.config.ask_ttl is not None and choice.money == "held":
            turn.emit("released", choice.id)  # it was never confirmed: no money has moved
        else:
            charge = choice.hold if state.config.on_lapse == "charge" else 0
            turn.emit("lapsed", choice.id, charge=charge)
    if choice.id in state.choices and choice.rewarded == "pending" and choice.due <= turn.now:
        turn.emit("defaulted", choice.id, reward=state.config.default_reward)
    if choice.id in state.choices:
        heapq.heappush(state.deadlines, (state.next_look(choice), choice.id))
