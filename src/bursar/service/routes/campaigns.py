"""Campaigns: made, listed, looked at, changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request

from bursar.campaign import Campaign
from bursar.errors import CorruptLedger, InvalidInput, NewerSchema
from bursar.formatting import to_plain
from bursar.service.auth import require
from bursar.service.requests import (
    read_body,
    read_int,
    request_author,
    request_campaign,
    request_version,
)
from bursar.service.responses import BytesResponse, json_response
from bursar.service.schemas import (
    ActRequest,
    ArmChangeRequest,
    ChangeRequest,
    NewArmRequest,
    NewCampaignRequest,
    ReconciliationRequest,
)

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "add_arm",
    "change_arm",
    "change_campaign",
    "close_campaign",
    "create_campaign_route",
    "list_arms",
    "list_campaigns",
    "pause_campaign",
    "reconcile_campaign",
    "resume_campaign",
    "retire_arm",
    "show_campaign",
    "show_state",
]

_NEW = msgspec.json.Decoder(NewCampaignRequest)
_CHANGE = msgspec.json.Decoder(ChangeRequest)
_ACT = msgspec.json.Decoder(ActRequest)
_GAP = msgspec.json.Decoder(ReconciliationRequest)
_PLAIN = frozenset(("name", "budget", "arms", "by"))


async def create_campaign_route(service: Service, request: Request) -> BytesResponse:
    """Make a campaign; the same again is answered like the first time, but with 200."""
    require(request, "admin")
    given = await read_body(request, _NEW)
    by = request_author(require(request, "admin", given.name), given.by)
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
        return before, campaign_body(service.campaign(given.name))

    before, facts = await service.run_in_thread(make)
    place = f"/v1/campaigns/{quote(given.name, safe='')}".encode()
    return json_response(facts, 200 if before else 201, (b"location", place), _etag(facts))


async def list_campaigns(service: Service, request: Request) -> BytesResponse:
    """Return campaigns by name, a page at a time."""
    key = require(request, "read")
    limit = read_int(request, "limit", 100, 1, 500)
    after = request.query_params.get("after", "")
    names = await service.run_in_thread(service.names)
    seen = sorted(name for name in names if key.sees(name) and name > after)
    page = seen[:limit]
    found, damaged = await service.run_in_thread(_standing, service, page)
    last = page[-1] if len(seen) > limit else None
    return json_response({"campaigns": found, "damaged": damaged, "next": last})


def _standing(service: Service, names: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return how campaigns stand, and those that cannot be read: one must not hide the others."""
    found, damaged = [], []
    for name in names:
        try:
            found.append(service.campaign(name).status().as_dict())
        except (CorruptLedger, NewerSchema):
            damaged.append(name)
    return found, damaged


async def show_campaign(service: Service, request: Request) -> BytesResponse:
    """Return a campaign: its money, its rules and what an operator should know."""
    name: str = request.path_params["campaign"]
    require(request, "read", name)
    facts = await service.run_in_thread(lambda: campaign_body(service.campaign(name)))
    return json_response(facts, 200, _etag(facts))


async def show_state(service: Service, request: Request) -> BytesResponse:
    """Return how a campaign stands, for those who look often."""
    name: str = request.path_params["campaign"]
    require(request, "read", name)
    facts = await service.run_in_thread(lambda: service.campaign(name).status().as_dict())
    return json_response(facts, 200, _etag(facts))


