"""Runs that are killed, interrupted or failing, through the real command line."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from extent import extent
from pyarrow import parquet
from report_sample import no_pictures  # noqa: F401 - a fixture
from typer.testing import CliRunner

from bursar.cli import app

BURSAR = [sys.executable, "-m", "bursar"]
GRID = """
policies = ["omega-star-ucb:rho=0.25", "bts", "b-greedy"]
settings = {settings}
repetitions = {repetitions}
budget_plays = 100000
shares = [0.1, 0.5, 1.0]
"""


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID.format(settings=["S-Br-10", "S-GBr-10"], repetitions=60))
    return path


@contextmanager
def started(grid, out, *more) -> Iterator[subprocess.Popen[str]]:
    """Run a grid in a process of its own, which does not outlive a test that fails."""
    command = [*BURSAR, "run", str(grid), "--out", str(out), *more]
    # a session of its own: Ctrl-C is sent to it, not to pytest
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # does nothing to one that has ended


def finished(grid, out, *more):
    with started(grid, out, *more) as process:
        printed, errors = process.communicate(timeout=300)
    return process.returncode, printed, errors


def parts(out):
    return len(list((out / "parts").glob("*/[0-9]*.parquet")))


def wait_for_parts(process, out, more_than):
    while parts(out) <= more_than and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_at_random_moments_the_table_is_the_same(grid, tmp_path):
    out, chance = tmp_path / "killed", random.Random(4)
    left_after = []
    kills = extent(4, 10)
    for _ in range(kills):
        with started(grid, out) as process:
            wait_for_parts(process, out, parts(out))  # it computes now: not while it still imports
            time.sleep(chance.uniform(0.0, 0.15))
            process.kill()
            process.communicate()
        left_after.append(parts(out))
    assert left_after == sorted(left_after), "nothing that was finished is lost"
    assert 0 < left_after[0] < 120, "the first kill came on the way"
    assert len(set(left_after)) > kills // 3, "several kills came on the way"
    code, printed, errors = finished(grid, out)
    assert code == 0, errors
    assert str(out / "report.html") in printed
    code, _, errors = finished(grid, tmp_path / "whole")
    assert code == 0, errors
    tables = [
        parquet.read_table(tmp_path / name / "results.parquet") for name in ("killed", "whole")
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == 2 * 60 * 3 * 3
    leftovers = [p for p in out.rglob(".*") if p.is_file() and p.parent.name != "parts"]
    assert (
        len(leftovers) <= kills
    )  # a part that was being written has another name, and is not read


@pytest.mark.usefixtures("no_pictures")
def test_ctrl_c_finishes_what_runs_and_the_same_command_goes_on(grid, tmp_path):
    grid.write_text(GRID.format(settings=["S-Br-10"], repetitions=40))
    out = tmp_path / "out"
    with started(grid, out) as process:
        wait_for_parts(process, out, 3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "finishing running units; press Ctrl-C again to stop at once" in errors
    kept = parts(out)
    assert f"stopped: {kept} of 40 units are stored; run the same command again" in errors
    assert not (out / "report.html").exists()
    done = CliRunner().invoke(app, ["run", str(grid), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["units"] == {
        "total": 40, "done": 40 - kept, "cached": kept, "failed": 0,
    }  # fmt: skip


def test_ctrl_c_twice_stops_at_once(tmp_path):
    (tmp_path / "endless.py").write_text(  # a game that no machine is fast enough to finish
        "import sys, time\n"
        "from dataclasses import dataclass\n"
        "from bursar.policies.uniform import Uniform\n"
        "@dataclass(frozen=True)\n"
        "class Endless(Uniform):\n"
        '    name = "endless"\n'
        "    def kernel_params(self, context):\n"
        '        print("in the game", file=sys.stderr, flush=True)\n'
        "        while True:\n"
        "            time.sleep(1)\n"
    )
    long = tmp_path / "long.toml"
    long.write_text(
        'policies = ["endless"]\nsettings = ["S-Br-10"]\nrepetitions = 4\nbudget_plays = 500\n'
        'policy_files = ["endless.py"]\n'
    )
    with started(long, tmp_path / "out") as process:
        for line in ("in the game", "finishing running units; press Ctrl-C again to stop at once"):
            while not process.stderr.readline().startswith(line):
                assert process.poll() is None
            os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped; finished units are stored" in errors


@pytest.mark.slow
def test_a_failed_unit_is_an_exit_code_and_can_be_repeated(tmp_path):
    (tmp_path / "fickle.py").write_text(
        "import os\n"
        "from dataclasses import dataclass\n"
        "from bursar.policies.uniform import Uniform\n"
        "@dataclass(frozen=True)\n"
        "class Fickle(Uniform):\n"
        '    name = "fickle"\n'
        "    def kernel_params(self, context):\n"
        '        if os.environ.get("BURSAR_TEST_FAIL"):\n'
        '            raise RuntimeError("broken policy")\n'
        "        return super().kernel_params(context)\n"
    )
    grid = tmp_path / "grid.toml"
    grid.write_text(
        'policies = ["fickle", "m-ucb"]\nsettings = ["S-Br-10"]\nrepetitions = 2\n'
        'budget_plays = 500\npolicy_files = ["fickle.py"]\n'
    )
    out = tmp_path / "out"
    os.environ["BURSAR_TEST_FAIL"] = "1"
    try:
        code, printed, errors = finished(grid, out)
    finally:
        del os.environ["BURSAR_TEST_FAIL"]
    assert code == 1
    assert "failed: fickle on S-Br-10, repetition 0: RuntimeError: broken policy" in errors
    assert "2 units failed; repeat them with --rerun-failed" in errors
    assert str(out / "report.html") in printed
    assert "broken policy" in (out / "report.html").read_text()
    assert finished(grid, out)[0] == 1
    code, _, errors = finished(grid, out, "--rerun-failed")
    assert code == 0, errors
    assert "broken policy" not in (out / "report.html").read_text()
