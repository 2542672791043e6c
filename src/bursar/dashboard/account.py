"""Signing in and out with a key, and the page that manages keys."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import Response

from bursar.dashboard.render import Form, Page, format_error, redirect
from bursar.errors import BursarError, InvalidInput, RateLimited
from bursar.service.auth import read_form, request_key, request_session
from bursar.service.keys import SCOPES, Key
from bursar.service.middleware import client_address


async def show_login(page: Page) -> Response:
    """Show the form, unless the request has a key already."""
    target = _local_path(page.query.get("next", "/"))
    if request_key(page.request) is not None:
        return redirect(target)
    return page.render("login", form=Form(), next=target)


async def sign_in(page: Page) -> Response:
    """Start a session; a refused key is not shown again."""
    fields = await read_form(page.request)
    key = await page.run(page.service.keys.find, fields.get("key", "").strip())
    target = _local_path(fields.get("next", "/"))
    if key is None or not key.allows("read"):
        return _refuse_login(page, key, target)
    response = redirect(target)
    response.headers.append("set-cookie", page.service.sessions.start(key))
    return response


def _refuse_login(page: Page, key: Key | None, target: str) -> Response:
    """Show the form again, for a key that is wrong or that may not view pages."""
    status, error, wait = 401, "This key is unknown, expired or revoked.", 0
    if key is not None:
        status, error = 403, "This key cannot view pages, because it does not have the scope read."
    else:
        try:
            page.service.failed_logins.take(client_address(page.request.scope))
        except RateLimited as limit:
            status, wait = 429, max(1, math.ceil(limit.retry_after))
            error = f"There were too many failed logins from your address. Wait {wait} s."
    response = page.render("login", status, form=Form(errors={"key": error}), next=target)
    if wait:
        response.headers["retry-after"] = str(wait)
    return response


async def sign_out(page: Page) -> Response:
    """End the session, in all processes, so that a copy of its cookie is of no use."""
    if request_key(page.request) is not None:
        await page.authorize("read")
    header = await page.run(page.service.sessions.end, request_session(page.request))
    response = redirect("/login", done="signed-out")
    response.headers.append("set-cookie", header)
    return response


def _local_path(address: str) -> str:
    """Return an address if it is a path of this service, or else ``"/"``.

    >>> _local_path("/keys"), _local_path("//evil.example/x"), _local_path("https://evil.example")
    ('/keys', '/', '/')
    """
    is_path = address.startswith("/") and not address.startswith(("//", "/\\"))
    is_local = is_path and not urlsplit(address).netloc and address.isprintable()
    return address if is_local else "/"


async def show_keys(
    page: Page, form: Form | None = None, status: int = 200, created: tuple[Key, str] | None = None
) -> Response:
    """Show the keys that the user may manage, and one that was just created, with its token."""
    keys = await page.run(page.service.keys.list_all)
    managed = [key for key in reversed(keys) if page.key.covers(key)]
    parents = {id for key in keys for id in (key.by, key.replaces)}
    values = {"keys": managed, "parents": parents, "created": created}
    return page.render("keys", status, section="keys", form=form or Form(), **values)


async def create_key(page: Page) -> Response:
    """Create a key and show its token once."""
    form = Form(page.fields)
    try:
        created = await page.run(_create_key, page)
    except BursarError as error:
        field = next((name for name in ("scopes", "days") if name in str(error)), "all")
        form.errors[field] = format_error(error)
        return await show_keys(page, form, 422)
    return await show_keys(page, created=created)


def _create_key(page: Page) -> tuple[Key, str]:
    fields = page.fields
    scopes = [scope for scope in SCOPES if fields.get(f"scope:{scope}")]
    names = [name.strip() for name in fields.get("campaigns", "").split(",")]
    options: dict[str, Any] = {
        "campaigns": [name for name in names if name] or None,
        "note": fields.get("note", "").strip(),
        "expires": _parse_expiry(fields.get("days", "").strip()),
    }
    return page.service.keys.create(scopes, user=page.key, **options)


def _parse_expiry(days: str) -> datetime | None:
    if not days:
        return None
    try:
        return datetime.now(UTC) + timedelta(days=float(days))
    except (ValueError, OverflowError):
        raise InvalidInput(f"days must be a number such as 30, got {days!r}") from None


async def revoke_key(page: Page) -> Response:
    """Revoke a key."""
    user, keys, only = page.key, page.service.keys, bool(page.fields.get("only"))
    key = await page.run(keys.get, page.fields.get("id", ""), user)
    await page.run(keys.revoke_family, key.id, user.id, only=only, user=user)
    return redirect("/keys", done="revoked")