async def change_campaign(service: Service, request: Request) -> BytesResponse:
    """Change budget and caps, all or nothing, from a version that is still the newest."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    version = request_version(request, required=True)
    given = await read_body(request, _CHANGE)
    if given.budget is None and not given.caps:
        raise InvalidInput("a change must have a budget, caps or both, got neither")
    verb = (await service.find_campaign(name)).change
    by = request_author(key, given.by)
    await service.change(
        name, verb, budget=given.budget, caps=given.caps, by=by, if_version=version
    )
    return await _after(service, name)


async def pause_campaign(service: Service, request: Request) -> BytesResponse:
    """Grant no asks until resumed."""
    return await _act(service, request, "pause")


async def resume_campaign(service: Service, request: Request) -> BytesResponse:
    """Grant asks again."""
    return await _act(service, request, "resume")


async def close_campaign(service: Service, request: Request) -> BytesResponse:
    """Close a campaign for good; outcomes are still booked."""
    return await _act(service, request, "end")


async def reconcile_campaign(service: Service, request: Request) -> BytesResponse:
    """Count what was spent since the backup that a campaign was restored from."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await read_body(request, _GAP)
    verb = (await service.find_campaign(name)).reconcile
    by, version = request_author(key, given.by), request_version(request)
    await service.change(name, verb, given.gap, by=by, if_version=version)
    return await _after(service, name)


async def _act(service: Service, request: Request, verb: str) -> BytesResponse:
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await read_body(request, _ACT)
    done = getattr(await service.find_campaign(name), verb)
    await service.change(
        name, done, by=request_author(key, given.by), if_version=request_version(request)
    )
    return await _after(service, name)


async def _after(service: Service, name: str) -> BytesResponse:
    facts = await service.run_in_thread(lambda: campaign_body(service.campaign(name)))
    return json_response(facts, 200, _etag(facts))


def campaign_body(campaign: Campaign) -> dict[str, Any]:
    """Return all about a campaign that is not its arms or its log."""
    facts = campaign.status().as_dict()
    return facts | {"config": to_plain(campaign.config.body()), "alarms": campaign.alarms}


def _etag(facts: dict[str, Any]) -> tuple[bytes, bytes]:
    return b"etag", b'"%d"' % facts["version"]


# ==== service.arms
# Arms of a campaign: looked at, added, paused, resumed, retired.

_ARMS_NEW = msgspec.json.Decoder(NewArmRequest)
_ARMS_CHANGE = msgspec.json.Decoder(ArmChangeRequest)


async def list_arms(service: Service, request: Request) -> BytesResponse:
    """Return all arms with counts, money, means and intervals."""
    name = request_campaign(request, "read")
    found = await service.run_in_thread((await service.find_campaign(name)).arms)
    return json_response({"arms": [arm.as_dict() for arm in found]})


async def add_arm(service: Service, request: Request) -> BytesResponse:
    """Add an arm."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await read_body(request, _ARMS_NEW)
    campaign = await service.find_campaign(name)
    by, version = request_author(key, given.by), request_version(request)
    await service.change(
        name, campaign.add_arm, given.key, given.max_cost, by=by, if_version=version
    )
    return await _one(service, name, given.key, 201)


async def change_arm(service: Service, request: Request) -> BytesResponse:
    """Pause an arm, or let it be chosen again."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await read_body(request, _ARMS_CHANGE)
    arm: str = request.path_params["arm"]
    campaign = await service.find_campaign(name)
    by, version = request_author(key, given.by), request_version(request)
    if given.state == "active":
        await service.change(name, campaign.resume_arm, arm, by=by, if_version=version)
    else:
        await service.change(
            name, campaign.pause_arm, arm, by=by, reason=given.reason, if_version=version
        )
    return await _one(service, name, arm)


async def retire_arm(service: Service, request: Request) -> BytesResponse:
    """Choose an arm never again; one that is retired already stays so."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    arm: str = request.path_params["arm"]
    campaign = await service.find_campaign(name)
    by, version = request_author(key, request.query_params.get("by", "")), request_version(request)
    known = {one.key: one.state for one in await service.run_in_thread(campaign.arms)}
    if known.get(arm) != "retired":
        await service.change(name, campaign.retire_arm, arm, by=by, if_version=version)
    return await _one(service, name, arm)


async def _one(service: Service, name: str, key: str, status: int = 200) -> BytesResponse:
    arms = await service.run_in_thread((await service.find_campaign(name)).arms)
    return json_response(next(arm for arm in arms if arm.key == key).as_dict(), status)
