"""What answers say, as types: decisions are made of them, and the document describes them all."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from bursar.campaign import Decision
from bursar.campaign.orphan import Seal
from bursar.money import Coin

__all__ = ["DecisionShown", "shown"]


class DecisionShown(Struct, gc=False):
    """A decision: which arm, what it holds, and what became of it."""

    id: str
    campaign: str
    arm: str
    hold: str
    at: datetime
    expires_at: datetime
    propensity: float | None
    constrained: bool
    replayed: bool
    money: str
    reward_state: str
    cost: str | None
    reward: float | None
    seq: int
    context: dict[str, Any] | None
    token: str | UnsetType = UNSET


def shown(campaign: str, one: Decision, seal: Seal | None = None) -> DecisionShown:
    """Return a decision as it goes over the wire; with a seal, its token is told, too."""
    cost = one.cost_units
    return DecisionShown(
        one.id, campaign, one.arm, _text(one.coin, one.hold_units),
        datetime.fromtimestamp(one.ts / 1e6, UTC), datetime.fromtimestamp(one.expires / 1e6, UTC),
        one.propensity, one.constrained, one.replayed, one.money, one.reward_state,
        None if cost is None else _text(one.coin, cost), one.reward, one.seq, one.context,
        UNSET if seal is None else seal.token(campaign, one),
    )  # fmt: skip


@lru_cache(maxsize=4096)  # arms hold the same again and again
def _text(coin: Coin, units: int) -> str:
    return coin.text(units)
