"""What bodies of requests may say; whatever else they say is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from bursar.campaign import Decision
from bursar.campaign.campaign import DEFAULT
from bursar.campaign.tokens import TokenSigner
from bursar.money import Coin
from bursar.service.keys import SCOPES

__all__ = [
    "ActRequest",
    "ArmBody",
    "ArmChangeRequest",
    "ArmPage",
    "AskRequest",
    "BatchResults",
    "CampaignBody",
    "CampaignPage",
    "ChangeRequest",
    "CorrectionRequest",
    "DecisionBody",
    "DecisionPage",
    "EventPage",
    "ExplainedDecision",
    "ForecastBody",
    "KeyBody",
    "KeyPage",
    "NewArmRequest",
    "NewCampaignRequest",
    "NewKeyBody",
    "NewKeyRequest",
    "OutcomeReport",
    "OutcomeRequest",
    "OutcomesRequest",
    "ProblemBody",
    "ReconciliationRequest",
    "RotationRequest",
    "SeriesBody",
    "StatusBody",
    "VoidManyRequest",
    "VoidRequest",
    "decision_body",
]

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


class NewArmRequest(_Taken):
    """An arm and the most that it can cost."""

    key: Key
    max_cost: Money
    by: Text = ""


class NewCampaignRequest(_Taken):
    """A budget, arms, a policy, and rules."""

    name: Name
    budget: Money
    arms: Annotated[list[NewArmRequest], Meta(min_length=1, max_length=10_000)]
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


class ChangeRequest(_Taken):
    """Another budget, other caps, or both: all or nothing. A cap of null is no cap."""

    budget: Money | None = None
    caps: dict[str, Money | None] | None = None
    by: Text = ""


class ActRequest(_Taken):
    """Who wants it."""

    by: Text = ""


class ReconciliationRequest(_Taken):
    """What was spent since the backup."""

    gap: Money
    by: Text = ""


class ArmChangeRequest(_Taken):
    """Whether an arm may be chosen."""

    state: Literal["active", "paused"]
    reason: Text = ""
    by: Text = ""


Arms = Annotated[list[Key], Meta(max_length=10_000)]


class AskRequest(_Taken):
    """Which arm to play? One, or n of them with one commit."""

    id: Id | None = None
    n: Annotated[int, Meta(ge=1, le=1000)] | None = None
    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    among: Arms | None = None
    exclude: Arms | None = None
    context: dict[str, Any] | None = None


class OutcomeRequest(_Taken):
    """What a decision cost, what it brought, or both.

    With its token, and its campaign in the address, a decision that a restored backup does not know
    any more is booked as well.
    """

    cost: Money | None = None
    reward: float | None = None
    report_id: Id | None = None
    rounding: Rounding | None = None
    token: Text | None = None


class VoidRequest(_Taken):
    """Why a decision was not used."""

    reason: Text = "not used"
    by: Text = ""


class CorrectionRequest(_Taken):
    """What is true instead, and why it was told otherwise."""

    cost: Money | None = None
    reward: float | None = None
    reason: Text = ""
    by: Text = ""


class OutcomeReport(_Taken):
    """An outcome of one of many decisions."""

    decision: Id
    campaign: Name | None = None
    cost: Money | None = None
    reward: float | None = None
    report_id: Id | None = None
    rounding: Rounding | None = None
    token: Text | None = None


class OutcomesRequest(_Taken):
    """Many outcomes."""

    outcomes: Annotated[list[OutcomeReport], Meta(min_length=1, max_length=1000)]


class VoidManyRequest(_Taken):
    """Decisions that were not used: these, or all open ones older than so many seconds."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    older_than: Annotated[float, Meta(ge=0, lt=1e10)] | None = None
    reason: Text = "not used"
    by: Text = ""


Scope = Annotated[str, Meta(max_length=20, extra_json_schema={"enum": list(SCOPES)})]


class NewKeyRequest(_Taken):
    """What a new key may do, and where: everywhere if no campaigns are named."""

    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=6)]
    campaigns: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    note: Text = ""
    expires: Annotated[datetime, Meta(tz=True)] | None = None


class RotationRequest(_Taken):
    """How many seconds the old key lives on."""

    grace: Annotated[float, Meta(ge=0, le=1e9)] = 0.0


# ==== service.shown
# What answers say, as types: decisions are made of them, and the document describes them all.


class DecisionBody(Struct, gc=False):
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


def decision_body(campaign: str, one: Decision, seal: TokenSigner | None = None) -> DecisionBody:
    """Return a decision as it goes over the wire; with a seal, its token is told, too."""
    cost = one.cost_units
    return DecisionBody(
        one.id, campaign, one.arm, _text(one.coin, one.hold_units),
        datetime.fromtimestamp(one.ts / 1e6, UTC), datetime.fromtimestamp(one.expires / 1e6, UTC),
        one.propensity, one.constrained, one.replayed, one.money, one.reward_state,
        None if cost is None else _text(one.coin, cost), one.reward, one.seq, one.context,
        UNSET if seal is None else seal.token(campaign, one),
    )  # fmt: skip


@lru_cache(maxsize=4096)  # arms hold the same again and again
def _text(coin: Coin, units: int) -> str:
    return coin.text(units)


