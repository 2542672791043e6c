"""Decisions: looked at, one with its reasons, or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request

from bursar.campaign import Campaign
from bursar.campaign.records import MADE
from bursar.service.answer import Answer, json_answer
from bursar.service.events import page_of
from bursar.service.placing import campaign_of, whose
from bursar.service.query import flag, whole
from bursar.service.shown import shown

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["listing", "show"]


async def show(service: Service, request: Request) -> Answer:
    """Return a decision as it stands; with ``why``, what was known when it was made."""
    name, key = await whose(service, request, "read")
    campaign = await service.find(name)
    why = flag(request, "why")

    def look() -> dict[str, Any]:
        found: dict[str, Any] = msgspec.structs.asdict(
            shown(name, campaign.decision(key), service.seal)
        )
        if why:
            explanation = campaign.explain(key)
            if not explanation.verified:
                service.metrics.mismatched()
            found["why"] = explanation.as_dict()
        return found

    return json_answer(await service.look(look))


async def listing(service: Service, request: Request) -> Answer:
    """Return decisions, oldest first, a page at a time; open ones only if so wanted."""
    name = campaign_of(request, "read")
    limit = whole(request, "limit", 100, 1, 1000)
    after = whole(request, "after", 0, 0, 10**17)
    only_open = flag(request, "open")
    campaign = await service.find(name)
    look = _open if only_open else _all
    found, more = await service.look(look, campaign, after, limit)
    return json_answer({"decisions": found, "next": found[-1].seq if more else None})


def _open(campaign: Campaign, after: int, limit: int) -> tuple[list[Any], bool]:
    later = [one for one in campaign.holds() if one.seq > after]
    return [shown(campaign.name, one) for one in later[:limit]], len(later) > limit


def _all(campaign: Campaign, after: int, limit: int) -> tuple[list[Any], bool]:
    asked, more = page_of(campaign, after, limit, MADE)
    found = [shown(campaign.name, campaign.decision(one.decision)) for one in asked]
    return found, more is not None
