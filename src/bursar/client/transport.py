"""Transport: how requests reach a service, with retries, a deadline and a spool."""

import json
import logging
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import httpx2

from bursar import errors
from bursar.client.spool import Spool, SpooledCall, UndeliveredCall
from bursar.errors import BursarError, InvalidData, InvalidInput, StorageUnavailable
from bursar.formatting import hide_password, pluralize
from bursar.validation import check_positive
from bursar.version import __version__

T = TypeVar("T")

_LOG = logging.getLogger("bursar.client")
_DELIVERY_TIMEOUT = 2.0  # seconds that a stored call may delay a caller who did not ask for it
_RETRY_STORED = 60.0  # seconds until a campaign that answered "later" is tried again


def read_nothing(data: Any) -> None:
    """Ignore the data of a response."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request to the service.

    Attributes
    ----------
    method, path : str
        The HTTP method and path.
    read : callable
        Makes the result from the data of a successful response.
    body, query, headers : mapping
        The content; members that are None are left out.
    repeatable : bool
        Whether sending it twice has the effect of sending it once. If not, it is not sent again
        after a failure that leaves open whether it arrived.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True


def make_path(*parts: str, verb: str = "") -> str:
    """Return a path of the API with quoted parts.

    >>> make_path("campaigns", "a/b", verb="pause")
    '/v1/campaigns/a%2Fb:pause'
    """
    return "/v1/" + "/".join(quote(one, safe="") for one in parts) + (f":{verb}" if verb else "")


def encode_body(body: Mapping[str, Any] | None) -> bytes:
    """Return a body as JSON, with money as text.

    >>> encode_body({"cost": Decimal("1E-2"), "reward": 1.0, "rounding": None})
    b'{"cost":"0.01","reward":1.0}'
    """
    if body is None:
        return b""
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(given, default=_text, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot be sent as JSON: {error}, in {given!r}") from None


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} is not plain data")


@dataclass(frozen=True)
class Retry:
    """How a client waits between attempts.

    After the n-th failure it waits for a random time between 0 and ``first`` · 2ⁿ⁻¹, at most
    ``most``, so that clients that failed together do not return together. If the service says how
    long to wait, that time is added. It is written by hand because it must know whether a failed
    request may have arrived.

    Attributes
    ----------
    first, most : float
        Seconds.
    clock, chance, sleep : callable
        The sources of monotonic time in seconds, of random numbers in [0, 1) and of pauses;
        ``sleep`` is by default time.sleep or asyncio.sleep.
    """

    first: float = 0.1
    most: float = 5.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None

    def wait(self, failures: int, requested: float = 0.0) -> float:
        """Return the seconds to wait after this number of failures.

        >>> Retry(chance=lambda: 0.5).wait(3)
        0.2
        """
        return requested + self.chance() * min(self.most, self.first * 2.0 ** min(failures - 1, 30))


def parse_retry_after(header: str | None) -> float:
    """Return the seconds that a Retry-After header asks for.

    >>> parse_retry_after("2"), parse_retry_after(None), parse_retry_after("soon")
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


# problems of the service become the exceptions that an embedded campaign raises

_RETRYABLE = (429, 502, 503, 504)  # a proxy answers 502 or 504 while the service restarts
_BY_CODE: dict[str, type[BursarError]] = {
    found.code: found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, BursarError)
} | {"invalid": errors.InvalidInput, "error": BursarError}
_BY_STATUS: dict[int, type[BursarError]] = {
    **dict.fromkeys((400, 405, 415, 422, 428), errors.InvalidInput),
    **dict.fromkeys((502, 504), errors.StorageUnavailable),
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    412: errors.StaleVersion,
    413: errors.TooLarge,
    429: errors.RateLimited,
    503: errors.Overloaded,
}


class ProblemDetails(NamedTuple):
    """The error of a failed attempt, whether to retry, and the seconds to wait first."""

    error: BursarError
    retry: bool
    wait: float


def _read_problem(response: httpx2.Response) -> ProblemDetails:
    status = response.status_code
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or "code" not in body:
        url = response.request.url.copy_with(userinfo=b"")
        body = {
            "detail": f"{response.request.method} {url} answered"
            f" {status} {response.reason_phrase}".rstrip()
            + " without a reason; is there a bursar service at this address?"
        }
    wait = parse_retry_after(response.headers.get("retry-after"))
    error = decode_error(body, status)
    if isinstance(error, errors.RateLimited):
        error.retry_after = wait
    retry = status in _RETRYABLE and body.get("retryable", True) is not False
    return ProblemDetails(error, retry, wait)


def decode_error(body: dict[str, Any], status: int) -> BursarError:
    """Return the exception of a problem with the service's message."""
    code = body.get("code")
    kind = _BY_CODE.get(str(code)) or _BY_STATUS.get(status, BursarError)
    error = kind(str(body.get("detail") or body.get("title") or f"status {status}"))
    if isinstance(code, str):
        error.code = code
    return error


