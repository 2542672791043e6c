"""Responses: JSON, and problems (RFC 9457) with codes that programs can compare."""

import logging
import math
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from bursar.errors import BursarError, MissingExtra

Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
encode = msgspec.json.Encoder(decimal_format="string").encode


class BytesResponse:
    """A complete response; calling it sends it. Starlette's own takes longer."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Iterable[Any] = (JSON,)) -> None:
        self.status = status
        self.body = body
        self.headers: Headers = [*headers, (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; for HEAD, without the body."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


def json_response(value: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> BytesResponse:
    """Return a value as JSON."""
    return BytesResponse(status, encode(value), (JSON, *headers))


class ProblemKind(msgspec.Struct, frozen=True):
    """A kind of problem; ``problems.toml`` describes the fields."""

    status: int
    title: str
    retryable: bool = False
    wait: float | None = None
    message: str = ""


PROBLEM_KINDS = msgspec.toml.decode(
    files(__package__).joinpath("problems.toml").read_bytes(), type=dict[str, ProblemKind]
)
"""All kinds of problems by code."""

_LOG = logging.getLogger("bursar.service")
_MEDIA = (b"content-type", b"application/problem+json")


class HTTPProblem(BursarError, ValueError):
    """A call that is refused for a reason of HTTP or of the service.

    ``code`` is a key of ``PROBLEM_KINDS``; ``extra`` are more members of the problem.
    """

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.extra = extra


def problem_response(error: BaseException, scope: Scope) -> BytesResponse:
    """Return any error as a response; an unexpected one is logged, and its message not sent."""
    if not isinstance(error, BursarError):
        request_id = scope.get("bursar.request_id", "")
        _LOG.error(
            "unexpected error in %s %s", scope["method"], scope["path"],
            exc_info=error, extra={"request_id": request_id},
        )  # fmt: skip
        body = _make_body("internal", PROBLEM_KINDS["internal"].message, scope)
        return BytesResponse(500, encode(body | {"request_id": request_id}), (_MEDIA,))
    body = problem_body(error, scope)
    headers = [_MEDIA]
    wait = PROBLEM_KINDS[body["code"]].wait
    if wait is not None:
        seconds = math.ceil(getattr(error, "retry_after", wait))
        headers.append((b"retry-after", b"%d" % max(seconds, 1)))
    if error.code == "unauthenticated":
        headers.append((b"www-authenticate", b'Bearer realm="bursar"'))
    return BytesResponse(body["status"], encode(body), headers)


def problem_body(error: BursarError, scope: Scope) -> dict[str, Any]:
    """Return the members of a problem, for a response or for one result of a batch."""
    code = "missing-extra" if isinstance(error, MissingExtra) else error.code
    code = code if code in PROBLEM_KINDS else "error"
    body = _make_body(code, public_message(error, scope), scope)
    return body | (getattr(error, "extra", None) or {})


def public_message(error: BursarError, scope: Scope) -> str:
    """Return the message of an error for callers; a message with internals is only logged."""
    kind = PROBLEM_KINDS.get(error.code)
    if kind is None or not kind.message:
        return str(error)
    _LOG.error("%s %s: %s", scope["method"], scope["path"], error)
    return kind.message


def _make_body(code: str, detail: str, scope: Scope) -> dict[str, Any]:
    kind = PROBLEM_KINDS[code]
    return {
        "type": scope["bursar.docs_url"] + code,
        "title": kind.title,
        "status": kind.status,
        "detail": detail.encode(errors="backslashreplace").decode(),
        "instance": scope.get("raw_path", b"").decode("ascii", "replace") or scope["path"],
        "code": code,
        "retryable": kind.retryable,
    }
