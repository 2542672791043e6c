"""Run an experiment: find what is there, compute what is missing, keep each unit as it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bursar.checks import Floats
from bursar.experiments.experiment import Experiment
from bursar.experiments.store import Store, Stored
from bursar.experiments.threads import Engine, threads
from bursar.experiments.unit import Failure, Part, Task, tasks
from bursar.result import Result, Unit

__all__ = ["DRAWING", "Counts", "Outcome", "Work", "run", "survey"]

DRAWING = "outcomes"
"""What timings call the drawing of outcomes, which no policy is to blame for."""


@dataclass
class Counts:
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

    def add(self, part: Part) -> None:
        """Count a unit that was computed."""
        self.failed += bool(part.failures)
        self.done += not part.failures
        self.plays += int(part.values[:, :, -1, 0].sum())
        self.pending[part.task.setting] -= 1
        self.took.setdefault(part.task.setting, []).append(sum(part.seconds) + part.drawing)


@dataclass(frozen=True)
class Work:
    """What is there and what is to do, before anything is played."""

    every: list[Task]
    missing: list[Task]
    failed: list[Task]  # failed in an earlier run, and not to be repeated
    have: dict[tuple[str, str], Stored]


@dataclass(frozen=True)
class Outcome:
    """What a run came to; ``result`` has what is there, even if it was stopped."""

    result: Result
    counts: Counts
    failures: list[Failure]
    timings: list[dict[str, str | int | float]] = field(repr=False)

    @property
    def whole(self) -> bool:
        """Whether no unit is left to be computed."""
        return self.counts.left == 0


def survey(what: Experiment, store: Store, rerun_failed: bool = False, force: bool = False) -> Work:
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
    return Work(every, missing, failed, have)


def run(
    what: Experiment,
    folder: Path,
    *,
    engine: Engine | None = None,
    rerun_failed: bool = False,
    work: Work | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Counts, str], None] = lambda counts, unit: None,
) -> Outcome:
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
    store = Store(folder)
    work = work or survey(what, store, rerun_failed)
    counts = Counts(len(work.every), failed=len(work.failed))
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
    return Outcome(
        _result(what, work.every, store, have), counts, failures, _timings(work.every, have)
    )


def _result(
    what: Experiment, every: Sequence[Task], store: Store, have: dict[tuple[str, str], Stored]
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
    every: Sequence[Task], have: dict[tuple[str, str], Stored]
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
