"""The middleware: every request passes it on the way in, and every response on the way out.

On the way in it checks the Host header, the key or session, the origin of a browser's request, the
rate and the size of the body. On the way out it adds security headers and logs the request. It is
hand-written since library middleware answers in plain text, not with problems, and since it is on
the path of every ask, where it takes a few µs.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from ipaddress import ip_address
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bursar.errors import Forbidden, RateLimited, TooLarge
from bursar.service.auth import COOKIE, SAFE_METHODS
from bursar.service.keys import ANYONE, Key
from bursar.service.responses import Headers, HTTPProblem, problem_response
from bursar.service.telemetry import ACCESS, REQUEST

if TYPE_CHECKING:
    from bursar.service.service import Service

_HEALTH = ("/healthz", "/readyz")  # checks of load balancers, which are never throttled
_LOGIN = ("POST", "/login")  # the form limits its failures by itself
_BATCHES = (":batch", ":void", "/campaigns", "/history")  # ends of paths that take long bodies
_COOKIE = f"{COOKIE}=".encode()
_PROCESS = secrets.token_hex(4)  # request ids of two processes differ
_NUMBERS = itertools.count(1)


class Guard:
    """The middleware of a service around its application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        config = service.config
        self._app = app
        self._service = service
        self._config = config
        self._hosts = Hosts((*config.allowed_hosts, config.host))
        self._rate = RateLimit(config.rate) if config.rate > 0 else None
        rate, burst = (config.rate, None) if self._rate else (_FAILURES, _FAILURES_AT_ONCE)
        self._failures = RateLimit(rate, "requests with a wrong key", burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # WebSockets are not supported
        start = perf_counter()
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        scope["bursar.request_id"] = request_id
        scope["bursar.docs_url"] = self._config.docs_url
        scope["bursar.key"] = None
        context = REQUEST.set(request_id)
        status = 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", [])
                message["headers"] = _add_headers(scope["path"], status, given, request_id)
            await send(message)

        try:
            await self._check(scope, headers)
            limits = self._config
            most = limits.batch_limit if scope["path"].endswith(_BATCHES) else limits.body_limit
            await self._app(scope, _limit_body(receive, headers, most), send_safely)
        except Exception as error:
            if status:
                raise  # the response has begun
            await problem_response(error, scope)(scope, receive, send_safely)
        finally:
            if ACCESS.isEnabledFor(logging.INFO):
                _log_access(scope, status, perf_counter() - start)
            REQUEST.reset(context)

    async def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        if not self._hosts.allow(host):
            raise HTTPProblem(
                "bad-host",
                f"this service is not known as {host.decode('latin-1')!r};"
                " start it with --allow-host NAME to allow the name",
            )
        key: Key | None
        if not self._config.require_keys:
            key = ANYONE
        elif b"authorization" in headers:
            key = await self._bearer_key(scope, headers[b"authorization"])
        else:
            key = await self._session_key(scope, headers.get(b"cookie", b""))
        scope["bursar.key"] = key
        if scope["method"] not in SAFE_METHODS and b"authorization" not in headers:
            origin = headers.get(b"origin")
            if origin is not None and origin.partition(b"://")[2] != host:
                raise Forbidden(
                    f"a page of {origin.decode('latin-1')!r} may not change anything here;"
                    " a proxy must pass the Host header on"
                )
        if scope["path"] not in _HEALTH:
            self._count(scope, key, failed=key is None and b"authorization" in headers)

    def _count(self, scope: Scope, key: Key | None, failed: bool) -> None:
        """Count a request for the rate of its key, or of its address if it has none.

        Failures count apart from other requests, since strangers behind a proxy share its address.
        """
        if failed:
            self._failures.take(client_address(scope))
        elif self._rate is not None and (scope["method"], scope["path"]) != _LOGIN:
            self._rate.take(f"@{client_address(scope)}" if key is None else key.id)

    async def _bearer_key(self, scope: Scope, value: bytes) -> Key | None:
        scheme, _, rest = value.decode("latin-1").partition(" ")
        token = rest.strip()
        if scheme.lower() != "bearer" or not token:
            scope["bursar.refusal"] = (
                "Authorization must be 'Bearer bursar_…'; send the whole token of the key"
            )
            return None
        keys = self._service.keys
        if keys.is_fresh(token):
            key = keys.match(token)
        else:
            key = await self._service.run_for_keys(keys.find, token)
        if key is None:
            scope["bursar.refusal"] = (
                "the key is unknown, expired or revoked; bursar keys create makes one"
            )
        return key

    async def _session_key(self, scope: Scope, cookies: bytes) -> Key | None:
        at = cookies.find(_COOKIE)
        if at < 0:
            return None
        value = cookies[at + len(_COOKIE) :].partition(b";")[0].strip().decode("latin-1")
        service = self._service
        session = await service.run_for_keys(service.sessions.find, value)
        if session is None:
            scope["bursar.refusal"] = "the session has ended; log in again"
            return None
        scope["bursar.csrf"], scope["bursar.session"] = session.csrf, session.id
        return session.key


def _request_id(given: bytes | None) -> str:
    """Return the caller's id of a request if it is a plain word, else a new one."""
    if given is not None and len(given) <= 64:
        text = given.decode("latin-1")
        if text.isascii() and text.replace("-", "").replace("_", "").replace(".", "").isalnum():
            return text
    return f"{_PROCESS}-{next(_NUMBERS):x}"


def _log_access(scope: Scope, status: int, seconds: float) -> None:
    record = logging.LogRecord(ACCESS.name, logging.INFO, "", 0, "request", None, None)
    facts = record.facts = {
        "request_id": scope["bursar.request_id"],
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(seconds * 1e3, 3),
    }
    if (key := scope["bursar.key"]) is not None:
        facts["key"] = key.id
    params = scope.get("path_params") or {}
    if "campaign" in params:
        facts["campaign"] = params["campaign"]
    if decision := scope.get("bursar.decision") or params.get("decision"):
        facts["decision"] = decision
    if client := scope.get("client"):
        facts["client"] = client[0]
    ACCESS.handle(record)


# the body


def _limit_body(receive: Receive, headers: dict[bytes, bytes], most: int) -> Receive:
    """Return a receive that refuses a body of more than ``most`` bytes without reading it whole.

    The server holds clients to the length they announce, so bytes are counted only without one.
    """
    length = headers.get(b"content-length")
    if length is not None:
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        return receive
    if b"transfer-encoding" not in headers:
        return receive
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > most:
                raise _too_large(most)
        return message

    return receive_counted


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is longer than {most:,} bytes; send less, or in several requests")


# the rate

_BURST = 2.0  # seconds' worth of requests that may come at once
_CALLERS = 10_000  # callers that are remembered
# requests with a wrong key, by address, of a service without a rate
_FAILURES, _FAILURES_AT_ONCE = 20.0, 1000.0


class RateLimit:
    """A token bucket for each caller; callers that were silent longest are forgotten."""

    def __init__(self, rate: float, what: str = "requests", burst: float | None = None) -> None:
        self.rate = rate  # requests per second
        self._what = what  # is counted
        self._size = max(1.0, rate * _BURST) if burst is None else burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float | None = None) -> None:
        """Count a request, or refuse it and say how long to wait."""
        now = time.monotonic() if now is None else now
        level, then = self._buckets.pop(caller, (self._size, now))
        level = min(self._size, level + (now - then) * self.rate)
        self._buckets[caller] = level - 1.0 if level >= 1.0 else level, now
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        if level < 1.0:
            wait = (1.0 - level) / self.rate
            raise RateLimited(
                f"more than {self.rate:g} {self._what} per second; wait {wait:.2f} s",
                retry_after=wait,
            )


