"""Entries: what each line of an export says in numbers, or why it says nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bursar.errors import InvalidData
from bursar.settings.ads import Exclusions
from bursar.settings.amounts import Cell, Decimal, amount, decimal_of, is_blank
from bursar.settings.listing import Line, Listing

__all__ = ["Columns", "Entries", "Entry", "entries"]

_TOTAL = re.compile(r"(grand |sub-?)?totals?(\s*[:(–-].*)?|gesamt(ergebnis|summe)?|summe", re.I)
_FEWEST = 3  # lines that a line of totals must be the sum of, to be known without its name


@dataclass(frozen=True)
class Columns:
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
    table: Listing, columns: Columns, decimal: Decimal | None, blank_is_zero: bool, out: Exclusions
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
    kept: list[tuple[Line, Entry]] = []
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


def _cells(lines: list[Line], places: dict[str, int], columns: Columns) -> Iterator[Cell]:
    for line in lines:
        for column in columns.numbers:
            yield Cell(line.number, column, line.fields[places[column]])


def _entry(
    line: Line,
    texts: dict[str, str],
    columns: Columns,
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


def _without_sum(kept: list[tuple[Line, Entry]], numeric: set[int], out: Exclusions) -> list[Entry]:
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
