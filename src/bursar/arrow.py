"""Results as Arrow tables and Parquet files (extra ``paper``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bursar.result import Result
from bursar.version import __version__

__all__ = ["table", "write"]


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
        }
    ).replace_schema_metadata({"bursar": __version__})


def write(result: Result, path: Path) -> None:
    """Write the table as Parquet, under a temporary name until it is whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        parquet.write_table(table(result), partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
