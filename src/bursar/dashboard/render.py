"""The frame of every page: templates, who is there, and errors as pages."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bursar.errors import BursarError, Unauthenticated, UnknownCampaign
from bursar.service.auth import request_csrf, request_key
from bursar.service.responses import PROBLEM_KINDS, problem_response, public_message
from bursar.service.service import Service
from bursar.version import __version__

__all__ = ["Form", "Handler", "base_of", "page", "refuse", "render", "seen", "to"]

Handler = Callable[[Service, Request], Awaitable[Response]]

_DONE = {
    "created": "The campaign is made. Ask it for a decision, and watch it here.",
    "budget": "The budget is set.",
    "cap": "The cap is set.",
    "paused": "Paused: nothing more is granted until it is resumed.",
    "resumed": "Running again.",
    "closed": "Closed for good.",
    "reconciled": "Reconciled.",
    "arm": "The arm is changed.",
    "voided": "The holds are given back.",
    "revoked": "The key is revoked.",
    "signed-out": "You are signed out.",
}  # by code, so that no link can put its own words on a page
_WAYS = {
    401: "Sign in with a key that may do this.",
    403: "Ask for a key that may do this, or reload the page and try again.",
    404: "It may have been spelt differently.",
    412: "Somebody else changed the campaign meanwhile: look at it again, then decide.",
    413: "Send less at once.",
    503: "Nothing was changed. Try again in a moment.",
}


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("bursar.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["address"] = partial(quote, safe="")
    return found


def render(
    service: Service, request: Request, template: str, status: int = 200, **facts: Any
) -> HTMLResponse:
    """Return a page, with what all pages know."""
    key = request_key(request)
    frame = {
        "version": __version__,
        "csrf": request_csrf(request),
        "signed_in": key is not None,
        "is_open": not service.config.require_keys,
        "key_id": "" if key is None else key.id,
        "may_admin": key is not None and key.allows("admin"),
        "may_keys": key is not None and key.allows("keys"),
        "done": _DONE.get(request.query_params.get("done", ""), ""),
        "place": "",
        "oob": False,
    }
    text = _templates().get_template(f"{template}.html.jinja").render(frame | facts)
    return HTMLResponse(text, status)


def page(service: Service, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return a route of a page: what is refused becomes a page that says why."""

    @functools.wraps(handler)
    async def answer(request: Request) -> Response:
        names = request.path_params
        request.scope["path_params"] = {name: _whole(names[name]) for name in names}
        try:
            return await handler(service, request)
        except Unauthenticated:
            if request.method == "GET" and not seen(request):
                return to("/login", next=request.url.path)
            return refuse(service, request, 401, "The session has ended")
        except UnknownCampaign:
            name = str(request.path_params.get("name", ""))
            detail = f"There is no campaign named {name!r} here."  # its file is nobody's business
            return refuse(service, request, 404, detail, PROBLEM_KINDS["unknown-campaign"].title)
        except BursarError as error:
            kind = PROBLEM_KINDS.get(error.code, PROBLEM_KINDS["error"])
            return refuse(
                service, request, kind.status, public_message(error, request.scope), kind.title
            )
        except Exception as error:
            problem_response(error, request.scope, service.config)  # into the log
            return refuse(service, request, 500, "Something unexpected happened; the log has it.")

    return answer


def _whole(part: str) -> str:
    return part.replace("\x1f", "/")  # what the application makes of %2F in a name


def refuse(
    service: Service, request: Request, status: int, detail: str, title: str = "Not possible"
) -> Response:
    """Return a page that says what went wrong, and the way out."""
    parts = request.url.path.split("/")
    name = request.path_params.get("name")
    inside = name is not None and len(parts) > 3 and status != 404
    return render(
        service, request, "error", status, title=title, detail=detail,
        way_out=_WAYS.get(status, "Go back, put it right, and try again."),
        back=base_of(str(name)) if inside else "/",
        request_id=request.scope.get("bursar.request_id", ""),
    )  # fmt: skip


def base_of(name: str) -> str:
    """Return the address of a campaign's page.

    >>> base_of("a/b c")
    '/campaigns/a%2Fb%20c'
    """
    return f"/campaigns/{quote(name, safe='')}"


def to(address: str, **query: str) -> RedirectResponse:
    """Return a redirect after which a reload repeats nothing."""
    return RedirectResponse(address + (f"?{urlencode(query)}" if query else ""), 303)


def seen(request: Request) -> bool:
    """Tell whether a page that is open asks for its live parts only."""
    return request.headers.get("x-part") == "live"


# ==== dashboard.form
# A form: what was typed, and what is wrong with it.


@dataclass
class Form:
    """What was typed, by field, and what is wrong with it; nothing typed is ever lost.

    Attributes
    ----------
    values, errors : dict
        By name of the field; "all" is for what belongs to none.
    rows : int
        How many rows of arms there are.
    advanced_wrong : bool
        Whether something is wrong among the fields that are folded away.
    """

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    advanced_wrong: bool = False
