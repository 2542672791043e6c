"""Conversion between the service's JSON and the types that an embedded campaign returns.

Members of a response that this version does not know are ignored.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from bursar import campaign
from bursar.campaign.events import check_kind
from bursar.client.transport import decode_error
from bursar.errors import BursarError
from bursar.ledger import Event
from bursar.money import Amount, Coin, Rounding
from bursar.validation import unwrap_scalar

if TYPE_CHECKING:
    from bursar.campaign import ArmView, Decision, Explanation, Forecast, LearnedHistory, Status

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode_amount(
    name: str, value: Amount, exponent: int | None, rounding: Rounding | None = None
) -> tuple[str, Rounding | None]:
    """Return an amount as text, and the rounding that is left to the service.

    If the exponent of the campaign is known, the amount is checked and rounded here. Before the
    first answer it is not: then only what no campaign accepts is refused.

    >>> encode_amount("cost", "0.00310", 6), encode_amount("cost", 0.1, 2, "up")
    (('0.003100', None), ('0.11', None))
    >>> encode_amount("cost", 0.25, None, "up")
    ('0.25', 'up')
    """
    if exponent is not None:
        coin = Coin(exponent)
        return coin.text(coin.units(name, value, rounding)), None
    Coin(0).units(name, value, rounding or "up")  # a finite number, 0 or more, below 10^18
    return f"{Decimal(unwrap_scalar(value)):f}", rounding


def decode_decision(data: dict[str, Any]) -> Decision:
    """Return a decision."""
    coin = Coin(len(data["hold"].partition(".")[2]))  # amounts have all digits of their campaign
    cost = data["cost"]
    return campaign.Decision(
        id=data["id"],
        arm=data["arm"],
        seq=data["seq"],
        coin=coin,
        hold_units=coin.units("hold", data["hold"]),
        ts=_microseconds(data["at"]),
        expires=_microseconds(data["expires_at"]),
        propensity=data["propensity"],
        constrained=data["constrained"],
        replayed=data["replayed"],
        money=data["money"],
        reward_state=data["reward_state"],
        cost_units=None if cost is None else coin.units("cost", cost),
        reward=data["reward"],
        context=data["context"],
    )


def decode_result(data: dict[str, Any]) -> Decision | BursarError:
    """Return the decision of one entry of a batch, or its error."""
    if data.get("decision") is not None:
        return decode_decision(data["decision"])
    return decode_error(data["problem"], int(data["status"]))


def decode_sent_event(data: dict[str, Any]) -> Event:
    """Return an event of the log; raise NewerSchema if this version does not know its kind."""
    event = Event(data["seq"], data["ts"], data["kind"], data["decision"], data["body"])
    check_kind(event)
    return event


def decode_status(data: dict[str, Any]) -> Status:
    """Return the status of a campaign."""
    return msgspec.convert(data, campaign.Status)


def decode_arm(data: dict[str, Any]) -> ArmView:
    """Return the view of an arm."""
    return msgspec.convert(_restore_arm(data), campaign.ArmView)


def decode_explanation(data: dict[str, Any]) -> Explanation:
    """Return the explanation of a decision."""
    options = [one | {"arm": _restore_arm(one["arm"])} for one in data["options"]]
    if data["how"] in ("index", "first") or any(one["index"] is not None for one in options):
        # a policy with an index has one for every arm; JSON has no infinity
        options = [
            one | {"index": -math.inf if one.get("waits") else math.inf}
            if one["index"] is None
            else one
            for one in options
        ]
    return msgspec.convert(data | {"options": options}, campaign.Explanation)


def decode_learned(data: dict[str, Any]) -> LearnedHistory:
    """Return what was learned of past outcomes."""
    return msgspec.convert(data, campaign.LearnedHistory)


def decode_forecast(data: dict[str, Any]) -> Forecast:
    """Return a forecast."""
    return msgspec.convert(_restore_infinity(data), campaign.Forecast)


def _restore_arm(data: dict[str, Any]) -> dict[str, Any]:
    ratio, reward = data["ratio"], data["reward"]
    if ratio is not None and ratio["value"] is None:  # a reward at no cost has the reward's sign
        ratio = ratio | {"value": math.copysign(math.inf, reward["value"])}
    return _restore_infinity(data | {"ratio": ratio})


def _restore_infinity(data: dict[str, Any]) -> dict[str, Any]:
    """Return data with the infinite ends of estimates, which JSON cannot express, restored."""
    infinite = {"value": math.inf, "low": -math.inf, "high": math.inf}
    return {
        name: (
            {end: infinite[end] if one[end] is None else one[end] for end in infinite}
            if isinstance(one, dict) and one.keys() == infinite.keys()
            else one
        )
        for name, one in data.items()
    }


def _microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
