"""The page of keys: who may do what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.form import Form
from bursar.dashboard.frame import render, to
from bursar.dashboard.spelling import moment
from bursar.errors import BursarError, InvalidInput
from bursar.service.auth import check_grant, require, require_form
from bursar.service.key import SCOPES, Key, new_key
from bursar.service.service import Service

__all__ = ["create", "keys", "revoke"]

_ABOUT = {
    "ask": "get decisions",
    "tell": "report costs and rewards",
    "read": "look at everything",
    "admin": "all of these, and change budgets, arms and campaigns",
    "adjust": "correct outcomes that were told",
    "keys": "make and revoke keys",
}
_TONES = {"live": "yes", "expired": "open", "revoked": "no"}


async def keys(service: Service, request: Request) -> Response:
    """Show all keys that who looks may manage."""
    mine = require(request, "keys")
    return await _shown(service, request, mine, Form())


async def create(service: Service, request: Request) -> Response:
    """Make a key and show its token, this once."""
    mine, fields = await require_form(request, "keys")
    form = Form(dict(fields))
    try:
        key, token = await service.look(_make, service, mine, fields)
    except BursarError as error:
        where = "scopes" if "scopes" in str(error) else "days" if "days" in str(error) else "all"
        form.errors[where] = f"{error}."
        return await _shown(service, request, mine, form, 422)
    powers = ", ".join(scope for scope in SCOPES if scope in key.scopes)
    return await _shown(service, request, mine, Form(), token=token, token_for=powers)


def _make(service: Service, mine: Key, fields: dict[str, str]) -> tuple[Key, str]:
    scopes = [scope for scope in SCOPES if fields.get(f"scope:{scope}")]
    names = [one.strip() for one in fields.get("campaigns", "").split(",") if one.strip()]
    wish: dict[str, Any] = {
        "campaigns": names or None,
        "note": fields.get("note", "").strip(),
        "expires": _end(fields.get("days", "").strip()),
    }
    check_grant(mine, new_key(scopes, **wish))
    return service.keys.create(scopes, by=mine.id, **wish)


def _end(days: str) -> datetime | None:
    if not days:
        return None
    try:
        return datetime.now(UTC) + timedelta(days=float(days))
    except (ValueError, OverflowError):
        raise InvalidInput(f"days must be a number such as 30, got {days!r}") from None


async def revoke(service: Service, request: Request) -> Response:
    """End a key."""
    mine, fields = await require_form(request, "keys")
    found = await service.look(service.keys.get, fields.get("id", ""))
    check_grant(mine, found)
    await service.look(service.keys.revoke, found.id, mine.id)
    return to("/keys", done="revoked")


async def _shown(
    service: Service, request: Request, mine: Key, form: Form, status: int = 200, **facts: Any
) -> Response:
    everyone = await service.look(service.keys.all)
    rows = [_row(one) for one in reversed(everyone) if mine.covers(one)]
    more = {"token": "", "token_for": ""} | facts
    return render(
        service, request, "keys", status, place="keys", keys=rows, form=form,
        scopes=[(scope, _ABOUT[scope]) for scope in SCOPES], **more,
    )  # fmt: skip


def _row(key: Key) -> dict[str, Any]:
    state = key.state()
    return {
        "id": key.id,
        "state": state.capitalize(),
        "tone": _TONES[state],
        "live": state == "live",
        "note": key.note,
        "scopes": ", ".join(scope for scope in SCOPES if scope in key.scopes),
        "campaigns": "all" if key.campaigns is None else ", ".join(sorted(key.campaigns)),
        "created": moment(key.created),
        "by": key.by,
        "ends": moment(key.expires) if key.expires else "never",
    }
