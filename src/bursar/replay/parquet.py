"""The rows of a log that is a Parquet file (extra ``paper``)."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from bursar.errors import InvalidData, suggest
from bursar.replay.log import REQUIRED


def read_columns(path: Path, names: dict[str, str]) -> dict[str, list[Any]]:
    """Return the values of the columns that the file has, of those with the given names."""
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
    return {key: table.column(names[key]).to_pylist() for key in found}
