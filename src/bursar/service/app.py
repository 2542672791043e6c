"""The application: a guard around routes, for any ASGI server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from bursar.service.middleware import Guard
from bursar.service.openapi import make_document
from bursar.service.operation import Endpoint, Operation
from bursar.service.operations import OPERATIONS
from bursar.service.responses import BytesResponse, HTTPProblem, encode, problem_response

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["create_app"]


def create_app(service: Service, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the app of a service, with pages for people if there are any.

    Parameters
    ----------
    service : Service
        What it serves; close it yourself when the server has ended.
    pages : sequence of BaseRoute
        Routes beside those of the API, such as a dashboard's.
    """
    by_path: dict[str, list[Operation]] = {}
    for one in (*OPERATIONS, _document()):
        by_path.setdefault(one.path, []).append(one)
    routes: list[BaseRoute] = [
        Route(path, Endpoint(service, group)) for path, group in by_path.items()
    ]
    return Guard(_Front([*routes, *pages], service), service)


class _Front:
    """Finds the route of a request; what has none is a problem, too.

    A bare router in place of a Starlette application: every ask would pass its two layers of
    middleware, and the guard and the endpoints do already what those do.
    """

    def __init__(self, routes: Sequence[BaseRoute], service: Service) -> None:
        self._router = Router(routes, redirect_slashes=False)
        self._config = service.config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        scope["app"] = self  # so that the router raises what it cannot find
        if scope["type"] == "http" and b"%2" in scope.get("raw_path", b""):
            _keep_slashes(scope)
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            answer = problem_response(_refused(error, scope), scope, self._config)
            for name, value in (error.headers or {}).items():
                answer.headers.append((name.lower().encode(), value.encode()))
            await answer(scope, receive, send)


def _refused(error: HTTPException, scope: Scope) -> HTTPProblem:
    if error.status_code == 405:
        return HTTPProblem("method-not-allowed", f"this address does not take {scope['method']}")
    if error.status_code == 404:
        return HTTPProblem("not-found", "there is nothing here; /v1/openapi.json has all addresses")
    return HTTPProblem("malformed", str(error.detail))


def _keep_slashes(scope: Scope) -> None:
    """Let %2F in an address be part of a name, as in the id of a decision, and not end it."""
    raw: bytes = scope["raw_path"]
    if raw.startswith((b"/v1/", b"/campaigns/")):
        kept = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
        scope["path"] = unquote(kept.decode("ascii", "replace"))


def _document() -> Operation:
    body = encode(make_document())

    async def show(service: Service, request: Request) -> BytesResponse:
        return BytesResponse(200, body)

    return Operation("openapi", "GET", "/v1/openapi.json", show, "", None, {200: dict[str, object]})
