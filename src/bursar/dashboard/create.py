"""The page on which a campaign is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import Campaign, Config
from bursar.campaign.creation import check_arm_key
from bursar.dashboard.render import Form, base_of, render, to
from bursar.errors import BursarError, CampaignExists, Forbidden, InvalidInput
from bursar.money import Coin
from bursar.policies import POLICIES
from bursar.service.auth import require, require_form
from bursar.service.requests import request_author
from bursar.service.service import Service

__all__ = ["DEFAULTS", "blank", "create", "filled", "new", "policies"]

# ==== dashboard.new_form
# The form of a new campaign: every field is checked, and every error said beside its field.

DEFAULTS = {
    "policy": "omega-star-ucb:rho=0.25", "exponent": "6", "reward_low": "0", "reward_high": "1",
    "hold": "max", "hold_ttl": "86400", "on_lapse": "charge", "reward_ttl": "604800",
    "max_open": "10000", "overruns": "3", "explore": "0", "seed": "0",
}  # fmt: skip
"""What the fields hold at first."""

_ROWS, _MOST_ROWS = 3, 200
_RULES: dict[str, Callable[[str], Any]] = {
    "hold": str, "hold_ttl": float, "ask_ttl": float, "on_lapse": str, "reward_ttl": float,
    "default_reward": float, "max_open": int, "overruns": int, "explore": float, "seed": int,
}  # fmt: skip


@cache
def policies() -> tuple[str, ...]:
    """Return the policies that a campaign can have, the recommended one first."""
    first = DEFAULTS["policy"]
    found = [first]
    for kind in POLICIES.values():
        for slug in map(str, kind.examples()):
            try:
                Config.made(slug, Coin(), (0.0, 1.0), {})
            except BursarError:
                continue
            if slug != first:
                found.append(slug)
    return tuple(found)


def blank() -> Form:
    """Return the form before anything was typed."""
    return Form(dict(DEFAULTS), rows=_ROWS)


def filled(fields: Mapping[str, str]) -> tuple[Form, dict[str, Any]]:
    """Return the form with its errors, and what Campaign takes if there are none."""
    values = {name: value.strip() for name, value in fields.items()}
    given = values.get("rows", "")
    rows = int(given) if given.isascii() and given.isdigit() and len(given) < 5 else _ROWS
    form = Form(values, rows=min(rows, _MOST_ROWS))
    coin = _coin(form)
    made: dict[str, Any] = {
        "name": values.get("name", ""),
        "budget": _budget(form, coin),
        "arms": _arms(form, coin),
        "currency": coin.currency,
        "exponent": coin.exponent,
        "policy": values.get("policy") or DEFAULTS["policy"],
        "caps": _caps(form, coin),
    }
    if not made["name"]:
        form.errors["name"] = "Give it a name."
    made |= _rules(form, coin, made["policy"])
    return form, made


def _coin(form: Form) -> Coin:
    try:
        return Coin(int(form.values.get("exponent") or 6), form.values.get("currency", ""))
    except (InvalidInput, ValueError):
        form.errors["exponent"] = "A whole number from 0 to 12; 2 keeps cents."
        return Coin(12, form.values.get("currency", ""))


def _budget(form: Form, coin: Coin) -> str:
    text = form.values.get("budget", "")
    try:
        if coin.units("budget", text) == 0:
            form.errors["budget"] = "More than 0."
    except InvalidInput as error:
        form.errors["budget"] = f"{error}." if text else "Say what may be spent."
    return text


def _arms(form: Form, coin: Coin) -> dict[str, str]:
    arms: dict[str, str] = {}
    for row in range(form.rows):
        key, cost = (form.values.get(f"arm-{row}-{part}", "") for part in ("key", "cost"))
        if not key and not cost:
            continue
        try:
            check_arm_key(key)
        except InvalidInput as error:
            form.errors[f"arm-{row}-key"] = f"{error}." if key else "Name the arm."
            continue
        if key in arms:
            form.errors[f"arm-{row}-key"] = "There is an arm of this name above."
        try:
            if coin.units("the most it can cost", cost) == 0:
                form.errors[f"arm-{row}-cost"] = "More than 0."
        except InvalidInput as error:
            form.errors[f"arm-{row}-cost"] = f"{error}." if cost else "Say what it costs at most."
        arms[key] = cost
    if not arms and not any(name.startswith("arm-") for name in form.errors):
        form.errors["arms"] = "Give one arm at least."
    return arms


def _caps(form: Form, coin: Coin) -> dict[str, str]:
    text = form.values.get("day_cap", "")
    if not text:
        return {}
    try:
        coin.units("the cap", text)
    except InvalidInput as error:
        form.errors["day_cap"] = f"{error}."
    return {"day": text}


def _rules(form: Form, coin: Coin, policy: str) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for name, kind in _RULES.items():
        text = form.values.get(name, "")
        if not text:
            continue
        try:
            rules[name] = kind(text)
            Config.made(DEFAULTS["policy"], coin, _span(form), {name: rules[name]})
        except BursarError as error:
            form.errors[name] = f"{error}."
        except ValueError:
            form.errors[name] = f"A number, got {text!r}."
    try:
        rules["reward_range"] = _span(form)
        Config.made(policy, coin, _span(form), {})
    except BursarError as error:
        form.errors["reward_high" if "reward" in str(error) else "policy"] = f"{error}."
    form.advanced_wrong = bool(set(form.errors) & {*_RULES, "reward_low", "reward_high"})
    return rules


def _span(form: Form) -> tuple[float, float]:
    ends = []
    for name in ("reward_low", "reward_high"):
        try:
            ends.append(float(form.values.get(name) or DEFAULTS[name]))
        except ValueError:
            form.errors[name] = f"A number, got {form.values[name]!r}."
            ends.append(float(DEFAULTS[name]))
    return ends[0], ends[1]


async def new(service: Service, request: Request) -> Response:
    """Show an empty form."""
    require(request, "admin")
    return _shown(service, request, blank())


async def create(service: Service, request: Request) -> Response:
    """Make the campaign, or show the form again with what is wrong."""
    key, fields = await require_form(request, "admin")
    form, made = filled(fields)
    if "more" in fields:
        form.errors.clear()
        form.rows = min(form.rows + 3, 200)
        return _shown(service, request, form)
    name: str = made["name"]
    if name and not key.allows("admin", name):
        raise Forbidden(f"key {key.id!r} may not make a campaign named {name!r}")
    if not form.errors:
        try:
            await service.run_in_thread(_make, service, made, request_author(key))
        except CampaignExists as error:
            form.errors["name"] = f"{error}."
        except InvalidInput as error:
            form.errors["name" if "name" in str(error) else "all"] = f"{error}."
        except BursarError as error:
            form.errors["all"] = f"{error}."
        else:
            return to(f"{base_of(name)}?done=created")
    return _shown(service, request, form, 422)


def _make(service: Service, made: dict[str, Any], by: str) -> None:
    if made["name"] in service.names():
        raise CampaignExists(f"there is a campaign named {made['name']!r} already")
    Campaign(storage=service.store, by=by, **made)


def _shown(service: Service, request: Request, form: Form, status: int = 200) -> Response:
    return render(service, request, "new", status, place="new", form=form, policies=policies())
