"""Campaigns and their arms: created, listed, shown, changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from bursar.campaign import Campaign
from bursar.campaign.commands import learn_command
from bursar.errors import CorruptLedger, InvalidInput, NewerSchema
from bursar.formatting import to_plain
from bursar.history import History
from bursar.service import schemas
from bursar.service.auth import require
from bursar.service.operation import CAMPAIGN, LONG_READ, Call, H, operation
from bursar.service.requests import request_version
from bursar.service.responses import BytesResponse, encode, json_response

if TYPE_CHECKING:
    from bursar.service.service import Service

_ARM_CODES = ("unknown-arm", "stale-version")
_NOT_RULES = frozenset(("name", "budget", "arms", "by"))


@operation(
    "POST", "/v1/campaigns", "admin", {201: schemas.CampaignBody, 200: schemas.CampaignBody},
    codes=("campaign-exists",), response_headers=("ETag", "Location"),
)  # fmt: skip
async def create_campaign(call: Call[schemas.NewCampaignRequest]) -> BytesResponse:
    """Create a campaign; repeating the call returns it with status 200."""
    service, given = call.service, call.given
    require(call.request, "admin", given.name)
    arms = {one.key: one.max_cost for one in given.arms}
    if len(arms) < len(given.arms):
        raise InvalidInput("arms must have different keys, got one of them twice")
    rules = {
        field: value
        for field in given.__struct_fields__
        if field not in _NOT_RULES and (value := getattr(given, field)) is not msgspec.UNSET
    }
    rules |= {"storage": service.store, "by": call.key.author(given.by)}

    def create() -> tuple[bool, dict[str, Any]]:
        existed = given.name in service.store.names()
        Campaign(given.name, given.budget, arms, **rules)
        return existed, _campaign_body(service.campaign(given.name))

    existed, body = await service.run_in_thread(create)
    location = f"/v1/campaigns/{quote(given.name, safe='')}".encode()
    return json_response(body, 200 if existed else 201, (b"location", location), _etag(body))


@operation("GET", "/v1/campaigns", "read", schemas.CampaignPage)
async def list_campaigns(call: Call[schemas.CampaignQuery]) -> BytesResponse:
    """Return a page of campaigns by name."""
    service, given = call.service, call.given
    names = await service.run_in_thread(service.store.names)
    seen = sorted(name for name in names if call.key.sees(name) and name > given.after)
    page = seen[: given.limit]
    found, damaged = await service.run_in_thread(_find_statuses, service, page)
    last = page[-1] if len(seen) > given.limit else None
    return json_response({"campaigns": found, "damaged": damaged, "next": last})


def _find_statuses(service: Service, names: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the status of campaigns, and the names of those that cannot be read."""
    found, damaged = [], []
    for name in names:
        try:
            found.append(service.campaign(name).status().as_dict())
        except (CorruptLedger, NewerSchema):
            damaged.append(name)
    return found, damaged


@operation("GET", CAMPAIGN, "read", schemas.CampaignBody, response_headers=("ETag",))
async def show_campaign(call: Call[Any]) -> BytesResponse:
    """Return a campaign: its money, its rules and its alarms."""
    service, name = call.service, call.campaign
    body = await service.run_in_thread(lambda: _campaign_body(service.campaign(name)))
    return json_response(body, 200, _etag(body))


@operation("GET", f"{CAMPAIGN}/state", "read", schemas.StatusBody, response_headers=("ETag",))
async def show_state(call: Call[None]) -> BytesResponse:
    """Return the status of a campaign, which is cheaper than all of it."""
    campaign = await call.open_campaign()
    body = (await call.service.run_in_thread(campaign.status)).as_dict()
    return json_response(body, 200, _etag(body))


def _campaign_body(campaign: Campaign) -> dict[str, Any]:
    body = campaign.status().as_dict()
    return body | {"config": to_plain(campaign.config.to_body()), "alarms": campaign.alarms}


def _etag(body: dict[str, Any]) -> tuple[bytes, bytes]:
    return b"etag", b'"%d"' % body["version"]


@operation(
    "PATCH", CAMPAIGN, "admin", schemas.CampaignBody, response_headers=("ETag",),
    codes=(*_ARM_CODES, "precondition-required"),
)  # fmt: skip
async def change_campaign(call: Call[schemas.ChangeRequest]) -> BytesResponse:
    """Change budget and caps together if the caller knows the newest version."""
    request_version(call.request, required=True)
    given = call.given
    if given.budget is None and not given.caps:
        raise InvalidInput("a change must have a budget, caps or both, got neither")
    await _change(call, "change", budget=given.budget, caps=given.caps)
    return await show_campaign(call)


