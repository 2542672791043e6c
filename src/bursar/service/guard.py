"""The guard: every request passes it, on the way in and on the way out.

On the way in it looks at the Host, at where a browser came from, at the key, at how often and how
much; on the way out it adds the headers that make browsers careful, and writes a line to the log.
It is plain ASGI and on the path of every ask, so it does little for each: a few µs.
"""

from __future__ import annotations

import itertools
import logging
import secrets
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bursar.errors import Forbidden
from bursar.service.body_limit import limited
from bursar.service.hosts import Hosts
from bursar.service.key import OPEN, Key
from bursar.service.logs import ACCESS, REQUEST
from bursar.service.problem import problem
from bursar.service.rate import Rate
from bursar.service.refused import Refused
from bursar.service.safety import headers_for
from bursar.service.sessions import COOKIE

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["Guard"]

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
        settings = service.settings
        self._app = app
        self._service = service
        self._settings = settings
        self._hosts = Hosts((*settings.allowed_hosts, settings.host))
        self._rate = Rate(settings.rate) if settings.rate > 0 else None

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
                message["headers"] = headers_for(scope["path"], status, given, request_id)
            await send(message)

        try:
            await self._check(scope, headers)
            limits = self._settings
            most = limits.batch_limit if scope["path"].endswith(_MANY) else limits.body_limit
            await self._app(scope, limited(receive, headers, most), out)
        except Exception as error:
            if status:
                raise  # half an answer cannot be taken back
            await problem(error, scope, self._settings)(scope, receive, out)
        finally:
            if ACCESS.isEnabledFor(logging.INFO):
                _log(scope, status, perf_counter() - start)
            REQUEST.reset(mark)

    async def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        if not self._hosts.allow(host):
            raise Refused(
                "bad-host",
                f"this service is not known as {host.decode('latin-1')!r};"
                " start it with --allow-host NAME if it should be",
            )
        key: Key | None
        if self._settings.open:
            key = OPEN
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
        if not keys.fresh(token):
            await self._service.look(keys.freshen, token)
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
        if not service.keys.recent():
            await service.look(service.keys.refresh)
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
