"""How a campaign stands: its money and its rules, in one look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from bursar.campaign.plain import plain
from bursar.campaign.records import OPEN, Cap
from bursar.campaign.state import State, day_of

__all__ = ["Status", "status_of"]


@dataclass(frozen=True)
class Status:
    """A campaign at one moment; all numbers belong together.

    Attributes
    ----------
    name, state, policy, currency : str
        As it was made; active, paused, overdrawn, exhausted, unreconciled or closed.
    exponent : int
        Decimals of its money.
    budget, spent, held, available, overrun : Decimal
        Its money.
    day_cap, day_spent, day_held : Decimal
        Of today (UTC); the cap is None if there is none.
    arms, open, asks : int
        Arms that are not retired, decisions that wait, decisions made.
    max_asks : int
        How many decisions of the cheapest arm fit into what is available.
    reward : float
        What was brought in all.
    version, seq : int
        Number of the last change of rules, and of the last event.
    at : datetime
        Time of the last event.
    oldest_hold : datetime or None
        When the oldest open hold was made.
    reward_range : (float, float)
        The least and most that one decision can bring.
    hold : str
        The rule of what an ask reserves.
    """

    name: str
    state: str
    policy: str
    currency: str
    exponent: int
    budget: Decimal
    spent: Decimal
    held: Decimal
    available: Decimal
    overrun: Decimal
    day_cap: Decimal | None
    day_spent: Decimal
    day_held: Decimal
    arms: int
    open: int
    asks: int
    max_asks: int
    reward: float
    version: int
    seq: int
    at: datetime
    oldest_hold: datetime | None
    reward_range: tuple[float, float]
    hold: str

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = plain(self)
        return found


def status_of(state: State, now: int) -> Status:
    """Return how a campaign stands."""
    config, amount = state.config, state.config.coin.amount
    today = state.days.get(day_of(now), Cap())
    held = [choice.ts for choice in state.choices.values() if choice.money in OPEN]
    usable = [n for n, arm in enumerate(state.arms) if arm.state == "active"]
    least = min((state.hold_of(number) for number in usable), default=0)
    return Status(
        state.name, state.state, config.policy, config.coin.currency, config.coin.exponent,
        amount(state.budget), amount(state.spent), amount(state.held), amount(state.available),
        amount(state.overrun), None if state.day_cap is None else amount(state.day_cap),
        amount(today.spent), amount(today.held),
        sum(arm.state != "retired" for arm in state.arms), len(state.choices), state.asks,
        max(state.available, 0) // least if least else 0, state.reward, state.version, state.seq,
        datetime.fromtimestamp(state.ts / 1e6, UTC),
        datetime.fromtimestamp(min(held) / 1e6, UTC) if held else None,
        config.reward_range, config.hold,
    )  # fmt: skip
