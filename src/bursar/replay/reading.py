"""Reading a log: CSV, or Parquet with the extra ``paper``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from bursar.errors import InvalidInput, MissingData, UnknownParameter, nearest
from bursar.replay.log import Log
from bursar.replay.row import COLUMNS, NEEDED, Row
from bursar.result import extra
from bursar.settings.ads import Exclusions
from bursar.settings.listing import listing
from bursar.settings.sheet import content

__all__ = ["read"]


def read(path: str | PathLike[str], columns: Mapping[str, str] | None = None) -> Log:
    """Read a log from a CSV file (or a ZIP file with one) or a Parquet file.

    Parameters
    ----------
    path : path
        A row a decision, with the columns arm, propensity, cost and reward; and, if there are such,
        decision (an id: a second row of it is left out), time (rows are put in its order) and
        available (the arms that could be chosen, as in ``small|large``).
    columns : mapping of str to str, optional
        Other names of these columns in the file, as in ``{"arm": "variant"}``.
    """
    called = _called(columns or {})
    if Path(path).suffix.casefold() in (".parquet", ".pq"):
        if not Path(path).is_file():
            raise MissingData(f"no file {str(path)!r}; check the path")
        there, rows = extra("bursar.replay.parquet", "pyarrow").rows(Path(path), called)
        return Log.checked(Path(path).name, rows, "row", "time" in there, called)
    return _of_csv(content(path), Path(path).name, called, columns or {})


def _of_csv(data: bytes, name: str, called: dict[str, str], given: Mapping[str, str]) -> Log:
    table = listing(data, name, [called[key] for key in COLUMNS if key in NEEDED or key in given])
    header = {" ".join(field.casefold().split()) for field in table.header.fields}
    there = [key for key in COLUMNS if " ".join(called[key].casefold().split()) in header]
    places = {key: table.place(called[key]) for key in there}
    broken = Exclusions()

    def rows() -> Iterator[tuple[int, Row]]:
        for line in table.lines:
            if table.fits(line):
                fields: dict[str, Any] = {key: line.fields[at] for key, at in places.items()}
                yield line.number, Row(**fields)
            else:
                broken.add(line.number, "not as many fields as the header")

    log = Log.checked(name, rows(), "line", "time" in there, called)
    log.left_out.counts.update(broken.counts)
    log.left_out.lines.update(broken.lines)
    return log


def _called(columns: Mapping[str, str]) -> dict[str, str]:
    for key, name in columns.items():
        if key not in COLUMNS:
            raise UnknownParameter(f"a log has no column {key!r}{nearest(key, COLUMNS)}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the column of {key} must have a name, got {name!r}")
    return {key: columns.get(key, key) for key in COLUMNS}
