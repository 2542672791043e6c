"""The results folder: a Parquet part a unit, whole or not there, found again by its content."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bursar.checks import Floats
from bursar.experiments.unit import Failure, Part, digest
from bursar.files import whole_file
from bursar.version import __version__

__all__ = ["Store", "Stored", "safe_name"]

_META = b"bursar"
_STALE = 3600.0  # seconds after which nobody writes a part any more


class Stored(NamedTuple):
    """Where the games of some policies of a unit are kept, and what they took."""

    path: Path
    cell: str
    policies: list[str]
    seconds: dict[str, float]
    plays: dict[str, int]
    drawing: float


class Store:
    """Parts and failures of experiments, in a folder that may be shared by many runs."""

    def __init__(self, folder: Path) -> None:
        self.parts = folder / "parts"
        self.failed = folder / "failed"

    def stored(self) -> dict[tuple[str, str], Stored]:
        """Return what is kept, by cell and policy; parts that cannot be read count as missing."""
        self._tidy()
        found: dict[tuple[str, str], Stored] = {}
        for path in sorted(self.parts.glob("*/*.parquet")):
            part = _read_header(path)
            if part is not None:
                found.update({(part.cell, policy): part for policy in part.policies})
        return found

    def save(self, part: Part) -> Stored | None:
        """Keep a part and what failed in it; earlier failures of what now succeeded go."""
        for failure in part.failures:
            _write(self._failure_path(failure.cell, failure.policy), json.dumps(failure._asdict()))
        for policy in part.policies:
            self._failure_path(part.task.cell, policy).unlink(missing_ok=True)
        if not part.policies:
            return None
        folder = self.parts / safe_name(part.task.setting)
        name = f"{part.task.repetition:05d}-{digest(part.task.cell, part.policies)}.parquet"
        plays = part.values[:, :, -1, 0].sum(axis=0).astype(int).tolist()
        header = {
            "bursar": __version__,
            "cell": part.task.cell,
            "policies": part.policies,
            "seconds": dict(zip(part.policies, part.seconds, strict=True)),
            "plays": dict(zip(part.policies, plays, strict=True)),
            "drawing": part.drawing,
        }
        table = _table(part).replace_schema_metadata({_META: json.dumps(header).encode()})
        path = folder / name
        with whole_file(path) as partial:
            parquet.write_table(table, partial, compression="zstd")
        return _stored(path, header)

    def failures(self) -> list[Failure]:
        """Return what failed and was not repeated with success, in order."""
        found = [Failure(**json.loads(p.read_text())) for p in self.failed.glob("*.json")]
        return sorted(found)

    def load(self, part: Stored) -> tuple[list[str], list[float], dict[str, Floats]]:
        """Return problems, their optima, and a block problems x shares x 3 for each policy."""
        rows = parquet.read_table(part.path)
        columns = [rows.column(name).to_numpy() for name in ("plays", "spent", "regret")]
        policies = len(part.policies)
        problem = rows.column("problem").combine_chunks()
        names = problem.dictionary.to_pylist()
        shape = (len(names), policies, -1, 3)
        values = np.column_stack([c.astype(np.float64) for c in columns]).reshape(shape)
        optima = rows.column("optimum").to_numpy().reshape(len(names), -1)[:, 0].tolist()
        return names, optima, {slug: values[:, i] for i, slug in enumerate(part.policies)}

    def _tidy(self) -> None:
        """Remove what a killed run was writing; not what another run may be writing now."""
        for path in self.parts.glob("*/.*.part.parquet"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()

    def _failure_path(self, cell: str, policy: str) -> Path:
        return self.failed / f"{digest(cell, policy)}.json"


def _table(part: Part) -> Any:
    problems, policies, shares, _ = part.values.shape
    names = np.repeat(np.arange(problems, dtype=np.int32), policies * shares)
    who = np.tile(np.repeat(np.arange(policies, dtype=np.int32), shares), problems)
    plays, spent, regret = (part.values[..., i].ravel() for i in range(3))
    size = plays.size
    return pa.table(
        {
            "setting": pa.DictionaryArray.from_arrays(
                np.zeros(size, np.int32), pa.array([part.task.setting])
            ),
            # campaigns of a setting may share a name, so numbers, not names, tell them apart
            "problem": pa.DictionaryArray.from_arrays(names, pa.array(part.problems)),
            "repetition": np.full(size, part.task.repetition, np.int32),
            "policy": pa.DictionaryArray.from_arrays(who, pa.array(part.policies)),
            "plays": plays.astype(np.int64),
            "spent": spent,
            "regret": regret,
            "optimum": np.repeat(part.optima, policies * shares),
        }
    )


def _read_header(path: Path) -> Stored | None:
    try:
        return _stored(path, json.loads(parquet.read_schema(path).metadata[_META]))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None  # cut off by a full disk or a lost machine


def _stored(path: Path, header: dict[str, Any]) -> Stored:
    return Stored(path, *(header[field] for field in Stored._fields[1:]))


def safe_name(name: str) -> str:
    """Return a name that any file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:60] or "_"


def _write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(text)
