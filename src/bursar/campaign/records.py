"""What a campaign knows of an arm and of a decision; changed by events only.

They are msgspec structs rather than dataclasses: one is made and dropped at every ask, and a
struct is made in C. None of them can be part of a cycle, so the garbage collector need not look.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

__all__ = [
    "OPEN",
    "Arm",
    "ArmChange",
    "ArmStatistics",
    "Balance",
    "DecisionRecord",
    "changes_of",
]

OPEN = ("held", "confirmed")
"""States of the money of a decision in which its hold still counts."""


class Balance(Struct, gc=False):
    """What may be spent within a scope, and what is."""

    cap: int | None = None
    spent: int = 0
    held: int = 0

    def room(self) -> int | None:
        """Return what is left, or None if there is no cap."""
        return None if self.cap is None else self.cap - self.spent - self.held

    def within(self, room: int) -> int:
        """Return what is left of this cap and of a wider one."""
        return room if self.cap is None else min(room, self.cap - self.spent - self.held)


class ArmStatistics(Struct, gc=False, frozen=True):
    """A change of an arm's mean cost or reward that a test found; means in the user's units."""

    what: str  # cost, reward
    seq: int
    ts: int
    before: float
    after: float
    newer: int  # outcomes that the mean after it is of
    reset: bool  # whether the arm was learned anew from there


class Arm(Struct, gc=False):
    """One thing that money can go to."""

    key: str
    max_cost: int
    state: str = "active"  # active, paused, retired
    open: int = 0
    asks: int = 0
    overruns: int = 0
    last: int = 0  # time of the last ask
    money: Balance = field(default_factory=Balance)
    costs: list[int] = []  # the newest, for quantile holds
    reset: int = 0  # number of the event since which it is learned
    changed: dict[str, ArmStatistics] = {}  # the newest change of its cost, and of its reward


class DecisionRecord(Struct, gc=False):
    """A decision: which arm, what it holds, and what became of it."""

    id: str
    seq: int
    ts: int
    arm: int
    hold: int
    day: int
    expires: int
    due: int
    fingerprint: str
    propensity: float | None = None
    constrained: bool = False
    context: dict[str, Any] | None = None  # what the asker wanted to have noted
    money: str = "held"  # held, confirmed, settled, voided, released, lapsed
    rewarded: str = "pending"  # pending, observed, defaulted, late, none
    cost: int | None = None
    reward: float | None = None
    charged: int = 0  # what of it is in `spent`
    learned: int = 0  # number of the event at which it was learned from
    reports: dict[str, str] = {}

    @property
    def done(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.money not in OPEN and self.rewarded != "pending"


# ==== campaign.arm_change
# A change of an arm that was noticed: its price, or what it brings, is not what it was.


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
