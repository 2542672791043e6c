"""The log of a campaign: its events, those that changed rules or money, and what is to come.

Events go over the wire as they are in the log: times in µs since 1970, money in units.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from bursar.campaign import Campaign
from bursar.campaign.events import AUDITED
from bursar.campaign.export import STREAM_FORMATS, stream_events
from bursar.ledger import Event
from bursar.service.auth import require
from bursar.service.keys import Key
from bursar.service.requests import header, read_choice, read_int, read_seconds, request_campaign
from bursar.service.responses import BytesResponse, HTTPProblem, encode, json_response

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["MEDIA", "audit", "export", "forecast", "list_events", "page_of", "series", "stream"]

MEDIA = ("application/jsonl", "text/csv", "application/vnd.apache.parquet")  # of exports
_LOOKED = 100_000  # events that one call goes through at most


def page_of(
    campaign: Campaign, after: int, limit: int, kinds: Collection[str]
) -> tuple[list[Event], int | None]:
    """Return events after a number, and the number to go on from, or None at the end."""
    found: list[Event] = []
    last = after
    for looked, event in enumerate(campaign.events(after)):
        if len(found) == limit or looked == _LOOKED:
            return found, last
        last = event.seq
        if not kinds or event.kind in kinds:
            found.append(event)
    return found, None


async def list_events(service: Service, request: Request) -> BytesResponse:
    """Return events, oldest first, a page at a time, of some kinds if so wanted."""
    name = request_campaign(request, "read")
    return await _page(service, request, name, request.query_params.getlist("kind"))


async def audit(service: Service, request: Request) -> BytesResponse:
    """Return the events that changed rules or money by hand, with who did it."""
    name = request_campaign(request, "admin")
    return await _page(service, request, name, AUDITED)


async def _page(
    service: Service, request: Request, name: str, kinds: Collection[str]
) -> BytesResponse:
    limit = read_int(request, "limit", 1000, 1, 10_000)
    after = read_int(request, "after", 0, 0, 10**17)
    campaign = await service.find_campaign(name)
    found, more = await service.run_in_thread(page_of, campaign, after, limit, kinds)
    return json_response({"events": found, "next": more})


async def forecast(service: Service, request: Request) -> BytesResponse:
    """Return what the rest of the budget may bring, and when it will be used up."""
    name = request_campaign(request, "read")
    days = read_seconds("days", request.query_params.get("days"))
    campaign = await service.find_campaign(name)
    return json_response((await service.run_in_thread(campaign.forecast, days)).as_dict())


async def series(service: Service, request: Request) -> BytesResponse:
    """Return the history of a campaign in at most so many points."""
    name = request_campaign(request, "read")
    points = read_int(request, "points", 500, 2, 2000)
    await service.find_campaign(name)
    return json_response(
        await service.run_in_thread(lambda: service.series.get(name).as_dict(points))
    )


# ==== service.stream
# The log as it grows: server-sent events, which a browser resumes by itself.

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
    after: int | None = read_int(request, "after", -1, 0, 10**17)
    last = header(request, b"last-event-id")
    if last is not None:
        if not (last.isascii() and last.isdigit() and len(last) <= 17):
            raise HTTPProblem(
                "invalid", f"Last-Event-ID must be the number of an event, got {last!r}"
            )
        after = int(last)
    campaign = await service.find_campaign(name)
    if after == -1:
        after = (await service.run_in_thread(campaign.status)).seq
    kinds = frozenset(request.query_params.getlist("kind"))
    return StreamingResponse(_events(service, name, key, after or 0, kinds), headers=_HEADERS)


async def _events(
    service: Service, name: str, key: Key, after: int, kinds: frozenset[str]
) -> AsyncIterator[bytes]:
    campaign = await service.find_campaign(name)
    yield b"retry: 2000\n: events of the log follow\n\n"
    async for newest in service.watch(name, key):
        if newest is None:
            yield b": still here\n\n"
            continue
        while after < newest and not service.stopping:
            piece = await service.run_in_thread(
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


async def export(service: Service, request: Request) -> StreamingResponse:
    """Send the log as a file: lines of JSON, CSV or Parquet."""
    name = request_campaign(request, "read")
    kind = read_choice(request, "format", "jsonl", tuple(STREAM_FORMATS))
    campaign = await service.find_campaign(name)
    file_name = quote(f"{name}.{kind}", safe="")
    return StreamingResponse(
        iterate_in_threadpool(stream_events(campaign, kind)),
        headers={
            "content-type": dict(zip(STREAM_FORMATS, MEDIA, strict=True))[kind],
            "content-disposition": f"attachment; filename*=UTF-8''{file_name}",
        },
    )
