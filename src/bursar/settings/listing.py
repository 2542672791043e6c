"""Listings: tables as ad platforms export them, any delimiter, with lines before the header.

Unlike :mod:`bursar.settings.sheet` this looks for the header, and hands on broken lines to be
counted instead of refusing the file.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from bursar.errors import InvalidData, nearest
from bursar.settings.sheet import text as utf8

__all__ = ["Line", "Listing", "listing"]

_DELIMITERS = (",", ";", "\t", "|")
_DEEPEST = 30  # lines among which the header is looked for


class Line(NamedTuple):
    """A line that is not blank: its number in the file and its stripped fields."""

    number: int
    fields: list[str]


@dataclass(frozen=True)
class Listing:
    """The header of an export and the lines below it."""

    name: str
    header: Line
    lines: list[Line]

    def place(self, column: str) -> int:
        """Return where a column is; names are compared without case and doubled spaces."""
        return [_folded(field) for field in self.header.fields].index(_folded(column))

    def fits(self, line: Line) -> bool:
        """Whether a line has the fields of the header; empty ones too many at the end will do."""
        width = len(self.header.fields)
        return len(line.fields) >= width and not any(line.fields[width:])


def listing(data: bytes, name: str, columns: Sequence[str]) -> Listing:
    """Find the header that has the given columns, and read the lines below it.

    Parameters
    ----------
    data : bytes
        UTF-8, or UTF-16 with a byte order mark; fields divided by comma, semicolon, tab or bar.
    name : str
        What errors call the file.
    columns : sequence of str
        Columns that the header must have, in any case.
    """
    text = _decoded(data, name)
    delimiter, header = _header(text, name, columns)
    _refuse_twins(header, name, columns)
    try:
        below = [line for line in _lines(text, delimiter) if line.number > header.number]
    except csv.Error as error:
        raise InvalidData(f"{name}, {error}; mend the line or take it out") from error
    return Listing(name, header, below)


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidData(f"{name} is broken UTF-16 text; save it as CSV UTF-8") from None
    text = utf8(data, name)
    if "\0" in text:
        raise InvalidData(f"{name} is no text, it has zero bytes; save it as CSV UTF-8")
    return text


def _lines(text: str, delimiter: str) -> Iterator[Line]:
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield Line(reader.line_num, fields)
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: not CSV, {error}") from error


def _header(text: str, name: str, columns: Sequence[str]) -> tuple[str, Line]:
    """Return the delimiter and the first line with all columns; or say which one is missing."""
    likely: tuple[int, int, Line] | None = None  # columns found, fields, and the line
    for delimiter in _DELIMITERS:
        try:
            for line in islice(_lines(text, delimiter), _DEEPEST):
                there = {_folded(field) for field in line.fields}
                found = sum(_folded(column) in there for column in columns)
                if found == len(columns):
                    return delimiter, line
                if likely is None or (found, len(there)) > likely[:2]:
                    likely = (found, len(there), line)
        except csv.Error:  # quotes make no sense with this delimiter
            continue
    if likely is None:
        raise InvalidData(f"{name} has no line to read; its header must name {', '.join(columns)}")
    raise InvalidData(_missing(name, likely[2], columns))


def _missing(name: str, header: Line, columns: Sequence[str]) -> str:
    there = [_folded(field) for field in header.fields]
    column = next(column for column in columns if _folded(column) not in there)
    known = [field for field in header.fields if field]
    hint = nearest(column, known)
    close = hint if "did you mean" in hint else ";"
    return f"{name} has no column {column!r}{close} line {header.number} has {', '.join(known)}"


def _refuse_twins(header: Line, name: str, columns: Sequence[str]) -> None:
    there = [_folded(field) for field in header.fields]
    for column in columns:
        if there.count(_folded(column)) > 1:
            raise InvalidData(
                f"{name}, line {header.number}: the column {column!r} is there twice;"
                " rename or take out one"
            )


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
