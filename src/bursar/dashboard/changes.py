"""What the buttons of a campaign's page do; each is an event with who did it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import Campaign
from bursar.dashboard.frame import Handler, base_of, to
from bursar.dashboard.holds import ticked
from bursar.errors import BursarError, InvalidInput
from bursar.service.auth import require_form
from bursar.service.service import Service

__all__ = ["CHANGES", "version_of"]

Change = Callable[[Campaign, dict[str, str], dict[str, Any]], object]


def version_of(fields: dict[str, str]) -> int | None:
    """Return the version of the rules that a form was made from."""
    given = fields.get("version", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 18 else None


def _changing(done: str, change: Change, place: str = "") -> Handler:
    """Return the route of a change: the form is checked, the change made, the page shown again."""

    async def route(service: Service, request: Request) -> Response:
        name: str = request.path_params["name"]
        key, fields = await require_form(request, "admin", name)
        campaign = await service.find(name)
        who = {"by": key.id, "if_version": version_of(fields)}
        await service.change(name, change, campaign, fields, who)
        return to(f"{base_of(name)}?done={done}{place}")

    return route


def _cap(campaign: Campaign, fields: dict[str, str], who: dict[str, Any]) -> None:
    campaign.set_cap("day", fields.get("cap", "").strip() or None, **who)


def _close(campaign: Campaign, fields: dict[str, str], who: dict[str, Any]) -> None:
    if fields.get("confirm", "").strip() != campaign.name:
        raise InvalidInput(
            f"to close it for good, type its name, {campaign.name!r},"
            f" got {fields.get('confirm', '')!r}"
        )
    campaign.finish(**who)


def _void(campaign: Campaign, fields: dict[str, str], who: dict[str, Any]) -> None:
    chosen = ticked(fields, "shown:" if fields.get("which") == "all" else "hold:")
    if not chosen:
        raise InvalidInput("tick the holds to void, got none")
    reason = fields.get("reason", "").strip()
    if not reason:
        raise InvalidInput("say why the holds are voided; the log keeps it")
    failed = [
        one
        for one in campaign.void_many(chosen, reason, by=who["by"])
        if isinstance(one, BursarError)
    ]
    if failed:
        raise failed[0]


def _reconcile(campaign: Campaign, fields: dict[str, str], who: dict[str, Any]) -> None:
    campaign.reconcile(fields.get("gap", "").strip(), **who)


def _add(campaign: Campaign, fields: dict[str, str], who: dict[str, Any]) -> None:
    campaign.add_arm(fields.get("key", "").strip(), fields.get("max_cost", "").strip(), **who)


CHANGES: dict[str, Handler] = {
    "pause": _changing("paused", lambda campaign, fields, who: campaign.pause(**who)),
    "resume": _changing("resumed", lambda campaign, fields, who: campaign.resume(**who)),
    "close": _changing("closed", _close),
    "reconcile": _changing("reconciled", _reconcile),
    "cap": _changing("cap", _cap),
    "void": _changing("voided", _void, "#holds"),
    "arms/add": _changing("arm", _add, "#arms"),
    "arms/pause": _changing(
        "arm", lambda campaign, fields, who: campaign.pause_arm(fields.get("key", ""), **who),
        "#arms",
    ),
    "arms/resume": _changing(
        "arm", lambda campaign, fields, who: campaign.resume_arm(fields.get("key", ""), **who),
        "#arms",
    ),
    "arms/retire": _changing(
        "arm", lambda campaign, fields, who: campaign.retire_arm(fields.get("key", ""), **who),
        "#arms",
    ),
}  # fmt: skip
"""Routes below a campaign's page, by the rest of their address."""
