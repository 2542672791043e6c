"""The engine of many machines: the workers of a Dask cluster (extra ``dask``).

Workers need nothing but bursar: the user's own problems and policies travel with the task, and
results return to the folder of the machine that asks.
"""

import logging
import pickle
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from bursar.errors import BursarError, ClusterLost, InvalidInput, MissingExtra, UnlikeWorkers
from bursar.experiments.cells import (
    Cell,
    CellResult,
    Experiment,
    code_digest,
    compute_cell,
    fail_cell,
)
from bursar.experiments.runner import Engine, Stop
from bursar.experiments.toml import load_policies
from bursar.settings.base import load_ads

_LOG = logging.getLogger("bursar.experiments")
PATIENCE = 5.0
"""Seconds without a result after which the workers are counted."""
FIRST_WORKER = 60.0
"""Seconds to wait for the first worker."""

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
        with _silence(), client:
            cluster = _Cluster(client, address, stop)
            try:
                yield from cluster.compute(experiment, iter(cells))
            except BursarError:
                raise
            except Exception as error:
                if client.status == "running" and not isinstance(error, OSError):
                    raise
                raise cluster.describe_loss(error) from error

    return engine


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Dask from printing tracebacks of lost connections, which are reported in one line."""
    with ExitStack() as stack:
        for name in ("client", "batched", "core"):
            logger = logging.getLogger(f"distributed.{name}")
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        yield


class _Cluster:
    """A connected cluster, which is looked at when no result comes: it might have died."""

    def __init__(self, client: Any, address: str, stop: Stop) -> None:
        self.client, self.address, self.stop = client, address, stop
        self._finished: SimpleQueue[Any] = SimpleQueue()
        self._submitted: dict[str, tuple[Any, Cell]] = {}
        self._warned = False

    def compute(self, experiment: Experiment, waiting: Iterator[Cell]) -> Iterator[CellResult]:
        """Yield the results of cells as they come."""
        threads, parcel = self._count_threads(), _pack(experiment)
        for _ in range(2 * threads):
            self._submit(parcel, waiting)
        while self._submitted and (future := self._wait()) is not None:
            if future.status == "cancelled":
                raise self.describe_loss("its units were cancelled")
            if future.status == "error":  # the worker could not even begin
                result = fail_cell(experiment, self._submitted[future.key][1], future.exception())
            else:
                try:
                    result = future.result(timeout=PATIENCE)
                except TimeoutError:  # the worker that had it died: another must compute it
                    if not self._may_continue():
                        return
                    future.add_done_callback(self._finished.put)
                    continue
            del self._submitted[future.key]
            self._warned = False
            self._submit(parcel, waiting)
            yield result

    def _submit(self, parcel: Parcel, waiting: Iterator[Cell]) -> None:
        cell = None if self.stop() else next(waiting, None)
        if cell is not None:
            # pure=False: the cluster must not answer with the result of another run
            future = self.client.submit(_compute, parcel, cell, pure=False, retries=2)
            self._submitted[future.key] = future, cell
            future.add_done_callback(self._finished.put)

    def _wait(self) -> Any:
        """Return a future that is done, or None if the run is stopped and nothing would end."""
        while True:
            try:
                return self._finished.get(timeout=PATIENCE)
            except Empty:
                if not self._may_continue():
                    return None

    def _may_continue(self) -> bool:
        """Return whether to go on waiting; say so if there are no workers to wait for."""
        if self.client.nthreads(callback_timeout=4 * PATIENCE):
            return True
        self._warn("has no workers any more")
        return not self.stop()

    def _warn(self, trouble: str) -> None:
        """Say once that the cluster needs help."""
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "the Dask cluster at %s %s; waiting for some: start them with: dask worker %s"
                " (or press Ctrl-C: finished units are stored, and the same command continues)",
                self.address, trouble, self.address,
            )  # fmt: skip

    def describe_loss(self, reason: object) -> ClusterLost:
        """Return the error of a cluster that does not answer any more."""
        text = str(reason).partition("\n")[0] or type(reason).__name__
        return ClusterLost(
            f"lost the Dask scheduler at {self.address} ({text}); finished units are stored: start"
            " the scheduler and workers, then run the same command again"
        )

    def _count_threads(self) -> int:
        """Return the number of threads if all workers would compute the same numbers."""
        self._wait_for_workers()
        for worker, theirs in self.client.run(code_digest).items():
            if theirs != hash_own_code():
                raise UnlikeWorkers(
                    f"the worker {worker} has other code of bursar, numpy or numba than this"
                    f" machine ({theirs} there, {hash_own_code()} here), so its numbers may differ;"
                    f" install the same versions on all workers of {self.address}"
                )
        return int(sum(self.client.nthreads().values()))

    def _wait_for_workers(self) -> None:
        end = time.monotonic() + FIRST_WORKER
        while not self.client.nthreads(callback_timeout=4 * PATIENCE):
            if time.monotonic() > end or self.stop():
                raise ClusterLost(
                    f"the Dask scheduler at {self.address} has no workers; start some with:"
                    f" dask worker {self.address}"
                )
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=min(PATIENCE, FIRST_WORKER))
                return
            self._warn("has no workers yet")


def hash_own_code() -> str:
    """Return the digest of the code on this machine."""
    return code_digest()


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
