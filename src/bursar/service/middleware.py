"""The guard: every request passes it, on the way in and on the way out.

On the way in it looks at the Host, at where a browser came from, at the key, at how often and how
much; on the way out it adds the headers that make browsers careful, and writes a line to the log.
It is plain ASGI and on the path of every ask, so it does little for each: a few µs.
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
from bursar.service.auth import COOKIE
from bursar.service.keys import ANYONE, Key
from bursar.service.responses import HTTPProblem, problem_response
from bursar.service.telemetry import ACCESS, REQUEST

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "PAGES",
    "Guard",
    "Hosts",
    "RateLimit",
    "is_loopback",
    "is_number",
    "limit_body",
    "security_headers",
]

# ==== service.body_limit
# A body that is too long is not read to its end: refused by its length, or on the way.


def limit_body(receive: Receive, headers: dict[bytes, bytes], most: int) -> Receive:
    """Return a receive that refuses more than so many bytes.

    The server below holds senders to the length that they announced, so only a body without one is
    counted.
    """
    length = headers.get(b"content-length")
    if length is not None:
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        return receive
    if b"transfer-encoding" not in headers:
        return receive
    got = 0

    async def counted() -> Message:
        nonlocal got
        message = await receive()
        if message["type"] == "http.request":
            got += len(message.get("body", b""))
            if got > most:
                raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is longer than {most:,} bytes; send less, or in several requests")


# ==== service.hosts
# The names a service answers to.
#
# A page from elsewhere can have its own name lead to this machine (DNS rebinding) and then talk to a
# service on it as if it were its own. The Host header tells: it has the name the browser was given.
# An address of numbers is what nobody's name can be, so it may always be used.

_KNOWN = 1000  # spellings that are remembered


class Hosts:
    """Names that requests may be for; ``*`` allows all, for a proxy that checks them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower().rstrip(".") for name in names} | {"localhost"}
        self._good: set[bytes] = set()

    def allow(self, host: bytes) -> bool:
        """Tell whether a Host header is one of ours, with any port."""
        if host in self._good:
            return True
        name = _name_of(host.decode("latin-1"))
        if not name or ("*" not in self._names and name not in self._names and not is_number(name)):
            return False
        if len(self._good) < _KNOWN:
            self._good.add(host)
        return True


def _name_of(host: str) -> str:
    """Return the name in a Host header without its port, or ``""`` if it is none.

    >>> _name_of("Bursar.example:8321"), _name_of("[::1]:8321"), _name_of("a b")
    ('bursar.example', '::1', '')
    """
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        fine = bracket and is_number(name)
    else:
        name, _, port = host.partition(":")
        fine = name.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return name.lower().rstrip(".") if fine and (not port or port.isdecimal()) else ""


def is_number(name: str) -> bool:
    """Tell whether a name is an address of numbers."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host.lower() == "localhost" or (is_number(host) and ip_address(host).is_loopback)


# ==== service.safety
# Headers that make browsers careful with what a service sends.

Headers = list[tuple[bytes, bytes]]

PAGES = (
    b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    b" form-action 'self'; frame-ancestors 'none'"
)
"""What pages may load: files of this service and nothing else, no script or style inside a page."""

_API = b"default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DENY = (b"x-frame-options", b"DENY")
_API_HEADERS = (*_ALWAYS, (b"content-security-policy", _API), _DENY)
_PAGE_HEADERS = (*_ALWAYS, (b"content-security-policy", PAGES), _DENY)
_TOO_LARGE = 413
_NO_STORE = (b"cache-control", b"no-store")


def security_headers(path: str, status: int, headers: Headers, request_id: str) -> Headers:
    """Return the headers of a response with ours; a policy or caching of its own is kept."""
    named = {name for name, _ in headers}
    ours: tuple[tuple[bytes, bytes], ...]
    if b"content-security-policy" in named:
        ours = _ALWAYS
    else:
        ours = _API_HEADERS if path.startswith("/v1/") else _PAGE_HEADERS
    found = [*headers, *ours, (b"x-request-id", request_id.encode())]
    if b"cache-control" not in named:
        found.append(_NO_STORE)
    if status == _TOO_LARGE:
        found.append((b"connection", b"close"))  # the rest of the body is not waited for
    return found


# ==== service.rate
# How often somebody may call: a bucket of tokens a caller, filled steadily, emptied by calls.

_BURST = 2.0  # seconds' worth of calls that may come at once
_MOST = 10_000  # callers that are remembered


class RateLimit:
    """Buckets of all callers of a process; the longest silent are forgotten, as if full.

    Parameters
    ----------
    rate : float
        Calls a second.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._size = max(1.0, rate * _BURST)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float | None = None) -> None:
        """Count a call, or refuse it and say how long to wait."""
        now = time.monotonic() if now is None else now
        level, then = self._buckets.pop(caller, (self._size, now))
        level = min(self._size, level + (now - then) * self.rate)
        self._buckets[caller] = level - 1.0 if level >= 1.0 else level, now
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if level < 1.0:
            wait = (1.0 - level) / self.rate
            raise RateLimited(
                f"more than {self.rate:g} requests a second; wait {wait:.2f} s", retry_after=wait
            )


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MANY = (":batch", ":void", "/campaigns")  # a thousand ids, ten thousand arms
_COOKIE = f"{COOKIE}=".encode()
_RUN = secrets.token_hex(4)  # so that ids of two processes differ
_NUMBERS = itertools.count(1)
_UNKNOWN = "the key is not known, has expired or was revoked; bursar keys create makes one"
_NOT_BEARER = "Authorization must be 'Bearer bursar_…'; send the key's whole token"


