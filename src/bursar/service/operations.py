"""Every operation of the service: the one list that routes and document are made of."""

from __future__ import annotations

from bursar.service import operation as p
from bursar.service import schemas as d
from bursar.service import schemas as t
from bursar.service.operation import Operation, OperationLink
from bursar.service.routes import campaigns, decisions, events, health, keys
from bursar.service.routes import campaigns as arms
from bursar.service.routes import decisions as asks
from bursar.service.routes import decisions as batches
from bursar.service.schemas import DecisionBody

__all__ = ["OPERATIONS"]

_C = "/v1/campaigns/{campaign}"
_IN_LINE = ("overloaded", "deadline-passed", "stopping")
_CHANGED = ("unknown-campaign", "stale-version", "not-active")
_TOLD = ("decision-unknown", "outcome-conflict", *_IN_LINE)
_REPLAYED = {"Idempotency-Replayed": "true if this was answered before"}
_ETAG = {"ETag": "Version of the campaign, for If-Match"}
_TO_ASK = OperationLink("ask", {"campaign": "$response.body#/name"}, 201)
_TO_SHOW = OperationLink("showCampaign", {"campaign": "$response.body#/name"}, 201)
_TO_TELL = OperationLink("tell", {"id": "$response.body#/id"}, 201)
_TO_VOID = OperationLink("void", {"id": "$response.body#/id"}, 201)
_TO_LOOK = OperationLink("showDecision", {"id": "$response.body#/id"}, 201)
_TO_ARM = OperationLink(
    "changeArm", {"campaign": "$request.path.campaign", "arm": "$response.body#/key"}, 201
)
_TO_KEY = OperationLink("revokeKey", {"key": "$response.body#/id"}, 201)


def _of_decisions() -> list[Operation]:
    """Return what is done with one decision: at its own address, and at that in its campaign."""
    found = []
    for base, suffix in (("/v1/decisions/{id}", ""), (f"{_C}/decisions/{{id}}", "InCampaign")):
        where = ("unknown-campaign",) if suffix else ("ambiguous-decision",)
        found += [
            Operation(
                f"tell{suffix}", "POST", f"{base}/outcome", decisions.tell,
                "Book what a decision cost and brought; twice is once", "tell",
                {200: DecisionBody}, t.OutcomeRequest, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"confirm{suffix}", "POST", f"{base}/confirm", decisions.confirm,
                "Say that the money of a decision is about to be spent", "tell",
                {200: DecisionBody}, t.ActRequest, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"void{suffix}", "POST", f"{base}/void", decisions.void,
                "Give the hold of a decision back", "tell",
                {200: DecisionBody}, t.VoidRequest, (*_TOLD, *where), (p.TIMEOUT,), headers=_REPLAYED,
            ),
            Operation(
                f"correct{suffix}", "POST", f"{base}/correct", decisions.correct,
                "Put an outcome right that was told wrongly", "adjust",
                {200: DecisionBody}, t.CorrectionRequest, (*_TOLD, *where), (p.TIMEOUT,),
                headers=_REPLAYED,
            ),
            Operation(
                f"showDecision{suffix}", "GET", base, decisions.show_decision,
                "Return a decision as it stands, and why it was made", "read",
                {200: d.ExplainedDecision}, None, ("decision-unknown", *where), (p.WHY,),
            ),
        ]  # fmt: skip
    return found


def _of_campaigns() -> list[Operation]:
    acts = [
        Operation(
            f"{word}Campaign", "POST", f"{_C}:{word}", run, summary, "admin",
            {200: d.CampaignBody}, takes, _CHANGED, (p.IF_MATCH,), headers=_ETAG,
        )
        for word, run, summary, takes in (
            ("pause", campaigns.pause_campaign, "Grant no asks until resumed", t.ActRequest),
            ("resume", campaigns.resume_campaign, "Grant asks again", t.ActRequest),
            ("close", campaigns.close_campaign, "Close a campaign for good", t.ActRequest),
            ("reconcile", campaigns.reconcile_campaign, "Count what was spent since the backup",
             t.ReconciliationRequest),
        )
    ]  # fmt: skip
    return [
        Operation(
            "createCampaign", "POST", "/v1/campaigns", campaigns.create_campaign_route, "Make a campaign", "admin",
            {201: d.CampaignBody, 200: d.CampaignBody}, t.NewCampaignRequest, ("campaign-exists",),
            links=(_TO_ASK, _TO_SHOW), headers=_ETAG | {"Location": "Where it is"},
        ),
        Operation(
            "listCampaigns", "GET", "/v1/campaigns", campaigns.list_campaigns,
            "Return campaigns by name, a page at a time", "read", {200: d.CampaignPage},
            parameters=(p.limit(500), p.AFTER_NAME),
        ),
        *acts,
        Operation(
            "showCampaign", "GET", _C, campaigns.show_campaign,
            "Return a campaign: its money, rules and alarms", "read", {200: d.CampaignBody},
            codes=("unknown-campaign",), headers=_ETAG,
        ),
        Operation(
            "changeCampaign", "PATCH", _C, campaigns.change_campaign,
            "Change budget and caps, all or nothing", "admin", {200: d.CampaignBody}, t.ChangeRequest,
            ("unknown-campaign", "unknown-arm", "stale-version", "precondition-required"),
            (p.IF_MATCH_REQUIRED,), headers=_ETAG,
        ),
        Operation(
            "showState", "GET", f"{_C}/state", campaigns.show_state, "Return how a campaign stands",
            "read", {200: d.StatusBody}, codes=("unknown-campaign",), headers=_ETAG,
        ),
    ]  # fmt: skip


