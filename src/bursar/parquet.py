"""Columns of Parquet files (needs pyarrow)."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from bursar.errors import InvalidData, MissingData, suggest
from bursar.extras import import_extra


def read_columns(
    path: Path, names: Mapping[str, str], required: Collection[str]
) -> dict[str, list[Any]]:
    """Return the values of the columns that a file has, of those with the given names by key."""
    if not path.is_file():
        raise MissingData(f"no file {str(path)!r}; check the path")
    pa, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            known = file.schema_arrow.names
            for key, name in names.items():
                if name not in known and key in required:
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
