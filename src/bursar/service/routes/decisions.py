"""Asks: which arm to play. The hot path of the service, together with outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request

from bursar.campaign import Campaign, Decision
from bursar.campaign.commands import (
    ask_command,
    ask_many_command,
    confirm_command,
    correct_command,
    tell_command,
    void_command,
)
from bursar.campaign.events import GRANTS
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, InvalidInput
from bursar.service.auth import require
from bursar.service.requests import (
    check_id,
    header,
    only_campaign,
    read_body,
    read_flag,
    read_int,
    request_author,
    request_campaign,
    request_deadline,
    resolve_decision,
)
from bursar.service.responses import JSON, BytesResponse, encode, json_response, problem_body
from bursar.service.routes.events import page_of
from bursar.service.schemas import (
    ActRequest,
    AskRequest,
    CorrectionRequest,
    OutcomeReport,
    OutcomeRequest,
    OutcomesRequest,
    VoidManyRequest,
    VoidRequest,
    decision_body,
)

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "REPLAYED",
    "ask",
    "confirm",
    "correct",
    "list_decisions",
    "show_decision",
    "tell",
    "tell_many",
    "void",
    "void_many",
]

REPLAYED = (b"idempotency-replayed", b"true")
_NEW = (JSON,)
_AGAIN = (JSON, REPLAYED)
_ASK = msgspec.json.Decoder(AskRequest)


async def ask(service: Service, request: Request) -> BytesResponse:
    """Grant a decision, or n of them, their money held."""
    name: str = request.path_params["campaign"]
    require(request, "ask", name)
    given = await read_body(request, _ASK)
    key = _id_of(request, given)
    try:
        if given.n is not None or given.ids is not None:
            return await _several(service, request, name, given, key)
        work = ask_command(key, given.among, given.exclude, given.context)
        decision = await service.submit(name, work, deadline=request_deadline(request))
    except BursarError as error:
        service.metrics.count_asks(error.code)
        raise
    request.scope["bursar.decision"] = decision.id
    if key is None:
        service.recent.note(decision.id, name)
    body = encode(decision_body(name, decision, service.signer))
    if decision.replayed:
        service.metrics.count_asks("replayed")
        return BytesResponse(200, body, _AGAIN)
    service.metrics.count_asks("granted")
    return BytesResponse(201, body, _NEW)


def _id_of(request: Request, given: AskRequest) -> str | None:
    """Return the id that the caller gave, in the body or as a header."""
    key = header(request, b"idempotency-key")
    if key is None or given.id is None or key == given.id:
        return given.id if key is None else key
    raise InvalidInput(f"id and Idempotency-Key must be the same, got {given.id!r} and {key!r}")


async def _several(
    service: Service, request: Request, name: str, given: AskRequest, key: str | None
) -> BytesResponse:
    ids = given.ids
    if ids is None and key is not None:  # so that a batch that is sent again is the same batch
        ids = [f"{key}.{number}" for number in range(1, (given.n or 0) + 1)]
    elif given.id is not None:
        raise InvalidInput("give ids or id, not both: ids names each decision, id all of them")
    count = len(ids or ()) if given.n is None else given.n
    work = ask_many_command(count, given.among, given.exclude, given.context, ids)
    decisions = await service.submit(name, work, deadline=request_deadline(request))
    again = sum(one.replayed for one in decisions)
    service.metrics.count_asks("granted", len(decisions) - again)
    service.metrics.count_asks("replayed", again)
    if ids is None:
        for one in decisions:
            service.recent.note(one.id, name)
    body = encode({"decisions": [decision_body(name, one, service.signer) for one in decisions]})
    if again and again == len(decisions):
        return BytesResponse(200, body, _AGAIN)
    return BytesResponse(201, body, _NEW)


# ==== service.outcomes
# Outcomes: what decisions cost and brought; confirmed, voided, corrected.

_OUTCOME = msgspec.json.Decoder(OutcomeRequest)
_VOID = msgspec.json.Decoder(VoidRequest)
_CORRECTION = msgspec.json.Decoder(CorrectionRequest)
_NOTHING = msgspec.json.Decoder(ActRequest)


async def tell(service: Service, request: Request) -> BytesResponse:
    """Book what a decision cost and brought; twice is once."""
    name, key = await resolve_decision(service, request, "tell")
    given = await read_body(request, _OUTCOME)
    try:
        config = (await service.find_campaign(name)).config
        grant = None if given.token is None else service.signer.opened(name, key, given.token)
        work = tell_command(
            config, key, given.cost, given.reward, given.report_id, given.rounding, grant
        )
        told = await service.submit(name, work, urgent=True, deadline=request_deadline(request))
    except BursarError as error:
        service.metrics.count_outcomes(error.code)
        raise
    return _answered(service, name, told, "rewarded" if given.cost is None else "settled")


async def confirm(service: Service, request: Request) -> BytesResponse:
    """Say that the money of a decision is about to be spent."""
    name, key = await resolve_decision(service, request, "tell")
    await read_body(request, _NOTHING)
    work = confirm_command(key)
    return await _done(service, request, name, work, "confirmed")


async def void(service: Service, request: Request) -> BytesResponse:
    """Give the hold of a decision back."""
    name, key = await resolve_decision(service, request, "tell")
    given = await read_body(request, _VOID)
    work = void_command(key, given.reason, request_author(request.scope["bursar.key"], given.by))
    return await _done(service, request, name, work, "voided")


async def correct(service: Service, request: Request) -> BytesResponse:
    """Put an outcome right that was told wrongly."""
    name, decision = await resolve_decision(service, request, "adjust")
    key = require(request, "adjust", name)
    given = await read_body(request, _CORRECTION)
    work = correct_command(
        (await service.find_campaign(name)).config, decision, given.cost, given.reward, given.reason,
        request_author(key, given.by),
    )  # fmt: skip
    return await _done(service, request, name, work, "corrected")


async def _done(
    service: Service, request: Request, name: str, work: Any, kind: str
) -> BytesResponse:
    try:
        done = await service.submit(name, work, urgent=True, deadline=request_deadline(request))
    except BursarError as error:
        service.metrics.count_outcomes(error.code)
        raise
    return _answered(service, name, done, kind)


def _answered(service: Service, name: str, decision: Decision, kind: str) -> BytesResponse:
    body = encode(decision_body(name, decision))
    if decision.replayed:
        service.metrics.count_outcomes("replayed")
        return BytesResponse(200, body, _AGAIN)
    service.metrics.count_outcomes(kind)
    return BytesResponse(200, body, _NEW)


# ==== service.decisions
# Decisions: looked at, one with its reasons, or many.


async def show_decision(service: Service, request: Request) -> BytesResponse:
    """Return a decision as it stands; with ``why``, what was known when it was made."""
    name, key = await resolve_decision(service, request, "read")
    campaign = await service.find_campaign(name)
    why = read_flag(request, "why")

    def look() -> dict[str, Any]:
        found: dict[str, Any] = msgspec.structs.asdict(
            decision_body(name, campaign.decision(key), service.signer)
        )
        if why:
            explanation = campaign.explain(key)
            if not explanation.verified:
                service.metrics.count_mismatches()
            found["why"] = explanation.as_dict()
        return found

    return json_response(await service.run_in_thread(look))


async def list_decisions(service: Service, request: Request) -> BytesResponse:
    """Return decisions, oldest first, a page at a time; open ones only if so wanted."""
    name = request_campaign(request, "read")
    limit = read_int(request, "limit", 100, 1, 1000)
    after = read_int(request, "after", 0, 0, 10**17)
    only_open = read_flag(request, "open")
    campaign = await service.find_campaign(name)
    look = _open if only_open else _all
    found, more = await service.run_in_thread(look, campaign, after, limit)
    return json_response({"decisions": found, "next": found[-1].seq if more else None})


def _open(campaign: Campaign, after: int, limit: int) -> tuple[list[Any], bool]:
    later = [one for one in campaign.holds() if one.seq > after]
    return [decision_body(campaign.name, one) for one in later[:limit]], len(later) > limit


def _all(campaign: Campaign, after: int, limit: int) -> tuple[list[Any], bool]:
    asked, more = page_of(campaign, after, limit, GRANTS)
    found = [decision_body(campaign.name, campaign.decision(one.decision)) for one in asked]
    return found, more is not None


# ==== service.batches
# Many outcomes at once: each is booked or refused by itself, all of a campaign with one commit.

_OUTCOMES = msgspec.json.Decoder(OutcomesRequest)
_VOIDS = msgspec.json.Decoder(VoidManyRequest)
_MOST = 1000  # decisions that one call may end


async def tell_many(service: Service, request: Request) -> BytesResponse:
    """Book many outcomes; the answer has a result for each, in the same order."""
    key = require(request, "tell")
    given = (await read_body(request, _OUTCOMES)).outcomes
    results: list[Any] = [None] * len(given)
    groups: dict[str, list[tuple[int, Any]]] = {}
    owners = await _owners(service, given)
    for place, one in enumerate(given):
        try:
            check_id(one.decision)
            name = one.campaign or service.recent.get(one.decision)
            name = name or only_campaign(key, one.decision, owners[one.decision])
            require(request, "tell", name)
            config = (await service.find_campaign(name)).config
            work = tell_command(
                config, one.decision, one.cost, one.reward, one.report_id, one.rounding,
                None if one.token is None else service.signer.opened(name, one.decision, one.token),
            )  # fmt: skip
            groups.setdefault(name, []).append((place, work))
        except BursarError as error:
            results[place] = ("", error)
    await asyncio.gather(
        *(_serve(service, name, works, results, request_deadline(request))
          for name, works in groups.items())
    )  # fmt: skip
    return json_response({"results": _results(service, request, results, "settled")})


async def void_many(service: Service, request: Request) -> BytesResponse:
    """Give the holds of many decisions back: named ones, or those that are open for too long."""
    name = request_campaign(request, "admin")
    given = await read_body(request, _VOIDS)
    by = request_author(request.scope["bursar.key"], given.by)
    if (given.ids is None) == (given.older_than is None):
        raise InvalidInput("give ids or older_than, one of the two")
    ids = given.ids
    if ids is None:
        since = datetime.now(UTC) - timedelta(seconds=given.older_than or 0.0)
        held = await service.run_in_thread((await service.find_campaign(name)).holds)
        ids = [one.id for one in held if one.at <= since][:_MOST]
    results: list[Any] = [None] * len(ids)
    works = []
    for place, one in enumerate(ids):
        try:
            works.append((place, void_command(check_id(one), given.reason, by)))
        except BursarError as error:
            results[place] = (name, error)
    await _serve(service, name, works, results, request_deadline(request))
    return json_response({"results": _results(service, request, results, "voided")})


async def _owners(service: Service, given: Sequence[OutcomeReport]) -> dict[str, list[str]]:
    """Return the campaigns of decisions that came without one and are not remembered."""
    lost = {
        one.decision
        for one in given
        if one.campaign is None
        and service.recent.get(one.decision) is None
        and one.decision.isprintable()
    }
    if not lost:
        return {}
    find = service.store.find_campaigns
    return await service.run_in_thread(lambda: {one: find(one) for one in lost})


async def _serve(
    service: Service,
    name: str,
    works: list[tuple[int, Any]],
    results: list[Any],
    deadline: float | None,
) -> None:
    """Do works of one campaign in one transaction; put what came of each into its place."""

    def each(transaction: Transaction) -> list[Any]:
        found: list[Any] = []
        for _, work in works:
            try:
                found.append(work(transaction))
            except BursarError as error:
                found.append(error)
        return found

    try:
        found = await service.submit(name, each, urgent=True, deadline=deadline)
    except BursarError as error:
        found = [error] * len(works)
    for (place, _), one in zip(works, found, strict=True):
        results[place] = (name, one)


def _results(
    service: Service, request: Request, results: list[Any], kind: str
) -> list[dict[str, Any]]:
    shown_ones = []
    for name, one in results:
        if isinstance(one, BursarError):
            service.metrics.count_outcomes(one.code)
            problem = problem_body(one, request.scope, service.config)
            shown_ones.append({"status": problem["status"], "problem": problem})
        else:
            service.metrics.count_outcomes("replayed" if one.replayed else kind)
            shown_ones.append({"status": 200, "decision": decision_body(name, one)})
    return shown_ones
