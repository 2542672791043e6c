"""The alarm: the mean cost or reward of an arm is not what it was; a price or quality changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bursar.campaign.turn import Turn

__all__ = ["raise_alarms"]


def raise_alarms(turn: Turn) -> None:
    """Let an event say what the tests have noticed; each test begins again from there."""
    state = turn.state
    noticed, reset = state.brain.noticed, state.config.on_change == "reset"
    while noticed:
        number, what = next(iter(noticed))
        found = noticed.pop((number, what))
        turn.emit(
            "changed", key=state.arms[number].key, what=what, before=found.before,
            after=found.after, older=found.older, newer=found.newer, reset=reset,
        )  # fmt: skip
