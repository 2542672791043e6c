"""The page of a decision: why this arm."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.frame import base_of, render
from bursar.dashboard.history import of_decision
from bursar.dashboard.story import Story
from bursar.dashboard.why import why
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["decision_page"]


async def decision_page(service: Service, request: Request) -> Response:
    """Show why a decision was what it was."""
    name: str = request.path_params["name"]
    id: str = request.path_params["id"]
    key = require(request, "read", name)
    facts = await service.look(_facts, service, name, id)
    return render(
        service, request, "why", name=name, base=base_of(name),
        **(facts | {"may_admin": key.allows("admin", name)}),
    )  # fmt: skip


def _facts(service: Service, name: str, id: str) -> dict[str, Any]:
    campaign = service.campaign(name)
    one = campaign.decision(id)
    story = Story(campaign.coin, [arm.key for arm in campaign.arms()])
    return {
        "why": why(campaign.explain(id), one, campaign.coin.currency),
        "events": [story.line(event) for event in of_decision(service.store, name, id)],
    }
