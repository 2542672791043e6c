"""The page of a decision: why this arm was chosen."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.events import EventDescriber, load_decision_events
from bursar.dashboard.render import campaign_path, render
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["show_decision"]

_METHODS = {
    "index": "by the largest index",
    "first": "because it had not been tried",
    "drawn": "drawn by the policy",
    "explored": "at random, by the campaign’s exploration rule",
    "only": "because no other arm was available",
    "fallback": "at random, because the policy failed",
}
_STATUSES = {
    "chosen": ("good", "Chosen"),
    "open": ("neutral", "Available"),
    "unaffordable": ("bad", "Not affordable"),
    "paused": ("warning", "Paused"),
    "retired": ("neutral", "Retired"),
    "excluded": ("neutral", "Not requested"),
}  # the tone and the label of what an arm was before the decision


async def show_decision(service: Service, request: Request) -> Response:
    """Show why a decision was made."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    values = await service.run_in_thread(_load, service, name, request.path_params["id"])
    may_admin = key.allows("admin", name)
    return render(
        service, request, "decision", name=name, path=campaign_path(name), methods=_METHODS,
        statuses=_STATUSES, **(values | {"may_admin": may_admin}),
    )  # fmt: skip


def _load(service: Service, name: str, id: str) -> dict[str, Any]:
    campaign = service.campaign(name)
    return {
        "decision": campaign.decision(id),
        "explanation": campaign.explain(id),
        "currency": campaign.coin.currency,
        "events": load_decision_events(service.store, name, id),
        "describer": EventDescriber(campaign.coin, campaign.arms()),
    }
