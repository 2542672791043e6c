"""An operation: one method of one address, what it does, and what its document says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bursar.service.responses import BytesResponse, HTTPProblem, problem_response

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "AFTER",
    "AFTER_NAME",
    "BY",
    "DAYS",
    "FORMAT",
    "IF_MATCH",
    "IF_MATCH_REQUIRED",
    "KEY",
    "KIND",
    "LAST",
    "OPEN_ONLY",
    "POINTS",
    "TIMEOUT",
    "WHY",
    "Endpoint",
    "Handler",
    "Operation",
    "OperationLink",
    "Parameter",
    "limit",
]

Handler = Callable[["Service", Request], Awaitable[ASGIApp]]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query or a header, as OpenAPI has it."""

    name: str
    schema: Mapping[str, Any]
    description: str
    where: str = "query"
    required: bool = False


@dataclass(frozen=True)
class OperationLink:
    """Where an answer leads: an operation, and which of its parameters come from the answer."""

    to: str
    parameters: Mapping[str, str]
    status: int = 200


@dataclass(frozen=True)
class Operation:
    """What a method of an address does.

    Attributes
    ----------
    name : str
        Its operationId.
    method, path : str
        As in "POST" and "/v1/campaigns/{campaign}".
    run : callable
        Takes service and request, returns the answer.
    summary : str
        What it does, in a line.
    scope : str or None
        What a key needs; None: it needs no key.
    takes, gives : type or None
        Body of the request; bodies of the answers by status, or a media type for what is no JSON.
    codes : tuple of str
        Problems it may answer with, beside those of all.
    parameters : tuple of Parameter
        Of the query, and headers.
    links : tuple of Link
        Where answers lead.
    headers : mapping
        Headers of the answers, with a word on each.
    """

    name: str
    method: str
    path: str
    run: Handler
    summary: str
    scope: str | None
    gives: Mapping[int, Any]
    takes: Any = None
    codes: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    links: tuple[OperationLink, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


# ==== service.parameters
# Parameters that several operations take: of the query, and headers.

_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10**17}
_FLAG: dict[str, Any] = {"type": "string", "enum": ["true", "false"]}
_VERSION: dict[str, Any] = {"type": "string", "examples": ['"7"', "*"], "pattern": r'^("\d+"|\*)$'}

AFTER = Parameter("after", _WHOLE, "Only what comes after this number")
AFTER_NAME = Parameter("after", {"type": "string", "maxLength": 100}, "Only names after this one")
KIND = Parameter(
    "kind", {"type": "array", "items": {"type": "string"}}, "Only events of these kinds"
)
OPEN_ONLY = Parameter("open", _FLAG, "Only decisions that wait for their outcome")
WHY = Parameter("why", _FLAG, "With what was known when the decision was made")
DAYS = Parameter(
    "days",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10**6},
    "How far to look ahead",
)
POINTS = Parameter("points", {"type": "integer", "minimum": 2, "maximum": 2000}, "At most so many")
FORMAT = Parameter(
    "format", {"type": "string", "enum": ["jsonl", "csv", "parquet"]}, "What kind of file"
)
BY = Parameter("by", {"type": "string", "maxLength": 500}, "Whom the key acts for, for the log")
IF_MATCH = Parameter(
    "If-Match", _VERSION, "Only if this is still the version of the campaign", "header"
)
IF_MATCH_REQUIRED = Parameter(
    "If-Match", _VERSION, "The version that this is a change of, or *", "header", required=True
)
KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    "The caller's own id: the same again gets the same answer",
    "header",
)
TIMEOUT = Parameter(
    "Request-Timeout",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
    "Seconds after which the call is dropped if it is still in line",
    "header",
)
LAST = Parameter("Last-Event-ID", _WHOLE, "The last event that was seen", "header")


def limit(most: int) -> Parameter:
    """Return the parameter for how many to return."""
    return Parameter("limit", {"type": "integer", "minimum": 1, "maximum": most}, "At most so many")


# ==== service.endpoint
# An endpoint: the methods of one address; whatever they raise becomes a problem.


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
            answer = problem_response(error, scope, self._service.config)
        if scope["method"] == "HEAD" and isinstance(answer, StreamingResponse):
            answer = _Head(answer)  # a stream of events would never end
        await answer(scope, receive, send)

    def _not_allowed(self, scope: Scope) -> BytesResponse:
        words = f"this address takes {self._allow}, got {scope['method']}"
        answer = problem_response(
            HTTPProblem("method-not-allowed", words), scope, self._service.config
        )
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
