"""Problems: every error as RFC 9457 has it, with a code that programs can compare."""

from __future__ import annotations

import logging
import math
from typing import Any, NamedTuple

from starlette.types import Scope

from bursar.errors import BursarError, MissingExtra
from bursar.service.answer import Answer, encode
from bursar.service.settings import Settings

__all__ = ["TABLE", "Kind", "members", "problem", "told"]

_LOG = logging.getLogger("bursar.service")
_MEDIA = (b"content-type", b"application/problem+json")


class Kind(NamedTuple):
    """A kind of problem: its status, its title, and whether the same call may work later."""

    status: int
    title: str
    retryable: bool = False


TABLE: dict[str, Kind] = {
    "malformed": Kind(400, "Malformed request"),
    "unauthenticated": Kind(401, "Key missing or not known"),
    "forbidden": Kind(403, "Key may not do this"),
    "not-found": Kind(404, "No such address"),
    "unknown-campaign": Kind(404, "No such campaign"),
    "decision-unknown": Kind(404, "No such decision"),
    "unknown-arm": Kind(404, "No such arm"),
    "unknown-key": Kind(404, "No such key"),
    "method-not-allowed": Kind(405, "Method not allowed here"),
    "budget-exhausted": Kind(409, "Budget exhausted"),
    "not-active": Kind(409, "Campaign not active"),
    "policy-error": Kind(409, "The policy failed"),
    "outcome-conflict": Kind(409, "Another outcome was told before"),
    "campaign-exists": Kind(409, "Another campaign has this name"),
    "ambiguous-decision": Kind(409, "Several campaigns have this decision"),
    "stale-version": Kind(412, "Changed by others since"),
    "too-large": Kind(413, "Body too large"),
    "unsupported-media-type": Kind(415, "Body must be JSON"),
    "bad-host": Kind(421, "Not a name of this service"),
    "invalid": Kind(422, "Invalid value"),
    "idempotency-mismatch": Kind(422, "Id was used for another ask"),
    "error": Kind(422, "Not possible"),
    "precondition-required": Kind(428, "If-Match required"),
    "too-many-open": Kind(429, "Too many open decisions", True),
    "rate-limited": Kind(429, "Too many requests", True),
    "internal": Kind(500, "Internal error"),
    "missing-extra": Kind(501, "Not installed here"),
    "overloaded": Kind(503, "Overloaded", True),
    "deadline-passed": Kind(503, "Deadline passed in line", True),
    "stopping": Kind(503, "Stopping", True),
    "storage-unavailable": Kind(503, "Storage unavailable", True),
    "storage-in-use": Kind(503, "Storage in use", True),
    "corrupt-ledger": Kind(503, "Ledger damaged"),
    "newer-schema": Kind(503, "Ledger of a newer version"),
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


def problem(error: BaseException, scope: Scope, settings: Settings | None = None) -> Answer:
    """Return any error as an answer; what nobody foresaw is logged, and told without details."""
    if not isinstance(error, BursarError):
        request_id = scope.get("bursar.request_id", "")
        _LOG.error(
            "unexpected error in %s %s", scope["method"], scope["path"],
            exc_info=error, extra={"request_id": request_id},
        )  # fmt: skip
        body = _body("internal", "something unexpected happened; the log has it", scope, settings)
        return Answer(500, encode(body | {"request_id": request_id}), (_MEDIA,))
    body = members(error, scope, settings)
    return Answer(body["status"], encode(body), (_MEDIA, *_headers(error)))


def members(error: BursarError, scope: Scope, settings: Settings | None = None) -> dict[str, Any]:
    """Return the members of a problem, for an answer or for one place of a batch."""
    code = "missing-extra" if isinstance(error, MissingExtra) else error.code
    code = code if code in TABLE else "error"
    body = _body(code, told(error, scope), scope, settings)
    return body | (getattr(error, "extra", None) or {})


def told(error: BursarError, scope: Scope) -> str:
    """Return what an error says to those outside; the rest goes to the log."""
    if error.code not in _INNER:
        return str(error)
    _LOG.error("%s %s: %s", scope["method"], scope["path"], error)
    return _INNER[error.code]


def _body(code: str, detail: str, scope: Scope, settings: Settings | None) -> dict[str, Any]:
    kind = TABLE[code]
    return {
        "type": (settings or _DEFAULT).docs_url + code,
        "title": kind.title,
        "status": kind.status,
        "detail": detail.encode(errors="backslashreplace").decode(),
        "instance": scope.get("raw_path", b"").decode("ascii", "replace") or scope["path"],
        "code": code,
        "retryable": kind.retryable,
    }


_DEFAULT = Settings()


def _headers(error: BursarError) -> list[tuple[bytes, bytes]]:
    found = []
    if error.code in _WAITS:
        wait = math.ceil(getattr(error, "retry_after", _WAITS[error.code]))
        found.append((b"retry-after", b"%d" % max(wait, 1)))
    if error.code == "unauthenticated":
        found.append((b"www-authenticate", b'Bearer realm="bursar"'))
    return found
