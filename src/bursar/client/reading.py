"""What answers say, as the things that the embedded campaign returns."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from bursar.campaign import ArmView, Decision, Explanation, Forecast
from bursar.client.amount import exponent_of
from bursar.client.problem import error_of
from bursar.errors import BursarError
from bursar.ledger import Event
from bursar.money import Coin

__all__ = [
    "arm_of", "decision_of", "event_of", "explanation_of", "forecast_of", "made", "result_of",
]  # fmt: skip

T = TypeVar("T")

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def made(kind: type[T], data: Any) -> T:
    """Return a thing of its plain data; members that this version does not know are passed over."""
    return msgspec.convert(data, kind)


def decision_of(data: dict[str, Any], replayed: bool = False) -> Decision:
    """Return a decision."""
    coin = Coin(exponent_of(data["hold"]))
    cost = data["cost"]
    return Decision(
        data["id"], data["arm"], data["seq"], coin, coin.units("hold", data["hold"]),
        _microseconds(data["at"]), _microseconds(data["expires_at"]), data["propensity"],
        data["constrained"], bool(data.get("replayed")) or replayed, data["money"],
        data["reward_state"], None if cost is None else coin.units("cost", cost), data["reward"],
        data["context"],
    )  # fmt: skip


def result_of(data: dict[str, Any]) -> Decision | BursarError:
    """Return what became of one of many: a decision, or the error in its place."""
    if data.get("decision") is not None:
        return decision_of(data["decision"])
    return error_of(data["problem"], int(data["status"]))


def event_of(data: dict[str, Any]) -> Event:
    """Return an event of the log."""
    return Event(data["seq"], data["ts"], data["kind"], data["decision"], data["body"])


def arm_of(data: dict[str, Any]) -> ArmView:
    """Return how an arm stands."""
    ratio, reward = data["ratio"], data["reward"]
    if ratio is not None and ratio["value"] is None:  # reward for nothing: the sign is the reward's
        ratio = ratio | {"value": math.copysign(math.inf, reward["value"])}
    return made(ArmView, _rows(data | {"ratio": ratio}))


def explanation_of(data: dict[str, Any]) -> Explanation:
    """Return why a decision was what it was."""
    options = [one | {"arm": _plain_arm(one["arm"])} for one in data["options"]]
    if data["how"] in ("index", "first") or any(one["index"] is not None for one in options):
        # a policy that has an index has one for every arm: JSON has no word for infinity
        options = [one | {"index": _or(one["index"], math.inf)} for one in options]
    return made(Explanation, data | {"options": options})


def forecast_of(data: dict[str, Any]) -> Forecast:
    """Return what is to come."""
    return made(Forecast, _rows(data))


def _plain_arm(data: dict[str, Any]) -> dict[str, Any]:
    arm = arm_of(data)
    return {name: getattr(arm, name) for name in arm.__dataclass_fields__}


def _rows(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with estimates as rows, and what JSON cannot say about their ends put back."""
    return {
        name: (
            [_or(one["value"], math.inf), _or(one["low"], -math.inf), _or(one["high"], math.inf)]
            if isinstance(one, dict) and set(one) == {"value", "low", "high"}
            else one
        )
        for name, one in data.items()
    }


def _or(value: float | None, infinite: float) -> float:
    return infinite if value is None else value


def _microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _START) // _MICROSECOND
