"""Every operation of the service: the one list that routes and document are made of."""

from __future__ import annotations

from bursar.service import (
    arms,
    asks,
    batches,
    campaigns,
    decisions,
    events,
    exports,
    health,
    key_routes,
    outcomes,
    stream,
)
from bursar.service import described as d
from bursar.service import parameters as p
from bursar.service import taken as t
from bursar.service.operation import Link, Operation
from bursar.service.shown import DecisionShown

__all__ = ["OPERATIONS"]

_C = "/v1/campaigns/{campaign}"
_IN_LINE = ("overloaded", "deadline-passed", "stopping")
_CHANGED = ("unknown-campaign", "stale-version", "not-active")
_TOLD = ("decision-unknown", "outcome-conflict", *_IN_LINE)
_REPLAYED = {"Idempotency-Replayed": "true if this was answered before"}
_ETAG = {"ETag": "Version of the campaign, for If-Match"}
_TO_ASK = Link("ask", {"campaign": "$response.body#/name"}, 201)
_TO_SHOW = Link("showCampaign", {"campaign": "$response.body#/name"}, 201)
_TO_TELL = Link("tell", {"id": "$response.body#/id"}, 201)
_TO_VOID = Link("void", {"id": "$response.body#/id"}, 201)
_TO_LOOK = Link("showDecision", {"id": "$response.body#/id"}, 201)
_TO_ARM = Link(
    "changeArm", {"campaign": "$request.path.campaign", "arm": "$response.body#/key"}, 201
)
_TO_KEY = Link("revokeKey", {"key": "$response.body#/id"}, 201)


def _of_decisions() -> list[Operation]:
    """Return what is done with one decision: at its own address, and at that in its campaign."""
    found = []
    for base, suffix in (("/v1/decisions/{id}", ""), (f"{_C}/decisions/{{id}}", "InCampaign")):
        where = ("unknown-campaign",) if suffix else ("ambiguous-decision",)
        found += [
            Operation(
                f"tell{suffix}", "POST", f"{base}/outcome", outcomes.tell,
                "Book what a decision cost and brought; twice is once", "tell",
                {200: DecisionShown}, t.Outcome, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"confirm{suffix}", "POST", f"{base}/confirm", outcomes.confirm,
                "Say that the money of a decision is about to be spent", "tell",
                {200: DecisionShown}, t.Act, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"void{suffix}", "POST", f"{base}/void", outcomes.void,
                "Give the hold of a decision back", "tell",
                {200: DecisionShown}, t.Void, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"correct{suffix}", "POST", f"{base}/correct", outcomes.correct,
                "Put an outcome right that was told wrongly", "adjust",
                {200: DecisionShown}, t.Correction, (*_TOLD, *where), (p.TIMEOUT,),
                headers=_REPLAYED,
            ),
            Operation(
                f"showDecision{suffix}", "GET", base, decisions.show,
                "Return a decision as it stands, and why it was made", "read",
                {200: d.ExplainedDecision}, None, ("decision-unknown", *where), (p.WHY,),
            ),
        ]  # fmt: skip
    return found


def _of_campaigns() -> list[Operation]:
    acts = [
        Operation(
            f"{word}Campaign", "POST", f"{_C}:{word}", run, summary, "admin",
            {200: d.CampaignShown}, takes, _CHANGED, (p.IF_MATCH,), headers=_ETAG,
        )
        for word, run, summary, takes in (
            ("pause", campaigns.pause, "Grant no asks until resumed", t.Act),
            ("resume", campaigns.resume, "Grant asks again", t.Act),
            ("close", campaigns.close, "Close a campaign for good", t.Act),
            ("reconcile", campaigns.reconcile, "Count what was spent since the backup",
             t.Reconciliation),
        )
    ]  # fmt: skip
    return [
        Operation(
            "createCampaign", "POST", "/v1/campaigns", campaigns.create, "Make a campaign", "admin",
            {201: d.CampaignShown, 200: d.CampaignShown}, t.NewCampaign, ("campaign-exists",),
            links=(_TO_ASK, _TO_SHOW), headers=_ETAG | {"Location": "Where it is"},
        ),
        Operation(
            "listCampaigns", "GET", "/v1/campaigns", campaigns.listing,
            "Return campaigns by name, a page at a time", "read", {200: d.Campaigns},
            parameters=(p.limit(500), p.AFTER_NAME),
        ),
        *acts,
        Operation(
            "showCampaign", "GET", _C, campaigns.show,
            "Return a campaign: its money, rules and alarms", "read", {200: d.CampaignShown},
            codes=("unknown-campaign",), headers=_ETAG,
        ),
        Operation(
            "changeCampaign", "PATCH", _C, campaigns.change,
            "Change budget and caps, all or nothing", "admin", {200: d.CampaignShown}, t.Change,
            ("unknown-campaign", "unknown-arm", "stale-version", "precondition-required"),
            (p.IF_MATCH_REQUIRED,), headers=_ETAG,
        ),
        Operation(
            "showState", "GET", f"{_C}/state", campaigns.state, "Return how a campaign stands",
            "read", {200: d.StatusShown}, codes=("unknown-campaign",), headers=_ETAG,
        ),
    ]  # fmt: skip


