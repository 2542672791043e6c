"""Tables in CSV files, as people and ad platforms export them.

The reader is written by hand because it must not guess amounts of money: libraries read ``1,234``
under whichever decimal mark they assume, while this one refuses a file that leaves it open. It
accepts UTF-8 and UTF-16, four delimiters, gzip and ZIP files and lines before the header. Rows that
cannot be used are counted by reason in :class:`Exclusions`, never dropped silently.
"""

import codecs
import csv
import gzip
import io
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from bursar.errors import InvalidData, MissingData, suggest
from bursar.formatting import pluralize

T = TypeVar("T")
BROKEN = "not as many fields as the header"
_DELIMITERS = (",", ";", "\t", "|")
_HEADER_DEPTH = 30  # rows among which the header is looked for
_LISTED = 5  # line numbers kept per reason


class UnusableRow(Exception):
    """Why a row is left out."""


@dataclass
class Exclusions:
    """How many rows were left out, by reason, and the numbers of the first few."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: int, reason: str) -> None:
        """Count a row."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        first = self.lines.setdefault(reason, [])
        if len(first) < _LISTED:
            first.append(line)

    def parse_rows(self, rows: Iterable[Any], parse: Callable[[Any], T]) -> Iterator[T]:
        """Yield what ``parse`` makes of each row; count those for which it raises UnusableRow."""
        for row in rows:
            try:
                yield parse(row)
            except UnusableRow as reason:
                self.add(row.line, str(reason))

    def format_sentences(self, verb: str = "Left out", unit: str = "line") -> list[str]:
        """Return a sentence per reason, with the numbers of the first rows."""
        return [
            f"{verb}: {pluralize(count, unit)}, {reason} ({self.format_lines(reason, unit)})."
            for reason, count in self.counts.items()
        ]

    def format_lines(self, reason: str, unit: str = "line") -> str:
        """Return the numbers of the first rows of a reason, as in ``lines 2, 3, …``."""
        first = self.lines[reason]
        more = ", …" if self.counts[reason] > len(first) else ""
        return f"{unit}{'s' * (len(first) > 1)} {', '.join(map(str, first))}{more}"


class CsvRow(NamedTuple):
    """A row that is not blank: its line number in the file and its stripped fields."""

    line: int
    fields: list[str]


@dataclass(frozen=True)
class CsvTable:
    """The header of a table, the names of its columns without case, and the rows below it."""

    name: str
    header: CsvRow
    names: list[str]
    rows: list[CsvRow]

    def positions(self, columns: Iterable[str]) -> dict[str, int]:
        """Return the positions of those columns that the table has, in any case."""
        return {c: self.names.index(_fold(c)) for c in columns if _fold(c) in self.names}

    def is_complete(self, row: CsvRow) -> bool:
        """Whether a row has the fields of the header; empty ones at the end do not count."""
        width = len(self.header.fields)
        return len(row.fields) >= width and not any(row.fields[width:])


