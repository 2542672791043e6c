"""The ledger of a campaign: our books, a provider's bill, and who changed what."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.bill import Finding, compared, parsed
from bursar.dashboard.card import card
from bursar.dashboard.frame import base_of, render
from bursar.dashboard.look import look
from bursar.dashboard.story import Line, Story
from bursar.errors import InvalidInput
from bursar.service.auth import require, require_form
from bursar.service.key import Key
from bursar.service.service import Service

__all__ = ["compare", "ledger"]

_CHANGES = 50


async def ledger(service: Service, request: Request) -> Response:
    """Show the books, and a form for a bill."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    return await _shown(service, request, name, key)


async def compare(service: Service, request: Request) -> Response:
    """Hold a bill against the books; nothing is kept of it."""
    name: str = request.path_params["name"]
    key, fields = await require_form(request, "read", name)
    text = fields.get("bill", "")
    try:
        found = await service.look(_found, service, name, text)
    except InvalidInput as error:
        return await _shown(service, request, name, key, 422, bill=text, error=str(error))
    return await _shown(service, request, name, key, found=found, bill=text)


def _found(service: Service, name: str, text: str) -> Finding:
    campaign = service.campaign(name)
    return compared(parsed(text, campaign.coin), campaign.events(), campaign.coin)


async def _shown(
    service: Service, request: Request, name: str, key: Key, status: int = 200, **facts: Any
) -> Response:
    known = await service.look(_known, service, name, key.allows("admin", name))
    blank = {"found": None, "bill": "", "error": ""}
    return render(service, request, "ledger", status, base=base_of(name), **(blank | known | facts))


def _known(service: Service, name: str, may_audit: bool) -> dict[str, Any]:
    campaign = service.campaign(name)
    now = look(campaign)
    audit: list[Line] | None = None
    if may_audit:
        story = Story(campaign.coin, [arm.key for arm in now.arms])
        changes = list(service.series.of(name).changes)[-_CHANGES:]
        audit = [story.line(event) for event in reversed(changes)]
    return {"card": card(now), "audit": audit}
