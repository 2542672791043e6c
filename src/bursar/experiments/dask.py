"""The engine of many machines: the workers of a Dask cluster (extra ``dask``).

Workers need nothing but bursar: the user's own problems and policies travel with the task, and
results return to the folder of the machine that asks.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from bursar.errors import InvalidInput, MissingExtra, UnlikeWorkers
from bursar.experiments.base import Experiment
from bursar.experiments.cells import Cell, CellResult, code_digest, compute_cell, fail_cell
from bursar.experiments.runner import Engine, Stop
from bursar.experiments.toml import load_policies
from bursar.settings.base import load_ads

Parcel = tuple[bytes, tuple[str, ...], tuple[tuple[str, bytes], ...]]


def make_dask_engine(address: str, timeout: float = 20.0) -> Engine:
    """Return the engine of a Dask cluster, given the address of its scheduler.

    ``timeout`` is the number of seconds to wait for the scheduler.
    """
    try:
        library: Any = import_module("distributed")  # an extra of its own
    except ModuleNotFoundError:
        raise MissingExtra(
            "--dask needs dask.distributed, which is not installed; pip install 'bursar[dask]'"
        ) from None

    def engine(experiment: Experiment, cells: Iterable[Cell], stop: Stop) -> Iterator[CellResult]:
        try:
            client = library.Client(address, timeout=timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"no Dask scheduler at {address!r} ({error}); start one with: dask scheduler"
            ) from None
        with client:
            workers = _count_threads(client, address)
            parcel, waiting = _pack(experiment), iter(cells)
            running, submitted = library.as_completed([], loop=client.loop), {}

            def submit() -> None:
                cell = None if stop() else next(waiting, None)
                if cell is not None:
                    # pure=False: the cluster must not answer with the result of another run
                    future = client.submit(_compute, parcel, cell, pure=False, retries=2)
                    submitted[future.key] = cell
                    running.add(future)

            for _ in range(2 * workers):
                submit()
            for future in running:
                submit()
                cell = submitted.pop(future.key)
                failure = future.exception()  # the worker could not even begin
                yield future.result() if failure is None else fail_cell(experiment, cell, failure)

    return engine


def hash_own_code() -> str:
    """Return the digest of the code on this machine."""
    return code_digest()


def _count_threads(client: Any, address: str) -> int:
    """Return the number of threads of the cluster if all of them would compute the same numbers."""
    client.wait_for_workers(1, timeout=60)
    for worker, theirs in client.run(code_digest).items():
        if theirs != hash_own_code():
            raise UnlikeWorkers(
                f"the worker {worker} has other code of bursar, numpy or numba than this machine"
                f" ({theirs} there, {hash_own_code()} here), so its numbers may differ;"
                f" install the same versions on all workers of {address}"
            )
    return int(sum(client.nthreads().values()))


def _pack(experiment: Experiment) -> Parcel:
    """Return an experiment as bytes for workers, with the ads and policy files in it."""
    plan = experiment.plan
    if any(getattr(setting, "needs_data", False) for setting in plan.settings):
        plan = replace(plan, data=load_ads(plan.data))
    bare = replace(experiment, plan=replace(plan, policies=()), code=())
    return pickle.dumps(bare), tuple(map(str, plan.policies)), experiment.code


@lru_cache(maxsize=2)
def _unpack(parcel: Parcel) -> Experiment:
    packed, slugs, code = parcel
    experiment: Experiment = pickle.loads(packed)
    return replace(experiment, plan=replace(experiment.plan, policies=load_policies(slugs, code)))


def _compute(parcel: Parcel, cell: Cell) -> CellResult:
    return compute_cell(_unpack(parcel), cell)
