"""Signing in with a key, and out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.render import Form, render, to
from bursar.errors import BursarError, InvalidInput
from bursar.formatting import format_time
from bursar.service.auth import check_grant, read_form, request_key, require, require_form
from bursar.service.keys import SCOPES, Key, new_key
from bursar.service.service import Service

__all__ = ["create", "keys", "login", "logout", "revoke", "sign_in"]


async def login(service: Service, request: Request) -> Response:
    """Show the form, unless nobody needs to sign in."""
    if request_key(request) is not None:
        return to(_inside(request.query_params.get("next", "/")))
    form = Form({"key": ""})
    return render(
        service, request, "login", form=form, next=_inside(request.query_params.get("next", "/"))
    )


async def sign_in(service: Service, request: Request) -> Response:
    """Start a session for who has a key; what was typed is not shown again."""
    fields = await read_form(request)
    key = await service.run_in_thread(service.keys.find, fields.get("key", "").strip())
    where = _inside(fields.get("next", "/"))
    if key is None:
        form = Form({"key": ""}, {"key": "No key like this is known, or it has ended."})
        return render(service, request, "login", 401, form=form, next=where)
    if not key.allows("read"):
        form = Form({"key": ""}, {"key": "This key may not look at anything: it has no read."})
        return render(service, request, "login", 403, form=form, next=where)
    answer = to(where)
    answer.headers.append("set-cookie", service.sessions.start(key))
    return answer


async def logout(service: Service, request: Request) -> Response:
    """End the session."""
    if request_key(request) is not None:
        await require_form(request, "read")
    answer = to("/login", done="signed-out")
    answer.headers.append("set-cookie", service.sessions.end())
    return answer


def _inside(address: str) -> str:
    """Return an address of this service, whatever a link wanted.

    >>> _inside("/keys"), _inside("//evil.example/x"), _inside("https://evil.example")
    ('/keys', '/', '/')
    """
    parts = urlsplit(address)
    plain = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if plain and not parts.netloc and address.isprintable() else "/"


# ==== dashboard.key_page
# The page of keys: who may do what.

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
        key, token = await service.run_in_thread(_make, service, mine, fields)
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
    found = await service.run_in_thread(service.keys.get, fields.get("id", ""))
    check_grant(mine, found)
    await service.run_in_thread(service.keys.revoke, found.id, mine.id)
    return to("/keys", done="revoked")


async def _shown(
    service: Service, request: Request, mine: Key, form: Form, status: int = 200, **facts: Any
) -> Response:
    everyone = await service.run_in_thread(service.keys.list_all)
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
        "created": format_time(key.created),
        "by": key.by,
        "ends": format_time(key.expires) if key.expires else "never",
    }
