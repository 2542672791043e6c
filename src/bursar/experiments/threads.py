"""The engine of one machine: threads of this process.

Threads, because compiled loops do not hold Python's lock and share their machine code: 1.9 cores of
two are used, and no process has to load it anew (docs/reproduction.md has the comparison).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from bursar.engine.match import warm_up
from bursar.errors import InvalidInput
from bursar.experiments.experiment import Experiment
from bursar.experiments.unit import Part, Task, compute

__all__ = ["Engine", "Stop", "threads"]

Stop = Callable[[], bool]
Engine = Callable[[Experiment, Iterable[Task], Stop], Iterator[Part]]


def threads(jobs: int | None = None) -> Engine:
    """Return the engine of this machine, with all cores unless ``jobs`` says how many."""
    workers = (os.cpu_count() or 1) if jobs is None else jobs
    if workers < 1:
        raise InvalidInput(f"jobs must be 1 or more, got {jobs!r}")

    def engine(what: Experiment, todo: Iterable[Task], stop: Stop) -> Iterator[Part]:
        for policy in what.plan.policies:
            with suppress(Exception):  # it will fail in its units, where that is kept
                warm_up([policy])
        pool = ThreadPoolExecutor(workers)
        waiting = iter(todo)
        running: set[Future[Part]] = set()
        try:
            while True:
                while len(running) <= workers and not stop():  # one more than can run at once
                    task = next(waiting, None)
                    if task is None:
                        break
                    running.add(pool.submit(compute, what, task))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    return engine
