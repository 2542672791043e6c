"""Units of work: one repetition of one setting, for the policies that are still missing there."""

from __future__ import annotations

import ast
import hashlib
import json
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bursar.arrays import Floats
from bursar.experiments.experiment import Experiment
from bursar.files import replace_file
from bursar.problems import Problem
from bursar.simulation.simulate import rounds
from bursar.version import __version__

__all__ = [
    "CellPart",
    "CellStore",
    "CellTask",
    "Failure",
    "StoredCell",
    "cell",
    "code_digest",
    "compute",
    "digest",
    "read_statements",
    "safe_name",
    "tasks",
]

_SOURCES = ("jit", "policies", "problems", "settings", "simulation")


class CellTask(NamedTuple):
    """What one unit is to compute."""

    which: int
    setting: str
    repetition: int
    cell: str  # digest of all that the numbers depend on, but for the policy
    policies: tuple[str, ...]


class Failure(NamedTuple):
    """A game that could not be played, and all that is needed to repeat it."""

    setting: str
    repetition: int
    policy: str
    cell: str
    seed: int
    error: str
    traceback: str


class CellPart(NamedTuple):
    """The games of a unit: problems x policies x shares x (plays, spent, regret)."""

    task: CellTask
    problems: list[str]
    optima: list[float]
    policies: list[str]  # those that did not fail
    values: Floats
    seconds: list[float]  # a policy
    drawing: float
    failures: list[Failure]


def digest(*parts: Any) -> str:
    """Return a short name for content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


@cache
def code_digest() -> str:
    """Return a digest of the code that computes results: bursar's own, NumPy and Numba.

    It covers the statements of the modules but not where they stand: moving a function, an import,
    a comment or a docstring does not discard cached results.
    """
    home = Path(__file__).parent.parent
    files = (file for name in _SOURCES for file in (home / name).rglob("*.py"))
    statements = sorted(text for file in files for text in read_statements(file.read_text("utf-8")))
    versions = f"{__version__} {np.__version__} {version('numba')}"
    return hashlib.sha256("\n".join([versions, *statements]).encode()).hexdigest()[:20]


def read_statements(source: str) -> Iterator[str]:
    """Yield the top-level statements of a module without imports, ``__all__`` and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):  # a lambda's body is an expression
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    for statement in tree.body:
        exported = (
            isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
        )
        if not exported and not isinstance(statement, ast.Import | ast.ImportFrom):
            yield ast.dump(statement)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def cell(what: Experiment, which: int, repetition: int, identity: str) -> str:
    """Return the key of a repetition of a setting: what its numbers depend on, but the policy."""
    todo = what.plan
    own = [(name, hashlib.sha256(content).hexdigest()) for name, content in what.code]
    budget = ["money", todo.budget] if todo.budget is not None else ["plays", todo.budget_plays]
    return digest(
        identity, repetition, todo.seed, budget, todo.shares, todo.overspend, code_digest(), own
    )


def identity_of(what: Experiment, which: int) -> str:
    """Return a text that changes whenever the problems of a setting may."""
    place = what.plan.settings[which]
    if isinstance(place, Problem):
        return f"{type(place).__name__} {digest(place.name, place.describe())}"
    return place.identity(what.plan.data)


def tasks(what: Experiment) -> Iterator[CellTask]:
    """Yield all units: repetition by repetition, so that a stopped run is even over settings."""
    todo = what.plan
    slugs = tuple(map(str, todo.policies))
    places = range(len(todo.settings))
    identities = [identity_of(what, which) for which in places]
    for repetition in range(todo.repetitions):
        for which in reversed(places):  # the ads are the longest: last they would keep one core
            key = cell(what, which, repetition, identities[which])
            yield CellTask(which, todo.settings[which].name or "problem", repetition, key, slugs)


def compute(what: Experiment, task: CellTask) -> CellPart:
    """Play a unit; what fails is told, and the rest goes on."""
    chosen = [p for p in what.plan.policies if str(p) in task.policies]
    names: list[str] = []
    optima: list[float] = []
    blocks: list[list[Floats]] = []
    lost: dict[str, Failure] = {}
    seconds = dict.fromkeys(map(str, chosen), 0.0)
    drawing = 0.0

    def failed(slug: str, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        what_went = f"{type(error).__name__}: {error}"
        seed = what.plan.seed
        lost[slug] = Failure(task.setting, task.repetition, slug, task.cell, seed, what_went, text)

    try:
        for name, optimum, games in rounds(what.plan, task.which, task.repetition, chosen):
            names.append(name if name not in names else f"{name} #{len(names)}")
            optima.append(optimum)
            blocks.append([])
            for policy, game in zip(chosen, games, strict=True):
                blocks[-1].append(game.checkpoints)
                seconds[str(policy)] += game.seconds
                drawing += game.drawing
                if game.error is not None:
                    failed(str(policy), game.error)
    except Exception as error:
        for policy in chosen:
            failed(str(policy), error)
    kept = [i for i, policy in enumerate(chosen) if str(policy) not in lost]
    values = np.array([[block[i] for i in kept] for block in blocks if kept])
    slugs = [str(chosen[i]) for i in kept]
    shape = (len(names) if kept else 0, len(kept), len(what.plan.shares), 3)
    return CellPart(
        task, names, optima, slugs, values.reshape(shape),
        [seconds[slug] for slug in slugs], drawing, list(lost.values()),
    )  # fmt: skip


# ==== experiments.store
# The results folder: a Parquet part a unit, whole or not there, found again by its content.

_META = b"bursar"
_STALE = 3600.0  # seconds after which nobody writes a part any more


class StoredCell(NamedTuple):
    """Where the games of some policies of a unit are kept, and what they took."""

    path: Path
    cell: str
    policies: list[str]
    seconds: dict[str, float]
    plays: dict[str, int]
    drawing: float


class CellStore:
    """Parts and failures of experiments, in a folder that may be shared by many runs."""

    def __init__(self, folder: Path) -> None:
        self.parts = folder / "parts"
        self.failed = folder / "failed"

    def stored(self) -> dict[tuple[str, str], StoredCell]:
        """Return what is kept, by cell and policy; parts that cannot be read count as missing."""
        self._tidy()
        found: dict[tuple[str, str], StoredCell] = {}
        for path in sorted(self.parts.glob("*/*.parquet")):
            part = _read_header(path)
            if part is not None:
                found.update({(part.cell, policy): part for policy in part.policies})
        return found

    def save(self, part: CellPart) -> StoredCell | None:
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
        with replace_file(path) as partial:
            parquet.write_table(table, partial, compression="zstd")
        return _stored(path, header)

    def failures(self) -> list[Failure]:
        """Return what failed and was not repeated with success, in order."""
        found = [Failure(**json.loads(p.read_text())) for p in self.failed.glob("*.json")]
        return sorted(found)

    def load(self, part: StoredCell) -> tuple[list[str], list[float], dict[str, Floats]]:
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


def _table(part: CellPart) -> Any:
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


def _read_header(path: Path) -> StoredCell | None:
    try:
        return _stored(path, json.loads(parquet.read_schema(path).metadata[_META]))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None  # cut off by a full disk or a lost machine


def _stored(path: Path, header: dict[str, Any]) -> StoredCell:
    return StoredCell(path, *(header[field] for field in StoredCell._fields[1:]))


def safe_name(name: str) -> str:
    """Return a name that any file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:60] or "_"


def _write(path: Path, text: str) -> None:
    with replace_file(path) as partial:
        partial.write_text(text)
