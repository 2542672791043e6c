"""Forms that create a campaign and change it; each error is shown beside its field."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from starlette.responses import Response

from bursar.campaign import Campaign, Config
from bursar.campaign.config import DEFAULT_POLICY, RULES
from bursar.campaign.creation import check_arm_key
from bursar.dashboard import render
from bursar.dashboard.render import Form, Page, format_error, parse_count, redirect
from bursar.errors import BursarError, CampaignExists, Forbidden, InvalidInput, StaleVersion
from bursar.money import Coin, choose_exponent
from bursar.policies import POLICIES

_ROWS, _MAX_ROWS = 3, 200
DEFAULTS = {"policy": DEFAULT_POLICY, "reward_low": "0", "reward_high": "1"} | {
    name: f"{rule.default:g}" if rule.type is float else str(rule.default)
    for name, rule in RULES.items()
    if rule.default is not None
}
"""The values of the empty form."""


async def show_form(page: Page, form: Form | None = None, status_code: int = 200) -> Response:
    """Show the form of a new campaign, empty or as it was sent."""
    form = form or Form(dict(DEFAULTS), rows=_ROWS)
    is_advanced_wrong = not form.errors.keys().isdisjoint({*RULES, "reward_low", "reward_high"})
    return page.render(
        "new", status_code, section="new", form=form, policies=list_policies(),
        rules=RULES.values(), is_advanced_wrong=is_advanced_wrong,
    )  # fmt: skip


async def create_campaign(page: Page) -> Response:
    """Create the campaign, or show the form again with its errors."""
    key = page.key
    form, arguments = parse_form(page.fields)
    if "more" in page.fields:
        form.errors.clear()
        form.rows = min(form.rows + _ROWS, _MAX_ROWS)
        return await show_form(page, form)
    name: str = arguments["name"]
    if name and not key.allows("admin", name):
        raise Forbidden(f"key {key.id!r} may not create a campaign named {name!r}")
    if not form.errors:
        try:
            await page.run(_create, page, arguments)
            return redirect(render.campaign_path(name), done="created")
        except BursarError as error:
            is_name = isinstance(error, CampaignExists) or (
                isinstance(error, InvalidInput) and "name" in str(error)
            )
            form.errors["name" if is_name else "all"] = format_error(error)
    return await show_form(page, form, 422)


def _create(page: Page, arguments: dict[str, Any]) -> None:
    if arguments["name"] in page.service.store.names():
        raise CampaignExists(f"A campaign named {arguments['name']!r} already exists")
    Campaign(storage=page.service.store, by=page.key.id, **arguments)


@cache
def list_policies() -> tuple[str, ...]:
    """Return the policies that a campaign can use, the recommended one first."""
    found = [DEFAULT_POLICY]
    for kind in POLICIES.values():
        for slug in map(str, kind.examples()):
            try:
                Config.make(slug, Coin(), (0.0, 1.0), {})
            except BursarError:
                continue
            if slug not in found:
                found.append(slug)
    return tuple(found)


def parse_form(fields: Mapping[str, str]) -> tuple[Form, dict[str, Any]]:
    """Return the form with its errors, and the arguments of Campaign if there are none."""
    values = {name: value.strip() for name, value in fields.items()}
    rows = parse_count(values.get("rows", ""))
    form = Form(values, rows=_ROWS if rows is None else min(rows, _MAX_ROWS))
    coin = _parse_coin(form)
    if not values.get("name"):
        form.errors["name"] = "Enter a name."
    _check_amount(form, coin, "budget", "the total budget")
    if values.get("day_cap"):
        _check_amount(form, coin, "day_cap", "the daily cap", least=0)
    policy = values.get("policy") or DEFAULT_POLICY
    arguments = {
        "name": values.get("name", ""),
        "budget": values.get("budget", ""),
        "arms": _parse_arms(form, coin),
        "currency": coin.currency,
        "exponent": coin.exponent,
        "policy": policy,
        "caps": {"day": values["day_cap"]} if values.get("day_cap") else {},
    }
    return form, arguments | _parse_rules(form, coin, policy)


def _parse_coin(form: Form) -> Coin:
    currency = form.values.get("currency", "")
    try:
        return Coin(int(form.values.get("exponent") or _find_exponent(form.values)), currency)
    except (InvalidInput, ValueError):
        form.errors["exponent"] = "Enter a whole number from 0 to 12; 2 keeps cents."
        return Coin(12, currency)


def _find_exponent(values: Mapping[str, str]) -> int:
    fields = ("budget", "day_cap", "min_cost")
    named = (text for name, text in values.items() if name in fields or name.endswith("-cost"))
    return choose_exponent(named)


def _check_amount(form: Form, coin: Coin, field: str, meaning: str, least: int = 1) -> None:
    text = form.values.get(field, "")
    try:
        if coin.units(field if field == "budget" else meaning, text) < least:
            form.errors[field] = "Enter an amount above 0."
    except InvalidInput as error:
        form.errors[field] = format_error(error) if text else f"Enter {meaning}."


def _parse_arms(form: Form, coin: Coin) -> dict[str, str]:
    arms: dict[str, str] = {}
    for row in range(form.rows):
        key, cost = (form.values.get(f"arm-{row}-{part}", "") for part in ("key", "cost"))
        if not key and not cost:
            continue
        try:
            check_arm_key(key)
        except InvalidInput as error:
            form.errors[f"arm-{row}-key"] = (
                format_error(error) if key else "Enter the name of the arm."
            )
            continue
        if key in arms:
            form.errors[f"arm-{row}-key"] = "Another arm has this name."
        _check_amount(form, coin, f"arm-{row}-cost", "the maximum cost")
        arms[key] = cost
    if not arms and not any(name.startswith("arm-") for name in form.errors):
        form.errors["arms"] = "Enter at least one arm."
    return arms


def _parse_rules(form: Form, coin: Coin, policy: str) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    span = _parse_number(form, "reward_low"), _parse_number(form, "reward_high")
    for name, rule in RULES.items():
        text = form.values.get(name, "")
        if not text:
            continue
        try:
            rules[name] = rule.type(text)
            Config.make(DEFAULT_POLICY, coin, span, {name: rules[name]})
        except BursarError as error:
            form.errors[name] = format_error(error)
        except ValueError:
            form.errors[name] = f"Enter a number, got {text!r}."
    try:
        Config.make(policy, coin, span, {})
    except BursarError as error:
        form.errors["reward_high" if "reward" in str(error) else "policy"] = format_error(error)
    return rules | {"reward_range": span}


def _parse_number(form: Form, field: str) -> float:
    text = form.values.get(field) or DEFAULTS[field]
    try:
        return float(text)
    except ValueError:
        form.errors[field] = f"Enter a number, got {text!r}."
        return float(DEFAULTS[field])


# changes: the buttons of a campaign's page, and the page that changes its budget

Change = Callable[[Campaign, dict[str, str], dict[str, Any]], object]


def _make_handler(notice: str, change: Change, anchor: str = "") -> render.Handler:
    """Return the handler of a form: check it, make the change, show the campaign again."""

    async def handler(page: Page) -> Response:
        campaign = await page.service.find_campaign(page.name)
        author = {"by": page.key.id, "if_version": parse_count(page.fields.get("version", ""))}
        await page.service.change(page.name, change, campaign, page.fields, author)
        return redirect(f"{render.campaign_path(page.name)}?done={notice}{anchor}")

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


def _make_arm_handler(change: Callable[..., object]) -> render.Handler:
    return _make_handler(
        "arm",
        lambda campaign, fields, author: change(campaign, fields.get("key", ""), **author),
        "#arms",
    )


CHANGES: dict[str, render.Handler] = {
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


async def show_budget(page: Page, form: Form | None = None, status_code: int = 200) -> Response:
    """Show the form as it was sent, or with the amount of the query, and preview that amount."""
    form = form or Form({"budget": page.query.get("budget", "").strip()})
    campaign = await page.service.find_campaign(page.name)
    status, arms = await page.run(lambda: (campaign.status(), campaign.arms()))
    budget = _parse_budget(campaign.coin, form) if form.values.get("budget") else None
    return page.render("budget", status_code, form=form, campaign=status, arms=arms, budget=budget)


async def change_budget(page: Page) -> Response:
    """Change the budget, if the name was typed and the rules are still those of the form."""
    fields, campaign = page.fields, await page.service.find_campaign(page.name)
    form = Form({field: fields.get(field, "").strip() for field in ("budget", "confirm")})
    if "look" in fields:
        return await show_budget(page, form)
    _parse_budget(campaign.coin, form)
    if form.values["confirm"] != page.name:
        form.errors["confirm"] = f"Type {page.name} to confirm, got {form.values['confirm']!r}."
    if not form.errors:
        try:
            await page.service.change(
                page.name, campaign.set_budget, form.values["budget"], by=page.key.id,
                if_version=parse_count(fields.get("version", "")),
            )  # fmt: skip
            return redirect(render.campaign_path(page.name), done="budget")
        except StaleVersion:
            form.errors["all"] = (
                "The campaign was changed in the meantime. This page shows its current state:"
                " review it and confirm again."
            )
    return await show_budget(page, form, 412 if "all" in form.errors else 422)


def _parse_budget(coin: Coin, form: Form) -> Decimal | None:
    try:
        return coin.amount(coin.units("budget", form.values["budget"]))
    except InvalidInput as error:
        form.errors["budget"] = format_error(error)
        return None
