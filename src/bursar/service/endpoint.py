"""An endpoint: the methods of one address; whatever they raise becomes a problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bursar.service.answer import Answer
from bursar.service.operation import Operation
from bursar.service.problem import problem
from bursar.service.refused import Refused

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["Endpoint"]


class Endpoint:
    """An ASGI app for one address; lean, since every ask and tell comes through it."""

    __slots__ = ("_allow", "_methods", "_service")

    def __init__(self, service: Service, operations: Iterable[Operation]) -> None:
        self._service = service
        self._methods = {one.method: one.run for one in operations}
        if "GET" in self._methods:
            self._methods["HEAD"] = self._methods["GET"]
        self._allow = ", ".join(sorted(self._methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if "\x1f" in scope["path"]:  # what the application made of %2F
            names = scope["path_params"]
            scope["path_params"] = {name: names[name].replace("\x1f", "/") for name in names}
        run = self._methods.get(scope["method"])
        answer: ASGIApp
        try:
            if run is None:
                answer = self._not_allowed(scope)
            else:
                answer = await run(self._service, Request(scope, receive))
        except Exception as error:
            answer = problem(error, scope, self._service.settings)
        if scope["method"] == "HEAD" and isinstance(answer, StreamingResponse):
            answer = _Head(answer)  # a stream of events would never end
        await answer(scope, receive, send)

    def _not_allowed(self, scope: Scope) -> Answer:
        words = f"this address takes {self._allow}, got {scope['method']}"
        answer = problem(Refused("method-not-allowed", words), scope, self._service.settings)
        answer.headers.append((b"allow", self._allow.encode()))
        return answer


class _Head:
    """What comes before a stream, alone."""

    def __init__(self, whole: StreamingResponse) -> None:
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers = self._whole.status_code, self._whole.raw_headers
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
