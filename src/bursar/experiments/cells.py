"""Experiments and their cells: a repetition of a setting for some policies, the unit of storage.

The results of a cell are stored in a Parquet file that is found again by everything they depend on:
an interrupted run continues where it stopped, and changed code never reuses old numbers. A part has
a checksum, which is compared before anything in it is used: what a disk changed is computed again.
"""

import ast
import hashlib
import json
import logging
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bursar.arrays import Floats
from bursar.errors import InvalidData, InvalidInput
from bursar.files import replace_file
from bursar.formatting import pluralize
from bursar.problems import Problem
from bursar.simulation.result import Plan
from bursar.simulation.result import plan as make_plan
from bursar.simulation.simulate import play_problems
from bursar.version import __version__

T = TypeVar("T")
_LOG = logging.getLogger("bursar.experiments")
_SOURCES = ("jit", "policies", "problems", "settings", "simulation")
_HEADER = b"bursar"  # the key of a part's header in the metadata of its Parquet file
_CHECKSUM = b"checksum"  # the key of its checksum
_UNSIGNED = b"sha256:" + b"0" * 64  # the checksum while it is computed
_STALE = 3600.0  # seconds after which a part is no longer being written

FINE_SHARES = (
    0.001, 0.002, 0.005, *(i / 100 for i in range(1, 11)), 0.125, 0.15, 0.175, 0.2,
    *(i / 20 for i in range(5, 21)),
)  # fmt: skip
"""Shares of the budget at which experiments record regret, dense at the start for log axes."""


@dataclass(frozen=True)
class Experiment:
    """A named grid of settings, policies and repetitions; the paper's is one of them.

    Attributes
    ----------
    name : str
        A short name for tables and files.
    plan : Plan
        The grid, its budget and its seed, checked.
    title : str
        The title of the report.
    code : tuple of (str, bytes)
        Files that define the user's own policies, with their content, so that changed files are
        not mistaken for one another and workers on other machines can define the policies too.
    ads : mapping
        The options with which the user's own ads were read, for the TOML file.
    """

    name: str
    plan: Plan
    title: str = ""
    code: tuple[tuple[str, bytes], ...] = ()
    ads: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name):
            raise InvalidInput(
                f"name must consist of letters, digits, '-', '_' and '.', got {self.name!r}"
            )

    def but(self, **changes: Any) -> Self:
        """Return the experiment with changed fields of its plan, such as ``repetitions=1000``."""
        return replace(self, plan=replace(self.plan, **changes))


def experiment(
    name: str, title: str = "", code: Any = (), ads: Mapping[str, Any] | None = None, **fields: Any
) -> Experiment:
    """Check the fields of an experiment and return it.

    Parameters
    ----------
    name, title, code, ads
        See :class:`Experiment`.
    **fields
        As in :func:`bursar.simulate`: policies, settings, repetitions, budget_plays or budget,
        shares, data, seed, overspend.

    Examples
    --------
    >>> mine = experiment("mine", policies=["bts", "m-ucb"], settings=["S-Br-10"], repetitions=5)
    >>> len(list(mine.plan.cells())), mine.plan.shares[0]
    (5, 0.001)
    """
    defaults: dict[str, Any] = {"repetitions": 100, "shares": FINE_SHARES}
    return Experiment(
        name, make_plan(**(defaults | fields)), title or name, tuple(code), dict(ads or {})
    )


class Cell(NamedTuple):
    """The policies to play in one repetition of one setting."""

    setting_index: int
    setting: str
    repetition: int
    key: str  # digest of everything that the numbers depend on, except the policy
    policies: tuple[str, ...]


class Failure(NamedTuple):
    """A game that could not be played, with all that is needed to repeat it."""

    setting: str
    repetition: int
    policy: str
    cell: str
    seed: int
    error: str
    traceback: str


@dataclass
class CellResult:
    """The games of a cell: for each policy that did not fail, problems x shares x 3."""

    cell: Cell
    problems: list[str] = field(default_factory=list)
    optima: list[float] = field(default_factory=list)
    games: dict[str, Floats] = field(default_factory=dict)  # plays, spent and regret
    seconds: dict[str, float] = field(default_factory=dict)
    drawing: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def plays(self) -> dict[str, int]:
        """Plays of each policy on all problems."""
        return {slug: int(game[:, -1, 0].sum()) for slug, game in self.games.items()}


class StoredGames(NamedTuple):
    """Where the games of one policy in a cell are stored, and what they took."""

    path: Path
    plays: int
    seconds: float
    drawing: float  # for all policies of the part


StoredCells = dict[tuple[str, str], StoredGames]  # by the key of a cell and the policy


