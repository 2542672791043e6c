"""Sheets: the lines of a CSV file, or of the one in a ZIP file, by the names of their columns."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

from bursar.errors import InvalidData, MissingData

__all__ = ["content", "rows", "text"]


def content(path: str | PathLike[str]) -> bytes:
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


def rows(
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
    reader = csv.reader(io.StringIO(text(data, name), newline=None), strict=True)
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


def text(data: bytes, name: str) -> str:
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
