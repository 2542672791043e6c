"""Run an experiment: find what is there, compute what is missing, keep each unit as it ends."""

from __future__ import annotations

import json
from collections import Counter
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
    CellPart,
    CellStore,
    CellTask,
    Failure,
    StoredCell,
    compute,
    safe_name,
    tasks,
)
from bursar.experiments.experiment import Experiment
from bursar.policies import policy
from bursar.settings import setting
from bursar.simulation.match import match, warm_up
from bursar.simulation.result import BUDGET_PLAYS, Result, Unit
from bursar.simulation.simulate import in_threads, workers_of

__all__ = [
    "DRAWING",
    "CellCounts",
    "Engine",
    "ExperimentRun",
    "RunPlan",
    "Stop",
    "estimate_seconds",
    "plan_run",
    "probe",
    "reference",
    "run",
    "threads",
]

# ==== experiments.threads
# The engine of one machine: threads of this process.
#
# Threads, because compiled loops do not hold Python's lock and share their machine code: 1.9 cores of
# two are used, and no process has to load it anew (docs/reproduction.md has the comparison).

Stop = Callable[[], bool]
Engine = Callable[[Experiment, Iterable[CellTask], Stop], Iterator[CellPart]]


def threads(jobs: int | None = None) -> Engine:
    """Return the engine of this machine, with all cores unless ``jobs`` says how many."""
    workers = workers_of(jobs)

    def engine(what: Experiment, todo: Iterable[CellTask], stop: Stop) -> Iterator[CellPart]:
        for name in what.plan.policies:
            with suppress(Exception):  # it will fail in its units, where that is kept
                warm_up([name])
        return in_threads(lambda task: compute(what, task), todo, workers, stop)

    return engine


DRAWING = "outcomes"
"""What timings call the drawing of outcomes, which no policy is to blame for."""


@dataclass
class CellCounts:
    """How a run stands: units of each kind, plays so far, and core-seconds by setting."""

    total: int = 0
    done: int = 0
    cached: int = 0
    failed: int = 0
    plays: int = 0
    pending: Counter[str] = field(default_factory=Counter)  # units of each setting
    took: dict[str, list[float]] = field(default_factory=dict)  # of each unit of a setting

    @property
    def left(self) -> int:
        """Units that are still to be computed."""
        return self.total - self.done - self.cached - self.failed

    @property
    def share_left(self) -> float:
        """How much work is left, over what was done: units of some settings are far longer."""
        every = [seconds for units in self.took.values() for seconds in units]
        if not every:
            return 0.0
        usual = float(np.mean(every))
        means = {setting: float(np.mean(units)) for setting, units in self.took.items()}
        left = sum(n * means.get(setting, usual) for setting, n in self.pending.items())
        return left / max(sum(every), 1e-9)

    def add(self, part: CellPart) -> None:
        """Count a unit that was computed."""
        self.failed += bool(part.failures)
        self.done += not part.failures
        self.plays += int(part.values[:, :, -1, 0].sum())
        self.pending[part.task.setting] -= 1
        self.took.setdefault(part.task.setting, []).append(sum(part.seconds) + part.drawing)


@dataclass(frozen=True)
class RunPlan:
    """What is there and what is to do, before anything is played."""

    every: list[CellTask]
    missing: list[CellTask]
    failed: list[CellTask]  # failed in an earlier run, and not to be repeated
    have: dict[tuple[str, str], StoredCell]


@dataclass(frozen=True)
class ExperimentRun:
    """What a run came to; ``result`` has what is there, even if it was stopped."""

    result: Result
    counts: CellCounts
    failures: list[Failure]
    timings: list[dict[str, str | int | float]] = field(repr=False)

    @property
    def whole(self) -> bool:
        """Whether no unit is left to be computed."""
        return self.counts.left == 0


def plan_run(
    what: Experiment, store: CellStore, rerun_failed: bool = False, force: bool = False
) -> RunPlan:
    """Return what a run would compute; all of it, if it is forced to."""
    have = {} if force else store.stored()
    lost = set() if rerun_failed else {(f.cell, f.policy) for f in store.failures()}
    every = list(tasks(what))
    missing, failed = [], []
    for task in every:
        absent = [slug for slug in task.policies if (task.cell, slug) not in have]
        again = tuple(slug for slug in absent if (task.cell, slug) not in lost)
        if again:
            missing.append(task._replace(policies=again))
        elif absent:
            failed.append(task)
    return RunPlan(every, missing, failed, have)


