"""Many outcomes at once: each is booked or refused by itself, all of a campaign with one commit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request

from bursar.campaign.request import tell_of, void_of
from bursar.campaign.turn import Turn
from bursar.errors import BursarError, InvalidInput
from bursar.service.answer import Answer, json_answer
from bursar.service.auth import require
from bursar.service.body import body_of
from bursar.service.placing import author, campaign_of, deadline_of, readable, sole
from bursar.service.problem import members
from bursar.service.shown import shown
from bursar.service.taken import Outcomes, Told, VoidMany

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["tell_many", "void_many"]

_OUTCOMES = msgspec.json.Decoder(Outcomes)
_VOIDS = msgspec.json.Decoder(VoidMany)
_MOST = 1000  # decisions that one call may end


async def tell_many(service: Service, request: Request) -> Answer:
    """Book many outcomes; the answer has a result for each, in the same order."""
    key = require(request, "tell")
    given = (await body_of(request, _OUTCOMES)).outcomes
    results: list[Any] = [None] * len(given)
    groups: dict[str, list[tuple[int, Any]]] = {}
    owners = await _owners(service, given)
    for place, one in enumerate(given):
        try:
            readable(one.decision)
            name = one.campaign or service.recent.get(one.decision)
            name = name or sole(key, one.decision, owners[one.decision])
            require(request, "tell", name)
            config = (await service.find(name)).config
            work = tell_of(
                config, one.decision, one.cost, one.reward, one.report_id, one.rounding,
                None if one.token is None else service.seal.opened(name, one.decision, one.token),
            )  # fmt: skip
            groups.setdefault(name, []).append((place, work))
        except BursarError as error:
            results[place] = ("", error)
    await asyncio.gather(
        *(_serve(service, name, works, results, deadline_of(request))
          for name, works in groups.items())
    )  # fmt: skip
    return json_answer({"results": _results(service, request, results, "settled")})


async def void_many(service: Service, request: Request) -> Answer:
    """Give the holds of many decisions back: named ones, or those that are open for too long."""
    name = campaign_of(request, "admin")
    given = await body_of(request, _VOIDS)
    by = author(request.scope["bursar.key"], given.by)
    if (given.ids is None) == (given.older_than is None):
        raise InvalidInput("give ids or older_than, one of the two")
    ids = given.ids
    if ids is None:
        since = datetime.now(UTC) - timedelta(seconds=given.older_than or 0.0)
        held = await service.look((await service.find(name)).holds)
        ids = [one.id for one in held if one.at <= since][:_MOST]
    results: list[Any] = [None] * len(ids)
    works = []
    for place, one in enumerate(ids):
        try:
            works.append((place, void_of(readable(one), given.reason, by)))
        except BursarError as error:
            results[place] = (name, error)
    await _serve(service, name, works, results, deadline_of(request))
    return json_answer({"results": _results(service, request, results, "voided")})


async def _owners(service: Service, given: Sequence[Told]) -> dict[str, list[str]]:
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
    find = service.store.campaigns_of
    return await service.look(lambda: {one: find(one) for one in lost})


async def _serve(
    service: Service,
    name: str,
    works: list[tuple[int, Any]],
    results: list[Any],
    deadline: float | None,
) -> None:
    """Do works of one campaign in one turn; put what came of each into its place."""

    def each(turn: Turn) -> list[Any]:
        found: list[Any] = []
        for _, work in works:
            try:
                found.append(work(turn))
            except BursarError as error:
                found.append(error)
        return found

    try:
        found = await service.do(name, each, urgent=True, deadline=deadline)
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
            service.metrics.outcome(one.code)
            problem = members(one, request.scope, service.settings)
            shown_ones.append({"status": problem["status"], "problem": problem})
        else:
            service.metrics.outcome("replayed" if one.replayed else kind)
            shown_ones.append({"status": 200, "decision": shown(name, one)})
    return shown_ones
