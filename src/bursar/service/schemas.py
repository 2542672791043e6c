"""Bodies of requests and responses, and queries, as types that msgspec checks and describes.

Docstrings of bodies are descriptions in the OpenAPI document. A response that shows a record of a
campaign has the fields of the record, so they are declared once.
"""

import types
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from bursar.campaign import (
    ArmChange,
    ArmHistory,
    ArmView,
    Decision,
    Estimate,
    Explanation,
    Forecast,
    LearnedHistory,
    Option,
)
from bursar.campaign.config import DEFAULT_POLICY, RULES, Rule
from bursar.campaign.decision import TokenSigner
from bursar.campaign.views import Status
from bursar.history import PastOutcomes
from bursar.ledger import Event
from bursar.money import Coin
from bursar.service.keys import SCOPES
from bursar.service.keys import Key as ServiceKey

B = TypeVar("B", bound=Struct)

# bodies of requests: POST and PATCH

_DIGITS = {"pattern": r"^[0-9]{1,18}(\.[0-9]{1,12})?$", "examples": ["0.004"]}
_AMOUNT = Meta(max_length=500, description="An amount of money", extra_json_schema=_DIGITS)
Money = Annotated[str, _AMOUNT] | Annotated[int, Meta(ge=0, le=10**18)]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Id = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(max_length=1000)]
Rounding = Literal["up", "down", "nearest"]


class _Request(Struct, forbid_unknown_fields=True):
    """A body of a request."""


class ActRequest(_Request):
    """Who makes the change."""

    by: Text = ""


class NewArmRequest(ActRequest, kw_only=True):
    """A new arm and its maximum cost."""

    key: Id
    max_cost: Money


def _with_rules(body: type[B]) -> type[B]:
    """Add the rules of a campaign to a body, each of which may be left out."""
    fields = [(name, _rule_type(rule), UNSET) for name, rule in RULES.items()]
    return _define(body, fields, bases=(body,), forbid_unknown_fields=True)


def _define(body: type[B], fields: list[Any], **options: Any) -> type[B]:
    namespace = {"__doc__": body.__doc__}
    return typing.cast(
        type[B], defstruct(body.__name__, fields, namespace=namespace, module=__name__, **options)
    )


def _rule_type(rule: Rule) -> Any:
    limits: dict[str, Any] = rule.limits | ({} if rule.most is None else {"le": rule.most})
    kind = Literal[rule.choices] if rule.choices else Annotated[rule.type, Meta(**limits)]
    return kind | UnsetType | None if rule.optional else kind | UnsetType


@_with_rules
class NewCampaignRequest(ActRequest, kw_only=True):
    """A new campaign: its budget, arms, policy and rules."""

    name: Name
    budget: Money
    arms: Annotated[list[NewArmRequest], Meta(min_length=1, max_length=10_000)]
    policy: Annotated[str, Meta(max_length=200)] = DEFAULT_POLICY
    reward_range: Annotated[list[float], Meta(min_length=2, max_length=2)] | UnsetType = UNSET
    caps: dict[str, Money] = {}
    currency: Annotated[str, Meta(max_length=16)] = ""
    exponent: Annotated[int, Meta(ge=0, le=12)] | UnsetType = UNSET


class ChangeRequest(ActRequest):
    """A new budget, new caps, or both, applied together. A cap of null removes the cap."""

    budget: Money | None = None
    caps: dict[str, Money | None] | None = None


class ReconciliationRequest(ActRequest, kw_only=True):
    """The amount spent since the backup."""

    gap: Money


class ArmChangeRequest(ActRequest, kw_only=True):
    """Whether an arm may be chosen."""

    state: Literal["active", "paused"]
    reason: Text = ""


class HistoryRequest(ActRequest, kw_only=True):
    """Past outcomes by arm, where they come from, and how many plays each counts as."""

    arms: Annotated[list[PastOutcomes], Meta(min_length=1, max_length=10_000)]
    source: Annotated[str, Meta(min_length=1, max_length=200)]
    weight: Annotated[float, Meta(gt=0, le=1)] = 1.0
    unknown: Literal["refuse", "skip"] = "refuse"


Arms = Annotated[list[Id], Meta(max_length=10_000)]


class AskRequest(_Request):
    """A request for one decision, or for n decisions in one commit.

    A hold is the most that each decision should cost; at most the maximum of its arm is held.
    """

    id: Id | None = None
    n: Annotated[int, Meta(ge=1, le=1000)] | None = None
    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    among: Arms | None = None
    exclude: Arms | None = None
    context: dict[str, Any] | None = None
    hold: Money | None = None


class OutcomeRequest(_Request):
    """The cost of a decision, its reward, or both.

    After a backup was restored, the token lets a decision be settled that the backup does not
    contain; the campaign must be in the address.
    """

    cost: Money | None = None
    reward: float | bool | None = None
    report_id: Id | None = None
    rounding: Rounding | None = None
    token: Text | None = None