class SetAside(NamedTuple):
    """Why a stored call waits, and from when it is sent again without being asked for."""

    error: BursarError
    until: float


_LATER = (errors.StorageUnavailable, errors.Overloaded)
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_UNSENDABLE = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)


class Transport:
    """The connection to a service, with the parameters of :class:`bursar.Client`."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retry: Retry, spool: str | Path | None
    ) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            shown = hide_password(url) if isinstance(url, str) else url
            raise InvalidInput(f"url must start with 'http://' or 'https://', got {shown!r}")
        self.runner: Any = None  # until the client sets it
        self.url = url.rstrip("/")
        self.address = hide_password(self.url)  # for messages
        self.timeout = check_positive("timeout", timeout, "10 is the default")
        self.retry = retry
        self.spool = None if spool is None else Spool(Path(spool))
        self._delivered: set[int] = set()  # calls that could not be deleted from the spool
        self._aside: dict[int, SetAside] = {}  # calls that wait
        self.headers = {"user-agent": f"bursar/{__version__}", "accept": "application/json"}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key:
                raise InvalidInput(
                    "key must be a token such as 'bursar_…'; this one cannot be sent"
                )
            self.headers["authorization"] = f"Bearer {key}"

    async def send(self, request: Request[T], within: float | None = None) -> T:
        """Send a request until it is answered or the deadline has passed."""
        content = encode_body(request.body)
        headers = {**self.headers, **request.headers}
        if content:
            headers["content-type"] = "application/json"
        query = {name: value for name, value in request.query.items() if value is not None}
        url = self.url + request.path + (f"?{urlencode(query)}" if query else "")
        limit = self.timeout if within is None else within
        end, attempts = self.retry.clock() + limit, 0
        doubt: BursarError | None = None
        while True:
            attempts += 1
            left = end - self.retry.clock()
            # an attempt that hangs must leave time for the next one
            most = max(min(left, max(left / 2.0, 1.0)), 0.001)
            headers["request-timeout"] = f"{most:.3f}"
            try:
                response: httpx2.Response = await self.runner.request(
                    request.method, url, headers=headers, content=content, timeout=most
                )
            except _UNSENDABLE as error:
                raise InvalidInput(f"cannot be sent to {self.address}: {error}") from error
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                problem = self._describe_failure(request, error, attempts, limit)
                doubt = problem.error if doubt or not isinstance(error, _UNSENT) else None
            else:
                if response.is_success:
                    return self._read(request, response)
                problem = _read_problem(response)
            if not problem.retry:
                raise problem.error
            wait = self.retry.wait(attempts, problem.wait)
            if wait >= end - self.retry.clock():
                raise doubt or problem.error  # an attempt before the last may have arrived
            await self.runner.sleep(wait)

    @staticmethod
    def may_have_arrived(error: BaseException) -> bool:
        """Return whether a request that failed with this error may have been carried out."""
        return isinstance(error, StorageUnavailable | InvalidData)

    def _describe_failure(
        self, request: Request[Any], error: Exception, attempts: int, limit: float
    ) -> ProblemDetails:
        unsent = isinstance(error, _UNSENT)
        state = "" if unsent else "; it may have been carried out"
        if not unsent and request.repeatable:
            state += ", and repeating it is safe"
        found = StorageUnavailable(
            f"no answer from {self.address} after {pluralize(attempts, 'attempt')}"
            f" within {limit:g} s ({type(error).__name__} {error}".rstrip()
            + f"){state}"
        )
        found.__cause__ = error
        return ProblemDetails(found, request.repeatable or unsent, 0.0)

    def _read(self, request: Request[T], response: httpx2.Response) -> T:
        try:
            return request.read(json.loads(response.content) if response.content else None)
        except BursarError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidData(
                f"{request.method} {self.address}{request.path} answered in a form that this client"
                f" cannot read ({type(error).__name__}: {error}); is there a bursar service of this"
                " version?"
            ) from error

    async def load_page(
        self, path: str, member: str, read: Callable[[Any], T], **query: Any
    ) -> tuple[list[T], Any]:
        """Return one page of a list, and where the next page begins, or None."""

        def read_page(data: Any) -> tuple[list[T], Any]:
            return [read(one) for one in data[member]], data.get("next")

        return await self.send(Request("GET", path, read_page, query=query))

    async def load_list(
        self, path: str, member: str, read: Callable[[Any], T], **query: Any
    ) -> list[T]:
        """Return all pages of a list."""
        found, after = await self.load_page(path, member, read, **query)
        while after is not None:
            page, after = await self.load_page(path, member, read, after=after, **query)
            found += page
        return found

    # the spool

    async def deliver(self, request: Request[T], parts: Sequence[Request[Any]] = ()) -> T:
        """Send a request that reports spending; store it if it could not be delivered.

        A request with many outcomes is stored as its parts.
        """
        try:
            done = await self.send(request)
        except GeneratorExit:
            raise
        except BaseException as error:  # also cancellation: the caller will not repeat it
            self.store([(one, error) for one in parts or (request,)])
            raise
        await self.deliver_stored()
        return done

    def store(self, failed: Sequence[tuple[Request[Any], BaseException]]) -> bool:
        """Store failed requests that may be accepted later; note that in their errors."""
        spool = self.spool
        if spool is None or not (kept := [one for one in failed if spool.accepts(one[1])]):
            return False
        try:
            spool.store([(one.method, one.path, one.body) for one, _ in kept])
            note, stored = f"it is kept in {spool.path} and will be delivered later", True
        except OSError as trouble:
            note, stored = f"it is not kept, report it again: {trouble}", False
        for error in dict.fromkeys(error for _, error in kept):
            error.add_note(note)
        return stored

    async def deliver_stored(self) -> None:
        """Deliver what is stored, now that the service answers; failures can wait."""
        if self.spool is not None:
            try:
                await self._flush(self.spool, asked_for=False)
            except BursarError as error:
                _LOG.warning("the calls in %s must wait: %s", self.spool.path, error)

    async def flush(self) -> int:
        """Deliver what is stored; return the number of accepted calls.

        Calls that the service refuses for good go to a file beside the spool, with the reason. If
        others must wait, because the key may not send them or their campaign cannot record them,
        the rest is delivered, and then the first error is raised.
        """
        if self.spool is None:
            return 0
        accepted, waiting = await self._flush(self.spool, asked_for=True)
        if waiting:
            waiting[0].add_note(
                f"{accepted} delivered; {len(waiting)} still kept in {self.spool.path}:"
                " undelivered() lists them with their reasons"
            )
            raise waiting[0]
        return accepted

    async def _flush(self, spool: Spool, asked_for: bool) -> tuple[int, list[BursarError]]:
        """Send stored calls; return how many were accepted, and the errors of those that wait."""
        within = self.timeout if asked_for else min(self.timeout, _DELIVERY_TIMEOUT)
        accepted, waiting = 0, []
        busy: dict[str, SetAside] = {}  # campaigns that cannot record anything now
        try:
            for call in self._find_due(spool, asked_for):
                if aside := busy.get(call.campaign):
                    self._aside[call.id] = aside
                    waiting.append(aside.error)
                    continue
                request = Request(call.method, call.path, read_nothing, call.body)
                error = None
                try:
                    await self.send(request, within)
                except BursarError as failure:
                    error = None if call.is_needless(failure) else failure
                if error is None:
                    self._delivered.add(call.id)
                    accepted += 1
                elif aside := self._judge(spool, call, error):
                    self._aside[call.id] = aside
                    waiting.append(aside.error)
                    if isinstance(error, _LATER):
                        busy[call.campaign] = aside
                        within = min(within, _DELIVERY_TIMEOUT)
        finally:
            self._delete_delivered(spool)
        return accepted, waiting

    def _find_due(self, spool: Spool, asked_for: bool) -> list[SpooledCall]:
        """Return the stored calls to send now; all of them if the user asks for it."""
        calls = [call for call in spool.load() if call.id not in self._delivered]
        self._aside = {call.id: self._aside[call.id] for call in calls if call.id in self._aside}
        if asked_for:
            return calls
        now, waits = self.retry.clock(), self._aside
        return [call for call in calls if call.id not in waits or waits[call.id].until <= now]

    def _judge(self, spool: Spool, call: SpooledCall, error: BursarError) -> SetAside | None:
        """Return why a call must wait, or None if it was refused for good.

        An error that any other call would meet as well is raised: a key that is not valid, or no
        answer that can be read.
        """
        if (
            isinstance(error, errors.Unauthenticated | errors.RateLimited)
            or error.__cause__ is not None
        ):
            raise error
        if not spool.accepts(error):
            try:
                spool.refuse(call, error)
            except StorageUnavailable as trouble:
                return SetAside(trouble, self.retry.clock() + _RETRY_STORED)
            _LOG.warning("refused, from %s: %s", spool.path, error)
            self._delivered.add(call.id)
            return None
        if call.id not in self._aside:
            _LOG.warning("a call stays in %s: %s (%s)", spool.path, error, call.path)
        later = isinstance(error, _LATER)
        return SetAside(error, self.retry.clock() + _RETRY_STORED if later else math.inf)

    def _delete_delivered(self, spool: Spool) -> None:
        """Delete delivered calls from the spool; on a full disk, remember not to send them."""
        if self._delivered:
            try:
                spool.delete(list(self._delivered))
                self._delivered.clear()
            except StorageUnavailable as error:
                _LOG.warning("delivered calls stay in the file, and count once: %s", error)

    def list_undelivered(self) -> list[UndeliveredCall]:
        """Return the calls that wait, oldest first, then those that were refused for good."""
        if self.spool is None:
            return []
        found = []
        for call in self.spool.load():
            aside = self._aside.get(call.id)
            code, reason = ("", "") if aside is None else (aside.error.code, str(aside.error))
            found.append(UndeliveredCall(call.path, call.body, code, reason, refused=False))
        return found + list(self.spool.list_refused())
