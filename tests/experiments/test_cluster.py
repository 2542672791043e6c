"""A real Dask cluster of two worker processes: the same numbers, even when one is killed."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import LocalCluster

from bursar.errors import ClusterLost, InvalidInput, MissingExtra, UnlikeWorkers
from bursar.experiments import experiment, run
from bursar.experiments.dask import make_dask_engine
from bursar.experiments.toml import load_policies, read_code
from bursar.simulation import arrow

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_policy.py"


@pytest.fixture(scope="module")
def workers():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(dashboard_address=":0", silence_logs=logging.CRITICAL, **options) as found:
        yield found


def small(repetitions=12):
    return experiment(
        "small", policies=["omega-star-ucb:rho=0.25", "bts"], settings=["S-Br-10", "S-Bt-10"],
        repetitions=repetitions, budget_plays=20_000,
    )  # fmt: skip


def test_a_worker_that_is_killed_on_the_way_changes_nothing(workers, tmp_path):
    victim = next(iter(workers.workers.values())).pid
    killed = []

    def progress(counts, unit):
        if counts.done == 4 and not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    far = run(small(), tmp_path / "far", engine=make_dask_engine(workers.scheduler_address),
              progress=progress)  # fmt: skip
    near = run(small(), tmp_path / "near")
    assert killed
    assert (far.counts.done, far.counts.failed, far.is_complete) == (24, 0, True)
    assert arrow.table(far.result).equals(arrow.table(near.result))


def test_a_cluster_goes_on_where_threads_stopped(workers, tmp_path):
    run(small(2), tmp_path)
    more = run(small(3), tmp_path, engine=make_dask_engine(workers.scheduler_address))
    assert (more.counts.cached, more.counts.done) == (4, 2)


def test_ads_and_own_policies_travel_with_the_task(workers, tmp_path):
    """Workers elsewhere have neither the file of ads nor the file of the policy."""
    code = read_code([EXAMPLE])
    data = tmp_path / "ads.csv"
    data.write_text(
        "campaign_id,age,gender,clicks,spent,total_conversion\n"
        "1,30-34,M,10,12.5,2\n1,30-34,M,4,5,1\n2,30-34,F,7,6,1\n2,30-34,F,9,5,3\n"
    )
    what = experiment(
        "own", code=code, policies=load_policies(["optimist"], code), settings=["FB-Br"],
        repetitions=9, budget_plays=500, data=str(data),
    )  # fmt: skip
    near = run(what, tmp_path / "near")

    def progress(counts, unit):
        if counts.done == 1:
            data.unlink()

    far = run(what, tmp_path / "far", engine=make_dask_engine(workers.scheduler_address),
              progress=progress)  # fmt: skip
    assert arrow.table(far.result).equals(arrow.table(near.result))
    assert far.failures == []


def test_a_stopped_run_on_a_cluster_keeps_what_is_done(workers, tmp_path):
    enough = []

    def progress(counts, unit):
        if counts.done:
            enough.append(1)

    stopped = run(small(), tmp_path, engine=make_dask_engine(workers.scheduler_address),
                  stop=lambda: bool(enough), progress=progress)  # fmt: skip
    assert 0 < stopped.counts.done < 24


def test_workers_with_other_code_are_refused(workers, tmp_path, monkeypatch):
    monkeypatch.setattr("bursar.experiments.dask.hash_own_code", lambda: "ours")
    with pytest.raises(UnlikeWorkers, match=r"other code of bursar.*install the same versions"):
        run(small(1), tmp_path, engine=make_dask_engine(workers.scheduler_address))


def test_an_address_without_a_scheduler_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"no Dask scheduler at 'tcp://127\.0\.0\.1:9'"):
        run(small(1), tmp_path, engine=make_dask_engine("tcp://127.0.0.1:9", timeout=1))


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(
        "bursar.experiments.dask.import_module",
        lambda name: (_ for _ in ()).throw(ModuleNotFoundError(name=name)),
    )
    with pytest.raises(MissingExtra, match=r"pip install 'bursar\[dask\]'"):
        make_dask_engine("tcp://127.0.0.1:8786")


# a cluster that dies


@contextmanager
def process(*words):
    """Run a part of a cluster as a process of its own."""
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as found:
        try:
            yield found
        finally:
            found.kill()


@contextmanager
def scheduler(tmp_path):
    """Run a scheduler; yield its process and address."""
    file = tmp_path / "scheduler.json"
    words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with process("dask_scheduler", *words) as found:
        while not (file.exists() and file.read_text()):
            time.sleep(0.05)
        yield found, json.loads(file.read_text())["address"]


def worker(address, tmp_path):
    words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
    return process("dask_worker", address, *words)


@pytest.fixture
def patience(monkeypatch):
    monkeypatch.setattr("bursar.experiments.dask.PATIENCE", 0.5)


@pytest.mark.slow
def test_13_a_cluster_whose_workers_are_all_dead_says_so_and_goes_on_with_new_ones(
    patience, tmp_path, caplog
):
    helpers = []

    def help_later(address):
        while "has no workers any more" not in caplog.text:
            time.sleep(0.05)
        helpers.append(worker(address, tmp_path))
        helpers[0].__enter__()

    with scheduler(tmp_path) as (_, address), worker(address, tmp_path) as first:
        helper = threading.Thread(target=help_later, args=(address,))

        def progress(counts, unit):
            if counts.done == 3 and first.poll() is None:
                first.kill()
                first.wait()
                helper.start()

        try:
            done = run(small(4), tmp_path / "out", engine=make_dask_engine(address, 5.0),
                       progress=progress)  # fmt: skip
        finally:
            helper.join()
            helpers[0].__exit__(None, None, None)
    assert f"start them with: dask worker {address}" in caplog.text
    assert (done.counts.done, done.is_complete) == (8, True)


def test_13_dead_workers_are_said_and_a_stopped_run_does_not_wait_for_them(
    patience, tmp_path, caplog
):
    with scheduler(tmp_path) as (_, address), worker(address, tmp_path) as only:

        def progress(counts, unit):
            if counts.done == 3:
                only.kill()
                only.wait()

        stopped = run(small(), tmp_path / "out", engine=make_dask_engine(address, 5.0),
                      stop=lambda: only.poll() is not None, progress=progress)  # fmt: skip
    assert 3 <= stopped.counts.done < 24
    assert f"has no workers any more; waiting for some: start them with: dask worker {address}" in (
        caplog.text
    )


def test_13_a_cluster_without_workers_is_an_error_with_the_way_out(
    patience, tmp_path, caplog, monkeypatch
):
    monkeypatch.setattr("bursar.experiments.dask.FIRST_WORKER", 1.0)
    with (
        scheduler(tmp_path) as (_, address),
        pytest.raises(ClusterLost, match=f"has no workers; start some with: dask worker {address}"),
    ):
        run(small(1), tmp_path / "out", engine=make_dask_engine(address, 5.0))
    assert "has no workers yet" in caplog.text


def test_13_a_dead_scheduler_is_an_error_and_what_is_done_is_kept(patience, tmp_path):
    with scheduler(tmp_path) as (found, address), worker(address, tmp_path):

        def progress(counts, unit):
            if counts.done == 3:
                found.kill()
                found.wait()

        with pytest.raises(ClusterLost, match=r"lost the Dask scheduler .*finished units are"):
            run(small(), tmp_path / "out", engine=make_dask_engine(address, 1.0),
                progress=progress)  # fmt: skip
    assert 3 <= run(small(), tmp_path / "out").counts.cached < 24
