"""Sheets: the lines of a CSV file, or of the one in a ZIP file, by the names of their columns."""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from bursar.errors import InvalidData, MissingData, nearest

__all__ = [
    "Amount",
    "CsvCell",
    "CsvLine",
    "CsvListing",
    "Decimal",
    "amount",
    "decimal_of",
    "decode_text",
    "is_blank",
    "read_content",
    "read_listing",
    "read_rows",
]


def read_content(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a CSV file, or of the one CSV file in a ZIP file."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise MissingData(f"no file {str(path)!r}; check the path") from None
    except OSError as error:
        raise InvalidData(f"cannot read {str(path)!r}: {error.strerror}") from error
    return _unpacked(data, Path(path).name) if data.startswith(b"PK") else data


def _unpacked(data: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = [
                entry
                for entry in archive.namelist()
                # macOS adds a twin "__MACOSX/._data.csv" of every file
                if entry.lower().endswith(".csv") and not entry.startswith("__MACOSX/")
            ]
            if len(inside) != 1:
                raise InvalidData(
                    f"{name} must have one CSV file in it, got {inside or archive.namelist()};"
                    " unpack it and give the CSV file"
                )
            return archive.read(inside[0])
    # RuntimeError: it has a password; NotImplementedError: a compression we do not know
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InvalidData(
            f"cannot read {name} as a ZIP file: {error}; unpack it and give the CSV file"
        ) from error


def read_rows(
    data: bytes, name: str, columns: Sequence[str], aliases: Mapping[str, str]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the stripped fields of the given columns of each line not blank.

    Parameters
    ----------
    data : bytes
        UTF-8 text whose first line that is not blank names the columns, in any order and case.
    name : str
        What errors call the file.
    columns : sequence of str
        The columns wanted, in lower case; others are passed over.
    aliases : mapping of str to str
        Other names of wanted columns.
    """
    # newline=None: lines may end in \n, \r\n or, as some copies do, in \r alone
    reader = csv.reader(io.StringIO(decode_text(data, name), newline=None), strict=True)
    places: list[int] = []
    width = 0
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            if not places:
                places, width = _places(fields, name, columns, aliases), len(fields)
            elif len(fields) < width or any(fields[width:]):  # commas too many at the end will do
                raise InvalidData(
                    f"{name}, line {reader.line_num}: {len(fields)} fields where the header has"
                    f" {width}; a shifted or broken line: mend it or take it out"
                )
            else:
                yield reader.line_num, [fields[place] for place in places]
    except csv.Error as error:
        raise InvalidData(f"{name}, line {reader.line_num}: not CSV, {error}") from error
    if not places:
        raise InvalidData(f"{name} is empty; its first line must name {', '.join(columns)}")


def decode_text(data: bytes, name: str) -> str:
    """Return bytes as text, or say on which line they are not UTF-8."""
    try:
        return data.decode("utf-8-sig")  # a byte order mark is no part of the first column's name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidData(
            f"{name}, line {line}: not UTF-8 text, got byte {data[error.start]:#04x};"
            " save it as CSV UTF-8"
        ) from None


def _places(
    header: list[str], name: str, columns: Sequence[str], aliases: Mapping[str, str]
) -> list[int]:
    found = [aliases.get(field.casefold(), field.casefold()) for field in header]
    missing = [column for column in columns if column not in found]
    if missing:
        raise InvalidData(
            f"{name} misses the column{'s' * (len(missing) > 1)} {', '.join(missing)};"
            f" its header has {', '.join(header)}"
        )
    twice = [column for column in columns if found.count(column) > 1]
    if twice:
        raise InvalidData(f"{name} has the column {twice[0]} twice; take one out")
    return [found.index(column) for column in columns]


# ==== settings.listing
# Listings: tables as ad platforms export them, any delimiter, with lines before the header.
#
# Unlike :mod:`bursar.settings.csv_table` this looks for the header, and hands on broken lines to be
# counted instead of refusing the file.

_DELIMITERS = (",", ";", "\t", "|")
_DEEPEST = 30  # lines among which the header is looked for


class CsvLine(NamedTuple):
    """A line that is not blank: its number in the file and its stripped fields."""

    number: int
    fields: list[str]


@dataclass(frozen=True)
class CsvListing:
    """The header of an export and the lines below it."""

    name: str
    header: CsvLine
    lines: list[CsvLine]

    def place(self, column: str) -> int:
        """Return where a column is; names are compared without case and doubled spaces."""
        return [_folded(field) for field in self.header.fields].index(_folded(column))

    def fits(self, line: CsvLine) -> bool:
        """Whether a line has the fields of the header; empty ones too many at the end will do."""
        width = len(self.header.fields)
        return len(line.fields) >= width and not any(line.fields[width:])


def read_listing(data: bytes, name: str, columns: Sequence[str]) -> CsvListing:
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
    return CsvListing(name, header, below)


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidData(f"{name} is broken UTF-16 text; save it as CSV UTF-8") from None
    text = decode_text(data, name)
    if "\0" in text:
        raise InvalidData(f"{name} is no text, it has zero bytes; save it as CSV UTF-8")
    return text


def _lines(text: str, delimiter: str) -> Iterator[CsvLine]:
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield CsvLine(reader.line_num, fields)
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: not CSV, {error}") from error


def _header(text: str, name: str, columns: Sequence[str]) -> tuple[str, CsvLine]:
    """Return the delimiter and the first line with all columns; or say which one is missing."""
    likely: tuple[int, int, CsvLine] | None = None  # columns found, fields, and the line
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


def _missing(name: str, header: CsvLine, columns: Sequence[str]) -> str:
    there = [_folded(field) for field in header.fields]
    column = next(column for column in columns if _folded(column) not in there)
    known = [field for field in header.fields if field]
    hint = nearest(column, known)
    close = hint if "did you mean" in hint else ";"
    return f"{name} has no column {column!r}{close} line {header.number} has {', '.join(known)}"


def _refuse_twins(header: CsvLine, name: str, columns: Sequence[str]) -> None:
    there = [_folded(field) for field in header.fields]
    for column in columns:
        if there.count(_folded(column)) > 1:
            raise InvalidData(
                f"{name}, line {header.number}: the column {column!r} is there twice;"
                " rename or take out one"
            )


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


# ==== settings.amounts
# Amounts as people write them: ``1,234.50``, ``€ 12,30``, ``1 234``; never guessed wrongly.
#
# A text is read under each of the two decimal marks. Where only one gives a number the text says
# which mark the file uses; where both give numbers that differ, another text of the file must say it.

Decimal = Literal[".", ","]

_BLANK = {"", "-", "--", "–", "—", "n/a", "#n/a", "na", "nan", "none", "null"}
# a sign, a sign with letters (US$), a code (EUR), and words; not any letters: 12k is no currency
_SIGN = r"[A-Z]{0,3}[$£¥¤฿\u20a0-\u20cf]|[A-Z]{3}|[Kk]r\.?|zł|Kč|Ft|lei|Rs\.?"
_MINUS = "[-+\u2212]?"
_WHOLE = re.compile(
    rf"(?P<open>\(?)\s*(?P<minus>{_MINUS})\s*(?P<before>{_SIGN})?\s*(?P<second>{_MINUS})"
    rf"\s*(?P<body>[0-9.,](?:.*[0-9.,])?)\s*(?P<after>{_SIGN})?\s*(?P<close>\)?)"
)
_SPACES = "'’ \u00a0\u2009\u202f"


def _body(decimal: str, thousands: str) -> re.Pattern[str]:
    first, rest = "[1-9][0-9]{0,2}", f"{re.escape(decimal)}[0-9]*"
    spaced = f"{first}(?P<gap>[{_SPACES}{thousands}])[0-9]{{3}}(?:(?P=gap)[0-9]{{3}})*(?:{rest})?"
    indian = rf"[1-9][0-9]?(?:,[0-9]{{2}})*,[0-9]{{3}}(?:{rest})?"  # 12,34,567.00
    plain = rf"(?:[0-9]+(?:{rest})?|{re.escape(decimal)}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    return re.compile("|".join([spaced, plain] + [indian] * (thousands == ",")))


_BODIES: dict[Decimal, re.Pattern[str]] = {".": _body(".", ","), ",": _body(",", ".")}


class Amount(NamedTuple):
    """A number and the currency written beside it, if any."""

    value: float
    sign: str


class CsvCell(NamedTuple):
    """Where a text stands."""

    line: int
    column: str
    text: str


def is_blank(text: str) -> bool:
    """Whether a field says that there is nothing: empty, a dash, or a word for it."""
    return text.casefold() in _BLANK


def amount(text: str, decimal: Decimal) -> Amount | None:
    """Return the number that a text is under a decimal mark, or None.

    Examples
    --------
    >>> amount("€ 1.234,50", ","), amount("1,234", "."), amount("1,234", ",")
    (Amount(value=1234.5, sign='€'), Amount(value=1234.0, sign=''), Amount(value=1.234, sign=''))
    >>> amount("12k", "."), amount("30-34", "."), amount("(5.00)", ".")
    (None, None, Amount(value=-5.0, sign=''))
    """
    found = _WHOLE.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    if not _BODIES[decimal].fullmatch(found["body"]):
        return None
    thousands = "," if decimal == "." else "."
    plain = re.sub(f"[{_SPACES}{thousands}]", "", found["body"]).replace(decimal, ".")
    value = float(plain)
    if not value < math.inf:
        return None
    down = sum(bool(found[part]) and found[part] in "-\u2212" for part in ("minus", "second"))
    sign = found["before"] or found["after"] or ""
    return Amount(-value if down or found["open"] else value, sign)


def decimal_of(cells: Iterable[CsvCell], name: str) -> Decimal:
    """Return the decimal mark of a file; refuse one that uses both, or that leaves it open."""
    proof: dict[Decimal, CsvCell] = {}
    unclear: CsvCell | None = None
    for cell in cells:
        point, comma = amount(cell.text, "."), amount(cell.text, ",")
        if point is not None and comma is not None:
            if point != comma:
                unclear = unclear or cell
        elif point is not None:
            proof.setdefault(".", cell)
        elif comma is not None:
            proof.setdefault(",", cell)
    if len(proof) == 2:
        one, other = proof["."], proof[","]
        raise InvalidData(
            f"{name}, line {one.line}: {one.column} {one.text!r} has a decimal point, but line"
            f" {other.line}: {other.column} {other.text!r} a decimal comma;"
            " give the one that is right, decimal='.' or decimal=',' (--decimal)"
        )
    if not proof and unclear is not None:
        values = [amount(unclear.text, mark) for mark in _BODIES]
        first, second = (f"{value.value:g}" for value in values if value is not None)
        raise InvalidData(
            f"{name}, line {unclear.line}: {unclear.column} {unclear.text!r} may be {first} or"
            f" {second}, and no other line tells;"
            " give decimal='.' or decimal=',' (--decimal)"
        )
    return next(iter(proof), ".")
