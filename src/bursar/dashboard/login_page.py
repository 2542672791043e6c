"""Signing in with a key, and out."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.form import Form
from bursar.dashboard.frame import render, to
from bursar.service.auth import form_of, key_of, require_form
from bursar.service.service import Service

__all__ = ["login", "logout", "sign_in"]


async def login(service: Service, request: Request) -> Response:
    """Show the form, unless nobody needs to sign in."""
    if key_of(request) is not None:
        return to(_inside(request.query_params.get("next", "/")))
    form = Form({"key": ""})
    return render(
        service, request, "login", form=form, next=_inside(request.query_params.get("next", "/"))
    )


async def sign_in(service: Service, request: Request) -> Response:
    """Start a session for who has a key; what was typed is not shown again."""
    fields = await form_of(request)
    key = await service.look(service.keys.find, fields.get("key", "").strip())
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
    if key_of(request) is not None:
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