def read_content(path: str | PathLike[str]) -> bytes:
    """Return the bytes of a CSV file, also of one in gzip, or of the only one in a ZIP file."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise MissingData(f"no file {str(path)!r}; check the path") from None
    except OSError as error:
        raise InvalidData(f"cannot read {str(path)!r}: {error.strerror}") from error
    if data.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidData(
                f"cannot read {Path(path).name} as a gzip file: {error}; unpack it and pass the"
                " CSV file"
            ) from error
    return _unzip(data, Path(path).name) if data.startswith(b"PK") else data


def _unzip(data: bytes, name: str) -> bytes:
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
                    f"{name} must contain exactly one CSV file, got"
                    f" {inside or archive.namelist()}; unpack it and pass the CSV file"
                )
            return archive.read(inside[0])
    # RuntimeError: it has a password; NotImplementedError: an unknown compression
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InvalidData(
            f"cannot read {name} as a ZIP file: {error}; unpack it and pass the CSV file"
        ) from error


def parse_table(
    data: bytes, name: str, columns: Sequence[str], aliases: Mapping[str, str] | None = None
) -> CsvTable:
    """Find the header that has the given columns, in any order and case, and read the rows below.

    The text is UTF-8, or UTF-16 with a byte order mark; fields are separated by comma, semicolon,
    tab or bar. ``name`` is what errors call the file; ``aliases`` are other names of columns, in
    lower case.
    """
    text = _decode(data, name)
    delimiter, header, names = _find_header(text, name, columns, aliases or {})
    for column in columns:
        if names.count(_fold(column)) > 1:
            raise InvalidData(
                f"{name}, line {header.line}: the column {column!r} appears twice;"
                " rename or remove one"
            )
    try:
        below = [row for row in _rows(text, delimiter) if row.line > header.line]
    except csv.Error as error:
        raise InvalidData(f"{name}, {error}; correct or remove the line") from error
    return CsvTable(name, header, names, below)


def _decode(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidData(f"{name} is broken UTF-16 text; save it as CSV UTF-8") from None
    try:
        text = data.decode("utf-8-sig")  # a byte order mark is not part of the first column's name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidData(
            f"{name}, line {line}: not UTF-8 text, got byte {data[error.start]:#04x};"
            " save it as CSV UTF-8"
        ) from None
    if "\0" in text:
        raise InvalidData(f"{name} contains zero bytes, so it is not text; save it as CSV UTF-8")
    return text


def _rows(text: str, delimiter: str) -> Iterator[CsvRow]:
    # newline=None: lines may end in \n, \r\n or, as some copies do, in \r alone
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield CsvRow(reader.line_num, fields)
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: not CSV, {error}") from error


def _find_header(
    text: str, name: str, columns: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, CsvRow, list[str]]:
    """Return the delimiter, the first row with all columns, and the names in it."""
    wanted = [_fold(column) for column in columns]
    seen: list[tuple[int, int, CsvRow, list[str]]] = []  # columns found, fields, the row
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):  # quotes may make no sense with this delimiter
            for row in islice(_rows(text, delimiter), _HEADER_DEPTH):
                names = [aliases.get(one, one) for one in map(_fold, row.fields)]
                found = sum(column in names for column in wanted)
                if found == len(columns):
                    return delimiter, row, names
                seen.append((found, len(set(names)), row, names))
    if not seen:
        raise InvalidData(f"{name} is empty; its header must name {', '.join(columns)}")
    _, _, row, names = max(seen, key=lambda one: one[:2])
    missing = next(column for column in columns if _fold(column) not in names)
    known = [field for field in row.fields if field]
    hint = suggest(missing, known)
    separator = hint if "did you mean" in hint else ";"
    raise InvalidData(
        f"{name} has no column {missing!r}{separator} line {row.line} has {', '.join(known)}"
    )


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())


# values of a row, from a CSV file or another table


def parse_number(value: Any, column: str) -> float:
    """Return a finite number, or raise UnusableRow with the reason."""
    if is_missing(value):
        raise UnusableRow(f"{column} is empty")
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        value = ""  # float() accepts 1_000 and digits of any script
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnusableRow(f"{column} is not a number") from None
    if not math.isfinite(number):
        raise UnusableRow(f"{column} is not finite")
    return number


def to_text(value: Any) -> str:
    """Return a value as text; "" if there is none."""
    return "" if is_missing(value) else str(value).strip()


def is_missing(value: Any) -> bool:
    """Whether a row has no value there: None, NaN or a text such as ``n/a``."""
    if isinstance(value, str):
        return is_blank(value.strip())
    return value is None or (isinstance(value, float) and math.isnan(value))


# Amounts as people write them: ``1,234.50``, ``€ 12,30``, ``1 234``. A text is read under each of
# the two decimal marks. Where only one gives a number, the text shows which mark the file uses;
# where both give numbers that differ, another text of the file must decide.

DecimalMark = Literal[".", ","]
CsvCell = tuple[int, str, str]  # line, column, text

_BLANK = {"", "-", "--", "–", "—", "n/a", "#n/a", "na", "nan", "none", "null"}
# a sign, a sign with letters (US$), a code (EUR), and words; not any letters: 12k has no currency
_SIGN = r"[A-Z]{0,3}[$£¥¤฿\u20a0-\u20cf]|[A-Z]{3}|[Kk]r\.?|zł|Kč|Ft|lei|Rs\.?"
_MINUS = "[-+\u2212]?"
_AMOUNT = re.compile(
    rf"(?P<open>\(?)\s*(?P<minus>{_MINUS})\s*(?P<before>{_SIGN})?\s*(?P<second>{_MINUS})"
    rf"\s*(?P<body>[0-9.,](?:.*[0-9.,])?)\s*(?P<after>{_SIGN})?\s*(?P<close>\)?)"
)
_SPACES = "'’ \u00a0\u2009\u202f"


def _body_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    first, rest = "[1-9][0-9]{0,2}", f"{re.escape(decimal)}[0-9]*"
    spaced = f"{first}(?P<gap>[{_SPACES}{thousands}])[0-9]{{3}}(?:(?P=gap)[0-9]{{3}})*(?:{rest})?"
    indian = rf"[1-9][0-9]?(?:,[0-9]{{2}})*,[0-9]{{3}}(?:{rest})?"  # 12,34,567.00
    plain = rf"(?:[0-9]+(?:{rest})?|{re.escape(decimal)}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    return re.compile("|".join([spaced, plain] + [indian] * (thousands == ",")))


_BODIES: dict[DecimalMark, re.Pattern[str]] = {
    ".": _body_pattern(".", ","),
    ",": _body_pattern(",", "."),
}


class Amount(NamedTuple):
    """A number and the currency written beside it, if any."""

    value: float
    currency: str


def is_blank(text: str) -> bool:
    """Whether a field has no value: empty, a dash, or a word such as ``n/a``."""
    return text.casefold() in _BLANK


def parse_amount(text: str, decimal: DecimalMark) -> Amount | None:
    """Return the amount that a text denotes under a decimal mark, or None if it is not one.

    Examples
    --------
    >>> parse_amount("€ 1.234,50", ","), parse_amount("1,234", ".").value
    (Amount(value=1234.5, currency='€'), 1234.0)
    >>> parse_amount("12k", "."), parse_amount("30-34", "."), parse_amount("(5.00)", ".")
    (None, None, Amount(value=-5.0, currency=''))
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    if not _BODIES[decimal].fullmatch(found["body"]):
        return None
    thousands = "," if decimal == "." else "."
    plain = re.sub(f"[{_SPACES}{thousands}]", "", found["body"]).replace(decimal, ".")
    value = float(plain)
    if not value < math.inf:
        return None
    minus = any(found[part] and found[part] in "-\u2212" for part in ("minus", "second"))
    currency = found["before"] or found["after"] or ""
    return Amount(-value if minus or found["open"] else value, currency)


