"""A stretch of time in the history of a campaign."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bursar.service.flow import Flow

__all__ = ["Bucket"]


@dataclass(slots=True)
class Bucket:
    """A stretch of time: how money stood at its end, its extremes, and the asks within."""

    start: int  # time of its first and last event, in µs
    end: int
    spent: int
    held: int
    budget: int
    reward: float
    asks: int
    low: int  # least and most of spent + held
    high: int
    arms: Counter[int] = field(default_factory=Counter)  # asks by arm

    @classmethod
    def at(cls, flow: Flow) -> Bucket:
        """Return a bucket of one moment."""
        total = flow.spent + flow.held
        return cls(
            flow.ts, flow.ts, flow.spent, flow.held, flow.budget, flow.reward, flow.asks, total,
            total,
        )  # fmt: skip

    def stands(self, flow: Flow) -> None:
        """Take a later moment in: how money stands now."""
        self.end, self.spent, self.held, self.budget = flow.ts, flow.spent, flow.held, flow.budget
        self.reward, self.asks = flow.reward, flow.asks
        total = flow.spent + flow.held
        self.low, self.high = min(self.low, total), max(self.high, total)

    def take(self, later: Bucket) -> None:
        """Become one with the bucket that follows: its end, and the extremes of both."""
        self.end, self.spent, self.held, self.budget = (
            later.end, later.spent, later.held, later.budget,
        )  # fmt: skip
        self.reward, self.asks = later.reward, later.asks
        self.low, self.high = min(self.low, later.low), max(self.high, later.high)
        self.arms.update(later.arms)
