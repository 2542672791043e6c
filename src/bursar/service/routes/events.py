"""The log of a campaign: its events, the stream of new ones, exports, history and forecast.

Events are sent as they are in the log: times in µs since 1970, money in units.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from itertools import islice
from typing import Any
from urllib.parse import quote

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import StreamingResponse

from bursar.campaign import Campaign
from bursar.campaign.events import AUDITED
from bursar.campaign.export import STREAM_FORMATS, stream_events
from bursar.ledger import Event
from bursar.service import schemas
from bursar.service.operation import CAMPAIGN, Call, operation
from bursar.service.responses import BytesResponse, encode, json_response

_MEDIA = ("application/jsonl", "text/csv", "application/vnd.apache.parquet")  # of exports
_MOST = 100_000  # events that one call reads at most
_PIECE = 500  # events that a stream reads at a time
_STREAM_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not wait for more
}


@operation("GET", f"{CAMPAIGN}/events", "read", schemas.EventPage)
async def list_events(call: Call[schemas.EventQuery]) -> BytesResponse:
    """Return a page of events, oldest first; of some kinds only if wanted."""
    return await _event_page(call, call.given.kind)


@operation("GET", f"{CAMPAIGN}/audit", "admin", schemas.EventPage)
async def audit(call: Call[schemas.AuditQuery]) -> BytesResponse:
    """Return a page of the events by which people changed rules or money."""
    return await _event_page(call, AUDITED)


async def _event_page(call: Call[Any], kinds: Collection[str]) -> BytesResponse:
    campaign, given = await call.open_campaign(), call.given
    found, last = await call.service.run_in_thread(
        find_events, campaign, given.after, given.limit, kinds
    )
    return json_response({"events": found, "next": last})


def find_events(
    campaign: Campaign, after: int, limit: int, kinds: Collection[str]
) -> tuple[list[Event], int | None]:
    """Return events after a number, and the number to continue after, or None at the end."""
    found: list[Event] = []
    last = after
    for count, event in enumerate(campaign.events(after)):
        if len(found) == limit or count == _MOST:
            return found, last
        last = event.seq
        if not kinds or event.kind in kinds:
            found.append(event)
    return found, None


@operation("GET", f"{CAMPAIGN}/events/stream", "read", "text/event-stream", name="streamEvents")
async def stream(call: Call[schemas.StreamQuery]) -> StreamingResponse:
    """Send the events after a given number, or only new ones, as server-sent events."""
    campaign, given = await call.open_campaign(), call.given
    after = given.after if given.last_event_id < 0 else given.last_event_id
    if after < 0:
        after = (await call.service.run_in_thread(campaign.status)).seq
    return StreamingResponse(_follow(call, campaign, after), headers=_STREAM_HEADERS)


async def _follow(
    call: Call[schemas.StreamQuery], campaign: Campaign, after: int
) -> AsyncIterator[bytes]:
    service, kinds = call.service, call.given.kind
    yield b"retry: 2000\n: events of the log follow\n\n"
    async for newest in service.watch(call.campaign, call.key):
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
            text = b"".join(_format_event(one) for one in piece if not kinds or one.kind in kinds)
            # a browser that reconnects must not get the events that were left out, either
            yield text or b"id: %d\n: skipped\n\n" % after


def _format_event(event: Event) -> bytes:
    # JSON has no line breaks, so one line of data is enough
    body = encode(event)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.kind.encode(), body)


@operation("GET", f"{CAMPAIGN}/forecast", "read", schemas.ForecastBody)
async def forecast(call: Call[schemas.ForecastQuery]) -> BytesResponse:
    """Return what the rest of the budget may earn, and when it will be used up."""
    campaign, days = await call.open_campaign(), call.given.days or None
    return json_response((await call.service.run_in_thread(campaign.forecast, days)).as_dict())


@operation("GET", f"{CAMPAIGN}/series", "read", schemas.SeriesBody)
async def series(call: Call[schemas.SeriesQuery]) -> BytesResponse:
    """Return the history of a campaign in a limited number of points."""
    await call.open_campaign()
    cache, name, points = call.service.series, call.campaign, call.given.points
    return json_response(await call.service.run_in_thread(lambda: cache.get(name).as_dict(points)))


@operation("GET", f"{CAMPAIGN}/export", "read", ", ".join(_MEDIA), codes=("missing-extra",))
async def export(call: Call[schemas.ExportQuery]) -> StreamingResponse:
    """Send the whole log as a file: lines of JSON, CSV or Parquet."""
    kind = call.given.format
    file_name = quote(f"{call.campaign}.{kind}", safe="")
    return StreamingResponse(
        iterate_in_threadpool(stream_events(await call.open_campaign(), kind)),
        headers={
            "content-type": dict(zip(STREAM_FORMATS, _MEDIA, strict=True))[kind],
            "content-disposition": f"attachment; filename*=UTF-8''{file_name}",
        },
    )