def list_cells(experiment: Experiment) -> Iterator[Cell]:
    """Yield all cells, repetition by repetition, so that a stopped run covers settings evenly."""
    plan = experiment.plan
    slugs = tuple(map(str, plan.policies))
    own = [(name, hashlib.sha256(content).hexdigest()) for name, content in experiment.code]
    budget = ["money", plan.budget] if plan.budget is not None else ["plays", plan.budget_plays]
    game = (plan.seed, budget, plan.shares, plan.overspend, code_digest(), own)
    identities = [
        f"{type(one).__name__} {_digest(one.name, one.describe())}"
        if isinstance(one, Problem)
        else one.identity(plan.data)
        for one in plan.settings
    ]
    for repetition in range(plan.repetitions):
        # reversed: the ads take longest, and at the end they would occupy a single core
        for index in reversed(range(len(plan.settings))):
            name = plan.settings[index].name or "problem"
            key = _digest(identities[index], repetition, *game)
            yield Cell(index, name, repetition, key, slugs)


def _digest(*parts: Any) -> str:
    """Return a short digest of values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


@cache
def code_digest() -> str:
    """Return a digest of the code that computes results: bursar's own, NumPy and Numba.

    It covers the tables of settings and the statements of modules, but not where these stand:
    moving a function, an import, a comment or a docstring does not discard cached results.
    """
    home = Path(__file__).parent.parent
    files = (file for name in _SOURCES for file in (home / name).rglob("*.py"))
    statements = sorted(text for file in files for text in read_statements(file.read_text("utf-8")))
    tables = sorted(file.read_text("utf-8") for file in (home / "settings").glob("*.toml"))
    versions = f"{__version__} {np.__version__} {version('numba')}"
    return hashlib.sha256("\n".join([versions, *statements, *tables]).encode()).hexdigest()[:20]


def read_statements(source: str) -> Iterator[str]:
    """Yield the top-level statements of a module without imports, ``__all__`` and docstrings."""
    for statement in _DocstringRemover().visit(ast.parse(source)).body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        is_export = isinstance(target, ast.Name) and target.id == "__all__"
        if not is_export and not isinstance(statement, ast.Import | ast.ImportFrom):
            yield ast.dump(statement)


class _DocstringRemover(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if is_text else node


def compute_cell(experiment: Experiment, cell: Cell) -> CellResult:
    """Play the games of a cell; if one fails, its error is recorded and the others go on."""
    plan, result = experiment.plan, CellResult(cell)
    policies = {str(one): one for one in plan.policies if str(one) in cell.policies}
    games: dict[str, list[Floats]] = {slug: [] for slug in policies}
    errors: dict[str, Exception] = {}
    try:
        for name, optimum, matches in play_problems(
            plan, cell.setting_index, cell.repetition, list(policies.values())
        ):
            twin = f" #{len(result.problems)}" if name in result.problems else ""
            result.problems.append(name + twin)
            result.optima.append(optimum)
            for slug, game in zip(policies, matches, strict=True):
                games[slug].append(game.checkpoints)
                result.seconds[slug] = result.seconds.get(slug, 0.0) + game.seconds
                result.drawing += game.drawing
                if game.error is not None:
                    errors[slug] = game.error
    except Exception as error:
        return fail_cell(experiment, cell, error)
    for slug, why in errors.items():
        del games[slug], result.seconds[slug]
        result.failures.append(_make_failure(experiment, cell, slug, why))
    result.games.update((slug, np.array(played)) for slug, played in games.items())
    return result


def fail_cell(experiment: Experiment, cell: Cell, error: BaseException) -> CellResult:
    """Return the result of a cell in which no game could be played."""
    failures = [_make_failure(experiment, cell, slug, error) for slug in cell.policies]
    return CellResult(cell, failures=failures)


def _make_failure(experiment: Experiment, cell: Cell, policy: str, error: BaseException) -> Failure:
    message, trace = f"{type(error).__name__}: {error}", traceback.format_exception(error)
    where = (cell.setting, cell.repetition, policy, cell.key, experiment.plan.seed)
    return Failure(*where, error=message, traceback="".join(trace))


class CellStore:
    """The stored parts and failures of experiments, in a folder that many runs may share."""

    def __init__(self, folder: Path) -> None:
        self.parts = folder / "parts"
        self.failed = folder / "failed"

    def find(self) -> StoredCells:
        """Return what is stored; parts that are damaged count as missing and are set aside."""
        # remove what a killed run was writing, but nothing that another run may be writing
        for path in self.parts.glob("*/.*.part.parquet"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()
        found: StoredCells = {}
        for header in _read_whole(self.parts.glob("*/[!.]*.parquet"), _read_header):
            found |= header
        return found

    def save(self, result: CellResult) -> StoredCells:
        """Store a result and its failures; remove failures of games that now succeeded."""
        cell, policies = result.cell, list(result.games)
        for failure in result.failures:
            with replace_file(self._failure_path(failure.cell, failure.policy)) as partial:
                content = failure._asdict() | {"digest": _digest(*failure)}
                partial.write_text(json.dumps(content), encoding="utf-8")
        for policy in policies:
            self._failure_path(cell.key, policy).unlink(missing_ok=True)
        if not policies:
            return {}
        header = {
            "bursar": __version__,
            "cell": cell.key,
            "policies": policies,
            "seconds": result.seconds,
            "plays": result.plays,
            "drawing": result.drawing,
        }
        about = {_HEADER: json.dumps(header).encode(), _CHECKSUM: _UNSIGNED}
        table = _make_table(result).replace_schema_metadata(about)
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        name = f"{cell.repetition:05d}-{_digest(cell.key, policies)}.parquet"
        path = self.parts / safe_name(cell.setting) / name
        with replace_file(path) as partial:
            partial.write_bytes(_sign_part(sink.getvalue().to_pybytes()))
        return _read_header(path)

    def load_failures(self) -> list[Failure]:
        """Return the failures that were not repeated with success, in order."""
        return sorted(_read_whole(self.failed.glob("*.json"), _read_failure))

    def _failure_path(self, key: str, policy: str) -> Path:
        return self.failed / f"{_digest(key, policy)}.json"


def _make_table(result: CellResult) -> Any:
    values = np.stack(list(result.games.values()), axis=1)
    problems, policies, shares, _ = values.shape
    plays, spent, regret = (values[..., i].ravel() for i in range(3))
    columns = {
        "setting": np.repeat([result.cell.setting], plays.size),
        "problem": np.repeat(result.problems, policies * shares),
        "repetition": np.full(plays.size, result.cell.repetition, np.int32),
        "policy": np.tile(np.repeat(list(result.games), shares), problems),
        "plays": plays.astype(np.int64),
        "spent": spent,
        "regret": regret,
        "optimum": np.repeat(result.optima, policies * shares),
    }
    arrays = {name: pa.array(values) for name, values in columns.items()}
    names = {name: arrays[name].dictionary_encode() for name in ("setting", "problem", "policy")}
    return pa.table(arrays | names)


# whatever a file of wrong content may raise
_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, pa.ArrowException)


def _sign_part(content: bytes) -> bytes:
    """Return the bytes of a part with the checksum of all of them in place of its zeros."""
    return content.replace(_UNSIGNED, _UNSIGNED[:7] + hashlib.sha256(content).hexdigest().encode())


def _read_part(path: Path) -> pa.BufferReader:
    """Return the content of a part if its checksum is right: nothing else may reach a parser."""
    content = path.read_bytes()
    at = content.rfind(_UNSIGNED[:7])
    unsigned = content[: max(at, 0)] + _UNSIGNED + content[at + len(_UNSIGNED) :]
    if _sign_part(unsigned) != content:
        raise InvalidData(f"the checksum of {path} is missing or wrong")
    return pa.BufferReader(content)


def _read_whole(paths: Iterable[Path], read: Callable[[Path], T]) -> Iterator[T]:
    """Yield what is read from each file; report damaged ones and rename them, to report them once.

    A file that another run has just removed or renamed is left out.
    """
    damaged = []
    for path in sorted(paths):
        try:
            yield read(path)
        except FileNotFoundError:
            continue
        except _UNREADABLE:
            damaged.append(path)
            with suppress(OSError):
                path.replace(path.with_name(path.name + ".damaged"))
    if damaged:
        shown = ", ".join(map(str, damaged[:3])) + (", …" if len(damaged) > 3 else "")
        _LOG.warning(
            "%s in %s: the checksum is missing or wrong; what was in it is computed again"
            " (kept with the ending .damaged: %s)",
            pluralize(len(damaged), "damaged file"), damaged[0].parents[1], shown,
        )  # fmt: skip


def _read_failure(path: Path) -> Failure:
    fields = json.loads(path.read_text(encoding="utf-8"))
    digest, failure = fields.pop("digest"), Failure(**fields)
    if digest != _digest(*failure):
        raise InvalidData(f"the checksum of {path} is wrong")
    return failure


def _read_header(path: Path) -> StoredCells:
    header = json.loads(parquet.read_schema(_read_part(path)).metadata[_HEADER])
    plays, seconds, drawing = header["plays"], header["seconds"], header["drawing"]
    return {
        (header["cell"], slug): StoredGames(path, plays[slug], seconds[slug], drawing)
        for slug in header["policies"]
    }


def load_part(path: Path) -> tuple[list[str], list[float], dict[str, Floats]]:
    """Return problems, their optima, and a block problems x shares x 3 for each policy."""
    try:
        rows = parquet.read_table(_read_part(path)).combine_chunks()
    except _UNREADABLE as error:
        raise InvalidData(
            f"cannot read {path}, which was whole at the start of this run ({error}); run the same"
            " command again, which computes it again"
        ) from error
    names, slugs = (rows.column(c).chunk(0).dictionary.to_pylist() for c in ("problem", "policy"))
    columns = [rows.column(name).to_numpy() for name in ("plays", "spent", "regret")]
    shape = (len(names), len(slugs), -1, 3)
    values = np.column_stack([c.astype(np.float64) for c in columns]).reshape(shape)
    optima = rows.column("optimum").to_numpy().reshape(len(names), -1)[:, 0].tolist()
    return names, optima, {slug: values[:, i] for i, slug in enumerate(slugs)}


def safe_name(name: str) -> str:
    """Return a name that every file system accepts."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:60] or "_"
