"""The ASGI application: middleware around a router, for any ASGI server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from bursar.service.middleware import Guard
from bursar.service.openapi import make_document
from bursar.service.operation import CAMPAIGN, Call, Endpoint, Operation
from bursar.service.responses import BytesResponse, HTTPProblem, encode, problem_response
from bursar.service.routes import OPERATIONS

if TYPE_CHECKING:
    from bursar.service.service import Service

_BUSIEST = (f"{CAMPAIGN}/decisions", "/v1/decisions/{id}/outcome")  # routes to try first


def create_app(service: Service, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application of a service, with the pages of a dashboard if there is one.

    Parameters
    ----------
    service : Service
        What it serves; close it yourself when the server has ended.
    pages : sequence of BaseRoute
        Routes in addition to those of the API, such as a dashboard's.
    """
    by_path: dict[str, list[Operation]] = {}
    for one in (*OPERATIONS, _document_operation()):
        by_path.setdefault(one.path, []).append(one)
    # a path that ends with a name would also match those that go on, as in {campaign}:pause
    paths = sorted(by_path, key=lambda path: (path not in _BUSIEST, path.endswith("}")))
    routes: list[BaseRoute] = [Route(path, Endpoint(service, by_path[path])) for path in paths]
    return Guard(_Front([*routes, *pages]), service)


def _document_operation() -> Operation:
    body = encode(make_document())

    async def show(call: Call[None]) -> BytesResponse:
        return BytesResponse(200, body)

    return Operation(
        name="openapi", method="GET", path="/v1/openapi.json", run=show, summary="", scope=None,
        gives={200: dict[str, Any]},
    )  # fmt: skip


class _Front:
    """Finds the route of a request, and answers with a problem if there is none.

    It is a bare router instead of a Starlette application, whose two layers of middleware would
    repeat what the guard and the endpoints do.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._router = Router(routes, redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        scope["app"] = self  # makes the router raise if it finds no route
        if scope["type"] == "http" and b"%" in scope.get("raw_path", b""):
            _keep_escapes(scope)
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            answer = problem_response(_problem_of(error, scope), scope)
            for name, value in (error.headers or {}).items():
                answer.headers.append((name.lower().encode(), value.encode()))
            await answer(scope, receive, send)


def _problem_of(error: HTTPException, scope: Scope) -> HTTPProblem:
    if error.status_code == 405:
        return HTTPProblem("method-not-allowed", f"this address does not take {scope['method']}")
    if error.status_code == 404:
        return HTTPProblem("not-found", "unknown address; /v1/openapi.json lists all addresses")
    return HTTPProblem("malformed", str(error.detail))


_CAMPAIGNS = b"/v1/campaigns/"


def _keep_escapes(scope: Scope) -> None:
    """Treat %2F in an address, and %3A in the name of a campaign, as parts of a name.

    A decision may be called ``a/b``, and a campaign of an older version ``x:pause``. Characters
    that no name has stand for them until the route is found.
    """
    raw: bytes = scope["raw_path"]
    if raw.startswith((b"/v1/", b"/campaigns/")):
        kept = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
        if kept.startswith(_CAMPAIGNS):
            name, slash, rest = kept.removeprefix(_CAMPAIGNS).partition(b"/")
            name = name.replace(b"%3A", b"%1E").replace(b"%3a", b"%1E")
            kept = _CAMPAIGNS + name + slash + rest
        scope["path"] = unquote(kept.decode("ascii", "replace"))