def run(
    what: Experiment,
    folder: Path,
    *,
    engine: Engine | None = None,
    rerun_failed: bool = False,
    work: RunPlan | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[CellCounts, str], None] = lambda counts, unit: None,
) -> ExperimentRun:
    """Compute what is missing of an experiment in a results folder, and return all of it.

    Parameters
    ----------
    what : Experiment
        The grid; the same grid in the same folder goes on where an earlier run was stopped.
    folder : path
        Where parts are kept, one a unit, written whole or not at all.
    engine : callable, optional
        ``threads(jobs)``, the default, or ``cluster(address)``. The numbers are the same.
    rerun_failed : bool
        Repeat units that failed in an earlier run.
    work : Work, optional
        What :func:`survey` found, if it was asked before.
    stop : callable
        Asked before each unit; once it says True what runs is finished, and nothing new begins.
    progress : callable
        Told how things stand after each unit, and the setting of that unit.
    """
    store = CellStore(folder)
    work = work or plan_run(what, store, rerun_failed)
    counts = CellCounts(len(work.every), failed=len(work.failed))
    counts.cached = counts.total - len(work.missing) - counts.failed
    counts.pending.update(task.setting for task in work.missing)
    progress(counts, "")
    have = dict(work.have)
    if work.missing:
        for part in (engine or threads())(what, work.missing, stop):
            kept = store.save(part)
            if kept is not None:
                have.update({(kept.cell, slug): kept for slug in kept.policies})
            counts.add(part)
            progress(counts, part.task.setting)
    cells = {task.cell for task in work.every}
    failures = [failure for failure in store.failures() if failure.cell in cells]
    return ExperimentRun(
        _result(what, work.every, store, have), counts, failures, _timings(work.every, have)
    )


def _result(
    what: Experiment,
    every: Sequence[CellTask],
    store: CellStore,
    have: dict[tuple[str, str], StoredCell],
) -> Result:
    """Read all parts of the experiment; games that are not there leave gaps that are told."""
    slugs = [str(policy) for policy in what.plan.policies]
    units, here = [], []
    for task in every:
        stored = {id(s): s for slug in slugs if (s := have.get((task.cell, slug))) is not None}
        blocks: dict[str, Floats] = {}
        names: list[str] = []
        optima: list[float] = []
        for part in stored.values():
            names, optima, found = store.load(part)
            blocks.update(found)
        present = [slug for slug in slugs if slug in blocks]
        games = [blocks[slug][i] for i in range(len(names)) for slug in present]
        units.append(Unit(task.which, task.repetition, names, optima, games))
        here.append(present)
    return Result.of(what.plan, units, here)


def _timings(
    every: Sequence[CellTask], have: dict[tuple[str, str], StoredCell]
) -> list[dict[str, str | int | float]]:
    """Return plays and seconds by setting and policy, over all units that are kept."""
    sums: dict[tuple[str, str], Floats] = {}
    seen: set[Path] = set()
    for task in every:
        for slug in task.policies:
            part = have.get((task.cell, slug))
            if part is None:
                continue
            entry = sums.setdefault((task.setting, slug), np.zeros(2))
            entry += part.plays[slug], part.seconds[slug]
            if part.path not in seen:
                seen.add(part.path)
                sums.setdefault((task.setting, DRAWING), np.zeros(2))[1] += part.drawing
    return [
        {"setting": setting, "policy": slug, "plays": int(plays), "seconds": float(seconds)}
        for (setting, slug), (plays, seconds) in sums.items()
    ]


# ==== experiments.estimate
# How long a run would take: from what its folder already took, or from a measured reference.


def estimate_seconds(what: Experiment, work: RunPlan) -> float:
    """Return the core-seconds that the missing units would take, about.

    Units like those that the folder holds take what those took. Others take what the reference
    took (``benchmarks/paper.py --reference`` measures it), by the ratio of a probe there and here;
    a policy or setting that is not in it takes the mean of the others.
    """
    known: dict[tuple[str, str], list[float]] = {}
    for (_, slug), part in work.have.items():
        known.setdefault((part.path.parent.name, slug), []).append(part.seconds[slug])
    pace = probe() / reference()["probe"] * what.plan.budget_plays / BUDGET_PLAYS
    total = 0.0
    for task in work.missing:
        for slug in task.policies:
            measured = known.get((safe_name(task.setting), slug))
            total += float(np.mean(measured)) if measured else pace * _expected(task.setting, slug)
        total += pace * _expected(task.setting, DRAWING)
    return total


def _expected(place: str, slug: str) -> float:
    """Return the reference's seconds a unit."""
    table: dict[str, dict[str, float]] = reference()["seconds"]
    rows = [table[place]] if place in table else list(table.values())
    found = [row[slug] for row in rows if slug in row]
    others = [value for row in rows for name, value in row.items() if name != DRAWING]
    return float(np.mean(found or others))


@cache
def reference() -> dict[str, Any]:
    """Return the measured seconds a unit by setting and policy, with machine and date."""
    read = files("bursar.experiments").joinpath("reference.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(read)
    return loaded


def probe() -> float:
    """Return the seconds of a few small games on this machine, machine code being ready."""
    (problem,) = setting("S-Br-50").problems(0)
    players = [policy("omega-ucb:rho=0.25"), policy("ucb-sc-plus")]
    taken = []
    for _ in range(4):  # the first also compiles
        start = thread_time()
        for _game in match(problem, players, BUDGET_PLAYS * problem.min_cost, (1.0,), (0, 0, 0)):
            pass
        taken.append(thread_time() - start)
    return min(taken[1:])
