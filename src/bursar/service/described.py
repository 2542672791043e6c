"""Types of answers, for the document of the service; a test holds answers against them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from bursar.service.shown import DecisionShown

__all__ = [
    "ArmShown", "Arms", "CampaignShown", "Campaigns", "Decisions", "Events", "ExplainedDecision",
    "ForecastShown", "KeyShown", "Keys", "NewKeyShown", "Problem", "Results", "SeriesShown",
    "StatusShown",
]  # fmt: skip

Money = str
Pair = Annotated[list[float], Meta(min_length=2, max_length=2)]


class Problem(Struct):
    """An error, as RFC 9457 has it; some kinds have more members."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    retryable: bool


class StatusShown(Struct):
    """A campaign at one moment; all numbers belong together."""

    name: str
    state: str
    policy: str
    currency: str
    exponent: int
    budget: Money
    spent: Money
    held: Money
    available: Money
    overrun: Money
    day_cap: Money | None
    day_spent: Money
    day_held: Money
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


class CampaignShown(StatusShown):
    """A campaign with its rules, and what an operator should know."""

    config: dict[str, Any]
    alarms: list[str]


class Campaigns(Struct):
    """A page of campaigns; ``next`` is what the next page comes after.

    ``damaged`` are those whose ledger cannot be read.
    """

    campaigns: list[StatusShown]
    damaged: list[str]
    next: str | None


class EstimateShown(Struct):
    """A number that is not known for sure; null is infinite."""

    value: float | None
    low: float | None
    high: float | None


class ChangeShown(Struct):
    """A change of an arm that was noticed: means before and since."""

    what: Literal["cost", "reward"]
    before: float
    after: float
    outcomes: int
    at: datetime
    seq: int
    reset: bool


class ArmShown(Struct):
    """An arm: counts, money, means and 95% intervals."""

    key: str
    state: str
    max_cost: Money
    asks: int
    open: int
    plays: int
    spent: Money
    held: Money
    cap: Money | None
    reward: EstimateShown | None
    cost: EstimateShown | None
    ratio: EstimateShown | None
    share_of_asks: float | None
    share_of_spend: float | None
    last: datetime | None
    overruns: int
    hold: Money
    overrun_probability: float | None
    changed: list[ChangeShown]


class Arms(Struct):
    """All arms."""

    arms: list[ArmShown]


class Decisions(Struct):
    """Decisions; ``next`` is what the next page comes after."""

    decisions: list[DecisionShown]
    next: int | UnsetType | None = UNSET


class OptionShown(Struct):
    """An arm as it stood before a decision."""

    arm: ArmShown
    status: str
    why: str
    tried: int
    index: float | None
    reward_bound: float | None
    cost_bound: float | None


class ExplanationShown(Struct):
    """What was known when a decision was made."""

    decision: str
    arm: str
    seq: int
    seed: int
    at: datetime
    policy: str
    how: str
    hold: Money
    propensity: float | None
    constrained: bool
    available: Money
    policy_arm: str | None
    verified: bool
    options: list[OptionShown]
    sentences: list[str]


class ExplainedDecision(DecisionShown):
    """A decision, and why it was made if that was asked for."""

    why: ExplanationShown | UnsetType = UNSET


class Result(Struct):
    """What came of one of many: a decision, or a problem."""

    status: int
    decision: DecisionShown | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET


class Results(Struct):
    """What came of each of many, in their order."""

    results: list[Result]


class EventShown(Struct):
    """An event: time in µs since 1970; money in its body is in units."""

    seq: int
    ts: int
    kind: str
    decision: str
    body: dict[str, Any]


class Events(Struct):
    """A page of events; ``next`` is what the next page comes after."""

    events: list[EventShown]
    next: int | None


class ForecastShown(Struct):
    """What is to come if things go on as in the last 7 days; intervals are of 90%."""

    days: float | None
    state: str
    plays: EstimateShown | None
    reward: EstimateShown | None
    rate: EstimateShown | None
    exhausted: datetime | None
    exhausted_early: datetime | None
    exhausted_late: datetime | None
    best: str | None
    best_needs: Money | None
    then: list[str]
    unusable: Money
    unusable_most: Money
    value_of_unit: EstimateShown | None
    margin: str | None
    sentences: list[str]


class SeriesShown(Struct):
    """The history of a campaign as columns; times are seconds since 1970."""

    seq: int
    complete: bool
    currency: str
    t: list[float]
    start: list[float]
    spent: list[Money]
    held: list[Money]
    budget: list[Money]
    low: list[Money]
    high: list[Money]
    reward: list[float]
    asks: list[int]
    arms: dict[str, list[int]]
    others: list[int]


class KeyShown(Struct):
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


class NewKeyShown(KeyShown):
    """A new key with its token, which is told this once."""

    token: str


class Keys(Struct):
    """All keys."""

    keys: list[KeyShown]
