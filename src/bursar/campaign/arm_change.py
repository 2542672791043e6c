"""A change of an arm that was noticed: its price, or what it brings, is not what it was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bursar.campaign.records import Arm

__all__ = ["ArmChange", "changes_of"]


@dataclass(frozen=True)
class ArmChange:
    """What was noticed, and when.

    Attributes
    ----------
    what : str
        "cost" or "reward".
    before, after : float
        The mean before it, and the mean of the outcomes since, in the user's units.
    outcomes : int
        How many there were since, when it was noticed: about as long ago it happened.
    at : datetime
        When it was noticed.
    seq : int
        Number of the event that says so.
    reset : bool
        Whether the arm is learned anew from there; if not, its means are of both.
    """

    what: str
    before: float
    after: float
    outcomes: int
    at: datetime
    seq: int
    reset: bool

    def __str__(self) -> str:
        return (
            f"mean {self.what} went from {self.before:.3g} to {self.after:.3g}"
            f" in {self.outcomes:,} outcomes before {self.at:%Y-%m-%d %H:%M}"
        )


def changes_of(arm: Arm) -> tuple[ArmChange, ...]:
    """Return the newest change of an arm's cost and of its reward, the latest one first."""
    found = sorted(arm.changed.values(), key=lambda one: -one.seq)
    return tuple(
        ArmChange(
            one.what, one.before, one.after, one.newer,
            datetime.fromtimestamp(one.ts / 1e6, UTC), one.seq, one.reset,
        )
        for one in found
    )  # fmt: skip
