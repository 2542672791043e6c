"""What an ask returns."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bursar.campaign.config import printable
from bursar.campaign.records import DecisionRecord
from bursar.campaign.state import State
from bursar.errors import InvalidInput
from bursar.money import Amount, Coin
from bursar.validation import check_number

if TYPE_CHECKING:
    from bursar.campaign.campaign import Campaign

__all__ = ["Decision", "DecisionBlock", "make_decision"]


class Decision(Struct, frozen=True, gc=False):
    """Which arm to play, and what may be spent on it; as it stood when it was returned.

    Attributes
    ----------
    id : str
        Name of the decision; asking again with it returns the same decision.
    arm : str
        Key of the arm.
    hold : Decimal
        What is reserved: the most it should cost.
    at, expires_at : datetime
        When it was made; when the hold lapses without an outcome.
    propensity : float or None
        How likely this arm was; None if the policy draws in a way that nobody can tell.
    constrained : bool
        Whether arms were left out because they no longer fit into the budget.
    replayed : bool
        Whether this is the answer to an earlier call with the same id.
    money, reward_state : str
        held, confirmed, settled, voided, released or lapsed; pending, observed, defaulted, late or
        none.
    cost : Decimal or None
        What it did cost, once that was told.
    reward : float or None
        What it brought, once that was told.
    seq : int
        Number of its event in the log.
    context : dict or None
        What the asker wanted to have noted.
    """

    id: str
    arm: str
    seq: int
    coin: Coin
    hold_units: int
    ts: int
    expires: int
    propensity: float | None
    constrained: bool
    replayed: bool
    money: str
    reward_state: str
    cost_units: int | None
    reward: float | None
    context: dict[str, Any] | None

    @property
    def hold(self) -> Decimal:
        """What is reserved."""
        return self.coin.amount(self.hold_units)

    @property
    def cost(self) -> Decimal | None:
        """What it did cost."""
        return None if self.cost_units is None else self.coin.amount(self.cost_units)

    @property
    def at(self) -> datetime:
        """When it was made."""
        return datetime.fromtimestamp(self.ts / 1e6, UTC)

    @property
    def expires_at(self) -> datetime:
        """When the hold lapses."""
        return datetime.fromtimestamp(self.expires / 1e6, UTC)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        names = ("id", "arm", "hold_units", "money", "reward_state", "cost_units", "reward", "seq")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        outcome = "" if self.cost is None else f", cost={self.cost}, reward={self.reward}"
        return f"Decision({self.id!r}, arm={self.arm!r}, hold={self.hold}, {self.money}{outcome})"


def make_decision(state: State, choice: DecisionRecord, replayed: bool) -> Decision:
    """Return a decision of a campaign as it stands."""
    return Decision(
        choice.id, state.arms[choice.arm].key, choice.seq, state.config.coin, choice.hold,
        choice.ts, choice.expires, choice.propensity, choice.constrained, replayed,
        choice.money, choice.rewarded, choice.cost, choice.reward, choice.context,
    )  # fmt: skip


# ==== campaign.settling
# A decision in the hands of a ``with`` block: settled or given back, whatever happens.


class DecisionBlock:
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
            if not low <= check_number("reward", reward) <= high:
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
                self.decision, reason=printable(f"{type(error).__name__}: {error}"[:200])
            )
