"""What answers say, as the things that the embedded campaign returns."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from bursar.campaign import ArmView, Decision, Explanation, Forecast
from bursar.campaign.events import check_kind
from bursar.client.transport import error_of
from bursar.errors import BursarError, InvalidInput
from bursar.ledger import Event
from bursar.money import Amount, Coin, Rounding
from bursar.validation import check_number

__all__ = [
    "amount_text",
    "decode_arm",
    "decode_as",
    "decode_decision",
    "decode_explanation",
    "decode_forecast",
    "decode_result",
    "decode_sent_event",
    "exponent_of",
    "reward_number",
]

# ==== client.amount
# Money on its way to a service: the checks of the embedded campaign, then decimal text.


def amount_text(
    name: str, value: Amount, exponent: int | None, rounding: Rounding | None = None
) -> tuple[str, Rounding | None]:
    """Return an amount as text, and the rounding that is left to the service.

    With the exponent of the campaign known, everything is decided here. Before the first answer it
    is not: then what no campaign takes is refused, and the exact value goes on its way.

    >>> amount_text("cost", "0.00310", 6), amount_text("cost", 0.1, 2, "up")
    (('0.003100', None), ('0.11', None))
    >>> amount_text("cost", 0.25, None, "up")
    ('0.25', 'up')
    """
    if exponent is not None:
        coin = Coin(exponent)
        return coin.text(coin.units(name, value, rounding)), None
    Coin(0).units(name, value, rounding or "up")  # a number, finite, 0 or more, below 10^18
    return f"{Decimal(value):f}", rounding


def exponent_of(amount: str) -> int:
    """Return the exponent of the campaign that wrote an amount: it writes all its digits.

    >>> exponent_of("0.004000"), exponent_of("12")
    (6, 0)
    """
    return len(amount.partition(".")[2])


def reward_number(reward: Any) -> float:
    """Return a reward; refuse what no campaign takes."""
    found = check_number("reward", reward)
    if not math.isfinite(found):
        raise InvalidInput(f"reward must be finite, got {reward!r}")
    return found


T = TypeVar("T")

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def decode_as(kind: type[T], data: Any) -> T:
    """Return a thing of its plain data; members that this version does not know are passed over."""
    return msgspec.convert(data, kind)


def decode_decision(data: dict[str, Any], replayed: bool = False) -> Decision:
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


def decode_result(data: dict[str, Any]) -> Decision | BursarError:
    """Return what became of one of many: a decision, or the error in its place."""
    if data.get("decision") is not None:
        return decode_decision(data["decision"])
    return error_of(data["problem"], int(data["status"]))


def decode_sent_event(data: dict[str, Any]) -> Event:
    """Return an event of the log; raise NewerSchema if this version does not know its kind."""
    event = Event(data["seq"], data["ts"], data["kind"], data["decision"], data["body"])
    check_kind(event)
    return event


def decode_arm(data: dict[str, Any]) -> ArmView:
    """Return how an arm stands."""
    ratio, reward = data["ratio"], data["reward"]
    if ratio is not None and ratio["value"] is None:  # reward for nothing: the sign is the reward's
        ratio = ratio | {"value": math.copysign(math.inf, reward["value"])}
    return decode_as(ArmView, _restore_infinity(data | {"ratio": ratio}))


def decode_explanation(data: dict[str, Any]) -> Explanation:
    """Return why a decision was what it was."""
    options = [one | {"arm": _plain_arm(one["arm"])} for one in data["options"]]
    if data["how"] in ("index", "first") or any(one["index"] is not None for one in options):
        # a policy that has an index has one for every arm: JSON has no word for infinity
        options = [one | {"index": _or(one["index"], math.inf)} for one in options]
    return decode_as(Explanation, data | {"options": options})


def decode_forecast(data: dict[str, Any]) -> Forecast:
    """Return what is to come."""
    return decode_as(Forecast, _restore_infinity(data))


def _plain_arm(data: dict[str, Any]) -> dict[str, Any]:
    arm = decode_arm(data)
    return {name: getattr(arm, name) for name in arm.__dataclass_fields__}


def _restore_infinity(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with the infinite ends of estimates, which JSON has no word for, put back."""
    infinite = {"value": math.inf, "low": -math.inf, "high": math.inf}
    return {
        name: (
            {end: _or(one[end], infinite[end]) for end in infinite}
            if isinstance(one, dict) and one.keys() == infinite.keys()
            else one
        )
        for name, one in data.items()
    }


def _or(value: float | None, infinite: float) -> float:
    return infinite if value is None else value


def _microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _START) // _MICROSECOND