# ==== service.described
# Types of answers, for the document of the service; a test holds answers against them.

MoneyText = str
Pair = Annotated[list[float], Meta(min_length=2, max_length=2)]


class ProblemBody(Struct):
    """An error, as RFC 9457 has it; some kinds have more members."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool


class StatusBody(Struct):
    """A campaign at one moment; all numbers belong together."""

    name: str
    state: str
    policy: str
    currency: str
    exponent: int
    budget: MoneyText
    spent: MoneyText
    held: MoneyText
    available: MoneyText
    overrun: MoneyText
    day_cap: MoneyText | None
    day_spent: MoneyText
    day_held: MoneyText
    arms: int
    open: int
    asks: int
    max_asks: int
    reward: float
    version: int
    seq: int
    at: datetime
    oldest_hold: datetime | None
    reward_range: Pair
    hold: str


class CampaignBody(StatusBody):
    """A campaign with its rules, and what an operator should know."""

    config: dict[str, Any]
    alarms: list[str]


class CampaignPage(Struct):
    """A page of campaigns; ``next`` is what the next page comes after.

    ``damaged`` are those whose ledger cannot be read.
    """

    campaigns: list[StatusBody]
    damaged: list[str]
    next: str | None


class EstimateBody(Struct):
    """A number that is not known for sure; null is infinite."""

    value: float | None
    low: float | None
    high: float | None


class ChangeBody(Struct):
    """A change of an arm that was noticed: means before and since."""

    what: Literal["cost", "reward"]
    before: float
    after: float
    outcomes: int
    at: datetime
    seq: int
    reset: bool


class ArmBody(Struct):
    """An arm: counts, money, means and 95% intervals."""

    key: str
    state: str
    max_cost: MoneyText
    asks: int
    open: int
    plays: int
    spent: MoneyText
    held: MoneyText
    cap: MoneyText | None
    reward: EstimateBody | None
    cost: EstimateBody | None
    ratio: EstimateBody | None
    share_of_asks: float | None
    share_of_spend: float | None
    last: datetime | None
    overruns: int
    hold: MoneyText
    overrun_probability: float | None
    changed: list[ChangeBody]


class ArmPage(Struct):
    """All arms."""

    arms: list[ArmBody]


class DecisionPage(Struct):
    """Decisions; ``next`` is what the next page comes after."""

    decisions: list[DecisionBody]
    next: int | UnsetType | None = UNSET


class OptionBody(Struct):
    """An arm as it stood before a decision."""

    arm: ArmBody
    status: str
    why: str
    tried: int
    index: float | None
    reward_bound: float | None
    cost_bound: float | None


class ExplanationBody(Struct):
    """What was known when a decision was made."""

    decision: str
    arm: str
    seq: int
    seed: int
    at: datetime
    policy: str
    how: str
    hold: MoneyText
    propensity: float | None
    constrained: bool
    available: MoneyText
    policy_arm: str | None
    verified: bool
    options: list[OptionBody]
    sentences: list[str]


class ExplainedDecision(DecisionBody):
    """A decision, and why it was made if that was asked for."""

    why: ExplanationBody | UnsetType = UNSET


class BatchResult(Struct):
    """What came of one of many: a decision, or a problem."""

    status: int
    decision: DecisionBody | UnsetType = UNSET
    problem: ProblemBody | UnsetType = UNSET


class BatchResults(Struct):
    """What came of each of many, in their order."""

    results: list[BatchResult]


class EventBody(Struct):
    """An event: time in µs since 1970; money in its body is in units."""

    seq: int
    ts: int
    kind: str
    decision: str
    body: dict[str, Any]


class EventPage(Struct):
    """A page of events; ``next`` is what the next page comes after."""

    events: list[EventBody]
    next: int | None


class ForecastBody(Struct):
    """What is to come if things go on as in the last 7 days; intervals are of 90%."""

    days: float | None
    state: str
    plays: EstimateBody | None
    reward: EstimateBody | None
    rate: EstimateBody | None
    exhausted: datetime | None
    exhausted_early: datetime | None
    exhausted_late: datetime | None
    best: str | None
    best_needs: MoneyText | None
    then: list[str]
    unusable: MoneyText
    unusable_most: MoneyText
    value_of_unit: EstimateBody | None
    margin: str | None
    sentences: list[str]


class SeriesBody(Struct):
    """The history of a campaign as columns; times are seconds since 1970."""

    seq: int
    complete: bool
    currency: str
    t: list[float]
    start: list[float]
    spent: list[MoneyText]
    held: list[MoneyText]
    budget: list[MoneyText]
    low: list[MoneyText]
    high: list[MoneyText]
    reward: list[float]
    asks: list[int]
    arms: dict[str, list[int]]
    others: list[int]


class KeyBody(Struct):
    """A key, without its secret."""

    id: str
    scopes: list[str]
    campaigns: list[str] | None
    note: str
    created: datetime | None
    expires: datetime | None
    revoked: datetime | None
    by: str
    revoked_by: str
    replaces: str
    state: str


class NewKeyBody(KeyBody):
    """A new key with its token, which is told this once."""

    token: str


class KeyPage(Struct):
    """All keys."""

    keys: list[KeyBody]
