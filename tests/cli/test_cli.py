"""The command line as its users meet it: separate processes, stdout, stderr and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from typer.main import get_command
from typer.testing import CliRunner

import bursar
from bursar.cli import app
from bursar.cli.options import _HELP, add_options


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bursar", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200"},
    )


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bursar {bursar.__version__}\n", "")


@pytest.mark.parametrize("words", [["--help"], ["campaign", "create", "--help"]], ids=" ".join)
def test_help_loads_neither_numbers_nor_a_database(words):
    code = (
        "import sys; from bursar.cli import main\ntry: main()\nfinally:\n"
        " print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert "Usage:" in done.stdout
    loaded = set(done.stderr.splitlines())
    assert "typer" in loaded
    assert not loaded & {"numpy", "numba", "apsw", "bursar.campaign.campaign", "bursar.policies"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("policy", "omega-ubc"),
            "error: no policy named 'omega-ubc'; did you mean 'omega-ucb'?\n",
        ),
        (("policy", "m-ucb:alpha=-1"), "error: m-ucb: alpha must be positive, got -1.0\n"),
        (("policy", "m-ucb:[bold]=1"), "error: m-ucb has no parameter '[bold]'; known: alpha,"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_code_2(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("polices",), ("policy",), ("demo", "--repetitions", "none")]
)
def test_bad_usage_is_code_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_policies_lists_them_all():
    listed = CliRunner().invoke(app, ["policies"])
    assert listed.exit_code == 0
    rows = json.loads(CliRunner().invoke(app, ["policies", "--json"]).stdout)
    assert [row["slug"] for row in rows] == list(bursar.POLICIES)
    for row in rows:
        assert row["slug"] in listed.stdout
        assert set(row) == {"slug", "name", "year", "source", "parameters", "needs"}
    by_slug = {row["slug"]: row for row in rows}
    assert by_slug["kube"]["needs"] == ["budget"]
    assert by_slug["budget-ucb"]["needs"] == ["min_cost"]
    assert by_slug["omega-star-ucb"]["parameters"] == {
        "rho": 0.25, "min_samples": 30, "eta_min": 0.0, "ties": "random",
    }  # fmt: skip


@pytest.mark.parametrize("slug", bursar.POLICIES)
def test_policy_shows_formula_and_example(slug):
    shown = CliRunner().invoke(app, ["policy", slug])
    assert shown.exit_code == 0, shown.output
    cls = bursar.POLICIES[slug]
    assert cls.formula.split("\n")[0] in shown.stdout
    assert cls.source in shown.stdout
    card = json.loads(CliRunner().invoke(app, ["policy", slug, "--json"]).stdout)
    assert card["slug"].startswith(slug)
    arms = card["example"]["arms"]
    assert len(arms) == 3
    assert ("index" in arms[0]) == (cls.index is not None)
    assert sum(float(arm["chosen"].rstrip("%")) for arm in arms) == pytest.approx(100, abs=2)


def test_the_example_of_a_policy_that_plays_sets():
    shown = CliRunner().invoke(app, ["policy", "mrcb:set_size=2"])
    assert "It plays arms 0 and 1 together." in shown.stdout
    assert CliRunner().invoke(app, ["policy", "mrcb:set_size=5"]).exit_code == 0
    done = run("policy", "mrcb:set_size=100")
    assert done.returncode == 2
    assert done.stderr == "error: mrcb: the example shows sets of up to 20 arms, got 100\n"


def test_a_terminal_without_greek_letters():
    done = subprocess.run(
        [sys.executable, "-m", "bursar", "policies"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"omega-ucb" in done.stdout


def test_the_example_is_what_indices_gives():
    card = json.loads(CliRunner().invoke(app, ["policy", "ucb-sc-plus", "--json"]).stdout)
    arms = card["example"]["arms"]
    want = bursar.policy("ucb-sc-plus").indices(
        n=[a["n"] for a in arms],
        mean_reward=[a["mean_reward"] for a in arms],
        mean_cost=[a["mean_cost"] for a in arms],
        plays=card["example"]["plays"],
    )
    assert [a["index"] for a in arms] == want.tolist()


def test_infinite_indices_are_valid_json():
    text = CliRunner().invoke(app, ["policy", "ucb-bv1:min_cost=0.01", "--json"]).stdout

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    card = json.loads(text, parse_constant=refuse)
    assert card["example"]["arms"][0]["index"] == "inf"


def test_demo_compares_draws_and_repeats_itself(tmp_path):
    pictures = [tmp_path / "first.png", tmp_path / "again.png"]
    words = ["demo", "--repetitions", "2", "--picture"]
    first = run(*words, str(pictures[0]), "--json")
    again = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words, str(pictures[1])])
    assert first.returncode == 0, first.stderr
    assert again.exit_code == 0, again.output
    for row in json.loads(first.stdout)["rows"]:
        assert row["policy"] in again.stdout
    assert "The curves are in" in again.stdout
    drawn = [picture.read_bytes() for picture in pictures]
    assert drawn[0].startswith(b"\x89PNG")
    assert drawn[0] == drawn[1], "the same seed draws the same curves"


SIMULATE = ["simulate", "S-Br-10", "--repetitions", "3", "--budget-plays", "2000"]


def test_simulate_prints_json_with_the_promised_fields(tmp_path):
    out = tmp_path / "games.parquet"
    policies = ("--policy", "bts", "--policy", "omega-ucb:rho=1")
    done = run(*SIMULATE, *policies, "--json", "--out", str(out))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["setting"], result["repetitions"]) == ("S-Br-10", 3)
    assert len(result["rows"]) == 200
    assert set(result["rows"][0]) >= {
        "policy", "budget_share", "regret_mean", "regret_std", "regret_low", "regret_high",
        "regret_median", "plays_mean",
    }  # fmt: skip
    table = parquet.read_table(out)
    assert table.num_rows == 3 * 2 * 100
    last = [r for r in result["rows"] if r["budget_share"] == 1.0 and r["policy"] == "bts"]
    games = table.filter((pc.field("policy") == "bts") & (pc.field("budget_share") == 1.0))
    assert last[0]["regret_mean"] == pytest.approx(np.mean(games["regret"].to_numpy()), rel=1e-12)


def test_simulate_is_the_same_for_any_number_of_jobs_and_order_of_policies():
    orders = (("bts", "m-ucb", "1"), ("m-ucb", "bts", "2"))
    one, two = (
        json.loads(run(*SIMULATE, "--policy", a, "--policy", b, "--jobs", n, "--json").stdout)
        for a, b, n in orders
    )

    def key(row):
        return row["policy"], row["budget_share"]

    assert sorted(one["rows"], key=key) == sorted(two["rows"], key=key)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "S-Br-11", "--policy", "bts"), "error: no setting named 'S-Br-11'; did you"),
        ((*SIMULATE, "--policy", "btss"), "error: no policy named 'btss'; did you mean 'bts'?"),
        ((*SIMULATE, "--policy", "bts", "--policy", "bts"), "error: a policy is given twice in"),
        ((*SIMULATE, "--policy", "bts", "--out", "no/x.parquet"), "error: --out must be in a"),
    ],
)
def test_simulate_says_what_is_wrong(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(message)


def test_ctrl_c_keeps_what_is_done(tmp_path):
    out = tmp_path / "kept.parquet"
    rows = 0
    for patience in (2, 8, 32, 64):  # until a busy machine has come as far as a first game
        with subprocess.Popen(
            [sys.executable, "-m", "bursar", "simulate", "S-Br-10", "--policy", "uniform",
             "--repetitions", "100000", "--out", str(out)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                time.sleep(patience)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            finally:
                process.kill()  # one that did not heed it would not end
        assert process.returncode == 130
        rows = parquet.read_table(out).num_rows if out.exists() else 0
        if rows:
            break
    assert "of 100000 repetitions are done" in errors
    assert 0 < rows < 100 * 100000


def commands_below(command, name=""):
    yield name, command
    for word, one in getattr(command, "commands", {}).items():
        yield from commands_below(one, f"{name} {word}".strip())


def test_every_command_and_option_is_explained():
    found = dict(commands_below(get_command(app)))
    assert {"data facebook-ads", "keys rotate", "campaign arm add"} < set(found)
    for name, command in found.items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def test_a_parameter_without_a_text_is_refused():
    with pytest.raises(KeyError, match="unexplained"):

        @add_options()
        def command(*, unexplained: bool = False) -> None: ...


def test_every_text_is_used():
    def texts(table):
        for key, value in table.items():
            if isinstance(value, dict):
                yield from texts(value)
            elif isinstance(value, str) and key not in {"flag", "envvar", "metavar"}:
                yield value

    used = {
        parameter.help
        for _, command in commands_below(get_command(app))
        for parameter in command.params
    }
    assert set(texts(_HELP)) <= used