def _of_arms() -> list[Operation]:
    known = ("unknown-campaign", "unknown-arm", "stale-version")
    return [
        Operation(
            "listArms", "GET", f"{_C}/arms", arms.listing, "Return all arms and what was learned",
            "read", {200: d.Arms}, codes=("unknown-campaign",),
        ),
        Operation(
            "addArm", "POST", f"{_C}/arms", arms.add, "Add an arm", "admin", {201: d.ArmShown},
            t.NewArm, known, (p.IF_MATCH,), (_TO_ARM,),
        ),
        Operation(
            "changeArm", "PATCH", f"{_C}/arms/{{arm}}", arms.change,
            "Pause an arm, or let it be chosen again", "admin", {200: d.ArmShown}, t.ArmChange,
            known, (p.IF_MATCH,),
        ),
        Operation(
            "retireArm", "DELETE", f"{_C}/arms/{{arm}}", arms.retire,
            "Choose an arm never again", "admin", {200: d.ArmShown}, None, known,
            (p.IF_MATCH, p.BY),
        ),
    ]  # fmt: skip


def _of_logs() -> list[Operation]:
    known = ("unknown-campaign",)
    page = (p.AFTER, p.limit(10_000))
    return [
        Operation(
            "listEvents", "GET", f"{_C}/events", events.listing, "Return events of the log", "read",
            {200: d.Events}, None, known, (*page, p.KIND),
        ),
        Operation(
            "streamEvents", "GET", f"{_C}/events/stream", stream.stream,
            "Send events as they happen (server-sent events)", "read", {200: "text/event-stream"},
            None, known, (p.AFTER, p.LAST, p.KIND),
        ),
        Operation(
            "audit", "GET", f"{_C}/audit", events.audit,
            "Return events that changed rules or money by hand, and by whom", "admin",
            {200: d.Events}, None, known, page,
        ),
        Operation(
            "export", "GET", f"{_C}/export", exports.export, "Send the whole log as a file", "read",
            {200: ", ".join(exports.MEDIA)}, None, (*known, "missing-extra"), (p.FORMAT,),
        ),
        Operation(
            "forecast", "GET", f"{_C}/forecast", events.forecast,
            "Return what the rest of the budget may bring", "read", {200: d.ForecastShown}, None,
            known, (p.DAYS,),
        ),
        Operation(
            "series", "GET", f"{_C}/series", events.series,
            "Return the history of a campaign, thinned out", "read", {200: d.SeriesShown}, None,
            known, (p.POINTS,),
        ),
    ]  # fmt: skip


def _of_keys() -> list[Operation]:
    return [
        Operation(
            "listKeys", "GET", "/v1/keys", key_routes.listing, "Return every key, without secrets",
            "keys", {200: d.Keys},
        ),
        Operation(
            "createKey", "POST", "/v1/keys", key_routes.create,
            "Make a key; its token is told this once", "keys", {201: d.NewKeyShown}, t.NewKey,
            links=(_TO_KEY,),
        ),
        Operation(
            "rotateKey", "POST", "/v1/keys/{key}:rotate", key_routes.rotate,
            "Make a successor of a key", "keys", {201: d.NewKeyShown}, t.Rotation,
            ("unknown-key",),
        ),
        Operation(
            "revokeKey", "DELETE", "/v1/keys/{key}", key_routes.revoke, "End a key now", "keys",
            {200: d.KeyShown}, None, ("unknown-key",),
        ),
    ]  # fmt: skip


OPERATIONS: tuple[Operation, ...] = (
    Operation(  # first, since routes are tried in this order, and this is the busiest
        "ask", "POST", f"{_C}/decisions", asks.ask,
        "Ask which arm to play, its money held; or n of them", "ask",
        {201: DecisionShown | d.Decisions, 200: DecisionShown | d.Decisions}, t.Ask,
        ("unknown-campaign", "unknown-arm", "budget-exhausted", "not-active", "too-many-open",
         "idempotency-mismatch", "policy-error", *_IN_LINE),
        (p.KEY, p.TIMEOUT), (_TO_TELL, _TO_VOID, _TO_LOOK), _REPLAYED,
    ),
    *_of_decisions(),
    Operation(
        "tellMany", "POST", "/v1/outcomes:batch", batches.tell_many, "Book many outcomes", "tell",
        {200: d.Results}, t.Outcomes, _IN_LINE, (p.TIMEOUT,),
    ),
    Operation(
        "listDecisions", "GET", f"{_C}/decisions", decisions.listing, "Return decisions", "read",
        {200: d.Decisions}, None, ("unknown-campaign",), (p.OPEN_ONLY, p.AFTER, p.limit(1000)),
    ),
    Operation(
        "voidMany", "POST", f"{_C}/decisions:void", batches.void_many,
        "Give the holds of many decisions back", "admin", {200: d.Results}, t.VoidMany,
        ("unknown-campaign", *_IN_LINE), (p.TIMEOUT,),
    ),
    *_of_campaigns(),
    *_of_arms(),
    *_of_logs(),
    *_of_keys(),
    *health.described(),
)  # fmt: skip
"""All of them."""
