"""News for open pages: that something happened, not what; at most two notices a second.

A page then fetches its live parts once. So a campaign with thousands of events a second costs a
browser no more than a quiet one, and each page holds one connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bursar.errors import BursarError
from bursar.service.auth import require
from bursar.service.key import Key
from bursar.service.service import Service

__all__ = ["everything", "one"]

_PAUSE = 0.5  # seconds between two notices at least
_POLL = 1.0  # seconds between looks at all campaigns
_BEAT = 15  # looks without news after which there is a sign of life
_HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}


async def one(service: Service, request: Request) -> Response:
    """Send a notice whenever one campaign has new events."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    await service.find(name)  # refuse an unknown one before the stream begins
    if request.method == "HEAD":
        return Response(headers=_HEADERS)
    return StreamingResponse(_of_one(service, name, key), headers=_HEADERS)


async def _of_one(service: Service, name: str, key: Key) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async for seq in service.watch(name, key):
        if seq is None:
            yield b": still here\n\n"
        else:
            yield b"event: news\ndata: %d\n\n" % seq
            await asyncio.sleep(_PAUSE)


async def everything(service: Service, request: Request) -> Response:
    """Send a notice whenever any campaign has new events."""
    key = require(request, "read")
    if request.method == "HEAD":
        return Response(headers=_HEADERS)
    return StreamingResponse(_of_all(service, key), headers=_HEADERS)


async def _of_all(service: Service, key: Key) -> AsyncIterator[bytes]:
    seen: object = None
    quiet = 0
    yield b"retry: 2000\n\n"
    while not service.stopping and await service.admits(key):
        try:
            rows = await service.look(service.store.standings)
        except BursarError:
            rows = []  # a store that is away for a moment; look again
        now = [(row.name, row.seq) for row in rows if key.sees(row.name)]
        quiet += 1
        if now != seen:
            seen, quiet = now, 0
            yield b"event: news\ndata: %d\n\n" % sum(seq for _, seq in now)
        elif quiet >= _BEAT:
            quiet = 0
            yield b": still here\n\n"
        await asyncio.sleep(_POLL)
