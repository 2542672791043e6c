"""Run an experiment: find what is stored, compute what is missing, store each cell as it ends."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.experiments.cells import (
    Cell,
    CellResult,
    CellStore,
    Experiment,
    Failure,
    StoredCells,
    compute_cell,
    list_cells,
    load_part,
    safe_name,
)
from bursar.files import explain_full_disk
from bursar.policies import policy
from bursar.settings import setting
from bursar.simulation import BUDGET_PLAYS
from bursar.simulation.result import CellGames, Result
from bursar.simulation.simulate import count_workers, map_in_threads, match, warm_up

Stop = Callable[[], bool]
Engine = Callable[[Experiment, Iterable[Cell], Stop], Iterator[CellResult]]

DRAWING = "outcomes"
"""The row of timings for the drawing of outcomes, which all policies share."""


@dataclass
class CellCounts:
    """The progress of a run: cells of each kind, plays so far, and core-seconds by setting."""

    total: int = 0
    done: int = 0
    cached: int = 0
    failed: int = 0
    plays: int = 0
    pending: Counter[str] = field(default_factory=Counter)  # cells of each setting
    took: dict[str, list[float]] = field(default_factory=dict)  # seconds of each cell of a setting

    @property
    def left(self) -> int:
        """Cells that are still to be computed."""
        return self.total - self.done - self.cached - self.failed

    @property
    def share_left(self) -> float:
        """The work that is left over the work done; cells of some settings take far longer."""
        every = [seconds for cells in self.took.values() for seconds in cells]
        if not every:
            return 0.0
        overall = float(np.mean(every))
        means = {name: float(np.mean(cells)) for name, cells in self.took.items()}
        left = sum(n * means.get(name, overall) for name, n in self.pending.items())
        return left / max(sum(every), 1e-9)

    def add(self, result: CellResult) -> None:
        """Count a cell that was computed."""
        name = result.cell.setting
        self.failed += bool(result.failures)
        self.done += not result.failures
        self.plays += sum(result.plays.values())
        self.pending[name] -= 1
        self.took.setdefault(name, []).append(sum(result.seconds.values()) + result.drawing)


@dataclass(frozen=True)
class RunPlan:
    """The cells of an experiment, and those that are stored, missing or failed earlier."""

    every: list[Cell]
    missing: list[Cell]
    failed: list[Cell]  # failed in an earlier run, and not to be repeated
    stored: StoredCells

    def count(self) -> CellCounts:
        """Return the counts before anything is computed."""
        total, failed = len(self.every), len(self.failed)
        pending = Counter(cell.setting for cell in self.missing)
        cached = total - pending.total() - failed
        return CellCounts(total, cached=cached, failed=failed, pending=pending)


@dataclass(frozen=True)
class ExperimentRun:
    """The outcome of a run; ``result`` has all stored games, even if the run was stopped."""

    result: Result
    counts: CellCounts
    failures: list[Failure]
    timings: list[dict[str, str | int | float]] = field(repr=False)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is left to be computed."""
        return self.counts.left == 0


def plan_run(
    experiment: Experiment, store: CellStore, rerun_failed: bool = False, force: bool = False
) -> RunPlan:
    """Return what a run would compute; with ``force``, everything."""
    stored = {} if force else store.find()
    failures = set() if rerun_failed else {(f.cell, f.policy) for f in store.load_failures()}
    every = list(list_cells(experiment))
    missing, failed = [], []
    for cell in every:
        absent = [slug for slug in cell.policies if (cell.key, slug) not in stored]
        wanted = tuple(slug for slug in absent if (cell.key, slug) not in failures)
        if wanted:
            missing.append(cell._replace(policies=wanted))
        elif absent:
            failed.append(cell)
    return RunPlan(every, missing, failed, stored)


def run(
    experiment: Experiment,
    folder: Path,
    *,
    engine: Engine | None = None,
    rerun_failed: bool = False,
    plan: RunPlan | None = None,
    stop: Stop = lambda: False,
    progress: Callable[[CellCounts, str], None] = lambda counts, setting: None,
) -> ExperimentRun:
    """Compute what is missing of an experiment in a results folder, and return all of it.

    Parameters
    ----------
    experiment : Experiment
        The grid; the same grid in the same folder continues where an earlier run stopped.
    folder : path
        Where the parts are stored, one per cell, each written completely or not at all.
    engine : callable, optional
        ``make_thread_engine(jobs)``, the default, or ``make_dask_engine(address)``. The numbers are
        the same.
    rerun_failed : bool
        Repeat cells that failed in an earlier run.
    plan : RunPlan, optional
        What :func:`plan_run` returned, if it was called before.
    stop : callable
        Called before each cell; once it returns True, running cells are completed and no others
        begin.
    progress : callable
        Called with the counts after each cell, and with the setting of that cell.
    """
    store = CellStore(folder)
    plan = plan or plan_run(experiment, store, rerun_failed)
    counts = plan.count()
    progress(counts, "")
    stored = dict(plan.stored)
    if plan.missing:
        for result in (engine or make_thread_engine())(experiment, plan.missing, stop):
            with explain_full_disk(folder):
                stored |= store.save(result)
            counts.add(result)
            progress(counts, result.cell.setting)
    keys = {cell.key for cell in plan.every}
    return ExperimentRun(
        result=_load_result(experiment, plan.every, stored),
        counts=counts,
        failures=[failure for failure in store.load_failures() if failure.cell in keys],
        timings=_sum_timings(plan.every, stored),
    )


