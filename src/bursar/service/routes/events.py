"""The log of a campaign: its events, the stream of new ones, exports, history and forecast.

Events are sent as they are in the log: times in µs since 1970, money in units.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from starlette.responses import StreamingResponse

from bursar.campaign import Campaign, Decision
from bursar.campaign.events import AUDITED
from bursar.campaign.export import STREAM_FORMATS, stream_events
from bursar.ledger import Event
from bursar.service import schemas
from bursar.service.auth import request_session
from bursar.service.operation import CAMPAIGN, LONG_READ, Call, H, operation
from bursar.service.responses import BytesResponse, encode, json_response

Item = TypeVar("Item", Event, Decision)

_MEDIA = ("application/jsonl", "text/csv", "application/vnd.apache.parquet")  # of exports
_MOST = 100_000  # events that one call reads at most
_SMALL = 1000  # events of a page that needs no place among heavy reads
_PAGE_BYTES = 4 << 20  # of JSON, after which a page ends
_PIECE = 500  # events that a stream reads at a time
_PIECE_BYTES = 1 << 20  # after which a piece of a stream ends
_STREAM_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # proxies must not wait for more
}


def _read_operation(path: str, scope: str, gives: Any, *codes: str) -> Callable[[H], H]:
    """Declare an operation that may read much of the log."""
    return operation("GET", CAMPAIGN + path, scope, gives, codes=(*LONG_READ, *codes))


@_read_operation("/events", "read", schemas.EventPage)
async def list_events(call: Call[schemas.EventQuery]) -> BytesResponse:
    """Return a page of events, oldest first; of some kinds only if wanted."""
    return await _event_page(call, call.given.kind)


@_read_operation("/audit", "admin", schemas.EventPage)
async def audit(call: Call[schemas.AuditQuery]) -> BytesResponse:
    """Return a page of the events by which people changed rules or money."""
    return await _event_page(call, AUDITED)


async def _event_page(call: Call[Any], kinds: Collection[str]) -> BytesResponse:
    campaign, given = await call.open_campaign(), call.given

    def encode_event(event: Event) -> bytes:
        return encode(event) if not kinds or event.kind in kinds else b""

    is_heavy = bool(kinds) or given.limit > _SMALL
    events = partial(campaign.events, given.after)
    return await page_response(call, b"events", events, encode_event, heavy=is_heavy)


async def page_response(
    call: Call[Any],
    name: bytes,
    read: Callable[[], Iterable[Item]],
    encode_item: Callable[[Item], bytes],
    *,
    heavy: bool,
) -> BytesResponse:
    """Return a page of events or decisions, with the number to continue after.

    One that is encoded as ``b""`` is left out. Each is encoded when it is read, since decoded
    events can take 20 times as much memory.
    """
    limit, after = call.given.limit, call.given.after

    def make_page() -> bytes:
        found: list[bytes] = []
        last, size = after, 0
        for count, item in enumerate(read()):
            if len(found) == limit or count == _MOST or size >= _PAGE_BYTES:
                break
            last = item.seq
            if text := encode_item(item):
                found.append(text)
                size += len(text)
        else:
            last = None
        return b'{"%b":[%b],"next":%b}' % (name, b",".join(found), encode(last))

    if heavy:
        return BytesResponse(200, await call.service.run_heavy(call.request, make_page))
    return BytesResponse(200, await call.service.run_in_thread(make_page))


@operation("GET", f"{CAMPAIGN}/events/stream", "read", "text/event-stream", name="streamEvents")
async def stream(call: Call[schemas.StreamQuery]) -> StreamingResponse:
    """Send the events after a given number, or only new ones, as server-sent events."""
    campaign, given = await call.open_campaign(), call.given
    after = given.after if given.last_event_id < 0 else given.last_event_id
    if after < 0:
        after = await call.service.run_in_thread(call.service.store.last_seq, call.campaign)
    return StreamingResponse(_follow(call, campaign, after), headers=_STREAM_HEADERS)


async def _follow(
    call: Call[schemas.StreamQuery], campaign: Campaign, after: int
) -> AsyncIterator[bytes]:
    service, kinds = call.service, call.given.kind
    yield b"retry: 2000\n: events of the log follow\n\n"
    async for newest in service.watch(call.campaign, call.key, request_session(call.request)):
        if newest is None:
            yield b": still here\n\n"
            continue
        while after < newest and not service.stopping:
            piece = await service.read_shared(
                call.campaign, after, newest, partial(_load_piece, campaign)
            )
            if piece.last == after:
                break
            after = piece.last
            # a browser that reconnects must not get the events that were left out, either
            yield piece.select(kinds) or b"id: %d\n: skipped\n\n" % after


class StreamPiece(NamedTuple):
    """Events as a stream sends them, each with its kind; all of them; number of the last."""

    events: list[tuple[str, bytes]]
    text: bytes
    last: int

    def select(self, kinds: Collection[str]) -> bytes:
        """Return the events of some kinds, or all."""
        if not kinds:
            return self.text
        return b"".join(text for kind, text in self.events if kind in kinds)


def _load_piece(campaign: Campaign, after: int, newest: int) -> StreamPiece:
    found: list[tuple[str, bytes]] = []
    last, size = after, 0
    for event in campaign.events(after):
        if event.seq > newest or len(found) == _PIECE or size >= _PIECE_BYTES:
            break
        # JSON has no line breaks, so one line of data is enough
        head = b"id: %d\nevent: %s\ndata: " % (event.seq, event.kind.encode())
        found.append((event.kind, head + encode(event) + b"\n\n"))
        last, size = event.seq, size + len(found[-1][1])
    return StreamPiece(found, b"".join(text for _, text in found), last)


@_read_operation("/forecast", "read", schemas.ForecastBody)
async def forecast(call: Call[schemas.ForecastQuery]) -> BytesResponse:
    """Return what the rest of the budget may earn, and when it will be used up."""
    campaign, days = await call.open_campaign(), call.given.days or None
    found = await call.service.run_heavy(call.request, campaign.forecast, days)
    return json_response(found.as_dict())


@_read_operation("/series", "read", schemas.SeriesBody)
async def series(call: Call[schemas.SeriesQuery]) -> BytesResponse:
    """Return the history of a campaign in a limited number of points."""
    await call.open_campaign()
    cache, name, points = call.service.series, call.campaign, call.given.points
    found = await call.service.run_heavy(call.request, lambda: cache.get(name).as_dict(points))
    return json_response(found)


@_read_operation("/export", "read", ", ".join(_MEDIA), "missing-extra")
async def export(call: Call[schemas.ExportQuery]) -> StreamingResponse:
    """Send the whole log as a file: lines of JSON, CSV or Parquet."""
    kind = call.given.format
    file_name = quote(f"{call.campaign}.{kind}", safe="")
    pieces = stream_events(await call.open_campaign(), kind)
    return StreamingResponse(
        await call.service.stream_heavy(call.request, pieces),
        headers={
            "content-type": dict(zip(STREAM_FORMATS, _MEDIA, strict=True))[kind],
            "content-disposition": f"attachment; filename*=UTF-8''{file_name}",
        },
    )
