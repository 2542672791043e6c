"""What an ask returns."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from bursar.campaign.records import Choice
from bursar.campaign.state import State
from bursar.money import Coin

__all__ = ["Decision"]


class Decision:
    """Which arm to play, and what may be spent on it; as it stood when it was returned.

    Attributes
    ----------
    id : str
        Name of the decision; asking again with it returns the same decision.
    arm : str
        Key of the arm.
    hold : Decimal
        What is reserved: the most it should cost.
    expires_at : datetime
        When the hold lapses without an outcome.
    propensity : float or None
        How likely this arm was; None if the policy draws in a way that nobody can tell.
    constrained : bool
        Whether arms were left out because they no longer fit into the budget.
    replayed : bool
        Whether this is the answer to an earlier ask with the same id.
    money, reward_state : str
        held, confirmed, settled, voided, released or lapsed; pending, observed, defaulted, late or
        none.
    cost : Decimal or None
        What it did cost, once that was told.
    reward : float or None
        What it brought, once that was told.
    seq : int
        Number of its event in the log.
    """

    __slots__ = (
        "_coin", "_cost", "_expires", "_hold", "arm", "constrained", "id", "money", "propensity",
        "replayed", "reward", "reward_state", "seq",
    )  # fmt: skip

    def __init__(self, coin: Coin, arm: str, choice: Choice, replayed: bool) -> None:
        self._coin = coin
        self._hold = choice.hold
        self._cost = choice.cost
        self._expires = choice.expires
        self.id = choice.id
        self.arm = arm
        self.propensity = choice.propensity
        self.constrained = choice.constrained
        self.replayed = replayed
        self.money = choice.money
        self.reward_state = choice.rewarded
        self.reward = choice.reward
        self.seq = choice.seq

    @classmethod
    def of(cls, state: State, choice: Choice, replayed: bool) -> Decision:
        """Return a decision of a campaign in the user's units."""
        return cls(state.config.coin, state.arms[choice.arm].key, choice, replayed)

    @property
    def hold(self) -> Decimal:
        """What is reserved."""
        return self._coin.amount(self._hold)

    @property
    def cost(self) -> Decimal | None:
        """What it did cost."""
        return None if self._cost is None else self._coin.amount(self._cost)

    @property
    def expires_at(self) -> datetime:
        """When the hold lapses."""
        return datetime.fromtimestamp(self._expires / 1e6, UTC)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        names = ("id", "arm", "_hold", "money", "reward_state", "_cost", "reward", "seq")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        outcome = "" if self.cost is None else f", cost={self.cost}, reward={self.reward}"
        return f"Decision({self.id!r}, arm={self.arm!r}, hold={self.hold}, {self.money}{outcome})"