class Guard:
    """Wraps the application of a service."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        config = service.config
        self._app = app
        self._service = service
        self._config = config
        self._hosts = Hosts((*config.allowed_hosts, config.host))
        self._rate = RateLimit(config.rate) if config.rate > 0 else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no WebSockets here
        start = perf_counter()
        headers = dict(scope["headers"])
        request_id = _id_of(headers.get(b"x-request-id"))
        scope["bursar.request_id"] = request_id
        scope["bursar.key"] = None
        mark = REQUEST.set(request_id)
        status = 0

        async def out(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", [])
                message["headers"] = security_headers(scope["path"], status, given, request_id)
            await send(message)

        try:
            await self._check(scope, headers)
            limits = self._config
            most = limits.batch_limit if scope["path"].endswith(_MANY) else limits.body_limit
            await self._app(scope, limit_body(receive, headers, most), out)
        except Exception as error:
            if status:
                raise  # half an answer cannot be taken back
            await problem_response(error, scope, self._config)(scope, receive, out)
        finally:
            if ACCESS.isEnabledFor(logging.INFO):
                _log(scope, status, perf_counter() - start)
            REQUEST.reset(mark)

    async def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        if not self._hosts.allow(host):
            raise HTTPProblem(
                "bad-host",
                f"this service is not known as {host.decode('latin-1')!r};"
                " start it with --allow-host NAME if it should be",
            )
        key: Key | None
        if not self._config.require_keys:
            key = ANYONE
        elif b"authorization" in headers:
            key = await self._bearer(scope, headers[b"authorization"])
        else:
            key = await self._session(scope, headers.get(b"cookie", b""))
        scope["bursar.key"] = key
        if scope["method"] not in _SAFE and b"authorization" not in headers:
            origin = headers.get(b"origin")
            if origin is not None and origin.partition(b"://")[2] != host:
                raise Forbidden(
                    f"a page of {origin.decode('latin-1')!r} may not change anything here;"
                    " a proxy in between must pass the Host header on"
                )
        if self._rate is not None:
            client = scope.get("client")
            self._rate.take(f"@{client[0] if client else ''}" if key is None else key.id)

    async def _bearer(self, scope: Scope, value: bytes) -> Key | None:
        word, _, rest = value.decode("latin-1").partition(" ")
        token = rest.strip()
        if word.lower() != "bearer" or not token:
            scope["bursar.refusal"] = _NOT_BEARER
            return None
        keys = self._service.keys
        if not keys.is_fresh(token):
            await self._service.run_in_thread(keys.ensure_fresh, token)
        key = keys.match(token)
        if key is None:
            scope["bursar.refusal"] = _UNKNOWN
        return key

    async def _session(self, scope: Scope, cookies: bytes) -> Key | None:
        at = cookies.find(_COOKIE)
        if at < 0:
            return None
        value = cookies[at + len(_COOKIE) :].partition(b";")[0].strip().decode("latin-1")
        service = self._service
        if not service.keys.is_recent():
            await service.run_in_thread(service.keys.refresh)
        session = service.sessions.find(value)
        if session is None:
            scope["bursar.refusal"] = "the session has ended; log in again"
            return None
        scope["bursar.csrf"] = session.csrf
        return session.key


def _id_of(given: bytes | None) -> str:
    """Return the caller's id of a request if it is a plain word, else one of our own."""
    if given is not None and len(given) <= 64:
        text = given.decode("latin-1")
        if text.isascii() and text.replace("-", "").replace("_", "").replace(".", "").isalnum():
            return text
    return f"{_RUN}-{next(_NUMBERS):x}"


def _log(scope: Scope, status: int, seconds: float) -> None:
    line = logging.LogRecord(ACCESS.name, logging.INFO, "", 0, "request", None, None)
    facts = line.facts = {
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
    ACCESS.handle(line)
