"""Outcomes: what decisions cost and brought; confirmed, voided, corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request

from bursar.campaign import Decision
from bursar.campaign.request import confirm_of, correct_of, tell_of, void_of
from bursar.errors import BursarError
from bursar.service.answer import JSON, Answer, encode
from bursar.service.asks import REPLAYED
from bursar.service.auth import require
from bursar.service.body import body_of
from bursar.service.placing import author, deadline_of, whose
from bursar.service.shown import shown
from bursar.service.taken import Act, Correction, Outcome, Void

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["confirm", "correct", "tell", "void"]

_OUTCOME = msgspec.json.Decoder(Outcome)
_VOID = msgspec.json.Decoder(Void)
_CORRECTION = msgspec.json.Decoder(Correction)
_NOTHING = msgspec.json.Decoder(Act)
_NEW = (JSON,)
_AGAIN = (JSON, REPLAYED)


async def tell(service: Service, request: Request) -> Answer:
    """Book what a decision cost and brought; twice is once."""
    name, key = await whose(service, request, "tell")
    given = await body_of(request, _OUTCOME)
    try:
        config = (await service.find(name)).config
        orphan = None if given.token is None else service.seal.opened(name, key, given.token)
        work = tell_of(
            config, key, given.cost, given.reward, given.report_id, given.rounding, orphan
        )
        told = await service.do(name, work, urgent=True, deadline=deadline_of(request))
    except BursarError as error:
        service.metrics.outcome(error.code)
        raise
    return _answered(service, name, told, "rewarded" if given.cost is None else "settled")


async def confirm(service: Service, request: Request) -> Answer:
    """Say that the money of a decision is about to be spent."""
    name, key = await whose(service, request, "tell")
    await body_of(request, _NOTHING)
    work = confirm_of(key)
    return await _done(service, request, name, work, "confirmed")


async def void(service: Service, request: Request) -> Answer:
    """Give the hold of a decision back."""
    name, key = await whose(service, request, "tell")
    given = await body_of(request, _VOID)
    work = void_of(key, given.reason, author(request.scope["bursar.key"], given.by))
    return await _done(service, request, name, work, "voided")


async def correct(service: Service, request: Request) -> Answer:
    """Put an outcome right that was told wrongly."""
    name, decision = await whose(service, request, "adjust")
    key = require(request, "adjust", name)
    given = await body_of(request, _CORRECTION)
    work = correct_of(
        (await service.find(name)).config, decision, given.cost, given.reward, given.reason,
        author(key, given.by),
    )  # fmt: skip
    return await _done(service, request, name, work, "corrected")


async def _done(service: Service, request: Request, name: str, work: Any, kind: str) -> Answer:
    try:
        done = await service.do(name, work, urgent=True, deadline=deadline_of(request))
    except BursarError as error:
        service.metrics.outcome(error.code)
        raise
    return _answered(service, name, done, kind)


def _answered(service: Service, name: str, decision: Decision, kind: str) -> Answer:
    body = encode(shown(name, decision))
    if decision.replayed:
        service.metrics.outcome("replayed")
        return Answer(200, body, _AGAIN)
    service.metrics.outcome(kind)
    return Answer(200, body, _NEW)
