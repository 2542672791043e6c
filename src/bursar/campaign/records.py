"""What a campaign knows of an arm and of a decision; changed by events only."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["OPEN", "Arm", "Cap", "Choice"]

OPEN = ("held", "confirmed")
"""States of the money of a decision in which its hold still counts."""


@dataclass(slots=True)
class Cap:
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


@dataclass(slots=True)
class Arm:
    """One thing that money can go to."""

    key: str
    max_cost: int
    state: str = "active"  # active, paused, retired
    open: int = 0
    asks: int = 0
    overruns: int = 0
    last: int = 0  # time of the last ask
    money: Cap = field(default_factory=Cap)
    costs: list[int] = field(default_factory=list)  # the newest, for quantile holds


@dataclass(slots=True)
class Choice:
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
    money: str = "held"  # held, confirmed, settled, voided, released, lapsed
    rewarded: str = "pending"  # pending, observed, defaulted, late, none
    cost: int | None = None
    reward: float | None = None
    charged: int = 0  # what of it is in `spent`
    learned: int = 0  # number of the event at which it was learned from
    reports: dict[str, str] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.money not in OPEN and self.rewarded != "pending"