def make_thread_engine(jobs: int | None = None) -> Engine:
    """Return the engine of this machine: threads, by default one per core.

    Threads, because compiled loops release Python's lock and share their machine code, which every
    process would have to load again (docs/reproduction.md has the comparison).
    """
    workers = count_workers(jobs)

    def engine(experiment: Experiment, cells: Iterable[Cell], stop: Stop) -> Iterator[CellResult]:
        for one in experiment.plan.policies:
            with suppress(Exception):  # it fails again in its cells, where the error is recorded
                warm_up([one])
        return map_in_threads(lambda cell: compute_cell(experiment, cell), cells, workers, stop)

    return engine


def _load_result(experiment: Experiment, cells: Sequence[Cell], stored: StoredCells) -> Result:
    """Load all stored games of the experiment; missing ones are left out."""
    slugs = [str(one) for one in experiment.plan.policies]
    loaded = []
    for cell in cells:
        keys = [(cell.key, slug) for slug in slugs]
        games: dict[str, Floats] = {}
        problems: list[str] = []
        optima: list[float] = []
        for path in dict.fromkeys(stored[key].path for key in keys if key in stored):
            problems, optima, blocks = load_part(path)
            games |= blocks
        played = {slug: games[slug] for slug in slugs if slug in games}
        loaded.append(CellGames(cell.setting_index, cell.repetition, problems, optima, played))
    return Result.of(experiment.plan, loaded)


def _sum_timings(cells: Sequence[Cell], stored: StoredCells) -> list[dict[str, str | int | float]]:
    """Return plays and seconds by setting and policy, over all stored cells."""
    sums: dict[tuple[str, str], Floats] = {}
    seen: set[Path] = set()
    for cell in cells:
        for slug in cell.policies:
            part = stored.get((cell.key, slug))
            if part is None:
                continue
            sums.setdefault((cell.setting, slug), np.zeros(2))[:] += part.plays, part.seconds
            if part.path not in seen:
                seen.add(part.path)
                sums.setdefault((cell.setting, DRAWING), np.zeros(2))[1] += part.drawing
    return [
        {"setting": name, "policy": slug, "plays": int(plays), "seconds": float(seconds)}
        for (name, slug), (plays, seconds) in sums.items()
    ]


def estimate_seconds(experiment: Experiment, plan: RunPlan) -> float:
    """Return about how many core-seconds the missing cells would take.

    Cells like those that the folder has take as long as those did. Others take as long as in the
    reference (``benchmarks/paper.py --reference`` measures it), scaled by a probe that runs there
    and here; a policy or setting that the reference lacks takes the mean of the others.
    """
    known: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for (_, slug), part in plan.stored.items():
        known[part.path.parent.name, slug].append(part.seconds)
    pace = time_probe() / load_reference()["probe"]
    pace *= experiment.plan.budget_plays / BUDGET_PLAYS
    total = 0.0
    for cell in plan.missing:
        for slug in cell.policies:
            measured = known[safe_name(cell.setting), slug]
            total += float(np.mean(measured)) if measured else pace * _expect(cell.setting, slug)
        total += pace * _expect(cell.setting, DRAWING)
    return total


def _expect(name: str, slug: str) -> float:
    """Return the seconds per cell of a setting and policy in the reference."""
    table: dict[str, dict[str, float]] = load_reference()["seconds"]
    rows = [table[name]] if name in table else list(table.values())
    found = [row[slug] for row in rows if slug in row]
    others = [value for row in rows for key, value in row.items() if key != DRAWING]
    return float(np.mean(found or others))


@cache
def load_reference() -> dict[str, Any]:
    """Return the measured seconds per cell by setting and policy, with machine and date."""
    text = files("bursar.experiments").joinpath("reference.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def time_probe() -> float:
    """Return the seconds that a few small games take on this machine, without compilation."""
    (problem,) = setting("S-Br-50").problems(0)
    players = [policy("omega-ucb:rho=0.25"), policy("ucb-sc-plus")]
    taken = []
    for _ in range(4):  # the first also compiles
        start = thread_time()
        for _game in match(problem, players, BUDGET_PLAYS * problem.min_cost, (1.0,), (0, 0, 0)):
            pass
        taken.append(thread_time() - start)
    return min(taken[1:])