class VoidRequest(ActRequest):
    """Why a decision was not used."""

    reason: Text = "not used"


class CorrectionRequest(ActRequest):
    """The correct outcome, and the reason for the correction."""

    cost: Money | None = None
    reward: float | bool | None = None
    reason: Text = ""


class OutcomeReport(OutcomeRequest, kw_only=True):
    """The outcome of one of many decisions."""

    decision: Id
    campaign: Name | None = None


class OutcomesRequest(_Request):
    """The outcomes of many decisions."""

    outcomes: Annotated[list[OutcomeReport], Meta(min_length=1, max_length=1000)]


class VoidManyRequest(VoidRequest):
    """Decisions that were not used: those listed, or all open ones older than the given seconds."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=1000)] | None = None
    older_than: Annotated[float, Meta(ge=0, lt=1e10)] | None = None


Scope = Annotated[str, Meta(max_length=20, extra_json_schema={"enum": list(SCOPES)})]


class NewKeyRequest(_Request):
    """The scopes of a new key, and its campaigns; without campaigns it is for all of them."""

    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=6)]
    campaigns: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    note: Text = ""
    expires: Annotated[datetime, Meta(tz=True)] | None = None


class RotationRequest(_Request):
    """Seconds for which the old key still works."""

    grace: Annotated[float, Meta(ge=0, le=1e9)] = 0.0


# queries: GET and DELETE

After = Annotated[int, Meta(ge=0, le=10**17, description="Only items after this number")]
Kinds = Annotated[list[str], Meta(description="Only events of these kinds")]
Flag = Literal["true", "false"]
PAGE_LIMIT = "Maximum number of items; a page ends after 4 MiB as well"


class CampaignQuery(Struct):
    """Which page of the campaigns."""

    limit: Annotated[int, Meta(ge=1, le=500, description="Maximum number of items")] = 100
    after: Annotated[str, Meta(max_length=100, description="Only names after this one")] = ""


class DecisionQuery(Struct):
    """Which page of the decisions."""

    open: Annotated[Flag, Meta(description="Only decisions without an outcome")] = "false"
    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=1000, description=PAGE_LIMIT)] = 100


class WhyQuery(Struct):
    """Whether to explain a decision."""

    why: Annotated[Flag, Meta(description="Include the reasons for the decision")] = "false"


class AuthorQuery(Struct):
    """Who makes a change."""

    by: Annotated[
        str, Meta(max_length=500, description="The person for whom the key acts, for the log")
    ] = ""


class RevocationQuery(Struct):
    """Whether a revocation spares other keys."""

    only: Annotated[
        Flag, Meta(description="true keeps the keys that were rotated from it or created by it")
    ] = "false"


class AuditQuery(Struct):
    """Which page of a log."""

    after: After = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description=PAGE_LIMIT)] = 1000


class EventQuery(AuditQuery):
    """Which page of a log, and which events."""

    kind: Kinds = []


class StreamQuery(Struct):
    """Where a stream of events starts: after the newest one if neither number is given."""

    after: After = -1
    last_event_id: Annotated[
        int, Meta(ge=0, le=10**17, description="Number of the last event received")
    ] = field(default=-1, name="Last-Event-ID")
    kind: Kinds = []


class ExportQuery(Struct):
    """The format of an export."""

    format: Annotated[
        Literal["jsonl", "csv", "parquet"], Meta(description="Format of the file")
    ] = "jsonl"


class ForecastQuery(Struct):
    """The horizon of a forecast."""

    days: Annotated[float, Meta(gt=0, lt=10**6, description="Days to forecast")] | UnsetType = UNSET


class SeriesQuery(Struct):
    """The resolution of a series."""

    points: Annotated[int, Meta(ge=2, le=2000, description="Maximum number of points")] = 500


# bodies of responses


_format_money = lru_cache(maxsize=4096)(Coin.text)  # most decisions of an arm hold the same


class DecisionBody(Struct, gc=False, kw_only=True):
    """A decision: its arm, the money it holds, and its outcome."""

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


def decision_body(campaign: str, one: Decision, signer: TokenSigner | None = None) -> DecisionBody:
    """Return the body of a decision; with a signer, it has a token."""
    cost = one.cost_units
    return DecisionBody(
        id=one.id,
        campaign=campaign,
        arm=one.arm,
        hold=_format_money(one.coin, one.hold_units),
        at=datetime.fromtimestamp(one.ts / 1e6, UTC),
        expires_at=datetime.fromtimestamp(one.expires / 1e6, UTC),
        propensity=one.propensity,
        constrained=one.constrained,
        replayed=one.replayed,
        money=one.money,
        reward_state=one.reward_state,
        cost=None if cost is None else _format_money(one.coin, cost),
        reward=one.reward,
        seq=one.seq,
        context=one.context,
        token=UNSET if signer is None else signer.sign(campaign, one),
    )


class ProblemBody(Struct):
    """An error as in RFC 9457; some kinds have more members."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool


