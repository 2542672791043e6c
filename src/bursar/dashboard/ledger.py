"""The ledger of a campaign: our books, a provider's bill, and who changed what."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.card import card, look
from bursar.dashboard.events import Story, StoryLine
from bursar.dashboard.render import base_of, render
from bursar.errors import InvalidInput
from bursar.ledger import Event
from bursar.money import Coin
from bursar.service.auth import require, require_form
from bursar.service.keys import Key
from bursar.service.series import RunningTotals
from bursar.service.service import Service

__all__ = ["BillRow", "Finding", "compare", "compare_bill", "ledger", "parse_bill"]

# ==== dashboard.bill
# A provider's bill held against what was booked, decision by decision.

_IDS = ("decision", "decision_id", "id", "request", "request_id")
_AMOUNTS = ("amount", "cost", "price", "total", "charge")
_SHOWN = 200


@dataclass(frozen=True)
class BillRow:
    """A decision on which the two sides differ."""

    id: str
    known: bool
    theirs: str
    ours: str
    difference: str
    what: str


@dataclass(frozen=True)
class Finding:
    """What the comparison found, as texts."""

    tone: str
    words: str
    lines: str
    theirs: str
    ours: str
    difference: str
    unbilled: str
    caption: str
    rows: tuple[BillRow, ...]


def parse_bill(text: str, coin: Coin) -> dict[str, int]:
    r"""Return what a bill says, in units by decision; lines of one decision are added up.

    >>> parse_bill("id,amount\na,0.10\na,0.05", Coin(2))
    {'a': 15}
    """
    sample = text.lstrip("\ufeff").strip()
    if not sample:
        raise InvalidInput("the bill must have lines of a decision and an amount, got none")
    first = sample.splitlines()[0]
    comma = max(",;\t", key=first.count)
    found: dict[str, int] = {}
    id_at, amount_at = 0, 1
    for place, row in enumerate(_rows(sample, comma), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        lower = [cell.lower() for cell in cells]
        if place == 1 and any(cell in _AMOUNTS for cell in lower):
            id_at = next((n for n, cell in enumerate(lower) if cell in _IDS), 0)
            amount_at = next(n for n, cell in enumerate(lower) if cell in _AMOUNTS)
            continue
        if len(cells) <= max(id_at, amount_at):
            raise InvalidInput(f"line {place} must have a decision and an amount, got {row!r}")
        units = coin.units(f"the amount in line {place}", cells[amount_at])
        found[cells[id_at]] = found.get(cells[id_at], 0) + units
    return found


def compare_bill(bill: dict[str, int], events: Iterable[Event], coin: Coin) -> Finding:
    """Hold a bill against a log; the log is read once, and only the bill's decisions are kept."""
    flow, ours, unbilled = RunningTotals(), dict[str, int](), 0
    for event in events:
        added = flow.follow(event)
        if event.decision in bill:
            ours[event.decision] = ours.get(event.decision, 0) + added
        elif event.decision:
            unbilled += added
    differ = [id for id, units in bill.items() if ours.get(id) != units]
    theirs_sum, ours_sum = sum(bill.values()), sum(ours.values())
    rows = [_row(id, bill[id], ours.get(id), coin) for id in differ]
    words = "Every line agrees with what we booked."
    if differ:
        words = (
            f"{len(differ):,} of {len(bill):,} decisions on the bill differ from what we booked."
        )
    return Finding(
        "no" if differ else "yes",
        words,
        f"{len(bill):,}",
        coin.format(theirs_sum),
        coin.format(ours_sum),
        _signed(theirs_sum - ours_sum, coin),
        coin.format(unbilled),
        "The differences" + (f", the first {_SHOWN}" if len(rows) > _SHOWN else ""),
        tuple(rows[:_SHOWN]),
    )


def _row(id: str, theirs: int, ours: int | None, coin: Coin) -> BillRow:
    if ours is None:
        what = "not a decision of this campaign"
    elif ours == 0:
        what = "nothing was booked: its cost was never told, or it was voided"
    else:
        what = "they billed more" if theirs > ours else "they billed less"
    booked = "–" if ours is None else coin.format(ours)
    return BillRow(
        id, ours is not None, coin.format(theirs), booked, _signed(theirs - (ours or 0), coin), what
    )


def _signed(units: int, coin: Coin) -> str:
    """Return a difference with its sign; it would be below 0 if they billed less."""
    return f"{'+' if units > 0 else '−' if units < 0 else ''}{coin.format(abs(units))}"


def _rows(text: str, comma: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=comma))
    except csv.Error as error:
        raise InvalidInput(f"the bill cannot be read as CSV: {error}") from None


_CHANGES = 50


async def ledger(service: Service, request: Request) -> Response:
    """Show the books, and a form for a bill."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    return await _shown(service, request, name, key)


async def compare(service: Service, request: Request) -> Response:
    """Hold a bill against the books; nothing is kept of it."""
    name: str = request.path_params["name"]
    key, fields = await require_form(request, "read", name)
    text = fields.get("bill", "")
    try:
        found = await service.run_in_thread(_found, service, name, text)
    except InvalidInput as error:
        return await _shown(service, request, name, key, 422, bill=text, error=str(error))
    return await _shown(service, request, name, key, found=found, bill=text)


def _found(service: Service, name: str, text: str) -> Finding:
    campaign = service.campaign(name)
    return compare_bill(parse_bill(text, campaign.coin), campaign.events(), campaign.coin)


async def _shown(
    service: Service, request: Request, name: str, key: Key, status: int = 200, **facts: Any
) -> Response:
    known = await service.run_in_thread(_known, service, name, key.allows("admin", name))
    blank = {"found": None, "bill": "", "error": ""}
    return render(service, request, "ledger", status, base=base_of(name), **(blank | known | facts))


def _known(service: Service, name: str, may_audit: bool) -> dict[str, Any]:
    campaign = service.campaign(name)
    now = look(campaign)
    audit: list[StoryLine] | None = None
    if may_audit:
        story = Story(campaign.coin, [arm.key for arm in now.arms])
        changes = list(service.series.get(name).changes)[-_CHANGES:]
        audit = [story.line(event) for event in reversed(changes)]
    return {"card": card(now), "audit": audit}
