"""Problems of the service as the exceptions that the embedded campaign raises."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import httpx2

from bursar import errors
from bursar.client.retry import waiting_time
from bursar.errors import BursarError

__all__ = ["Problem", "error_of", "problem_of"]

_AGAIN = (429, 502, 503, 504)  # a proxy says 502 or 504 while the service behind it restarts
_BY_CODE: dict[str, type[BursarError]] = {
    found.code: found
    for found in (getattr(errors, name) for name in reversed(errors.__all__))
    if "code" in vars(found)
} | {"invalid": errors.InvalidInput, "error": BursarError}
_BY_STATUS: dict[int, type[BursarError]] = {
    400: errors.InvalidInput,
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    405: errors.InvalidInput,
    412: errors.StaleVersion,
    413: errors.TooLarge,
    415: errors.InvalidInput,
    422: errors.InvalidInput,
    428: errors.InvalidInput,
    429: errors.RateLimited,
    502: errors.StorageUnavailable,
    503: errors.Overloaded,
    504: errors.StorageUnavailable,
}


class Problem(NamedTuple):
    """What a response that is no success means."""

    error: BursarError
    again: bool
    wait: float


def problem_of(response: httpx2.Response) -> Problem:
    """Return the error to raise, whether the call may work later, and when at the soonest."""
    status = response.status_code
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or "code" not in body:
        body = {"detail": _stranger(response)}
    wait = waiting_time(response.headers.get("retry-after"))
    error = error_of(body, status)
    if isinstance(error, errors.RateLimited):
        error.retry_after = wait
    return Problem(error, status in _AGAIN and body.get("retryable", True) is not False, wait)


def error_of(body: dict[str, Any], status: int) -> BursarError:
    """Return the exception of a problem, with the words of the service."""
    code = body.get("code")
    kind = _BY_CODE.get(str(code)) or _BY_STATUS.get(status, BursarError)
    error = kind(str(body.get("detail") or body.get("title") or f"status {status}"))
    if isinstance(code, str):
        error.code = code
    return error


def _stranger(response: httpx2.Response) -> str:
    """Return words for an answer that no bursar service wrote."""
    return (
        f"{response.request.method} {response.request.url} answered"
        f" {response.status_code} {response.reason_phrase}".rstrip()
        + ", without a reason; is there a bursar service at this address?"
    )
