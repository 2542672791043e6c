"""The line to a service: how a call gets through it, or is known not to have."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import httpx2

from bursar import errors
from bursar.client.script import Script, SendRequest, Sleep
from bursar.errors import BursarError, InvalidData, InvalidInput, StorageUnavailable
from bursar.formatting import pluralize
from bursar.validation import check_positive
from bursar.version import __version__

__all__ = [
    "ProblemDetails",
    "Reply",
    "Request",
    "Retry",
    "Transport",
    "content_of",
    "error_of",
    "path_of",
    "problem_of",
    "retry_delay",
]

T = TypeVar("T")

# ==== client.call
# A call of the service: what is sent, and how its answer is read.


class Reply(NamedTuple):
    """A response that says yes."""

    data: Any
    replayed: bool


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request as it is meant.

    Attributes
    ----------
    method, path : str
        Of HTTP.
    read : callable
        Makes the result of the answer.
    body, query, headers : mapping
        What it says; members that are None are left out.
    again : bool
        Whether sending it twice does what sending it once does. If not, it is not sent again after
        a failure that leaves open whether it arrived.
    """

    method: str
    path: str
    read: Callable[[Reply], T]
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = True

    @property
    def address(self) -> str:
        """Path and query."""
        said = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(said)}" if said else self.path


def path_of(*parts: str, verb: str = "") -> str:
    """Return a path of the API; whatever names contain is quoted.

    >>> path_of("campaigns", "a/b", verb="pause")
    '/v1/campaigns/a%2Fb:pause'
    """
    return "/v1/" + "/".join(quote(one, safe="") for one in parts) + (f":{verb}" if verb else "")


def content_of(body: Mapping[str, Any] | None) -> bytes:
    """Return a body as JSON: money as text, nothing that JSON does not have.

    >>> content_of({"cost": Decimal("1E-2"), "reward": 1.0, "rounding": None})
    b'{"cost":"0.01","reward":1.0}'
    """
    if body is None:
        return b""
    said = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(said, default=_text, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot be sent as JSON: {error}, in {said!r}") from None


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} is no plain data")


# ==== client.retry
# When to try again: with full jitter, and never beyond a deadline.


@dataclass(frozen=True)
class Retry:
    """How a client waits between tries.

    After the n-th failure it waits for a random time between 0 and ``first`` · 2ⁿ⁻¹, at most
    ``most``: clients that failed together do not come back together. If the service says how long
    to wait, that is added.

    Attributes
    ----------
    first, most : float
        Seconds.
    clock, chance, sleep : callable
        Where the time (seconds, never set back), random numbers in [0, 1) and sleep come from;
        ``sleep`` is by default time.sleep or asyncio.sleep.
    """

    first: float = 0.1
    most: float = 5.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None

    def wait(self, failures: int, told: float = 0.0) -> float:
        """Return how long to wait after so many failures.

        >>> Retry(chance=lambda: 0.5).wait(3)
        0.2
        """
        return told + self.chance() * min(self.most, self.first * 2.0 ** min(failures - 1, 30))


def retry_delay(header: str | None) -> float:
    """Return the seconds that a Retry-After header asks for.

    >>> retry_delay("2"), retry_delay(None), retry_delay("soon")
    (2.0, 0.0, 0.0)
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


# ==== client.problem
# Problems of the service as the exceptions that the embedded campaign raises.

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


class ProblemDetails(NamedTuple):
    """What a response that is no success means."""

    error: BursarError
    again: bool
    wait: float


def problem_of(response: httpx2.Response) -> ProblemDetails:
    """Return the error to raise, whether the call may work later, and when at the soonest."""
    status = response.status_code
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or "code" not in body:
        body = {"detail": _stranger(response)}
    wait = retry_delay(response.headers.get("retry-after"))
    error = error_of(body, status)
    if isinstance(error, errors.RateLimited):
        error.retry_after = wait
    return ProblemDetails(
        error, status in _AGAIN and body.get("retryable", True) is not False, wait
    )


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


_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_OURS = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)


class Transport:
    """Where a service is, who asks, and how patiently.

    Parameters
    ----------
    url : str
        Address of the service.
    key : str or None
        The key to show.
    timeout : float
        Seconds within which a call must have its answer, all tries together.
    retry : Retry
        How to wait between tries.
    """

    def __init__(self, url: str, key: str | None, timeout: float, retry: Retry) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInput(f"a service is at 'http://…' or 'https://…', got {url!r}")
        self.url = url.rstrip("/")
        self.timeout = check_positive("timeout", timeout, "10 is the default")
        self.retry = retry
        self.headers = {"user-agent": f"bursar/{__version__}", "accept": "application/json"}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key:
                raise InvalidInput("key must be a text such as 'bursar_…'; got one that cannot be")
            self.headers["authorization"] = f"Bearer {key}"

    def call(self, call: Request[T], within: float | None = None) -> Script[T]:
        """Send a call until it is answered, or until there is no more time."""
        content, limit = content_of(call.body), self.timeout if within is None else within
        end, tries = self.retry.clock() + limit, 0
        doubt: BursarError | None = None
        while True:
            tries += 1
            left = end - self.retry.clock()
            # one try that hangs must not take the time of the next
            most = min(left, max(left / 2.0, 1.0))
            try:
                response = yield self._exchange(call, content, max(most, 0.001))
            except _OURS as error:
                raise InvalidInput(f"cannot be sent to {self.url}: {error}") from error
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                problem = self._broken(call, error, tries, limit)
                doubt = problem.error if doubt or not isinstance(error, _UNSENT) else None
            else:
                if response.is_success:
                    return self._read(call, response)
                problem = problem_of(response)
            if not problem.again:
                raise problem.error
            wait = self.retry.wait(tries, problem.wait)
            if wait >= end - self.retry.clock():
                raise doubt or problem.error  # one of the tries may have been heard
            yield Sleep(wait)

    def _exchange(self, call: Request[Any], content: bytes, timeout: float) -> SendRequest:
        headers = self.headers | dict(call.headers) | {"request-timeout": f"{timeout:.3f}"}
        if content:
            headers["content-type"] = "application/json"
        return SendRequest(call.method, self.url + call.address, headers, content, timeout)

    @staticmethod
    def unsure(error: BaseException) -> bool:
        """Return whether a call that failed so may have been done."""
        return isinstance(error, StorageUnavailable | InvalidData)

    def _broken(
        self, call: Request[Any], error: Exception, tries: int, limit: float
    ) -> ProblemDetails:
        sure = isinstance(error, _UNSENT)
        state = "" if sure else "; whether it was done is not known"
        if not sure and call.again:
            state += ", but doing it again is safe"
        found = StorageUnavailable(
            f"no answer from {self.url} ({pluralize(tries, 'try', 'tries')} within {limit:g} s,"
            f" the last: {type(error).__name__} {error}".rstrip()
            + f"){state}"
        )
        found.__cause__ = error
        return ProblemDetails(found, call.again or sure, 0.0)

    def _read(self, call: Request[T], response: httpx2.Response) -> T:
        try:
            data = json.loads(response.content) if response.content else None
            return call.read(Reply(data, response.headers.get("idempotency-replayed") == "true"))
        except BursarError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidData(
                f"{call.method} {self.url}{call.path} answered what this client cannot read"
                f" ({type(error).__name__}: {error}); is there a bursar service of its version?"
            ) from error
