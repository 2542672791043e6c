"""``/healthz``, ``/readyz`` and ``/metrics``: whether a process lives, may be used, and how it is.

Alive and ready need no key, since whoever asks cannot have one; neither says anything that a
stranger could use. Metrics have amounts of money: they need a key that may read all campaigns.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp

from bursar.errors import BursarError, Forbidden
from bursar.service.auth import require
from bursar.service.operation import Endpoint, Operation
from bursar.service.responses import BytesResponse, HTTPProblem, json_response

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["health_body", "operations"]

_LASTS = 1.0  # seconds for which an answer stands: strangers must not make the disk work
_TEXT = (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode())


async def _healthz(service: Service, request: Request) -> ASGIApp:
    return json_response({"status": "ok"})


class _Readiness:
    """Whether a row could be written a moment ago."""

    def __init__(self) -> None:
        self._at = -_LASTS
        self._error: BursarError | None = None

    async def __call__(self, service: Service, request: Request) -> ASGIApp:
        if service.stopping:
            raise HTTPProblem("stopping", "the service is stopping; use another one")
        if time.monotonic() - self._at >= _LASTS:
            self._at = time.monotonic()
            self._error = await service.run_in_thread(_written, service)
        if self._error is not None:
            raise self._error
        return json_response({"status": "ready"})


def _written(service: Service) -> BursarError | None:
    start = time.perf_counter()
    try:
        service.store.ping()
    except BursarError as error:
        return error
    service.metrics.observe_sync(time.perf_counter() - start)
    return None


async def _metrics(service: Service, request: Request) -> ASGIApp:
    key = require(request, "read")
    if key.campaigns is not None:
        raise Forbidden(f"key {key.id!r} is for some campaigns only; metrics are of all")
    return BytesResponse(
        200, await service.run_in_thread(service.metrics.to_text, service), (_TEXT,)
    )


def health_body() -> list[Operation]:
    """Return the operations, with what a document of the service says of them."""
    state, text = dict[str, str], "text/plain"
    not_ready = ("stopping", "storage-unavailable", "storage-in-use")
    return [
        Operation("healthz", "GET", "/healthz", _healthz, "Tell that it lives", None, {200: state}),
        Operation(
            "readyz", "GET", "/readyz", _Readiness(), "Tell whether the store can be written", None,
            {200: state}, codes=not_ready,
        ),
        Operation("metrics", "GET", "/metrics", _metrics, "Tell Prometheus", "read", {200: text}),
    ]  # fmt: skip


def operations(service: Service) -> list[Route]:
    """Return their routes."""
    return [Route(one.path, Endpoint(service, [one])) for one in health_body()]
