"""A change of the budget: what it would mean, and a typed confirmation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import Campaign
from bursar.dashboard.bars import Split, split
from bursar.dashboard.campaign import ticked
from bursar.dashboard.card import CampaignLook, look
from bursar.dashboard.render import Form, Handler, base_of, render, to
from bursar.errors import BursarError, InvalidInput, StaleVersion
from bursar.formatting import format_money, pluralize
from bursar.money import Coin
from bursar.service.auth import require, require_form
from bursar.service.service import Service

__all__ = ["CHANGES", "Preview", "budget", "preview", "set_budget", "version_of"]

# ==== dashboard.changes
# What the buttons of a campaign's page do; each is an event with who did it.

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
        campaign = await service.find_campaign(name)
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
    campaign.end(**who)


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


@dataclass(frozen=True)
class Preview:
    """What a new budget would mean."""

    words: str
    warning: str
    bar: Split


def preview(now: CampaignLook, budget: Decimal) -> Preview:
    """Return what a budget would mean if it were set now."""
    status = now.status
    left = budget - status.spent - status.held
    hold = now.smallest_hold
    asks = int(max(left, Decimal(0)) // hold) if hold else 0
    words = f"Available becomes {format_money(left, status.currency)}; {pluralize(asks, 'ask')} possible."
    warning = ""
    if left < 0:
        warning = "That is less than what is spent and held: nothing more would be granted."
    elif not asks:
        warning = "No arm would fit: nothing more would be granted."
    elif budget == status.budget:
        warning = "That is the budget it has."
    elif budget >= 10 * status.budget:
        warning = "That is ten times the budget it has, or more. Is the point where it should be?"
    return Preview(words, warning, split(budget, status.spent, status.held))


async def budget(service: Service, request: Request) -> Response:
    """Show the form, with a preview if an amount was typed."""
    name: str = request.path_params["name"]
    require(request, "admin", name)
    form = Form({"budget": request.query_params.get("budget", "").strip()})
    return await _shown(service, request, name, form)


async def set_budget(service: Service, request: Request) -> Response:
    """Set the budget, if the name was typed and nobody changed the rules meanwhile."""
    name: str = request.path_params["name"]
    key, fields = await require_form(request, "admin", name)
    campaign = await service.find_campaign(name)
    form = Form({one: fields.get(one, "").strip() for one in ("budget", "confirm")})
    if "look" in fields:
        return await _shown(service, request, name, form)
    _units(campaign.coin, form)
    if form.values["confirm"] != name:
        form.errors["confirm"] = f"Type {name} here to confirm, got {form.values['confirm']!r}."
    if not form.errors:
        try:
            await service.change(
                name, campaign.set_budget, form.values["budget"], by=key.id,
                if_version=version_of(fields),
            )  # fmt: skip
            return to(f"{base_of(name)}?done=budget")
        except StaleVersion:
            form.errors["all"] = (
                "Somebody changed the campaign meanwhile. What you see now is new: look, and"
                " confirm again."
            )
    return await _shown(service, request, name, form, 412 if "all" in form.errors else 422)


async def _shown(
    service: Service, request: Request, name: str, form: Form, status: int = 200
) -> Response:
    campaign = await service.find_campaign(name)
    now = await service.run_in_thread(look, campaign)
    amount = _units(campaign.coin, form) if form.values.get("budget") else None
    currency = now.status.currency
    return render(
        service, request, "budget", status,
        name=name, base=base_of(name), form=form, currency=currency,
        version_of=now.status.version,
        now=format_money(now.status.budget, currency),
        spent=format_money(now.status.spent, currency),
        held=format_money(now.status.held, currency),
        preview=None if amount is None else preview(now, amount),
    )  # fmt: skip


def _units(coin: Coin, form: Form) -> Decimal | None:
    try:
        return coin.amount(coin.units("budget", form.values["budget"]))
    except InvalidInput as error:
        form.errors["budget"] = str(error)
        return None
