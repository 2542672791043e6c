"""A provider's bill held against what was booked, decision by decision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from bursar.errors import InvalidInput
from bursar.ledger import Event
from bursar.money import Coin
from bursar.service.flow import Flow

__all__ = ["Finding", "Row", "compared", "parsed"]

_IDS = ("decision", "decision_id", "id", "request", "request_id")
_AMOUNTS = ("amount", "cost", "price", "total", "charge")
_SHOWN = 200


@dataclass(frozen=True)
class Row:
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
    rows: tuple[Row, ...]


def parsed(text: str, coin: Coin) -> dict[str, int]:
    r"""Return what a bill says, in units by decision; lines of one decision are added up.

    >>> parsed("id,amount\na,0.10\na,0.05", Coin(2))
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


def compared(bill: dict[str, int], events: Iterable[Event], coin: Coin) -> Finding:
    """Hold a bill against a log; the log is read once, and only the bill's decisions are kept."""
    flow, ours, unbilled = Flow(), dict[str, int](), 0
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
        coin.shown(theirs_sum),
        coin.shown(ours_sum),
        _signed(theirs_sum - ours_sum, coin),
        coin.shown(unbilled),
        "The differences" + (f", the first {_SHOWN}" if len(rows) > _SHOWN else ""),
        tuple(rows[:_SHOWN]),
    )


def _row(id: str, theirs: int, ours: int | None, coin: Coin) -> Row:
    if ours is None:
        what = "not a decision of this campaign"
    elif ours == 0:
        what = "nothing was booked: its cost was never told, or it was voided"
    else:
        what = "they billed more" if theirs > ours else "they billed less"
    booked = "–" if ours is None else coin.shown(ours)
    return Row(
        id, ours is not None, coin.shown(theirs), booked, _signed(theirs - (ours or 0), coin), what
    )


def _signed(units: int, coin: Coin) -> str:
    """Return a difference with its sign; it would be below 0 if they billed less."""
    return f"{'+' if units > 0 else '−' if units < 0 else ''}{coin.shown(abs(units))}"


def _rows(text: str, comma: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=comma))
    except csv.Error as error:
        raise InvalidInput(f"the bill cannot be read as CSV: {error}") from None
