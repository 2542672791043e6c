"""The first screen: all campaigns, and whether money is being lost."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bursar.dashboard.card import card
from bursar.dashboard.frame import render, seen
from bursar.dashboard.look import Look, look
from bursar.dashboard.total import answer, totals
from bursar.errors import CorruptLedger, NewerSchema
from bursar.service.auth import require
from bursar.service.key import Key
from bursar.service.service import Service

__all__ = ["overview"]

_LOG = logging.getLogger("bursar.dashboard")
_MOST = 100  # campaigns on one screen
_QUIET = ("active", "exhausted", "closed")  # of these nothing is to be feared
_FRESH = 20.0  # seconds after which even a quiet campaign is looked at again: holds grow old
_TOLD = {"no": 0, "part": 1, "yes": 2, "open": 3}  # what needs a look comes first


async def overview(service: Service, request: Request) -> Response:
    """Show all campaigns that a key sees."""
    key = require(request, "read")
    looks, broken, hidden = await service.look(_looks, service, key)
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
_KEPT: WeakKeyDictionary[Service, dict[str, Look]] = WeakKeyDictionary()


def _looks(service: Service, key: Key) -> tuple[list[Look], list[str], int]:
    """Return the campaigns that matter most, those that cannot be read, and how many others.

    Those in trouble come first, then those of which something was heard last.
    """
    kept = _KEPT.setdefault(service, {})
    rows = [row for row in service.store.standings() if key.sees(row.name)]
    rows.sort(key=lambda row: (row.budget >= row.spent + row.held, row.state in _QUIET, -row.ts))
    hidden = max(len(rows) - _MOST, 0)
    for row in rows[:_MOST]:
        before = kept.get(row.name)
        if before is None or before.status.seq != row.seq or _age(before) > _FRESH:
            try:
                series = service.series.of(row.name, pieces=2)
                kept[row.name] = look(service.campaign(row.name), series)
            except (CorruptLedger, NewerSchema) as error:  # one must not hide the others
                _LOG.error("%s cannot be read: %s", row.name, error)
                kept.pop(row.name, None)
    shown = [row.name for row in rows[:_MOST]]
    broken = [name for name in shown if name not in kept]
    return [kept[name] for name in shown if name in kept], broken, hidden


def _age(before: Look) -> float:
    return (datetime.now(UTC) - before.now).total_seconds()