def client_address(scope: Scope) -> str:
    """Return the address that a request came from; behind a proxy, that of the proxy."""
    client = scope.get("client")
    return client[0] if client else ""


# the host

_SPELLINGS = 1000  # Host headers that are remembered


class Hosts:
    """Host names that requests may use; ``*`` allows all, for a proxy that checks them.

    A page of another site can make its own name point to this machine (DNS rebinding), and then
    call a service here as if it were its own. The Host header still has that name. IP addresses
    are always allowed, since they cannot be rebound.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower().rstrip(".") for name in names} | {"localhost"}
        self._known: set[bytes] = set()

    def allow(self, host: bytes) -> bool:
        """Tell whether a Host header has an allowed name, with any port."""
        if host in self._known:
            return True
        name = _host_name(host.decode("latin-1"))
        if not name or ("*" not in self._names and name not in self._names and not _is_ip(name)):
            return False
        if len(self._known) < _SPELLINGS:
            self._known.add(host)
        return True


def _host_name(host: str) -> str:
    """Return the name in a Host header without its port, or ``""`` if it is not valid.

    >>> _host_name("Bursar.example:8321"), _host_name("[::1]:8321"), _host_name("a b")
    ('bursar.example', '::1', '')
    """
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        valid = bracket and _is_ip(name)
    else:
        name, _, port = host.partition(":")
        valid = name.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return name.lower().rstrip(".") if valid and (not port or port.isdecimal()) else ""


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host.lower() == "localhost" or (_is_ip(host) and ip_address(host).is_loopback)


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


# security headers

_PAGE_POLICY = (
    b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    b" form-action 'self'; frame-ancestors 'none'"
)
"""Pages may load files of this service only, and contain no inline scripts or styles."""

_API_POLICY = b"default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DENY = (b"x-frame-options", b"DENY")
_API_HEADERS = (*_ALWAYS, (b"content-security-policy", _API_POLICY), _DENY)
_PAGE_HEADERS = (*_ALWAYS, (b"content-security-policy", _PAGE_POLICY), _DENY)
_NO_STORE = (b"cache-control", b"no-store")


def _add_headers(path: str, status: int, headers: Headers, request_id: str) -> Headers:
    """Return the headers of a response with ours; it may have its own policy and caching."""
    names = {name for name, _ in headers}
    ours: tuple[tuple[bytes, bytes], ...]
    if b"content-security-policy" in names:
        ours = _ALWAYS
    else:
        ours = _API_HEADERS if path.startswith("/v1/") else _PAGE_HEADERS
    found = [*headers, *ours, (b"x-request-id", request_id.encode())]
    if b"cache-control" not in names:
        found.append(_NO_STORE)
    if status == 413:
        found.append((b"connection", b"close"))  # do not wait for the rest of the body
    return found
