"""What bodies of requests may say; whatever else they say is refused by name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from bursar.campaign.campaign import DEFAULT
from bursar.service.key import SCOPES

__all__ = [
    "Act", "ArmChange", "Ask", "Change", "Correction", "NewArm", "NewCampaign", "NewKey",
    "Outcome", "Outcomes", "Reconciliation", "Rotation", "Told", "Void", "VoidMany",
]  # fmt: skip

_DIGITS = {"pattern": r"^[0-9]{1,18}(\.[0-9]{1,12})?$", "examples": ["0.004"]}
Money = (
    Annotated[str, Meta(max_length=500, description="An amount", extra_json_schema=_DIGITS)]
    | Annotated[int, Meta(ge=0, le=10**18)]
)
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Key = Annotated[str, Meta(min_length=1, max_length=128)]
Id = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(max_length=1000)]
Seconds = Annotated[float, Meta(gt=0, lt=1e10)]
Rounding = Literal["up", "down", "nearest"]


class _Taken(Struct, forbid_unknown_fields=True):
    """A body."""


class NewArm(_Taken):
    """An arm and the most that it can cost."""

    key: Key
    max_cost: Money
    by: Text = ""


class NewCampaign(_Taken):
    """A budget, arms, a policy, and rules."""

    name: Name
    budget: Money
    arms: Annotated[list[NewArm], Meta(min_length=1, max_length=10_000)]
    policy: Annotated[str, Meta(max_length=200)] = DEFAULT
    reward_range: Annotated[list[float], Meta(min_length=2, max_length=2)] | UnsetType = UNSET
    caps: dict[str, Money] = {}
    currency: Annotated[str, Meta(max_length=16)] = ""
    exponent: Annotated[int, Meta(ge=0, le=12)] = 6
    hold: Annotated[str, Meta(max_length=50)] | UnsetType = UNSET
    ask_ttl: Seconds | UnsetType | None = UNSET
    hold_ttl: Seconds | UnsetType = UNSET
    on_lapse: Literal["charge", "release"] | UnsetType = UNSET
    by: Text = ""
    reward_ttl: Seconds | UnsetType = UNSET
    default_reward: float | UnsetType | None = UNSET
    on_failure: Literal["uniform", "refuse"] | UnsetType = UNSET
    patience: Seconds | UnsetType = UNSET
    on_change: Literal["flag", "reset", "ignore"] | UnsetType = UNSET
    max_open: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    overruns: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    explore: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    min_cost: Annotated[str, Meta(max_length=50)] | UnsetType | None = UNSET
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | UnsetType = UNSET


class Change(_Taken):
    """Another budget, other caps, or both: all or nothing. A cap of null is no cap."""

    budget: Money | None = None
    caps: dict[str, Money | None] | None = None
    by: Text = ""


class Act(_Taken):
    """Who wants it."""

    by: Text = ""


class Reconciliation(_Taken):
    """What was spent since the backup."""

    gap: Money
    by: Text = ""


class ArmChange(_Taken):
    """Whether an arm may be chosen."""

    state: Literal["active", "paused"]
    reason: Text = ""
    by: Text = ""


Arms = Annotated[list[Key], Meta(max_length=10_000)]


class Ask(_Taken):
    """Which arm to play? One, or n of them with one commit."""

    id: Id | None = None
    n: Annotated[int, Meta(ge=1, le=1000)] | None = None
    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    among: Arms | None = None
    exclude: Arms | None = None
    context: dict[str, Any] | None = None


class Outcome(_Taken):
    """What a decision cost, what it brought, or both.

    With its token, and its campaign in the address, a decision that a restored backup does not know
    any more is booked as well.
    """

    cost: Money | None = None
    reward: float | None = None
    report_id: Id | None = None
    rounding: Rounding | None = None
    token: Text | None = None


class Void(_Taken):
    """Why a decision was not used."""

    reason: Text = "not used"
    by: Text = ""


class Correction(_Taken):
    """What is true instead, and why it was told otherwise."""

    cost: Money | None = None
    reward: float | None = None
    reason: Text = ""
    by: Text = ""


class Told(_Taken):
    """An outcome of one of many decisions."""

    decision: Id
    campaign: Name | None = None
    cost: Money | None = None
    reward: float | None = None
    report_id: Id | None = None
    rounding: Rounding | None = None
    token: Text | None = None


class Outcomes(_Taken):
    """Many outcomes."""

    outcomes: Annotated[list[Told], Meta(min_length=1, max_length=1000)]


class VoidMany(_Taken):
    """Decisions that were not used: these, or all open ones older than so many seconds."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    older_than: Annotated[float, Meta(ge=0, lt=1e10)] | None = None
    reason: Text = "not used"
    by: Text = ""


Scope = Annotated[str, Meta(max_length=20, extra_json_schema={"enum": list(SCOPES)})]


class NewKey(_Taken):
    """What a new key may do, and where: everywhere if no campaigns are named."""

    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=6)]
    campaigns: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    note: Text = ""
    expires: Annotated[datetime, Meta(tz=True)] | None = None


class Rotation(_Taken):
    """How many seconds the old key lives on."""

    grace: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
