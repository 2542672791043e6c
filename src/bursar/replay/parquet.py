"""The rows of a log that is a Parquet file (extra ``paper``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bursar.errors import InvalidData, suggest
from bursar.replay.log import REQUIRED, LogRow


def read_rows(path: Path, names: dict[str, str]) -> tuple[list[str], Iterator[tuple[int, LogRow]]]:
    """Return the columns that the file has, and its rows with their numbers from 1."""
    try:
        with parquet.ParquetFile(path) as file:
            known = file.schema_arrow.names
            for key, name in names.items():
                if name not in known and (key in REQUIRED or name != key):
                    hint = suggest(name, known)
                    close = hint if "did you mean" in hint else ";"
                    raise InvalidData(
                        f"{path.name} has no column {name!r}{close} it has {', '.join(known)}"
                    )
                if known.count(name) > 1:
                    raise InvalidData(f"{path.name} has the column {name!r} twice; rename one")
            found = [key for key, name in names.items() if name in known]
            table = file.read(columns=[names[key] for key in found])
    except (OSError, pa.ArrowException) as error:
        raise InvalidData(f"cannot read {path.name} as Parquet: {error}") from error
    columns: list[list[Any]] = [table.column(names[key]).to_pylist() for key in found]

    rows = (
        (number, LogRow(**dict(zip(found, values, strict=True))))
        for number, values in enumerate(zip(*columns, strict=True), 1)
    )
    return found, rows
