"""Decisions: asked for, confirmed, settled, voided, corrected, shown; one or many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from bursar.campaign import Decision, commands
from bursar.campaign.ask_options import make_ask_options
from bursar.campaign.events import GRANTS
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, InvalidInput
from bursar.ledger import Event
from bursar.service import schemas
from bursar.service.auth import require
from bursar.service.operation import CAMPAIGN, LONG_READ, Call, H, camel_case, operation
from bursar.service.requests import check_id, header, only_campaign, request_deadline
from bursar.service.responses import JSON, BytesResponse, encode, json_response, problem_body
from bursar.service.routes.events import page_response

if TYPE_CHECKING:
    from bursar.service.service import Service

_NEW = (JSON,)
_REPLAYED = (JSON, (b"idempotency-replayed", b"true"))
_QUEUED = ("overloaded", "deadline-passed", "stopping")
_MOST = 1000  # decisions that one call may end
_ASK_CODES = (
    "unknown-arm", "budget-exhausted", "not-active", "too-many-open", "idempotency-mismatch",
    "policy-error", *_QUEUED,
)  # fmt: skip
_GRANT = schemas.DecisionBody | schemas.DecisionBatch


@operation(
    "POST", f"{CAMPAIGN}/decisions", "ask", {201: _GRANT, 200: _GRANT}, codes=_ASK_CODES,
    response_headers=("Idempotency-Replayed",),
)  # fmt: skip
async def ask(call: Call[schemas.AskRequest]) -> BytesResponse:
    """Ask which arm to play, or for n decisions at once; their money is held."""
    service, name, given = call.service, call.campaign, call.given
    id = _request_id(call)
    try:
        if given.n is not None or given.ids is not None:
            return await _ask_many(call, id)
        options = make_ask_options(given.among, given.exclude, given.context, given.hold)
        command = commands.ask_command(id, options)
        decision = await service.submit(name, command, deadline=request_deadline(call.request))
    except BursarError as error:
        service.metrics.asks[error.code].inc()
        raise
    call.request.scope["bursar.decision"] = decision.id
    if id is None:
        service.recent.add(decision.id, name)
    body = encode(schemas.decision_body(name, decision, service.signer))
    if decision.replayed:
        service.metrics.asks["replayed"].inc()
        return BytesResponse(200, body, _REPLAYED)
    service.metrics.asks["granted"].inc()
    return BytesResponse(201, body, _NEW)


def _request_id(call: Call[schemas.AskRequest]) -> str | None:
    """Return the id that the caller chose, in the body or in a header."""
    id, given = header(call.request, b"idempotency-key"), call.given.id
    if id is None or given is None or id == given:
        return given if id is None else id
    raise InvalidInput(f"id and Idempotency-Key must be the same, got {given!r} and {id!r}")


async def _ask_many(call: Call[schemas.AskRequest], id: str | None) -> BytesResponse:
    service, name, given = call.service, call.campaign, call.given
    ids = given.ids
    if ids is not None and id is not None:
        key = "id" if given.id is not None else "Idempotency-Key"
        raise InvalidInput(
            f"give ids or {key}, not both: ids names each decision, {key} all of them"
        )
    count = len(ids or ()) if given.n is None else given.n
    options = make_ask_options(given.among, given.exclude, given.context, given.hold)
    if id is None:
        command = commands.ask_many_command(count, options, ids)
    else:
        command = commands.ask_batch_command(count, options, id=id)
    decisions = await service.submit(name, command, deadline=request_deadline(call.request))
    replayed = sum(one.replayed for one in decisions)
    service.metrics.asks["granted"].inc(len(decisions) - replayed)
    service.metrics.asks["replayed"].inc(replayed)
    if ids is None and id is None:
        for one in decisions:
            service.recent.add(one.id, name)
    bodies = [schemas.decision_body(name, one, service.signer) for one in decisions]
    body = encode(
        schemas.DecisionBatch(
            decisions=bodies,
            asked=decisions.asked,
            granted=decisions.granted,
            reason=decisions.reason,
        )
    )
    if replayed and replayed == len(decisions):
        return BytesResponse(200, body, _REPLAYED)
    return BytesResponse(201, body, _NEW)


def _decision_operation(
    method: str, action: str, scope: str, gives: Any, **more: Any
) -> Callable[[H], H]:
    """Declare an operation on one decision, at its own address and at that in its campaign."""

    def declare(run: H) -> H:
        name = camel_case(run.__name__)
        for prefix, suffix in (("/v1", ""), (CAMPAIGN, "InCampaign")):
            path = f"{prefix}/decisions/{{id}}{action}"
            operation(method, path, scope, gives, name=name + suffix, **more)(run)
        return run

    return declare


def _outcome_operation(action: str, scope: str) -> Callable[[H], H]:
    return _decision_operation(
        "POST", f"/{action}", scope, schemas.DecisionBody,
        response_headers=("Idempotency-Replayed",),
        codes=("decision-unknown", "outcome-conflict", *_QUEUED),
    )  # fmt: skip


@_outcome_operation("outcome", "tell")
async def tell(call: Call[schemas.OutcomeRequest]) -> BytesResponse:
    """Record the cost and reward of a decision; repeating the call changes nothing."""
    try:
        command = await _tell_command(call.service, call.campaign, call.decision, call.given)
    except BursarError as error:
        call.service.metrics.outcomes[error.code].inc()
        raise
    return await _submit(call, command, "rewarded" if call.given.cost is None else "settled")


@_outcome_operation("confirm", "tell")
async def confirm(call: Call[schemas.ActRequest]) -> BytesResponse:
    """Confirm that the money of a decision is about to be spent."""
    return await _submit(call, commands.confirm_command(call.decision), "confirmed")


@_outcome_operation("void", "tell")
async def void(call: Call[schemas.VoidRequest]) -> BytesResponse:
    """Release the hold of a decision that was not used."""
    given = call.given
    command = commands.void_command(call.decision, given.reason, call.key.author(given.by))
    return await _submit(call, command, "voided")


@_outcome_operation("correct", "adjust")
async def correct(call: Call[schemas.CorrectionRequest]) -> BytesResponse:
    """Correct an outcome that was reported wrongly."""
    given, config = call.given, (await call.open_campaign()).config
    command = commands.correct_command(
        config, call.decision, given.cost, given.reward, given.reason, call.key.author(given.by)
    )
    return await _submit(call, command, "corrected")


async def _tell_command(
    service: Service,
    campaign: str,
    decision: str,
    given: schemas.OutcomeRequest | schemas.OutcomeReport,
) -> Any:
    config = (await service.find_campaign(campaign)).config
    token = given.token
    grant = None if token is None else service.signer.open(campaign, decision, token)
    return commands.tell_command(
        config, decision, given.cost, given.reward, given.report_id, given.rounding, grant
    )


async def _submit(call: Call[Any], command: Any, kind: str) -> BytesResponse:
    """Execute a command on a decision before queued asks, since it may free money."""
    metrics, deadline = call.service.metrics, request_deadline(call.request)
    try:
        decision: Decision = await call.service.submit(
            call.campaign, command, urgent=True, deadline=deadline
        )
    except BursarError as error:
        metrics.outcomes[error.code].inc()
        raise
    metrics.outcomes["replayed" if decision.replayed else kind].inc()
    body = encode(schemas.decision_body(call.campaign, decision))
    return BytesResponse(200, body, _REPLAYED if decision.replayed else _NEW)


@_decision_operation(
    "GET", "", "read", schemas.ExplainedDecision, codes=("decision-unknown", *LONG_READ)
)
async def show_decision(call: Call[schemas.WhyQuery]) -> BytesResponse:
    """Return a decision as it stands and, if wanted, why it was made."""
    service, campaign = call.service, await call.open_campaign()

    def look() -> bytes:
        decision = campaign.decision(call.decision)
        body = schemas.decision_body(call.campaign, decision, service.signer)
        if call.given.why != "true":
            return encode(body)
        why = campaign.explain(call.decision)
        if not why.verified:
            service.metrics.mismatches.inc()
        return encode(msgspec.structs.asdict(body) | {"why": why.as_dict()})

    if call.given.why == "true":
        return BytesResponse(200, await service.run_heavy(call.request, look))
    return BytesResponse(200, await service.run_in_thread(look))


@operation("POST", "/v1/outcomes:batch", "tell", schemas.BatchResults, codes=_QUEUED)
async def tell_many(call: Call[schemas.OutcomesRequest]) -> BytesResponse:
    """Record many outcomes; each succeeds or fails alone, in one commit for each campaign."""
    service, given = call.service, call.given.outcomes
    results: list[Any] = [None] * len(given)
    batches: dict[str, list[tuple[int, Any]]] = {}
    owners = await _find_owners(service, given)
    for index, one in enumerate(given):
        try:
            check_id(one.decision)
            name = one.campaign or service.recent.get(one.decision)
            name = name or only_campaign(call.key, one.decision, owners[one.decision])
            require(call.request, "tell", name)
            command = await _tell_command(service, name, one.decision, one)
            batches.setdefault(name, []).append((index, command))
        except BursarError as error:
            results[index] = ("", error)
    await asyncio.gather(*(_submit_all(call, *items, results) for items in batches.items()))
    return _batch_response(call, results, "settled")


@operation("GET", f"{CAMPAIGN}/decisions", "read", schemas.DecisionPage, codes=LONG_READ)
async def list_decisions(call: Call[schemas.DecisionQuery]) -> BytesResponse:
    """Return a page of decisions, oldest first; open ones only if wanted."""
    campaign, after = await call.open_campaign(), call.given.after

    def find_open() -> list[Decision]:
        return [one for one in campaign.holds() if one.seq > after]

    def encode_decision(one: Decision) -> bytes:
        return encode(schemas.decision_body(campaign.name, one))

    def encode_grant(event: Event) -> bytes:
        is_grant = event.kind in GRANTS
        return encode_decision(campaign.decision(event.decision)) if is_grant else b""

    if call.given.open == "true":
        return await page_response(call, b"decisions", find_open, encode_decision, heavy=False)
    events = partial(campaign.events, after)
    return await page_response(call, b"decisions", events, encode_grant, heavy=True)


@operation("POST", f"{CAMPAIGN}/decisions:void", "admin", schemas.BatchResults, codes=_QUEUED)
async def void_many(call: Call[schemas.VoidManyRequest]) -> BytesResponse:
    """Release the holds of many decisions: of those given, or of all that are older than given."""
    given, by = call.given, call.key.author(call.given.by)
    if (given.ids is None) == (given.older_than is None):
        raise InvalidInput("give ids or older_than, one of the two")
    ids = given.ids
    if ids is None:
        since = datetime.now(UTC) - timedelta(seconds=given.older_than or 0.0)
        held = await call.service.run_in_thread((await call.open_campaign()).holds)
        ids = [one.id for one in held if one.at <= since][:_MOST]
    results: list[Any] = [None] * len(ids)
    batch = []
    for index, one in enumerate(ids):
        try:
            batch.append((index, commands.void_command(check_id(one), given.reason, by)))
        except BursarError as error:
            results[index] = (call.campaign, error)
    await _submit_all(call, call.campaign, batch, results)
    return _batch_response(call, results, "voided")


async def _find_owners(
    service: Service, given: list[schemas.OutcomeReport]
) -> dict[str, list[str]]:
    """Return the campaigns of decisions that came without one and are not recent."""
    unknown = {
        one.decision
        for one in given
        if one.campaign is None
        and service.recent.get(one.decision) is None
        and one.decision.isprintable()
    }
    if not unknown:
        return {}
    find = service.store.find_campaigns
    return await service.run_in_thread(lambda: {one: find(one) for one in unknown})


async def _submit_all(
    call: Call[Any], name: str, batch: list[tuple[int, Any]], results: list[Any]
) -> None:
    """Execute numbered commands of one campaign in one transaction; set their results."""

    def execute(transaction: Transaction) -> list[Any]:
        found: list[Any] = []
        for _, command in batch:
            try:
                found.append(command(transaction))
            except BursarError as error:
                found.append(error)
        return found

    try:
        deadline = request_deadline(call.request)
        found = await call.service.submit(name, execute, urgent=True, deadline=deadline)
    except BursarError as error:
        found = [error] * len(batch)
    for (index, _), one in zip(batch, found, strict=True):
        results[index] = (name, one)


def _batch_response(call: Call[Any], results: list[Any], kind: str) -> BytesResponse:
    metrics, bodies = call.service.metrics, []
    for name, one in results:
        if isinstance(one, BursarError):
            metrics.outcomes[one.code].inc()
            problem = problem_body(one, call.request.scope)
            bodies.append({"status": problem["status"], "problem": problem})
        else:
            metrics.outcomes["replayed" if one.replayed else kind].inc()
            bodies.append({"status": 200, "decision": schemas.decision_body(name, one)})
    return json_response({"results": bodies})
