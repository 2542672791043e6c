"""Entries: what each line of an export says in numbers, or why it says nothing."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bursar.errors import InvalidData
from bursar.formatting import pluralize
from bursar.settings.csv_table import (
    CsvCell,
    CsvLine,
    CsvListing,
    Decimal,
    amount,
    decimal_of,
    is_blank,
)
from bursar.settings.facebook import Exclusions

__all__ = [
    "AdColumns",
    "Entries",
    "Entry",
    "Groups",
    "Limit",
    "Lot",
    "add_up_rows",
    "entries",
    "group_lots",
    "refuse_amounts",
    "regroup",
    "usable_lots",
]

_TOTAL = re.compile(r"(grand |sub-?)?totals?(\s*[:(–-].*)?|gesamt(ergebnis|summe)?|summe", re.I)
_FEWEST = 3  # lines that a line of totals must be the sum of, to be known without its name


@dataclass(frozen=True)
class AdColumns:
    """Which columns say what."""

    clicks: str
    cost: str
    reward: str
    group: tuple[str, ...] = ()
    arm: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[str, str, str]:
        """The columns that hold numbers."""
        return self.clicks, self.cost, self.reward

    def all(self) -> tuple[str, ...]:
        """Return every column that is needed, numbers first."""
        return self.numbers + self.group + self.arm


class Entry(NamedTuple):
    """The numbers of a line, and whose they are."""

    line: int
    group: tuple[str, ...]
    arm: tuple[str, ...]
    clicks: float
    cost: float
    reward: float


class Entries(NamedTuple):
    """The usable lines of an export and the currencies they name."""

    kept: list[Entry]
    cost_sign: str
    reward_sign: str


def entries(
    table: CsvListing,
    columns: AdColumns,
    decimal: Decimal | None,
    blank_is_zero: bool,
    out: Exclusions,
) -> Entries:
    """Read the lines of a listing; count those that cannot be used in ``out``."""
    lines = []
    for line in table.lines:
        if table.fits(line):
            lines.append(line)
        else:
            out.add(line.number, "not as many fields as the header")
    places = {column: table.place(column) for column in columns.all()}
    if decimal is None:
        decimal = decimal_of(_cells(lines, places, columns), table.name)
    kept: list[tuple[CsvLine, Entry]] = []
    signs: dict[str, dict[str, int]] = {columns.cost: {}, columns.reward: {}}  # clicks have none
    for line in lines:
        texts = {column: line.fields[place] for column, place in places.items()}
        entry = _entry(line, texts, columns, decimal, blank_is_zero, signs)
        if isinstance(entry, str):
            out.add(line.number, entry)
        else:
            kept.append((line, entry))
    numeric = {places[column] for column in columns.numbers}
    usable = _without_sum(kept, numeric, out)
    cost, reward = (_currency(signs[c], c, table.name) for c in (columns.cost, columns.reward))
    return Entries(usable, cost, reward)


def _cells(lines: list[CsvLine], places: dict[str, int], columns: AdColumns) -> Iterator[CsvCell]:
    for line in lines:
        for column in columns.numbers:
            yield CsvCell(line.number, column, line.fields[places[column]])


def _entry(
    line: CsvLine,
    texts: dict[str, str],
    columns: AdColumns,
    decimal: Decimal,
    blank_is_zero: bool,
    signs: dict[str, dict[str, int]],
) -> Entry | str:
    """Return the entry of a line, or the reason to leave it out."""
    if any(_TOTAL.fullmatch(field) for field in line.fields):
        return "a line of totals"
    for column in (*columns.group, *columns.arm):
        if is_blank(texts[column]):
            return f"{column} is empty"
    values = []
    for column in columns.numbers:
        value = _number(texts[column], column, decimal, blank_is_zero, signs, line.number)
        if isinstance(value, str):
            return value
        values.append(value)
    if not values[0].is_integer():
        return f"{columns.clicks} is not a whole number"
    group, arm = (tuple(texts[c] for c in names) for names in (columns.group, columns.arm))
    return Entry(line.number, group, arm, *values)


def _number(
    text: str,
    column: str,
    decimal: Decimal,
    blank_is_zero: bool,
    signs: dict[str, dict[str, int]],
    line: int,
) -> float | str:
    """Return the number of a field, or what is wrong with it; note its currency."""
    if is_blank(text):
        return 0.0 if blank_is_zero else f"{column} is empty"
    found = amount(text, decimal)
    if found is None:
        return f"{column} is not a number"
    if found.value < 0.0:
        return f"{column} is negative"
    if found.sign and column not in signs:
        return f"{column} is an amount of money"
    if found.sign:
        signs[column].setdefault(found.sign, line)
    return found.value


def _without_sum(
    kept: list[tuple[CsvLine, Entry]], numeric: set[int], out: Exclusions
) -> list[Entry]:
    """Leave out a first or last line that has no name and is the sum of all others."""
    for at in (0, -1):
        if len(kept) <= _FEWEST:
            break
        line, entry = kept[at]
        nameless = any(is_blank(f) for i, f in enumerate(line.fields) if i not in numeric)
        if nameless and _is_sum(entry, [other for _, other in kept if other is not entry]):
            out.add(line.number, "a line of totals")
            del kept[at]
    return [entry for _, entry in kept]


def _is_sum(entry: Entry, others: list[Entry]) -> bool:
    slack = 0.005 * len(others)  # cents are rounded line by line
    return (
        entry.clicks == sum(other.clicks for other in others) > 0.0
        and abs(entry.cost - sum(other.cost for other in others)) <= slack
        and abs(entry.reward - sum(other.reward for other in others)) <= slack
    )


def _currency(signs: dict[str, int], column: str, name: str) -> str:
    if len(signs) > 1:
        (one, first), (other, second) = list(signs.items())[:2]
        raise InvalidData(
            f"{name}: {column} is in {one} on line {first} and in {other} on line {second};"
            " convert them to one currency"
        )
    return next(iter(signs), "")


# ==== settings.lots
# Lots: the lines of one arm added up, and the groups that arms form.

Key = tuple[str, ...]
_SHOWN = 5  # groups named a reason


@dataclass(frozen=True)
class Lot:
    """One arm: its group, its name, its lines, and their sums."""

    group: Key
    name: str
    lines: tuple[int, ...]
    clicks: float
    cost: float
    reward: float

    def leave_out(self, out: Exclusions, reason: str) -> None:
        """Count each of its lines."""
        for line in self.lines:
            out.add(line, reason)


class Limit(NamedTuple):
    """The most that a click can bring, and what to say of arms that have more."""

    most: float
    reason: str


class Groups(NamedTuple):
    """Groups of two or more arms, and what to say of those left out."""

    members: dict[Key, list[Lot]]
    notes: list[str]


def add_up_rows(kept: list[Entry]) -> list[Lot]:
    """Add up the lines of the same arm of the same group; a line without a name is an arm."""
    members: defaultdict[tuple[Key, Key], list[Entry]] = defaultdict(list)
    for entry in kept:
        members[entry.group, entry.arm or (f"line {entry.line}",)].append(entry)
    return [
        Lot(
            group,
            "/".join(arm),
            tuple(entry.line for entry in those),
            math.fsum(entry.clicks for entry in those),
            math.fsum(entry.cost for entry in those),
            math.fsum(entry.reward for entry in those),
        )
        for (group, arm), those in members.items()
    ]


def regroup(lots: list[Lot]) -> list[Lot] | None:
    """Return groups as the arms of one problem if each has a single arm, else None."""
    groups = {lot.group for lot in lots}
    if len(groups) < 2 or len(groups) < len(lots):
        return None
    return [
        Lot((), "/".join(lot.group), lot.lines, lot.clicks, lot.cost, lot.reward) for lot in lots
    ]


def usable_lots(
    lots: list[Lot], columns: AdColumns, limit: Limit | None, out: Exclusions
) -> list[Lot]:
    """Return arms with clicks, spend and a possible reward; count the lines of others.

    Arms are judged, not lines: a day without clicks is part of what its arm cost and brought.
    """
    found = []
    for lot in lots:
        if lot.clicks == 0.0:
            lot.leave_out(out, f"no {columns.clicks}")
        elif lot.cost == 0.0:
            lot.leave_out(out, "nothing spent")
        elif limit is not None and lot.reward > limit.most * lot.clicks:
            lot.leave_out(out, limit.reason)
        else:
            found.append(lot)
    return found


def refuse_amounts(lots: list[Lot], columns: AdColumns, name: str) -> None:
    """Refuse rewards that are mostly above clicks: they cannot be counts."""
    clicked = [lot for lot in lots if lot.clicks > 0.0]
    above = sum(lot.reward > lot.clicks for lot in clicked)
    if 2 * above > len(clicked):
        raise InvalidData(
            f"{name}: {columns.reward} is more than {columns.clicks} in {above} of {len(clicked)}"
            " arms, so it counts something else; if it is money, give money=True (--money)"
        )


def group_lots(lots: list[Lot], columns: AdColumns, out: Exclusions) -> Groups:
    """Return groups that can be compared, in the order of the file."""
    members: defaultdict[Key, list[Lot]] = defaultdict(list)
    for lot in lots:
        members[lot.group].append(lot)
    few, dull = "the only arm of its group", f"no arm of its group brought {columns.reward}"
    left: dict[str, list[str]] = {few: [], dull: []}
    kept = {}
    for group, those in members.items():
        reason = few if len(those) < 2 else dull if not any(lot.reward for lot in those) else ""
        if reason:
            left[reason].append("/".join(group) or "all")
            for lot in those:
                lot.leave_out(out, reason)
        else:
            kept[group] = those
    words = {few: "with a single usable arm", dull: f"whose arms brought no {columns.reward}"}
    return Groups(kept, [_said(names, words[why]) for why, names in left.items() if names])


def _said(names: list[str], why: str) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return f"Left out: {pluralize(len(names), 'group')} {why} ({shown})."