def find_decimal_mark(cells: Iterable[CsvCell], name: str) -> DecimalMark:
    """Return the decimal mark of a file; refuse a file that uses both or leaves it open."""
    proof: dict[DecimalMark, CsvCell] = {}
    unclear: tuple[CsvCell, list[float]] | None = None
    for cell in cells:
        amounts = {mark: parse_amount(cell[2], mark) for mark in _BODIES}
        found = {mark: amount.value for mark, amount in amounts.items() if amount is not None}
        if len(found) == 1:
            proof.setdefault(next(iter(found)), cell)
        elif len(set(found.values())) == 2:
            unclear = unclear or (cell, list(found.values()))
    if len(proof) == 2:
        cells = (proof[mark] for mark in _BODIES)
        one, other = (f"line {line} has {column} {text!r}" for line, column, text in cells)
        raise InvalidData(
            f"{name} uses both decimal marks: {one}, {other};"
            " choose one with decimal='.' or decimal=',' (--decimal)"
        )
    if not proof and unclear is not None:
        (line, column, text), (first, second) = unclear
        raise InvalidData(
            f"{name}, line {line}: {column} {text!r} may be {first:g} or {second:g}, and no other"
            " line shows which; choose with decimal='.' or decimal=',' (--decimal)"
        )
    return next(iter(proof), ".")
