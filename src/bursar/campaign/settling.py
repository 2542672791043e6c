"""A decision in the hands of a ``with`` block: settled or given back, whatever happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bursar.campaign.decision import Decision
from bursar.campaign.words import safe
from bursar.checks import real
from bursar.errors import InvalidInput
from bursar.money import Amount

if TYPE_CHECKING:
    from bursar.campaign.campaign import Campaign

__all__ = ["Settling"]


class Settling:
    """A decision and what the block says of it."""

    def __init__(self, campaign: Campaign, decision: Decision) -> None:
        self._campaign = campaign
        self.decision = decision
        self._outcome: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decision, name)

    def settle(self, cost: Amount | None = None, reward: float | None = None) -> None:
        """Say what it cost and brought; booked when the block ends. The last word counts."""
        if cost is not None:
            self._campaign.coin.units("cost", cost)  # refused here, where it was said
            self._outcome["cost"] = cost
        if reward is not None:
            low, high = self._campaign.config.reward_range
            if not low <= real("reward", reward) <= high:
                raise InvalidInput(
                    f"reward must be in its range [{low:g}, {high:g}], got {reward!r}"
                )
            self._outcome["reward"] = reward

    def finish(self) -> None:
        """Book what was said; a block that said nothing of the cost leaves the hold to lapse."""
        if "cost" not in self._outcome:
            raise InvalidInput(
                f"the block of decision {self.id!r} ended without settle(cost=…); its hold stays"
                " until it lapses: tell its cost, or void it"
            )
        self._campaign.tell(self.decision, **self._outcome)

    def abandon(self, error: BaseException) -> None:
        """Book what was said before the block raised, or give the hold back."""
        if self._outcome:
            self._campaign.tell(self.decision, **self._outcome)
        else:
            self._campaign.void(
                self.decision, reason=safe(f"{type(error).__name__}: {error}"[:200])
            )
