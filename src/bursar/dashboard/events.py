"""The log of a campaign in words, and streams that tell open pages that something changed.

A notice of a stream does not say what changed, and there are at most two per second: the page then
fetches its live parts with one request. A campaign with thousands of events per second therefore
costs a browser no more than a quiet one, and each page needs one connection.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Any

from starlette.responses import Response, StreamingResponse

from bursar.campaign import Campaign
from bursar.campaign import events as kinds
from bursar.dashboard.render import Page, parse_count, render_text
from bursar.errors import BursarError
from bursar.ledger import Event, Store
from bursar.money import Coin
from bursar.service.auth import request_session

GROUPS: dict[str, tuple[str, ...]] = {
    "decisions": (*kinds.GRANTS, kinds.CONFIRMED),
    "outcomes": (*kinds.OUTCOMES, *kinds.ENDINGS),
    "changes": kinds.RULES,
    "trouble": (*kinds.NOTICES, kinds.LAPSED, kinds.RELEASED, kinds.CORRECTED, kinds.DEFAULTED),
}
"""The kinds of events that the page can be filtered by."""

_PAGE = 100  # events on a page
_WINDOW = 500  # events that are read at once
_MAX_READ = 20_000  # events that one page searches
_NOTICE_SECONDS = 0.5  # minimum time between two notices
_POLL_SECONDS = 1.0  # time between two reads of the list of campaigns
_IDLE_POLLS = 15  # polls without a change before a keep-alive comment
_HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
_RETRY = b"retry: 2000\n\n"
_NOTICE = b"event: news\ndata: %d\n\n"
_KEEP_ALIVE = b": still here\n\n"


async def show_events(page: Page) -> Response:
    """Show a page of the log, newest first."""
    query = page.query
    group, decision = query.get("group", ""), query.get("decision", "").strip()
    before = parse_count(query.get("before", "")) or 0
    values = await page.run_heavy(_load, page, group, decision, before)
    return page.render("events", group=group, decision=decision, before=before, **values)


def _load(page: Page, group: str, decision: str, before: int) -> dict[str, Any]:
    service, name = page.service, page.name
    campaign = service.campaign(name)
    wanted = GROUPS.get(group)
    next_before: int | None = None
    if decision:
        # ids are printable, and a database may refuse to look for others
        own = load_decision_events(service.store, name, decision) if decision.isprintable() else []
        found = [one for one in reversed(own) if wanted is None or one.kind in wanted]
    elif group == "changes":
        # the series collects them while it reads, because they are rare in a long log
        changes = reversed(service.series.get(name).changes)
        found = [one for one in changes if not before or one.seq < before]
        next_before = found[_PAGE - 1].seq if len(found) > _PAGE else None
        found = found[:_PAGE]
    else:
        end = campaign.status().seq + 1
        start = min(before, end) if before else end
        found, next_before = read_backwards(service.store, name, start, _PAGE, wanted)
    describer = EventDescriber(campaign.coin, load_arm_keys(campaign))
    return {"events": found, "next_before": next_before, "describer": describer}


def read_backwards(
    store: Store, name: str, before: int, limit: int, wanted: Sequence[str] | None = None
) -> tuple[list[Event], int | None]:
    """Return the newest events of some kinds before a number, and the number to continue from.

    At most ``limit`` events are returned, from the 20,000 before that number; ``wanted`` has the
    kinds, or is None for all.
    """
    found: list[Event] = []
    end, last = before, max(before - _MAX_READ, 1)
    while end > last and len(found) < limit:
        start = max(end - _WINDOW, last)
        # numbers have no gaps, so these are the events from start up to end
        window = [event for event, _ in islice(store.read(name, start - 1), end - start)]
        found.extend(one for one in reversed(window) if wanted is None or one.kind in wanted)
        end = start
    if len(found) > limit:
        return found[:limit], found[limit - 1].seq
    return found, end if end > 1 else None


def load_decision_events(store: Store, name: str, decision: str) -> list[Event]:
    """Return the events of a decision in order."""
    with store.open_writer(name) as writer:
        return writer.decision_events(decision)


def load_arm_keys(campaign: Campaign) -> list[str]:
    """Return the keys of all arms, retired ones too, in the order they were added."""
    return campaign.execute(lambda transaction: list(transaction.state.keys))


class EventDescriber:
    """Describes the events of a campaign in words, given its currency and keys of all arms."""

    def __init__(self, coin: Coin, keys: Sequence[str]) -> None:
        self._coin = coin
        self._keys = keys

    def describe(self, event: Event) -> str:
        """Return what an event means; raise NewerSchema for a kind that is not known."""
        kinds.check_kind(event)
        return render_text("event", event=event, coin=self._coin, arms=self._keys)

    @staticmethod
    def find_group(kind: str) -> str:
        """Return the first group that has a kind."""
        return next((name for name, group in GROUPS.items() if kind in group), "changes")


def _stream(page: Page, notices: AsyncIterator[bytes]) -> Response:
    if page.request.method == "HEAD":
        return Response(headers=_HEADERS)
    return StreamingResponse(notices, headers=_HEADERS)


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
            yield _NOTICE % seq
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
            yield _NOTICE % sum(seq for _, seq in heads)
        elif idle >= _IDLE_POLLS:
            idle = 0
            yield _KEEP_ALIVE
        await asyncio.sleep(_POLL_SECONDS)
