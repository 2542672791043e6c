"""Results as Arrow tables and Parquet files (extra ``paper``)."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bursar.errors import InvalidData
from bursar.files import replace_file
from bursar.simulation.result import Result
from bursar.version import __version__

_COLUMNS = (
    "setting", "problem", "repetition", "policy", "budget_share", "plays", "spent", "regret",
    "optimum",
)  # fmt: skip


def table(result: Result) -> Any:
    """Return one row a share of a game; names are dictionary-encoded."""
    games, shares = result.values.shape[:2]

    def names(of: tuple[str, ...], column: Any) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(np.repeat(column, shares)), pa.array(of))

    plays, spent, regret = (result.values[:, :, i].ravel() for i in range(3))
    return pa.table(
        {
            "setting": names(result.settings, result.setting),
            "problem": names(result.problems, result.problem),
            "repetition": np.repeat(result.repetition, shares),
            "policy": names(result.policies, result.policy),
            "budget_share": np.tile(result.shares, games),
            "plays": plays.astype(np.int64),
            "spent": spent,
            "regret": regret,
            "optimum": np.repeat(result.optimum, shares),
        }
    ).replace_schema_metadata({"bursar": __version__})


def result(rows: Any) -> Result:
    """Return the result that a table holds, as :func:`table` makes it; its inverse."""
    missing = [name for name in _COLUMNS if name not in rows.column_names]
    if missing:
        raise InvalidData(
            f"a table of results has the columns {', '.join(_COLUMNS)};"
            f" this one misses {', '.join(missing)}"
        )
    names = [_coded(rows.column(name)) for name in ("setting", "problem", "policy")]
    (settings, setting), (problems, problem), (policies, policy) = names
    share = rows.column("budget_share").to_numpy()
    shares = np.unique(share)
    if share.size % shares.size or (share.reshape(-1, shares.size) != shares).any():
        raise InvalidData("each game must have a row for each share of the budget, in rising order")
    first = slice(None, None, shares.size)
    repetition = rows.column("repetition").to_numpy()[first]
    columns = (rows.column(name).to_numpy() for name in ("plays", "spent", "regret"))
    values = np.column_stack([column.astype(np.float64) for column in columns])
    return Result(
        settings=settings, problems=problems, policies=policies, shares=shares,
        setting=setting[first], problem=problem[first], repetition=repetition,
        policy=policy[first], optimum=rows.column("optimum").to_numpy()[first],
        values=values.reshape(-1, shares.size, 3),
        repetitions=int(repetition.max(initial=-1)) + 1,
    )  # fmt: skip


def _coded(column: Any) -> tuple[tuple[str, ...], Any]:
    """Return the names of a column in the order in which they appear, and their numbers."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    return tuple(encoded.dictionary.to_pylist()), encoded.indices.to_numpy().astype(np.int32)


def write(result: Result, path: Path) -> None:
    """Write the table as Parquet, under a temporary name until it is whole."""
    with replace_file(path) as partial:
        parquet.write_table(table(result), partial, compression="zstd", write_page_checksum=True)


def read(path: Path) -> Result:
    """Return the result that a Parquet file holds; pages that a disk changed are noticed."""
    try:
        return result(parquet.read_table(path, page_checksum_verification=True))
    except InvalidData:
        raise
    except (OSError, ValueError, LookupError, TypeError, MemoryError, pa.ArrowException) as error:
        raise InvalidData(
            f"cannot read {str(path)!r} as a table of results: {error}; run the experiment again"
        ) from error
