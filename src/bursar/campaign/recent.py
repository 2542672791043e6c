"""What the newest part of the log tells: who was asked, how fast money went, what goes together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bursar.checks import Floats
from bursar.ledger import Event

__all__ = ["DAY", "Recent", "recent_of"]

DAY = 86_400_000_000  # µs
_PAIRS = 30  # costs and rewards of an arm before they tell how they go together


class Recent(NamedTuple):
    """Decisions of the last days, one number each, the oldest first."""

    arm: Floats
    gap: Floats  # days until the next one, or until now
    cost: Floats  # in the user's units; NaN while it is not known
    reward: Floats

    def shares(self, arms: int) -> Floats:
        """Return the share of each arm."""
        counts = np.bincount(self.arm.astype(np.intp), minlength=arms).astype(np.float64)
        return np.asarray(counts / max(counts.sum(), 1.0))

    def covariance(self, arm: int) -> float:
        """Return that of reward and cost of an arm; 0 if too little is known."""
        mine = (self.arm == arm) & ~np.isnan(self.cost) & ~np.isnan(self.reward)
        if np.count_nonzero(mine) < _PAIRS:
            return 0.0
        return float(np.cov(self.reward[mine], self.cost[mine], bias=True)[0, 1])

    def rate(self, costs: Floats) -> tuple[float, float, float] | None:
        """Return money a day, its standard error, and the variance of a gap; None without any.

        Decisions without a cost count with the mean ``costs`` of their arm. The error is that of a
        ratio of two means: it sees bursts, but neither nights nor weekends.
        """
        spent = np.where(np.isnan(self.cost), costs[self.arm.astype(np.intp)], self.cost)
        if spent.size < 2 or spent.sum() <= 0.0 or self.gap.sum() <= 0.0:
            return None
        rate = float(spent.sum() / self.gap.sum())
        apart = float(np.var(spent - rate * self.gap, ddof=1))
        error = float(np.sqrt(apart / spent.size) / self.gap.mean())
        return rate, error, apart / rate**2


def recent_of(events: Iterable[Event], now: int, days: float, unit: float) -> Recent:
    """Return the decisions of the last days that were not given back."""
    found: dict[str, list[float]] = {}
    for event in events:
        body = event.body
        if event.kind == "asked" and event.ts >= now - days * DAY:
            found[event.decision] = [event.ts, body["arm"], np.nan, np.nan]
        elif event.decision in found:
            row = found[event.decision]
            if event.kind in ("voided", "released"):
                del found[event.decision]
            elif event.kind == "lapsed":
                row[2] = body["charge"] * unit
            else:
                row[2] = body["cost"] * unit if "cost" in body else row[2]
                brought = body.get("reward")
                row[3] = row[3] if brought is None else brought
    table = np.array(list(found.values())).reshape(-1, 4)
    times = np.append(table[:, 0], max(now, table[-1, 0] if len(table) else 0))
    return Recent(table[:, 1], np.diff(times) / DAY, table[:, 2], table[:, 3])
