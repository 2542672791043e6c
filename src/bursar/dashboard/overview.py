"""The first screen: all campaigns, and whether money is being lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from bursar.dashboard.bars import Split, split
from bursar.dashboard.card import CampaignLook, Card, card, look
from bursar.dashboard.render import render, seen
from bursar.errors import BursarError, CorruptLedger, NewerSchema
from bursar.formatting import format_money, join_words
from bursar.service.auth import require
from bursar.service.keys import Key
from bursar.service.service import Service

__all__ = ["Total", "answer", "everything", "one", "overview", "totals"]

# ==== dashboard.total
# All campaigns together: sums by currency, and whether money is being lost.


@dataclass(frozen=True)
class Total:
    """All campaigns of one currency together."""

    currency: str
    budget: str
    spent: str
    held: str
    available: str
    overdrawn: bool
    bar: Split
    campaigns: int


def totals(looks: list[CampaignLook]) -> list[Total]:
    """Return sums by currency; amounts of different currencies are never added."""
    found = []
    for currency in sorted({one.status.currency for one in looks}):
        mine = [one.status for one in looks if one.status.currency == currency]
        sums = [
            sum((getattr(one, name) for one in mine), start=Decimal(0))
            for name in ("budget", "spent", "held", "available")
        ]
        budget, spent, held, available = sums
        found.append(
            Total(
                currency,
                format_money(budget, currency),
                format_money(spent, currency),
                format_money(held, currency),
                format_money(available, currency),
                available < 0,
                split(budget, spent, held),
                len(mine),
            )
        )
    return found


def answer(cards: list[Card], broken: list[str]) -> tuple[str, str]:
    """Return whether money is being lost: a tone, and a sentence."""
    if broken:
        return "no", f"Look now: the ledger of {join_words(broken, 3)} cannot be read."
    bad = [one.name for one in cards if any(trouble.tone == "no" for trouble in one.troubles)]
    doubtful = [one.name for one in cards if one.troubles and one.name not in bad]
    if bad:
        return "no", f"Look now: {join_words(bad, 3)} {_needs(bad)} attention."
    if doubtful:
        return "part", f"Within budget, but look at {join_words(doubtful, 3)}."
    running = sum(one.state == "Running" for one in cards)
    if not running:
        return "open", "No campaign is running; nothing is being spent."
    which = "The one campaign that runs is" if running == 1 else f"All {running} that run are"
    return "yes", f"No. {which} within budget, with nothing stuck and no overrun."


def _needs(names: list[str]) -> str:
    return "needs" if len(names) == 1 else "need"


_LOG = logging.getLogger("bursar.dashboard")
_MOST = 100  # campaigns on one screen
_QUIET = ("active", "exhausted", "closed")  # of these nothing is to be feared
_FRESH = 20.0  # seconds after which even a quiet campaign is looked at again: holds grow old
_TOLD = {"no": 0, "part": 1, "yes": 2, "open": 3}  # what needs a look comes first


async def overview(service: Service, request: Request) -> Response:
    """Show all campaigns that a key sees."""
    key = require(request, "read")
    looks, broken, hidden = await service.run_in_thread(_looks, service, key)
    cards = [card(one) for one in looks]
    cards.sort(key=lambda one: (0 if one.troubles else 1, _TOLD[one.tone], one.name))
    tone, words = answer(cards, broken)
    facts: dict[str, Any] = {"cards": cards, "totals": totals(looks), "tone": tone, "answer": words}
    facts |= {"hidden": hidden, "broken": broken}
    if not seen(request):
        return render(service, request, "overview", place="overview", **facts)
    parts = [
        bytes(render(service, request, name, oob=True, **facts).body)
        for name in ("overview_top", "overview_cards")
    ]
    return HTMLResponse(b"\n".join(parts))


# what was seen of each campaign, by service: a look at many costs more than one row of each
_KEPT: WeakKeyDictionary[Service, dict[str, CampaignLook]] = WeakKeyDictionary()


def _looks(service: Service, key: Key) -> tuple[list[CampaignLook], list[str], int]:
    """Return the campaigns that matter most, those that cannot be read, and how many others.

    Those in trouble come first, then those of which something was heard last.
    """
    kept = _KEPT.setdefault(service, {})
    rows = [row for row in service.store.campaign_rows() if key.sees(row.name)]
    rows.sort(key=lambda row: (row.budget >= row.spent + row.held, row.state in _QUIET, -row.ts))
    hidden = max(len(rows) - _MOST, 0)
    for row in rows[:_MOST]:
        before = kept.get(row.name)
        if before is None or before.status.seq != row.seq or _age(before) > _FRESH:
            try:
                series = service.series.get(row.name, pieces=2)
                kept[row.name] = look(service.campaign(row.name), series)
            except (CorruptLedger, NewerSchema) as error:  # one must not hide the others
                _LOG.error("%s cannot be read: %s", row.name, error)
                kept.pop(row.name, None)
    shown = [row.name for row in rows[:_MOST]]
    broken = [name for name in shown if name not in kept]
    return [kept[name] for name in shown if name in kept], broken, hidden


def _age(before: CampaignLook) -> float:
    return (datetime.now(UTC) - before.now).total_seconds()


# ==== dashboard.news
# News for open pages: that something happened, not what; at most two notices a second.
#
# A page then fetches its live parts once. So a campaign with thousands of events a second costs a
# browser no more than a quiet one, and each page holds one connection.

_PAUSE = 0.5  # seconds between two notices at least
_POLL = 1.0  # seconds between looks at all campaigns
_BEAT = 15  # looks without news after which there is a sign of life
_HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no"}


async def one(service: Service, request: Request) -> Response:
    """Send a notice whenever one campaign has new events."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    await service.find_campaign(name)  # refuse an unknown one before the stream begins
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
    while not service.stopping and await service.is_admitted(key):
        try:
            rows = await service.run_in_thread(service.store.campaign_rows)
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
