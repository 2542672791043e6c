"""What a campaign may expect of the rest of its budget: as data, and in plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from bursar.campaign.plain import plain
from bursar.campaign.statistic import Estimate

__all__ = ["Forecast"]


@dataclass(frozen=True)
class Forecast:
    """What is to come if things go on as in the last 7 days; intervals are of 90%.

    Attributes
    ----------
    days : float or None
        How far it looks; None: until nothing fits.
    state : str
        What the campaign is now.
    plays, reward : Estimate or None
        Further decisions, and what they and the open ones will bring; None if nothing is known.
    rate : Estimate or None
        Money spent a day; None if nothing was spent lately.
    exhausted, exhausted_early, exhausted_late : datetime or None
        When nothing will fit any more.
    best : str or None
        The arm of the highest reward per cost so far.
    best_needs : Decimal or None
        The least that must be left for it to fit.
    then : tuple of str
        Arms that still fit when it no longer does.
    unusable, unusable_most : Decimal
        What will be left at the end that no arm can use: about, and at most.
    value_of_unit : Estimate or None
        What one more unit of budget would bring.
    margin : str or None
        The arm that most of it would go to.
    """

    days: float | None
    state: str
    plays: Estimate | None
    reward: Estimate | None
    rate: Estimate | None
    exhausted: datetime | None
    exhausted_early: datetime | None
    exhausted_late: datetime | None
    best: str | None
    best_needs: Decimal | None
    then: tuple[str, ...]
    unusable: Decimal
    unusable_most: Decimal
    value_of_unit: Estimate | None
    margin: str | None
    sentences: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = plain(self)
        return found

    def __str__(self) -> str:
        return " ".join(self.sentences)
