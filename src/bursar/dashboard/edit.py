"""Changes to a campaign: the buttons of its page, and the page that changes its budget."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from starlette.responses import Response

from bursar.campaign import Campaign
from bursar.dashboard.render import (
    Form,
    Handler,
    Page,
    campaign_path,
    format_error,
    parse_count,
    redirect,
)
from bursar.errors import BursarError, InvalidInput, StaleVersion
from bursar.money import Coin

Change = Callable[[Campaign, dict[str, str], dict[str, Any]], object]


def _make_handler(notice: str, change: Change, anchor: str = "") -> Handler:
    """Return the handler of a form: check it, make the change, show the campaign again."""

    async def handler(page: Page) -> Response:
        campaign = await page.service.find_campaign(page.name)
        author = {"by": page.key.id, "if_version": parse_count(page.fields.get("version", ""))}
        await page.service.change(page.name, change, campaign, page.fields, author)
        return redirect(f"{campaign_path(page.name)}?done={notice}{anchor}")

    return handler


def _close(campaign: Campaign, fields: dict[str, str], author: dict[str, Any]) -> None:
    typed = fields.get("confirm", "").strip()
    if typed != campaign.name:
        raise InvalidInput(f"Type {campaign.name!r} to confirm that you close it, got {typed!r}")
    campaign.end(**author)


def _reconcile(campaign: Campaign, fields: dict[str, str], author: dict[str, Any]) -> None:
    campaign.reconcile(fields.get("gap", "").strip(), **author)


def _set_day_cap(campaign: Campaign, fields: dict[str, str], author: dict[str, Any]) -> None:
    campaign.set_cap("day", fields.get("cap", "").strip() or None, **author)


def _add_arm(campaign: Campaign, fields: dict[str, str], author: dict[str, Any]) -> None:
    campaign.add_arm(fields.get("key", "").strip(), fields.get("max_cost", "").strip(), **author)


def _void(campaign: Campaign, fields: dict[str, str], author: dict[str, Any]) -> None:
    prefix = "shown:" if fields.get("which") == "all" else "hold:"
    chosen = [name.removeprefix(prefix) for name in fields if name.startswith(prefix)]
    if not chosen:
        raise InvalidInput("No hold was selected; select at least one")
    reason = fields.get("reason", "").strip()
    if not reason:
        raise InvalidInput("The reason is missing; enter why the holds are voided")
    for outcome in campaign.void_many(chosen, reason, by=author["by"]):
        if isinstance(outcome, BursarError):
            raise outcome


def _make_arm_handler(change: Callable[..., object]) -> Handler:
    return _make_handler(
        "arm",
        lambda campaign, fields, author: change(campaign, fields.get("key", ""), **author),
        "#arms",
    )


CHANGES: dict[str, Handler] = {
    "pause": _make_handler("paused", lambda campaign, fields, author: campaign.pause(**author)),
    "resume": _make_handler("resumed", lambda campaign, fields, author: campaign.resume(**author)),
    "close": _make_handler("closed", _close),
    "reconcile": _make_handler("reconciled", _reconcile),
    "cap": _make_handler("cap", _set_day_cap),
    "void": _make_handler("voided", _void, "#holds"),
    "arms/add": _make_handler("arm", _add_arm, "#arms"),
    "arms/pause": _make_arm_handler(Campaign.pause_arm),
    "arms/resume": _make_arm_handler(Campaign.resume_arm),
    "arms/retire": _make_arm_handler(Campaign.retire_arm),
}
"""The handlers of forms, by their path below the campaign's page."""


async def show_budget(page: Page) -> Response:
    """Show the form, with a preview of the amount in the query."""
    form = Form({"budget": page.query.get("budget", "").strip()})
    return await _render_form(page, form)


async def change_budget(page: Page) -> Response:
    """Change the budget, if the name was typed and the rules are still those of the form."""
    fields, campaign = page.fields, await page.service.find_campaign(page.name)
    form = Form({field: fields.get(field, "").strip() for field in ("budget", "confirm")})
    if "look" in fields:
        return await _render_form(page, form)
    _parse_budget(campaign.coin, form)
    if form.values["confirm"] != page.name:
        form.errors["confirm"] = f"Type {page.name} to confirm, got {form.values['confirm']!r}."
    if not form.errors:
        try:
            await page.service.change(
                page.name, campaign.set_budget, form.values["budget"], by=page.key.id,
                if_version=parse_count(fields.get("version", "")),
            )  # fmt: skip
            return redirect(campaign_path(page.name), done="budget")
        except StaleVersion:
            form.errors["all"] = (
                "The campaign was changed in the meantime. This page shows its current state:"
                " review it and confirm again."
            )
    return await _render_form(page, form, 412 if "all" in form.errors else 422)


async def _render_form(page: Page, form: Form, status_code: int = 200) -> Response:
    campaign = await page.service.find_campaign(page.name)
    status, arms = await page.run(lambda: (campaign.status(), campaign.arms()))
    budget = _parse_budget(campaign.coin, form) if form.values.get("budget") else None
    return page.render("budget", status_code, form=form, campaign=status, arms=arms, budget=budget)


def _parse_budget(coin: Coin, form: Form) -> Decimal | None:
    try:
        return coin.amount(coin.units("budget", form.values["budget"]))
    except InvalidInput as error:
        form.errors["budget"] = format_error(error)
        return None
