"""A real Dask cluster of two worker processes: the same numbers, even when one is killed."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

import pytest
from distributed import LocalCluster

from bursar.errors import InvalidInput, MissingExtra, UnlikeWorkers
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
