"""Responses: JSON, and problems (RFC 9457) with codes that programs can compare."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from bursar.errors import BursarError, MissingExtra
from bursar.service.config import ServiceConfig

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


class ProblemKind(NamedTuple):
    """A kind of problem.

    Attributes
    ----------
    status : int
        Status of the response.
    title : str
        A short description.
    retryable : bool
        Whether the same call may succeed later.
    wait : float or None
        Seconds of the header Retry-After. Others get none, so that HTTP libraries that retry by
        themselves do not overload the service.
    message : str
        Replaces the message of the error, which contains paths and addresses and is only logged.
    """

    status: int
    title: str
    retryable: bool = False
    wait: float | None = None
    message: str = ""


PROBLEM_KINDS: dict[str, ProblemKind] = {
    "malformed": ProblemKind(400, "Malformed request"),
    "unauthenticated": ProblemKind(401, "Key missing or unknown"),
    "forbidden": ProblemKind(403, "Not allowed for this key"),
    "not-found": ProblemKind(404, "Unknown address"),
    "unknown-campaign": ProblemKind(404, "Unknown campaign"),
    "decision-unknown": ProblemKind(404, "Unknown decision"),
    "unknown-arm": ProblemKind(404, "Unknown arm"),
    "unknown-key": ProblemKind(404, "Unknown key"),
    "method-not-allowed": ProblemKind(405, "Method not allowed"),
    "budget-exhausted": ProblemKind(409, "Budget exhausted"),
    "not-active": ProblemKind(409, "Campaign not active"),
    "policy-error": ProblemKind(409, "The policy failed"),
    "outcome-conflict": ProblemKind(409, "A different outcome is already recorded"),
    "campaign-exists": ProblemKind(409, "A different campaign has this name"),
    "ambiguous-decision": ProblemKind(409, "Several campaigns have this decision"),
    "stale-version": ProblemKind(412, "Changed since that version"),
    "too-large": ProblemKind(413, "Body too large"),
    "unsupported-media-type": ProblemKind(415, "Body must be JSON"),
    "bad-host": ProblemKind(421, "Unknown host name"),
    "invalid": ProblemKind(422, "Invalid value"),
    "idempotency-mismatch": ProblemKind(422, "The id belongs to a different ask"),
    "error": ProblemKind(422, "Not possible"),
    "precondition-required": ProblemKind(428, "If-Match required"),
    "too-many-open": ProblemKind(429, "Too many open decisions", True, 1.0),
    "rate-limited": ProblemKind(429, "Too many requests", True, 1.0),
    "internal": ProblemKind(
        500, "Internal error", message="internal error; quote the request id to the operator"
    ),
    "missing-extra": ProblemKind(501, "Not installed"),
    "overloaded": ProblemKind(503, "Overloaded", True, 1.0),
    "deadline-passed": ProblemKind(503, "Deadline passed", True),
    "stopping": ProblemKind(503, "Stopping", True),
    "storage-unavailable": ProblemKind(
        503,
        "Storage unavailable",
        True,
        message="the ledger is not available; nothing was written, try again",
    ),
    "storage-in-use": ProblemKind(
        503,
        "Storage in use",
        True,
        message="another program uses the ledger; nothing was written, try again",
    ),
    "corrupt-ledger": ProblemKind(
        503,
        "Ledger damaged",
        message="the ledger is damaged; nothing was written, the operator must repair it",
    ),
    "newer-schema": ProblemKind(
        503,
        "Ledger of a newer version",
        message="a newer bursar has written the ledger; the operator must update this one",
    ),
}

_LOG = logging.getLogger("bursar.service")
_MEDIA = (b"content-type", b"application/problem+json")
_DEFAULT = ServiceConfig()


class HTTPProblem(BursarError, ValueError):
    """A call that is refused for a reason of HTTP or of the service; ``code`` says which.

    Parameters
    ----------
    code : str
        A key of ``PROBLEM_KINDS``.
    message : str
        What was wrong, the value, and the way out.
    **extra
        More members of the problem.
    """

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.extra = extra


def problem_response(
    error: BaseException, scope: Scope, config: ServiceConfig = _DEFAULT
) -> BytesResponse:
    """Return any error as a response; an unexpected one is logged, and its message not sent."""
    if not isinstance(error, BursarError):
        request_id = scope.get("bursar.request_id", "")
        _LOG.error(
            "unexpected error in %s %s", scope["method"], scope["path"],
            exc_info=error, extra={"request_id": request_id},
        )  # fmt: skip
        body = _make_body("internal", PROBLEM_KINDS["internal"].message, scope, config)
        return BytesResponse(500, encode(body | {"request_id": request_id}), (_MEDIA,))
    body = problem_body(error, scope, config)
    headers = [_MEDIA]
    wait = PROBLEM_KINDS[body["code"]].wait
    if wait is not None:
        seconds = math.ceil(getattr(error, "retry_after", wait))
        headers.append((b"retry-after", b"%d" % max(seconds, 1)))
    if error.code == "unauthenticated":
        headers.append((b"www-authenticate", b'Bearer realm="bursar"'))
    return BytesResponse(body["status"], encode(body), headers)


def problem_body(
    error: BursarError, scope: Scope, config: ServiceConfig = _DEFAULT
) -> dict[str, Any]:
    """Return the members of a problem, for a response or for one result of a batch."""
    code = "missing-extra" if isinstance(error, MissingExtra) else error.code
    code = code if code in PROBLEM_KINDS else "error"
    body = _make_body(code, public_message(error, scope), scope, config)
    return body | (getattr(error, "extra", None) or {})


def public_message(error: BursarError, scope: Scope) -> str:
    """Return the message of an error for callers; a message with internals is only logged."""
    kind = PROBLEM_KINDS.get(error.code)
    if kind is None or not kind.message:
        return str(error)
    _LOG.error("%s %s: %s", scope["method"], scope["path"], error)
    return kind.message


def _make_body(code: str, detail: str, scope: Scope, config: ServiceConfig) -> dict[str, Any]:
    kind = PROBLEM_KINDS[code]
    return {
        "type": config.docs_url + code,
        "title": kind.title,
        "status": kind.status,
        "detail": detail.encode(errors="backslashreplace").decode(),
        "instance": scope.get("raw_path", b"").decode("ascii", "replace") or scope["path"],
        "code": code,
        "retryable": kind.retryable,
    }
