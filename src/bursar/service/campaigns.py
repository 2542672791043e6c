"""Campaigns: made, listed, looked at, changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request

from bursar.campaign import Campaign
from bursar.campaign.plain import plain
from bursar.errors import CorruptLedger, InvalidInput, NewerSchema
from bursar.service.answer import Answer, json_answer
from bursar.service.auth import require
from bursar.service.body import body_of
from bursar.service.placing import author, version_of
from bursar.service.query import whole
from bursar.service.taken import Act, Change, NewCampaign, Reconciliation

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["change", "close", "create", "listing", "pause", "reconcile", "resume", "show", "state"]

_NEW = msgspec.json.Decoder(NewCampaign)
_CHANGE = msgspec.json.Decoder(Change)
_ACT = msgspec.json.Decoder(Act)
_GAP = msgspec.json.Decoder(Reconciliation)
_PLAIN = frozenset(("name", "budget", "arms", "by"))


async def create(service: Service, request: Request) -> Answer:
    """Make a campaign; the same again is answered like the first time, but with 200."""
    require(request, "admin")
    given = await body_of(request, _NEW)
    by = author(require(request, "admin", given.name), given.by)
    arms = {one.key: one.max_cost for one in given.arms}
    if len(arms) < len(given.arms):
        raise InvalidInput("arms must have different keys, got one of them twice")
    rules = {
        field: value
        for field in given.__struct_fields__
        if field not in _PLAIN and (value := getattr(given, field)) is not msgspec.UNSET
    }

    def make() -> tuple[bool, dict[str, Any]]:
        before = given.name in service.names()
        Campaign(given.name, given.budget, arms, storage=service.store, by=by, **rules)
        return before, described(service.campaign(given.name))

    before, facts = await service.look(make)
    place = f"/v1/campaigns/{quote(given.name, safe='')}".encode()
    return json_answer(facts, 200 if before else 201, (b"location", place), _etag(facts))


async def listing(service: Service, request: Request) -> Answer:
    """Return campaigns by name, a page at a time."""
    key = require(request, "read")
    limit = whole(request, "limit", 100, 1, 500)
    after = request.query_params.get("after", "")
    names = await service.look(service.names)
    seen = sorted(name for name in names if key.sees(name) and name > after)
    page = seen[:limit]
    found, damaged = await service.look(_standing, service, page)
    last = page[-1] if len(seen) > limit else None
    return json_answer({"campaigns": found, "damaged": damaged, "next": last})


def _standing(service: Service, names: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return how campaigns stand, and those that cannot be read: one must not hide the others."""
    found, damaged = [], []
    for name in names:
        try:
            found.append(service.campaign(name).status().as_dict())
        except (CorruptLedger, NewerSchema):
            damaged.append(name)
    return found, damaged


async def show(service: Service, request: Request) -> Answer:
    """Return a campaign: its money, its rules and what an operator should know."""
    name: str = request.path_params["campaign"]
    require(request, "read", name)
    facts = await service.look(lambda: described(service.campaign(name)))
    return json_answer(facts, 200, _etag(facts))


async def state(service: Service, request: Request) -> Answer:
    """Return how a campaign stands, for those who look often."""
    name: str = request.path_params["campaign"]
    require(request, "read", name)
    facts = await service.look(lambda: service.campaign(name).status().as_dict())
    return json_answer(facts, 200, _etag(facts))


async def change(service: Service, request: Request) -> Answer:
    """Change budget and caps, all or nothing, from a version that is still the newest."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    version = version_of(request, required=True)
    given = await body_of(request, _CHANGE)
    if given.budget is None and not given.caps:
        raise InvalidInput("a change must have a budget, caps or both, got neither")
    verb = (await service.find(name)).change
    by = author(key, given.by)
    await service.change(
        name, verb, budget=given.budget, caps=given.caps, by=by, if_version=version
    )
    return await _after(service, name)


async def pause(service: Service, request: Request) -> Answer:
    """Grant no asks until resumed."""
    return await _act(service, request, "pause")


async def resume(service: Service, request: Request) -> Answer:
    """Grant asks again."""
    return await _act(service, request, "resume")


async def close(service: Service, request: Request) -> Answer:
    """Close a campaign for good; outcomes are still booked."""
    return await _act(service, request, "finish")


async def reconcile(service: Service, request: Request) -> Answer:
    """Count what was spent since the backup that a campaign was restored from."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await body_of(request, _GAP)
    verb = (await service.find(name)).reconcile
    by, version = author(key, given.by), version_of(request)
    await service.change(name, verb, given.gap, by=by, if_version=version)
    return await _after(service, name)


async def _act(service: Service, request: Request, verb: str) -> Answer:
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await body_of(request, _ACT)
    done = getattr(await service.find(name), verb)
    await service.change(name, done, by=author(key, given.by), if_version=version_of(request))
    return await _after(service, name)


async def _after(service: Service, name: str) -> Answer:
    facts = await service.look(lambda: described(service.campaign(name)))
    return json_answer(facts, 200, _etag(facts))


def described(campaign: Campaign) -> dict[str, Any]:
    """Return all about a campaign that is not its arms or its log."""
    facts = campaign.status().as_dict()
    return facts | {"config": plain(campaign.config.body()), "alarms": campaign.alarms}


def _etag(facts: dict[str, Any]) -> tuple[bytes, bytes]:
    return b"etag", b'"%d"' % facts["version"]
