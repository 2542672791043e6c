"""The engine of one machine: threads of this process.

Threads, because compiled loops do not hold Python's lock and share their machine code: 1.9 cores of
two are used, and no process has to load it anew (docs/reproduction.md has the comparison).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from bursar.engine.match import warm_up
from bursar.experiments.experiment import Experiment
from bursar.experiments.unit import Part, Task, compute
from bursar.simulate import in_threads, workers_of

__all__ = ["Engine", "Stop", "threads"]

Stop = Callable[[], bool]
Engine = Callable[[Experiment, Iterable[Task], Stop], Iterator[Part]]


def threads(jobs: int | None = None) -> Engine:
    """Return the engine of this machine, with all cores unless ``jobs`` says how many."""
    workers = workers_of(jobs)

    def engine(what: Experiment, todo: Iterable[Task], stop: Stop) -> Iterator[Part]:
        for policy in what.plan.policies:
            with suppress(Exception):  # it will fail in its units, where that is kept
                warm_up([policy])
        return in_threads(lambda task: compute(what, task), todo, workers, stop)

    return engine