def _action(word: str) -> Callable[[H], H]:
    return operation(
        "POST", f"{CAMPAIGN}:{word}", "admin", schemas.CampaignBody,
        codes=("stale-version", "not-active"), response_headers=("ETag",),
    )  # fmt: skip


@_action("pause")
async def pause_campaign(call: Call[schemas.ActRequest]) -> BytesResponse:
    """Grant no asks until the campaign is resumed."""
    await _change(call, "pause")
    return await show_campaign(call)


@_action("resume")
async def resume_campaign(call: Call[schemas.ActRequest]) -> BytesResponse:
    """Grant asks again."""
    await _change(call, "resume")
    return await show_campaign(call)


@_action("close")
async def close_campaign(call: Call[schemas.ActRequest]) -> BytesResponse:
    """Close a campaign for good; outcomes are still recorded."""
    await _change(call, "end")
    return await show_campaign(call)


@_action("reconcile")
async def reconcile_campaign(call: Call[schemas.ReconciliationRequest]) -> BytesResponse:
    """Count what was spent since the backup that the campaign was restored from."""
    await _change(call, "reconcile", call.given.gap)
    return await show_campaign(call)


@operation("GET", f"{CAMPAIGN}/arms", "read", schemas.ArmPage, codes=LONG_READ)
async def list_arms(call: Call[None]) -> BytesResponse:
    """Return all arms with counts, money, means and intervals."""
    campaign = await call.open_campaign()

    def load() -> bytes:  # encoded in the thread: ten thousand arms take a while
        return encode({"arms": [arm.as_dict() for arm in campaign.arms()]})

    return BytesResponse(200, await call.service.run_heavy(call.request, load))


@operation("POST", f"{CAMPAIGN}/arms", "admin", {201: schemas.ArmBody}, codes=_ARM_CODES)
async def add_arm(call: Call[schemas.NewArmRequest]) -> BytesResponse:
    """Add an arm."""
    given = call.given
    await _change(call, "add_arm", given.key, given.max_cost)
    return await _arm_response(call, given.key, 201)


@operation("PATCH", f"{CAMPAIGN}/arms/{{arm}}", "admin", schemas.ArmBody, codes=_ARM_CODES)
async def change_arm(call: Call[schemas.ArmChangeRequest]) -> BytesResponse:
    """Pause an arm, or let it be chosen again."""
    given, arm = call.given, call.request.path_params["arm"]
    if given.state == "active":
        await _change(call, "resume_arm", arm)
    else:
        await _change(call, "pause_arm", arm, reason=given.reason)
    return await _arm_response(call, arm)


@operation("DELETE", f"{CAMPAIGN}/arms/{{arm}}", "admin", schemas.ArmBody, codes=_ARM_CODES)
async def retire_arm(call: Call[schemas.AuthorQuery]) -> BytesResponse:
    """Never choose an arm again; repeating the call changes nothing."""
    arm: str = call.request.path_params["arm"]
    arms = await call.service.run_in_thread((await call.open_campaign()).arms)
    if ("retired", arm) not in {(one.state, one.key) for one in arms}:
        await _change(call, "retire_arm", arm)
    return await _arm_response(call, arm)


@operation(
    "POST", f"{CAMPAIGN}/history", "admin", schemas.LearnedHistoryBody,
    codes=("unknown-arm", "idempotency-mismatch"),
)  # fmt: skip
async def learn_history(call: Call[schemas.HistoryRequest]) -> BytesResponse:
    """Let past outcomes of arms count for the policy; repeating the call changes nothing."""
    given, campaign = call.given, await call.open_campaign()
    arms = {one.arm: one for one in given.arms}
    if len(arms) < len(given.arms):
        raise InvalidInput("arms must have different keys, got one of them twice")
    history = History(given.source, tuple(arms[key] for key in sorted(arms)))
    by = call.key.author(given.by)
    command = learn_command(campaign.config, history, given.weight, unknown=given.unknown, by=by)
    learned = await call.service.change(call.campaign, campaign.execute, command)
    return json_response(learned.as_dict())


async def _change(call: Call[Any], verb: str, *args: Any, **options: Any) -> None:
    """Call a method of the campaign that changes it, if its version is the expected one."""
    change = getattr(await call.open_campaign(), verb)
    options |= {"by": call.key.author(call.given.by), "if_version": request_version(call.request)}
    await call.service.change(call.campaign, change, *args, **options)


async def _arm_response(call: Call[Any], key: str, status: int = 200) -> BytesResponse:
    arms = await call.service.run_in_thread((await call.open_campaign()).arms)
    return json_response(next(arm for arm in arms if arm.key == key).as_dict(), status)
