"""Asks: which arm to play. The hot path of the service, together with outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request

from bursar.campaign.request import ask_many_of, ask_of
from bursar.errors import BursarError, InvalidInput
from bursar.service.answer import JSON, Answer, encode
from bursar.service.auth import require
from bursar.service.body import body_of, header
from bursar.service.placing import deadline_of
from bursar.service.shown import shown
from bursar.service.taken import Ask

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["REPLAYED", "ask"]

REPLAYED = (b"idempotency-replayed", b"true")
_NEW = (JSON,)
_AGAIN = (JSON, REPLAYED)
_ASK = msgspec.json.Decoder(Ask)


async def ask(service: Service, request: Request) -> Answer:
    """Grant a decision, or n of them, their money held."""
    name: str = request.path_params["campaign"]
    require(request, "ask", name)
    given = await body_of(request, _ASK)
    key = _id_of(request, given)
    try:
        if given.n is not None or given.ids is not None:
            return await _several(service, request, name, given, key)
        work = ask_of(key, given.among, given.exclude, given.context)
        decision = await service.do(name, work, deadline=deadline_of(request))
    except BursarError as error:
        service.metrics.asked(error.code)
        raise
    request.scope["bursar.decision"] = decision.id
    if key is None:
        service.recent.note(decision.id, name)
    body = encode(shown(name, decision, service.seal))
    if decision.replayed:
        service.metrics.asked("replayed")
        return Answer(200, body, _AGAIN)
    service.metrics.asked("granted")
    return Answer(201, body, _NEW)


def _id_of(request: Request, given: Ask) -> str | None:
    """Return the id that the caller gave, in the body or as a header."""
    key = header(request, b"idempotency-key")
    if key is None or given.id is None or key == given.id:
        return given.id if key is None else key
    raise InvalidInput(f"id and Idempotency-Key must be the same, got {given.id!r} and {key!r}")


async def _several(
    service: Service, request: Request, name: str, given: Ask, key: str | None
) -> Answer:
    ids = given.ids
    if ids is None and key is not None:  # so that a batch that is sent again is the same batch
        ids = [f"{key}.{number}" for number in range(1, (given.n or 0) + 1)]
    elif given.id is not None:
        raise InvalidInput("give ids or id, not both: ids names each decision, id all of them")
    count = len(ids or ()) if given.n is None else given.n
    work = ask_many_of(count, given.among, given.exclude, given.context, ids)
    decisions = await service.do(name, work, deadline=deadline_of(request))
    again = sum(one.replayed for one in decisions)
    service.metrics.asked("granted", len(decisions) - again)
    service.metrics.asked("replayed", again)
    if ids is None:
        for one in decisions:
            service.recent.note(one.id, name)
    body = encode({"decisions": [shown(name, one, service.seal) for one in decisions]})
    if again and again == len(decisions):
        return Answer(200, body, _AGAIN)
    return Answer(201, body, _NEW)
