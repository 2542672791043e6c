"""A change of the budget: what it would mean, and a typed confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.bar import Split, split
from bursar.dashboard.changes import version_of
from bursar.dashboard.form import Form
from bursar.dashboard.frame import base_of, render, to
from bursar.dashboard.look import Look, look
from bursar.dashboard.spelling import money, plural
from bursar.errors import InvalidInput, StaleVersion
from bursar.money import Coin
from bursar.service.auth import require, require_form
from bursar.service.service import Service

__all__ = ["Preview", "budget", "preview", "set_budget"]


@dataclass(frozen=True)
class Preview:
    """What a new budget would mean."""

    words: str
    warning: str
    bar: Split


def preview(now: Look, budget: Decimal) -> Preview:
    """Return what a budget would mean if it were set now."""
    status = now.status
    left = budget - status.spent - status.held
    hold = now.smallest_hold
    asks = int(max(left, Decimal(0)) // hold) if hold else 0
    words = f"Available becomes {money(left, status.currency)}; {plural(asks, 'ask')} possible."
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
    campaign = await service.find(name)
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
    campaign = await service.find(name)
    now = await service.look(look, campaign)
    amount = _units(campaign.coin, form) if form.values.get("budget") else None
    currency = now.status.currency
    return render(
        service, request, "budget", status,
        name=name, base=base_of(name), form=form, currency=currency,
        version_of=now.status.version,
        now=money(now.status.budget, currency),
        spent=money(now.status.spent, currency),
        held=money(now.status.held, currency),
        preview=None if amount is None else preview(now, amount),
    )  # fmt: skip


def _units(coin: Coin, form: Form) -> Decimal | None:
    try:
        return coin.amount(coin.units("budget", form.values["budget"]))
    except InvalidInput as error:
        form.errors["budget"] = str(error)
        return None
