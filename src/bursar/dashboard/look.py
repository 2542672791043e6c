"""One look at a campaign: everything that a page shows of it, taken together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from bursar.campaign import ArmView, Campaign, Decision, Forecast
from bursar.service.series import Series

if TYPE_CHECKING:
    from bursar.campaign.status import Status

__all__ = ["Look", "is_stuck", "lately", "look"]

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Look:
    """What a campaign was at one moment."""

    status: Status
    arms: list[ArmView]
    forecast: Forecast
    holds: list[Decision]  # oldest first
    alarms: list[str]
    lately: float | None  # reward per unit of cost over the last tenth of what was spent
    now: datetime

    @property
    def stuck(self) -> list[Decision]:
        """Open decisions that should have had an outcome by now."""
        return [one for one in self.holds if is_stuck(one, self.now)]

    @property
    def smallest_hold(self) -> Decimal | None:
        """What the cheapest ask reserves."""
        return min((arm.hold for arm in self.arms if arm.state == "active"), default=None)


def look(campaign: Campaign, series: Series | None = None) -> Look:
    """Look at a campaign; waits for its ledger, so call it in a thread."""
    return Look(
        campaign.status(),
        campaign.arms(),
        campaign.forecast(),
        campaign.holds(),
        campaign.alarms,
        None if series is None else lately(series),
        datetime.now(UTC),
    )


def is_stuck(one: Decision, now: datetime) -> bool:
    """Tell whether a decision waits for an hour, or for half of the time it has."""
    return now - one.at >= min(_HOUR, (one.expires_at - one.at) / 2)


def lately(series: Series) -> float | None:
    """Return reward per unit of cost over the last tenth of what was spent."""
    if not series.complete:
        return None  # the end of what was read is not now
    rows = series.thinned(400)
    if not rows or rows[-1].spent <= 0:
        return None
    end = rows[-1]
    start = next((one for one in reversed(rows) if one.spent <= 0.9 * end.spent), None)
    before = (start.spent, start.reward) if start is not None else (0, 0.0)
    cost = float(series.coin.amount(end.spent - before[0]))
    return (end.reward - before[1]) / cost if cost > 0.0 else None
