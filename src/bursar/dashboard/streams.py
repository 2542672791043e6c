"""Streams that tell open pages that something changed, at most twice per second.

A notice does not say what changed: the page then fetches its live parts with one request. A
campaign with thousands of events per second therefore costs a browser no more than a quiet one,
and each page needs one connection.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from bursar.dashboard.render import Page
from bursar.errors import BursarError
from bursar.service.auth import request_session

_NOTICE_SECONDS = 0.5  # minimum time between two notices
_POLL_SECONDS = 1.0  # time between two reads of the list of campaigns
_IDLE_POLLS = 15  # polls without a change before a keep-alive comment
_HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
_RETRY = b"retry: 2000\n\n"
_KEEP_ALIVE = b": still here\n\n"


def _stream(page: Page, notices: AsyncIterator[bytes]) -> Response:
    if page.request.method == "HEAD":
        return Response(headers=_HEADERS)
    return StreamingResponse(notices, headers=_HEADERS)


def _format_notice(number: int) -> bytes:
    return b"event: news\ndata: %d\n\n" % number


async def stream_campaign(page: Page) -> Response:
    """Send a notice when a campaign has new events."""
    await page.service.find_campaign(page.name)  # or else 404
    return _stream(page, _watch_campaign(page))


async def _watch_campaign(page: Page) -> AsyncIterator[bytes]:
    yield _RETRY
    async for seq in page.service.watch(page.name, page.key, request_session(page.request)):
        if seq is None:
            yield _KEEP_ALIVE
        else:
            yield _format_notice(seq)
            await asyncio.sleep(_NOTICE_SECONDS)


async def stream_all(page: Page) -> Response:
    """Send a notice when any campaign that the key can see has new events."""
    return _stream(page, _watch_all(page))


async def _watch_all(page: Page) -> AsyncIterator[bytes]:
    before: object = None
    idle = 0
    yield _RETRY
    key, session = page.key, request_session(page.request)
    while not page.service.stopping and await page.service.is_admitted(key, session):
        try:
            rows = await page.run(page.service.store.campaign_rows)
        except BursarError:
            rows = []  # the store is unavailable; try again
        heads = [(row.name, row.seq) for row in rows if key.sees(row.name)]
        idle += 1
        if heads != before:
            before, idle = heads, 0
            yield _format_notice(sum(seq for _, seq in heads))
        elif idle >= _IDLE_POLLS:
            idle = 0
            yield _KEEP_ALIVE
        await asyncio.sleep(_POLL_SECONDS)
