"""The ledger page: recorded spend compared with a provider's bill, and who changed what."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, NamedTuple

from starlette.responses import Response

from bursar.dashboard.events import EventDescriber, load_arm_keys
from bursar.dashboard.render import Page, format_error
from bursar.errors import InvalidInput
from bursar.formatting import from_csv_cell
from bursar.ledger import Event
from bursar.money import Coin
from bursar.service.series import RunningTotals

_ID_HEADINGS = ("decision", "decision_id", "id", "request", "request_id")
_AMOUNT_HEADINGS = ("amount", "cost", "price", "total", "charge")
_MAX_DIFFERENCES = 200
_CHANGES = 50


async def show_ledger(page: Page, status_code: int = 200, **values: Any) -> Response:
    """Show the recorded spend, and a form for a bill."""
    return page.render("ledger", status_code, **(await page.run_heavy(_load, page) | values))


async def check_bill(page: Page) -> Response:
    """Compare a bill with the recorded spend; nothing of it is stored."""
    text = page.fields.get("bill", "")
    try:
        comparison = await page.run_heavy(_compare, page, text)
    except InvalidInput as error:
        return await show_ledger(page, 422, bill=text, error=format_error(error))
    return await show_ledger(page, comparison=comparison, bill=text)


def _compare(page: Page, text: str) -> BillComparison:
    campaign = page.service.campaign(page.name)
    return compare_bill(parse_bill(text, campaign.coin), campaign.events())


def _load(page: Page) -> dict[str, Any]:
    campaign = page.service.campaign(page.name)
    return {
        "campaign": campaign.status(),
        "coin": campaign.coin,
        "changes": list(page.service.series.get(page.name).changes)[-_CHANGES:][::-1],
        "describer": EventDescriber(campaign.coin, load_arm_keys(campaign)),
        "comparison": None,
        "max_differences": _MAX_DIFFERENCES,
        "bill": "",
        "error": "",
    }


class BillDifference(NamedTuple):
    """A decision whose billed cost differs from the recorded one, in units of the currency."""

    id: str
    billed: int
    recorded: int | None  # None if the campaign has no such decision


class BillComparison(NamedTuple):
    """A bill compared with the recorded spend, in units of the currency."""

    decisions: int
    billed: int
    recorded: int  # of the decisions on the bill
    unbilled: int  # recorded for decisions that are not on the bill
    differences: tuple[BillDifference, ...]


def parse_bill(text: str, coin: Coin) -> dict[str, int]:
    r"""Return the billed units by decision; several lines of one decision are added up.

    >>> parse_bill("id,amount\na,0.10\na,0.05", Coin(2))
    {'a': 15}
    """
    text = text.lstrip("\ufeff").strip()
    if not text:
        raise InvalidInput("The bill is empty; each line needs a decision and an amount")
    delimiter = max(",;\t", key=text.splitlines()[0].count)
    found: dict[str, int] = {}
    id_at, amount_at = 0, 1
    for number, row in enumerate(_read_rows(text, delimiter), 1):
        cells = [cell.strip() for cell in row]
        headings = [cell.lower() for cell in cells]
        if not any(cells):
            continue
        if number == 1 and any(cell in _AMOUNT_HEADINGS for cell in headings):
            id_at = next((n for n, cell in enumerate(headings) if cell in _ID_HEADINGS), 0)
            amount_at = next(n for n, cell in enumerate(headings) if cell in _AMOUNT_HEADINGS)
            continue
        if len(cells) <= max(id_at, amount_at):
            raise InvalidInput(f"Line {number} must have a decision and an amount, got {row!r}")
        units = coin.units(f"the amount in line {number}", cells[amount_at])
        id = from_csv_cell(cells[id_at])  # as exports write it
        found[id] = found.get(id, 0) + units
    return found


def _read_rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InvalidInput(f"The bill is not valid CSV: {error}") from None


def compare_bill(bill: dict[str, int], events: Iterable[Event]) -> BillComparison:
    """Compare a bill with a log; the log is read once, and only billed decisions are kept."""
    totals, recorded, unbilled = RunningTotals(), dict[str, int](), 0
    for event in events:
        added = totals.follow(event)
        if event.decision in bill:
            recorded[event.decision] = recorded.get(event.decision, 0) + added
        elif event.decision:
            unbilled += added
    return BillComparison(
        len(bill),
        sum(bill.values()),
        sum(recorded.values()),
        unbilled,
        tuple(
            BillDifference(id, units, recorded.get(id))
            for id, units in bill.items()
            if recorded.get(id) != units
        ),
    )