def _of_arms() -> list[Operation]:
    known = ("unknown-campaign", "unknown-arm", "stale-version")
    return [
        Operation(
            "listArms", "GET", f"{_C}/arms", arms.list_arms, "Return all arms and what was learned",
            "read", {200: d.ArmPage}, codes=("unknown-campaign",),
        ),
        Operation(
            "addArm", "POST", f"{_C}/arms", arms.add_arm, "Add an arm", "admin", {201: d.ArmBody},
            t.NewArmRequest, known, (p.IF_MATCH,), (_TO_ARM,),
        ),
        Operation(
            "changeArm", "PATCH", f"{_C}/arms/{{arm}}", arms.change_arm,
            "Pause an arm, or let it be chosen again", "admin", {200: d.ArmBody}, t.ArmChangeRequest,
            known, (p.IF_MATCH,),
        ),
        Operation(
            "retireArm", "DELETE", f"{_C}/arms/{{arm}}", arms.retire_arm,
            "Choose an arm never again", "admin", {200: d.ArmBody}, None, known,
            (p.IF_MATCH, p.BY),
        ),
    ]  # fmt: skip


def _of_logs() -> list[Operation]:
    known = ("unknown-campaign",)
    page = (p.AFTER, p.limit(10_000))
    return [
        Operation(
            "listEvents", "GET", f"{_C}/events", events.list_events, "Return events of the log", "read",
            {200: d.EventPage}, None, known, (*page, p.KIND),
        ),
        Operation(
            "streamEvents", "GET", f"{_C}/events/stream", events.stream,
            "Send events as they happen (server-sent events)", "read", {200: "text/event-stream"},
            None, known, (p.AFTER, p.LAST, p.KIND),
        ),
        Operation(
            "audit", "GET", f"{_C}/audit", events.audit,
            "Return events that changed rules or money by hand, and by whom", "admin",
            {200: d.EventPage}, None, known, page,
        ),
        Operation(
            "export", "GET", f"{_C}/export", events.export, "Send the whole log as a file", "read",
            {200: ", ".join(events.MEDIA)}, None, (*known, "missing-extra"), (p.FORMAT,),
        ),
        Operation(
            "forecast", "GET", f"{_C}/forecast", events.forecast,
            "Return what the rest of the budget may bring", "read", {200: d.ForecastBody}, None,
            known, (p.DAYS,),
        ),
        Operation(
            "series", "GET", f"{_C}/series", events.series,
            "Return the history of a campaign, thinned out", "read", {200: d.SeriesBody}, None,
            known, (p.POINTS,),
        ),
    ]  # fmt: skip


def _of_keys() -> list[Operation]:
    return [
        Operation(
            "listKeys", "GET", "/v1/keys", keys.list_keys, "Return every key, without secrets",
            "keys", {200: d.KeyPage},
        ),
        Operation(
            "createKey", "POST", "/v1/keys", keys.create_key,
            "Make a key; its token is told this once", "keys", {201: d.NewKeyBody}, t.NewKeyRequest,
            links=(_TO_KEY,),
        ),
        Operation(
            "rotateKey", "POST", "/v1/keys/{key}:rotate", keys.rotate_key,
            "Make a successor of a key", "keys", {201: d.NewKeyBody}, t.RotationRequest,
            ("unknown-key",),
        ),
        Operation(
            "revokeKey", "DELETE", "/v1/keys/{key}", keys.revoke_key, "End a key now", "keys",
            {200: d.KeyBody}, None, ("unknown-key",),
        ),
    ]  # fmt: skip


OPERATIONS: tuple[Operation, ...] = (
    Operation(  # first, since routes are tried in this order, and this is the busiest
        "ask", "POST", f"{_C}/decisions", asks.ask,
        "Ask which arm to play, its money held; or n of them", "ask",
        {201: DecisionBody | d.DecisionPage, 200: DecisionBody | d.DecisionPage}, t.AskRequest,
        ("unknown-campaign", "unknown-arm", "budget-exhausted", "not-active", "too-many-open",
         "idempotency-mismatch", "policy-error", *_IN_LINE),
        (p.KEY, p.TIMEOUT), (_TO_TELL, _TO_VOID, _TO_LOOK), _REPLAYED,
    ),
    *_of_decisions(),
    Operation(
        "tellMany", "POST", "/v1/outcomes:batch", batches.tell_many, "Book many outcomes", "tell",
        {200: d.BatchResults}, t.OutcomesRequest, _IN_LINE, (p.TIMEOUT,),
    ),
    Operation(
        "listDecisions", "GET", f"{_C}/decisions", decisions.list_decisions, "Return decisions", "read",
        {200: d.DecisionPage}, None, ("unknown-campaign",), (p.OPEN_ONLY, p.AFTER, p.limit(1000)),
    ),
    Operation(
        "voidMany", "POST", f"{_C}/decisions:void", batches.void_many,
        "Give the holds of many decisions back", "admin", {200: d.BatchResults}, t.VoidManyRequest,
        ("unknown-campaign", *_IN_LINE), (p.TIMEOUT,),
    ),
    *_of_campaigns(),
    *_of_arms(),
    *_of_logs(),
    *_of_keys(),
    *health.health_body(),
)  # fmt: skip
"""All of them."""
