"""The log as it grows: server-sent events, which a browser resumes by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import StreamingResponse

from bursar.ledger import Event
from bursar.service.answer import encode
from bursar.service.auth import require
from bursar.service.body import header
from bursar.service.key import Key
from bursar.service.query import whole
from bursar.service.refused import Refused

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["stream"]

_PIECE = 500  # events that are read at a time
_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not wait for more
}


async def stream(service: Service, request: Request) -> StreamingResponse:
    """Send events after ``Last-Event-ID`` (or ``after``), and then each as it happens.

    Without either, only those that happen from now on.
    """
    name: str = request.path_params["campaign"]
    key = require(request, "read", name)
    after: int | None = whole(request, "after", -1, 0, 10**17)
    last = header(request, b"last-event-id")
    if last is not None:
        if not (last.isascii() and last.isdigit() and len(last) <= 17):
            raise Refused("invalid", f"Last-Event-ID must be the number of an event, got {last!r}")
        after = int(last)
    campaign = await service.find(name)
    if after == -1:
        after = (await service.look(campaign.status)).seq
    kinds = frozenset(request.query_params.getlist("kind"))
    return StreamingResponse(_events(service, name, key, after or 0, kinds), headers=_HEADERS)


async def _events(
    service: Service, name: str, key: Key, after: int, kinds: frozenset[str]
) -> AsyncIterator[bytes]:
    campaign = await service.find(name)
    yield b"retry: 2000\n: events of the log follow\n\n"
    async for newest in service.watch(name, key):
        if newest is None:
            yield b": still here\n\n"
            continue
        while after < newest and not service.stopping:
            piece = await service.look(
                lambda seq: list(islice(campaign.events(seq), _PIECE)), after
            )
            if not piece:
                break
            after = piece[-1].seq
            text = b"".join(_text(one) for one in piece if not kinds or one.kind in kinds)
            # what was left out must not be sent again, either, when the browser comes back
            yield text or b"id: %d\n: skipped\n\n" % after


def _text(event: Event) -> bytes:
    # JSON has no line breaks in it, so one line of data is enough
    body = encode(event)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), body)
