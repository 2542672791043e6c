"""What is sent back: a status, headers and bytes, as lean as ASGI allows."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from bursar.errors import BursarError, MissingExtra
from bursar.service.config import ServiceConfig

__all__ = [
    "JSON",
    "PROBLEM_KINDS",
    "BytesResponse",
    "HTTPProblem",
    "ProblemKind",
    "encode",
    "json_response",
    "problem_body",
    "problem_response",
    "public_message",
]

Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
encode = msgspec.json.Encoder(decimal_format="string").encode


class BytesResponse:
    """A whole response; calling it sends it."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Iterable[Any] = (JSON,)) -> None:
        self.status = status
        self.body = body
        self.headers: Headers = [*headers, (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; HEAD gets the headers alone."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


def json_response(value: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> BytesResponse:
    """Return a value as JSON."""
    return BytesResponse(status, encode(value), (JSON, *headers))


# ==== service.problem
# Problems: every error as RFC 9457 has it, with a code that programs can compare.

_LOG = logging.getLogger("bursar.service")
_MEDIA = (b"content-type", b"application/problem+json")


class ProblemKind(NamedTuple):
    """A kind of problem: its status, its title, and whether the same call may work later."""

    status: int
    title: str
    retryable: bool = False


PROBLEM_KINDS: dict[str, ProblemKind] = {
    "malformed": ProblemKind(400, "Malformed request"),
    "unauthenticated": ProblemKind(401, "Key missing or not known"),
    "forbidden": ProblemKind(403, "Key may not do this"),
    "not-found": ProblemKind(404, "No such address"),
    "unknown-campaign": ProblemKind(404, "No such campaign"),
    "decision-unknown": ProblemKind(404, "No such decision"),
    "unknown-arm": ProblemKind(404, "No such arm"),
    "unknown-key": ProblemKind(404, "No such key"),
    "method-not-allowed": ProblemKind(405, "Method not allowed here"),
    "budget-exhausted": ProblemKind(409, "Budget exhausted"),
    "not-active": ProblemKind(409, "Campaign not active"),
    "policy-error": ProblemKind(409, "The policy failed"),
    "outcome-conflict": ProblemKind(409, "Another outcome was told before"),
    "campaign-exists": ProblemKind(409, "Another campaign has this name"),
    "ambiguous-decision": ProblemKind(409, "Several campaigns have this decision"),
    "stale-version": ProblemKind(412, "Changed by others since"),
    "too-large": ProblemKind(413, "Body too large"),
    "unsupported-media-type": ProblemKind(415, "Body must be JSON"),
    "bad-host": ProblemKind(421, "Not a name of this service"),
    "invalid": ProblemKind(422, "Invalid value"),
    "idempotency-mismatch": ProblemKind(422, "Id was used for another ask"),
    "error": ProblemKind(422, "Not possible"),
    "precondition-required": ProblemKind(428, "If-Match required"),
    "too-many-open": ProblemKind(429, "Too many open decisions", True),
    "rate-limited": ProblemKind(429, "Too many requests", True),
    "internal": ProblemKind(500, "Internal error"),
    "missing-extra": ProblemKind(501, "Not installed here"),
    "overloaded": ProblemKind(503, "Overloaded", True),
    "deadline-passed": ProblemKind(503, "Deadline passed in line", True),
    "stopping": ProblemKind(503, "Stopping", True),
    "storage-unavailable": ProblemKind(503, "Storage unavailable", True),
    "storage-in-use": ProblemKind(503, "Storage in use", True),
    "corrupt-ledger": ProblemKind(503, "Ledger damaged"),
    "newer-schema": ProblemKind(503, "Ledger of a newer version"),
}
# the others get none, so that HTTP libraries that retry by themselves do not hammer
_WAITS = {"too-many-open": 1.0, "rate-limited": 1.0, "overloaded": 1.0}


# what these say has paths and addresses in it, which are for the log
_INNER = {
    "storage-unavailable": "the ledger cannot be used now; nothing was booked, try again",
    "storage-in-use": "the ledger is in use by another program; nothing was booked, try again",
    "corrupt-ledger": "the ledger is damaged; nothing was booked, its operator must look at it",
    "newer-schema": "a newer bursar has written the ledger; its operator must look at it",
}


def problem_response(
    error: BaseException, scope: Scope, settings: ServiceConfig | None = None
) -> BytesResponse:
    """Return any error as an answer; what nobody foresaw is logged, and told without details."""
    if not isinstance(error, BursarError):
        request_id = scope.get("bursar.request_id", "")
        _LOG.error(
            "unexpected error in %s %s", scope["method"], scope["path"],
            exc_info=error, extra={"request_id": request_id},
        )  # fmt: skip
        body = _body("internal", "something unexpected happened; the log has it", scope, settings)
        return BytesResponse(500, encode(body | {"request_id": request_id}), (_MEDIA,))
    body = problem_body(error, scope, settings)
    return BytesResponse(body["status"], encode(body), (_MEDIA, *_headers(error)))


def problem_body(
    error: BursarError, scope: Scope, settings: ServiceConfig | None = None
) -> dict[str, Any]:
    """Return the members of a problem, for an answer or for one place of a batch."""
    code = "missing-extra" if isinstance(error, MissingExtra) else error.code
    code = code if code in PROBLEM_KINDS else "error"
    body = _body(code, public_message(error, scope), scope, settings)
    return body | (getattr(error, "extra", None) or {})


def public_message(error: BursarError, scope: Scope) -> str:
    """Return what an error says to those outside; the rest goes to the log."""
    if error.code not in _INNER:
        return str(error)
    _LOG.error("%s %s: %s", scope["method"], scope["path"], error)
    return _INNER[error.code]


def _body(code: str, detail: str, scope: Scope, settings: ServiceConfig | None) -> dict[str, Any]:
    kind = PROBLEM_KINDS[code]
    return {
        "type": (settings or _DEFAULT).docs_url + code,
        "title": kind.title,
        "status": kind.status,
        "detail": detail.encode(errors="backslashreplace").decode(),
        "instance": scope.get("raw_path", b"").decode("ascii", "replace") or scope["path"],
        "code": code,
        "retryable": kind.retryable,
    }


_DEFAULT = ServiceConfig()


def _headers(error: BursarError) -> list[tuple[bytes, bytes]]:
    found = []
    if error.code in _WAITS:
        wait = math.ceil(getattr(error, "retry_after", _WAITS[error.code]))
        found.append((b"retry-after", b"%d" % max(wait, 1)))
    if error.code == "unauthenticated":
        found.append((b"www-authenticate", b'Bearer realm="bursar"'))
    return found


# ==== service.refused
# What only a service refuses: calls that cannot be understood, found or waited for.


class HTTPProblem(BursarError, ValueError):
    """A call that HTTP itself gives a reason to refuse; ``code`` says which.

    Parameters
    ----------
    code : str
        A row of the table of problems.
    message : str
        What was wrong, the value got, and the way out.
    **extra
        More members of the problem.
    """

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.extra = extra