class EstimateBody(Struct):
    """An estimate with its interval; null means infinite."""

    value: float | None
    low: float | None
    high: float | None


_JSON_TYPES: dict[Any, Any] = {
    Decimal: str,
    Estimate: EstimateBody,
    tuple[float, float]: Annotated[list[float], Meta(min_length=2, max_length=2)],
}


def _shows(record: type) -> Callable[[type[B]], type[B]]:
    """Give a body the fields of a record, as its ``as_dict`` returns them; its own come last."""

    def derive(body: type[B]) -> type[B]:
        hints = typing.get_type_hints(record) | typing.get_type_hints(body, include_extras=True)
        fields = [(name, _json_type(hint)) for name, hint in hints.items()]
        _JSON_TYPES[record] = derived = _define(body, fields)
        return derived

    return derive


def _json_type(hint: Any) -> Any:
    """Return the type of a value in JSON.

    >>> _json_type(tuple[Decimal, ...])
    list[str]
    """
    if hint in _JSON_TYPES:
        return _JSON_TYPES[hint]
    args = tuple(_json_type(one) for one in typing.get_args(hint) if one is not Ellipsis)
    if isinstance(hint, types.UnionType):
        return typing.Union[args]  # noqa: UP007 - `|` cannot join a tuple of types
    if typing.get_origin(hint) in (tuple, frozenset):
        return list[args[0]]  # type: ignore[valid-type]  # a type made at run time
    return hint


@_shows(Status)
class StatusBody(Struct):
    """The status of a campaign; all numbers are of the same moment."""


class CampaignBody(StatusBody):
    """A campaign with its rules and alarms."""

    config: dict[str, Any]
    alarms: list[str]


class CampaignPage(Struct):
    """A page of campaigns; for the next page, pass ``next`` as "after".

    ``damaged`` lists campaigns whose ledger cannot be read.
    """

    campaigns: list[StatusBody]
    damaged: list[str]
    next: str | None


@_shows(ArmChange)
class ChangeBody(Struct):
    """A detected change of an arm, with the means before and after it."""

    what: Literal["cost", "reward"]


@_shows(ArmHistory)
class ArmHistoryBody(Struct):
    """Past outcomes of an arm that count beside its own."""


@_shows(LearnedHistory)
class LearnedHistoryBody(Struct):
    """Past outcomes that were learned, or, if ``replayed``, were learned before."""


@_shows(ArmView)
class ArmBody(Struct):
    """An arm: counts, money, means and 95% intervals."""

    changed: list[ChangeBody]


class ArmPage(Struct):
    """All arms."""

    arms: list[ArmBody]


class DecisionPage(Struct):
    """A page of decisions; for the next page, pass ``next`` as "after"."""

    decisions: list[DecisionBody]
    next: int | UnsetType | None = UNSET


class DecisionBatch(DecisionPage, kw_only=True):
    """The decisions of a batch: ``granted`` of ``asked``, and the reason if that is fewer."""

    decisions: list[DecisionBody]
    asked: int
    granted: int
    reason: str | None


@_shows(Option)
class OptionBody(Struct):
    """An arm as it stood before a decision."""


@_shows(Explanation)
class ExplanationBody(Struct):
    """What was known when the decision was made."""


class ExplainedDecision(DecisionBody):
    """A decision and, if requested, the reasons for it."""

    why: ExplanationBody | UnsetType = UNSET


class BatchResult(Struct):
    """The result of one item of a batch: a decision or a problem."""

    status: int
    decision: DecisionBody | UnsetType = UNSET
    problem: ProblemBody | UnsetType = UNSET


class BatchResults(Struct):
    """The results of a batch, in the order of its items."""

    results: list[BatchResult]


@_shows(Event)
class EventBody(Struct):
    """An event; its time is in µs since 1970, money in its body is in units."""


class EventPage(Struct):
    """A page of events; for the next page, pass ``next`` as "after"."""

    events: list[EventBody]
    next: int | None


@_shows(Forecast)
class ForecastBody(Struct):
    """A forecast of a policy that goes on learning; intervals have a level of 90%, or as named."""


class SeriesBody(Struct):
    """The history of a campaign as columns; times are seconds since 1970."""

    seq: int
    complete: bool
    currency: str
    t: list[float]
    start: list[float]
    spent: list[str]
    held: list[str]
    budget: list[str]
    low: list[str]
    high: list[str]
    reward: list[float]
    asks: list[int]
    arms: dict[str, list[int]]
    others: list[int]


@_shows(ServiceKey)
class KeyBody(Struct):
    """A key, without its secret."""

    state: str


class NewKeyBody(KeyBody):
    """A new key with its token, which cannot be shown again."""

    token: str


class RevokedKeyBody(KeyBody):
    """A revoked key, and the ids of the keys that were rotated from it or created by it."""

    also_revoked: list[str]


class KeyPage(Struct):
    """All keys."""

    keys: list[KeyBody]
