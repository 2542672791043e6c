"""The engine of many machines: the workers of a Dask cluster (extra ``dask``).

Workers need bursar and nothing else: problems and policies of one's own travel with the task, and
results come back to the folder of the one who asks.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from bursar.errors import InvalidInput, MissingExtra, UnlikeWorkers
from bursar.experiments.cells import CellPart, CellTask, Failure, code_digest, compute
from bursar.experiments.experiment import Experiment
from bursar.experiments.runner import Engine, Stop
from bursar.experiments.toml import policies_of
from bursar.settings.base import load_ads

__all__ = ["run_on_cluster"]

Parcel = tuple[bytes, tuple[str, ...], tuple[tuple[str, bytes], ...]]


def run_on_cluster(address: str, patience: float = 20.0) -> Engine:
    """Return the engine of a Dask cluster, by the address of its scheduler.

    ``patience`` is how many seconds to wait for an answer.
    """
    try:
        library: Any = import_module("distributed")  # an extra of its own
    except ModuleNotFoundError:
        raise MissingExtra(
            "--dask needs dask.distributed, which is not installed; pip install 'bursar[dask]'"
        ) from None

    def engine(what: Experiment, todo: Iterable[CellTask], stop: Stop) -> Iterator[CellPart]:
        try:
            client = library.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"no Dask scheduler at {address!r} ({error}); start one with: dask scheduler"
            ) from None
        with client:
            workers = _checked(client, address)
            parcel, waiting = _packed(what), iter(todo)
            running, names = library.as_completed([], loop=client.loop), {}

            def submit() -> None:
                task = None if stop() else next(waiting, None)
                if task is not None:
                    # pure=False: not a result that the cluster may remember of another run
                    future = client.submit(_compute, parcel, task, pure=False, retries=2)
                    names[future.key] = task
                    running.add(future)

            for _ in range(2 * workers):
                submit()
            for future in running:
                submit()
                yield _part(what, names.pop(future.key), future)

    return engine


def hash_own_code() -> str:
    """Return the version of what would compute here."""
    return code_digest()


def _checked(client: Any, address: str) -> int:
    """Return how many threads the cluster has, if all of them would compute the same numbers."""
    client.wait_for_workers(1, timeout=60)
    for worker, theirs in client.run(code_digest).items():
        if theirs != hash_own_code():
            raise UnlikeWorkers(
                f"the worker {worker} has other code of bursar, numpy or numba than this machine"
                f" ({theirs} there, {hash_own_code()} here): its numbers might differ;"
                f" install the same versions on all workers of {address}"
            )
    return int(sum(client.nthreads().values()))


def _packed(what: Experiment) -> Parcel:
    """Return an experiment as bytes that a worker can open, with the ads and policy files in it."""
    todo = what.plan
    if any(getattr(place, "needs_data", False) for place in todo.settings):
        todo = replace(todo, data=load_ads(todo.data))
    bare = replace(what, plan=replace(todo, policies=()), code=())
    return pickle.dumps(bare), tuple(map(str, todo.policies)), what.code


@lru_cache(maxsize=2)
def _unpacked(parcel: Parcel) -> Experiment:
    packed, slugs, code = parcel
    what: Experiment = pickle.loads(packed)
    return replace(what, plan=replace(what.plan, policies=policies_of(slugs, code)))


def _compute(parcel: Parcel, task: CellTask) -> CellPart:
    return compute(_unpacked(parcel), task)


def _part(what: Experiment, task: CellTask, future: Any) -> CellPart:
    """Return a part, or all its policies as failed if the worker could not even begin."""
    error = future.exception()
    if error is None:
        part: CellPart = future.result()
        return part
    text = "".join(traceback.format_exception(error))
    seed, said = what.plan.seed, f"{type(error).__name__}: {error}"
    lost = [
        Failure(task.setting, task.repetition, slug, task.cell, seed, said, text)
        for slug in task.policies
    ]
    return CellPart(task, [], [], [], np.empty((0, 0, len(what.plan.shares), 3)), [], 0.0, lost)
