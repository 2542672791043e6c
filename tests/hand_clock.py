"""A clock that stands still until it is told to go, or is set wrongly."""

from __future__ import annotations

from uuid import uuid4

from bursar.campaign import Campaign
from bursar.campaign.state import State

DAY = 86_400
MORNING = 19_676 * DAY + 6 * 3600  # 2023-11-15, 06:00 UTC


class HandClock:
    """Seconds that a test moves by hand."""

    def __init__(self, now: int = MORNING) -> None:
        self.now = now
        self.run = 0.0
        self.name = f"by hand {uuid4().hex}"  # a store may see many of them

    def wall(self) -> int:
        return round(self.now * 1e6)

    def steady(self) -> int:
        return round(self.run * 1e6)

    def boot(self) -> str:
        return self.name

    def go(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.run += seconds

    def set(self, seconds: float) -> None:
        """Put the hands forward or back; no time passes."""
        self.now += seconds


def folded(campaign: Campaign) -> State:
    """Return the state that all events of a campaign add up to, from the first one on."""
    first, *rest = campaign.events()
    state = State(first)
    for event in rest:
        state.apply(event)
    return state


def live_state(campaign: Campaign) -> State:
    """Return the state that a campaign has in memory."""
    state: State = campaign.execute(lambda transaction: transaction.state)
    return state
