"""Arms of a campaign: looked at, added, paused, resumed, retired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request

from bursar.service.answer import Answer, json_answer
from bursar.service.auth import require
from bursar.service.body import body_of
from bursar.service.placing import author, campaign_of, version_of
from bursar.service.taken import ArmChange, NewArm

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["add", "change", "listing", "retire"]

_NEW = msgspec.json.Decoder(NewArm)
_CHANGE = msgspec.json.Decoder(ArmChange)


async def listing(service: Service, request: Request) -> Answer:
    """Return all arms with counts, money, means and intervals."""
    name = campaign_of(request, "read")
    found = await service.look((await service.find(name)).arms)
    return json_answer({"arms": [arm.as_dict() for arm in found]})


async def add(service: Service, request: Request) -> Answer:
    """Add an arm."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await body_of(request, _NEW)
    campaign = await service.find(name)
    by, version = author(key, given.by), version_of(request)
    await service.change(
        name, campaign.add_arm, given.key, given.max_cost, by=by, if_version=version
    )
    return await _one(service, name, given.key, 201)


async def change(service: Service, request: Request) -> Answer:
    """Pause an arm, or let it be chosen again."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    given = await body_of(request, _CHANGE)
    arm: str = request.path_params["arm"]
    campaign = await service.find(name)
    by, version = author(key, given.by), version_of(request)
    if given.state == "active":
        await service.change(name, campaign.resume_arm, arm, by=by, if_version=version)
    else:
        await service.change(
            name, campaign.pause_arm, arm, by=by, reason=given.reason, if_version=version
        )
    return await _one(service, name, arm)


async def retire(service: Service, request: Request) -> Answer:
    """Choose an arm never again; one that is retired already stays so."""
    name: str = request.path_params["campaign"]
    key = require(request, "admin", name)
    arm: str = request.path_params["arm"]
    campaign = await service.find(name)
    by, version = author(key, request.query_params.get("by", "")), version_of(request)
    known = {one.key: one.state for one in await service.look(campaign.arms)}
    if known.get(arm) != "retired":
        await service.change(name, campaign.retire_arm, arm, by=by, if_version=version)
    return await _one(service, name, arm)


async def _one(service: Service, name: str, key: str, status: int = 200) -> Answer:
    arms = await service.look((await service.find(name)).arms)
    return json_answer(next(arm for arm in arms if arm.key == key).as_dict(), status)
