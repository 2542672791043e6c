"""An operation of the API: one method of one address, its handler, and what the document says.

A handler is declared with :func:`operation`. The endpoint of its address checks the key, finds the
campaign, decodes the body or the query, and passes all of it on as a :class:`Call`. An error that
the handler raises becomes a problem. This layer stays hand-written on Starlette's router since it
takes 5 µs per request (Litestar 32, FastAPI 60).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bursar.service.auth import require
from bursar.service.requests import read_body, read_query, resolve_decision
from bursar.service.responses import BytesResponse, HTTPProblem, problem_response

if TYPE_CHECKING:
    from bursar.campaign import Campaign
    from bursar.service.keys import Key
    from bursar.service.service import Service

CAMPAIGN = "/v1/campaigns/{campaign}"
LONG_READ = ("overloaded", "deadline-passed")  # codes of reads that may have to wait
Given = TypeVar("Given")


@dataclass(slots=True)
class Call(Generic[Given]):
    """A request that may be served."""

    service: Service
    request: Request
    campaign: str = ""  # what the call is about; "" if the address names none
    decision: str = ""
    key: Key = field(init=False)  # has the scope of the operation
    given: Given = field(init=False)  # the body of a POST or PATCH, the query of other methods

    async def open_campaign(self) -> Campaign:
        """Return the campaign that the call is about."""
        return await self.service.find_campaign(self.campaign)


Handler = Callable[[Call[Any]], Awaitable[ASGIApp]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What a method of an address does."""

    name: str  # its operationId
    method: str  # as in POST
    path: str  # as in /v1/campaigns/{campaign}
    run: Handler
    summary: str
    scope: str | None  # that a key needs; None if no key is needed
    gives: Mapping[int, Any]  # types of responses by status; a media type if they are not JSON
    takes: Any = None  # struct of the body (POST, PATCH) or of the query (other methods)
    # of its problems beside those of all operations; openapi.toml says which header each implies
    codes: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()

    @property
    def takes_body(self) -> bool:
        """Whether the input is a body, not a query."""
        return self.takes is not None and self.method in ("POST", "PATCH")

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any] | None:
        return msgspec.json.Decoder(self.takes) if self.takes_body else None

    async def respond(self, service: Service, request: Request) -> ASGIApp:
        """Check the key, then read the input, then run the handler."""
        call: Call[Any] = Call(service, request)
        if self.scope is not None:
            names = request.scope["path_params"]
            if "id" in names:
                call.campaign, call.decision = await resolve_decision(service, request, self.scope)
            else:
                call.campaign = names.get("campaign", "")
            call.key = require(request, self.scope, call.campaign or None)
        if self._decoder is not None:
            call.given = await read_body(request, self._decoder)
        elif self.takes is not None:
            call.given = read_query(request, self.takes)
        return await self.run(call)


OPERATIONS: list[Operation] = []
"""All operations, in the order in which the modules of ``routes`` declare them."""


def operation(
    method: str, path: str, scope: str | None, gives: Any, **more: Any
) -> Callable[[H], H]:
    """Declare a handler as an operation; ``more`` are attributes of :class:`Operation`.

    The handler says the rest: the operationId is its name in camel case, unless ``name`` is given,
    the summary is the first line of its docstring, and what it takes is the struct in
    ``call: Call[...]``. A type for ``gives`` stands for a response with status 200.
    """
    responses = gives if isinstance(gives, dict) else {200: gives}

    def declare(run: H) -> H:
        summary = (run.__doc__ or "").partition("\n")[0].rstrip(".")
        [takes] = get_args(get_type_hints(run)["call"])
        fields = {"name": camel_case(run.__name__), "summary": summary} | more
        if takes not in (Any, NoneType):
            fields["takes"] = takes
        OPERATIONS.append(
            Operation(method=method, path=path, run=run, scope=scope, gives=responses, **fields)
        )
        return run

    return declare


def camel_case(name: str) -> str:
    """Return a name of Python as OpenAPI writes it.

    >>> camel_case("show_decision")
    'showDecision'
    """
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


class Endpoint:
    """An ASGI app for one address; the middleware turns its errors into problems."""

    __slots__ = ("_allow", "_operations", "_service")

    def __init__(self, service: Service, operations: Iterable[Operation]) -> None:
        self._service = service
        self._operations = {one.method: one for one in operations}
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._allow = ", ".join(sorted(self._operations))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if not scope["path"].isprintable():  # the application has replaced %2F or %3A
            names = scope["path_params"]
            scope["path_params"] = {name: restore_escapes(names[name]) for name in names}
        found = self._operations.get(scope["method"])
        answer: ASGIApp
        if found is None:
            answer = self._not_allowed(scope)
        else:
            answer = await found.respond(self._service, Request(scope, receive))
        if scope["method"] == "HEAD" and isinstance(answer, StreamingResponse):
            head = BytesResponse(answer.status_code)
            head.headers = answer.raw_headers  # without the stream, which might never end
            answer = head
        await answer(scope, receive, send)

    def _not_allowed(self, scope: Scope) -> BytesResponse:
        error = HTTPProblem(
            "method-not-allowed", f"this address takes {self._allow}, got {scope['method']}"
        )
        answer = problem_response(error, scope)
        answer.headers.append((b"allow", self._allow.encode()))
        return answer


def restore_escapes(name: str) -> str:
    """Return a name from an address with the slashes and colons that were escaped in it."""
    return name.replace("\x1f", "/").replace("\x1e", ":")
