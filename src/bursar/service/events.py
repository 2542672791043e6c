"""The log of a campaign: its events, those that changed rules or money, and what is to come.

Events go over the wire as they are in the log: times in µs since 1970, money in units.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from starlette.requests import Request

from bursar.campaign import Campaign
from bursar.ledger import Event
from bursar.service.answer import Answer, json_answer
from bursar.service.placing import campaign_of
from bursar.service.query import seconds, whole

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["audit", "forecast", "listing", "page_of", "series"]

_LOOKED = 100_000  # events that one call goes through at most
AUDITED = (
    "created", "budget-set", "cap-set", "arm-added", "arm-paused", "arm-resumed", "arm-retired",
    "paused", "resumed", "closed", "restored", "reconciled", "adopted", "corrected",
    "voided",
)  # fmt: skip


def page_of(
    campaign: Campaign, after: int, limit: int, kinds: Collection[str]
) -> tuple[list[Event], int | None]:
    """Return events after a number, and the number to go on from, or None at the end."""
    found: list[Event] = []
    last = after
    for looked, event in enumerate(campaign.events(after)):
        if len(found) == limit or looked == _LOOKED:
            return found, last
        last = event.seq
        if not kinds or event.kind in kinds:
            found.append(event)
    return found, None


async def listing(service: Service, request: Request) -> Answer:
    """Return events, oldest first, a page at a time, of some kinds if so wanted."""
    name = campaign_of(request, "read")
    return await _page(service, request, name, request.query_params.getlist("kind"))


async def audit(service: Service, request: Request) -> Answer:
    """Return the events that changed rules or money by hand, with who did it."""
    name = campaign_of(request, "admin")
    return await _page(service, request, name, AUDITED)


async def _page(service: Service, request: Request, name: str, kinds: Collection[str]) -> Answer:
    limit = whole(request, "limit", 1000, 1, 10_000)
    after = whole(request, "after", 0, 0, 10**17)
    campaign = await service.find(name)
    found, more = await service.look(page_of, campaign, after, limit, kinds)
    return json_answer({"events": found, "next": more})


async def forecast(service: Service, request: Request) -> Answer:
    """Return what the rest of the budget may bring, and when it will be used up."""
    name = campaign_of(request, "read")
    days = seconds("days", request.query_params.get("days"))
    campaign = await service.find(name)
    return json_answer((await service.look(campaign.forecast, days)).as_dict())


async def series(service: Service, request: Request) -> Answer:
    """Return the history of a campaign in at most so many points."""
    name = campaign_of(request, "read")
    points = whole(request, "points", 500, 2, 2000)
    await service.find(name)
    return json_answer(await service.look(lambda: service.series.of(name).as_dict(points)))
