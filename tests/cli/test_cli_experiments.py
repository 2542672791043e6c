"""``bursar reproduce``, ``run`` and ``compare`` as a user types them."""

from __future__ import annotations

import csv
import json

import pytest
from report_sample import no_pictures  # noqa: F401 - a fixture
from typer.testing import CliRunner

from bursar.cli import app
from bursar.cli.output import ProgressDisplay
from bursar.errors import BursarError, InvalidInput
from bursar.experiments.runner import CellCounts
from bursar.formatting import format_elapsed
from bursar.simulation import arrow

GRID = """
policies = ["omega-star-ucb:rho=0.25", "omega-ucb:rho=1", "bts", "uniform"]
settings = ["S-Br-10", "S-Bt-10"]
repetitions = 8
budget_plays = 2000
"""
ADS = """campaign;age;clicks;spent;conversions
spring;18-24;1.200;€ 300,50;24
spring;25-34;800;€ 100,00;20
spring;35-44;0;€ 0,00;0
autumn;18-24;500;€ 50,00;1
autumn;25-34;400;€ 60,00;30
autumn;35-44;n/a;€ 60,00;30
Total;;2.900;€ 570,50;105
"""


def typed(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
    if isinstance(done.exception, BursarError):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.toml"
    path.write_text(GRID)
    return path


@pytest.fixture(scope="module")
def folder(grid):
    out = grid.parent / "out"
    typed("run", grid, "--out", out)
    return out


def test_a_run_writes_the_folder_that_the_docs_promise(folder):
    assert {path.name for path in folder.iterdir()} >= {
        "report.html", "results.parquet", "summary.csv", "claims.json", "figures",
        "experiment.toml", "run.json",
    }  # fmt: skip
    pictures = sorted(path.name for path in (folder / "figures").iterdir())
    names = {name.rpartition(".")[0] for name in pictures}
    assert pictures == sorted(f"{n}.{kind}" for n in names for kind in ("png", "svg"))
    assert {"headline", "regret", "regret-intervals", "failures", "dominance"} <= names


def test_the_summary_agrees_with_the_table(folder):
    result = arrow.read(folder / "results.parquet")
    with (folder / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    for row in rows:
        setting = result.settings.index(row["setting"])
        policy = result.policies.index(row["policy"])
        games = (result.setting == setting) & (result.policy == policy)
        final = result.values[games, -1, 2]
        assert float(row["regret_mean"]) == pytest.approx(final.mean())
        assert float(row["regret_max"]) == final.max()
        assert int(row["games"]) == 8


def test_claims_are_a_list_with_id_text_numbers_test_and_verdict(folder):
    claims = json.loads((folder / "claims.json").read_text())
    assert len(claims) > 20
    for claim in claims:
        assert {"id", "text", "numbers", "test", "verdict"} <= claim.keys()
        assert claim["verdict"] in ("holds", "does not hold", "depends", "not tested")
    assert any(claim["verdict"] != "not tested" for claim in claims)
    assert len({claim["id"] for claim in claims}) == len(claims)


def test_the_report_says_how_it_was_made(folder):
    page = (folder / "report.html").read_text()
    made = json.loads((folder / "run.json").read_text())
    assert made["run"]["digest"] in page
    assert made["experiment"]["policies"][2] == "bts"
    assert made["run"]["done"] == 16


def test_the_written_experiment_finds_what_is_cached(folder):
    done = typed("run", folder / "experiment.toml", "--out", folder, "--dry-run", "--json")
    facts = json.loads(done.stdout)
    assert (facts["to_compute"], facts["cached"]) == (0, 16)


@pytest.mark.usefixtures("no_pictures")
def test_a_run_can_be_forced_to_compute_everything_again(folder):
    before = (folder / "results.parquet").read_bytes()
    done = typed("run", folder / "experiment.toml", "--out", folder, "--json", "--force")
    printed = json.loads(done.stdout)
    assert printed["units"] == {"total": 16, "done": 16, "cached": 0, "failed": 0}
    assert printed["report"] == str(folder / "report.html")
    assert (folder / "results.parquet").read_bytes() == before


def test_a_dry_run_says_what_would_run_and_how_long_and_runs_nothing(grid, folder, tmp_path):
    done = typed("run", grid, "--out", tmp_path / "dry", "--dry-run")
    assert "grid: 2 settings x 4 policies x 8 repetitions, in 16 units" in done.stdout
    assert "to compute: 16, cached: 0, failed earlier: 0" in done.stdout
    assert "takes about" in done.stdout
    assert not (tmp_path / "dry").exists()
    facts = json.loads(typed("run", grid, "--out", folder, "--dry-run", "--json").stdout)
    assert (facts["to_compute"], facts["cached"], facts["seconds"]) == (0, 16, 0.0)


def test_the_paper_at_a_glance(tmp_path):
    words = ("--out", tmp_path, "--dry-run", "--json")
    quick = json.loads(typed("reproduce", *words).stdout)
    full = json.loads(typed("reproduce", "--full", *words).stdout)
    more = json.loads(typed("reproduce", "--full", "--all-policies", *words).stdout)
    longer = json.loads(typed("reproduce", "--full", "--repetitions", 1000, *words).stdout)
    assert (quick["experiment"], quick["units"]) == ("quick", 9 * 30)
    assert (full["units"], longer["units"]) == (900, 9000)
    assert quick["seconds"] < full["seconds"] < more["seconds"]
    assert longer["seconds"] == pytest.approx(10 * full["seconds"], rel=0.9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "--quick", "--full"], "give --quick or --full, not both"),
        (
            ["reproduce", "--all-policies"],
            "--all-policies requires --full; --quick plays the main policies only",
        ),
        (["run"], "give either an experiment as a TOML file or an ad export with --ads FILE"),
        (
            ["run", "--ads", "x.csv"],
            "give the budget of each campaign, as in --budget 500",
        ),
        (
            ["reproduce", "--dask", "tcp://x", "--jobs", "2"],
            "give --jobs or --dask, not both: a cluster has its own workers",
        ),
    ],
)
def test_what_does_not_go_together_is_said(words, message):
    with pytest.raises(InvalidInput) as caught:
        typed(*words)
    assert str(caught.value) == message


def test_a_folder_that_cannot_be_written_is_said_before_hours_of_play(grid, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot use .* for results"):
        typed("run", grid, "--out", tmp_path / "file" / "out")


# compare


def test_a_folder_compared_with_itself_is_identical(folder):
    rows = json.loads(typed("compare", folder, folder, "--json").stdout)["rows"]
    assert len(rows) == 8
    assert {row["verdict"] for row in rows} == {"identical"}


@pytest.mark.usefixtures("no_pictures")
def test_two_folders_side_by_side(grid, folder, tmp_path):
    other = tmp_path / "other"
    typed("run", grid, "--out", other, "--seed", 5, "--policy", "bts", "--policy", "m-ucb")
    done = typed("compare", folder, other)
    assert "policies only in A: omega-star-ucb:rho=0.25, omega-ucb:rho=1, uniform" in done.stdout
    assert "policies only in B: m-ucb" in done.stdout
    compared = json.loads(typed("compare", folder, other, "--json").stdout)
    assert [row["policy"] for row in compared["rows"]] == ["bts", "bts"]
    assert all(row["mean_a"] != row["mean_b"] for row in compared["rows"])
    assert any(claim["b"] == "not tested" for claim in compared["claims"])


def test_a_folder_without_results_is_said(tmp_path, folder):
    with pytest.raises(BursarError, match=r"no results\.parquet in"):
        typed("compare", folder, tmp_path)


# one's own ads


@pytest.mark.usefixtures("no_pictures")
def test_own_ads_end_in_advice_and_every_line_is_accounted_for(tmp_path):
    export = tmp_path / "report.csv"
    export.write_text(ADS)
    out = tmp_path / "out"
    done = typed(
        "run", "--ads", export, "--group", "campaign", "--arm", "age", "--clicks", "clicks",
        "--cost", "spent", "--reward", "conversions", "--budget", 50, "--repetitions", 10,
        "--out", out,
    )  # fmt: skip
    assert "4 of 7 lines are used, for 4 arms in 2 groups" in done.stderr
    assert "With a budget of €50" in done.stdout.replace("\n", " ")
    page = (out / "report.html").read_text()
    assert "no clicks" in page
    assert json.loads((out / "claims.json").read_text()) == []
    again = typed("run", out / "experiment.toml", "--out", out, "--json")
    assert json.loads(again.stdout)["units"]["cached"] == 20


def test_a_column_that_is_not_there_is_named(tmp_path):
    export = tmp_path / "report.csv"
    export.write_text(ADS)
    with pytest.raises(BursarError, match="click"):
        typed("run", "--ads", export, "--clicks", "click", "--cost", "spent", "--reward",
              "conversions", "--budget", 5)  # fmt: skip


# seeing it run


def test_the_line_of_a_run_has_units_rate_and_time_left():
    now = [0.0]
    watch = ProgressDisplay(clock=lambda: now[0])
    counts = CellCounts(total=10, done=3, cached=2, failed=1, plays=6_000_000)
    counts.pending.update({"short": 3, "long": 1})
    counts.took.update({"short": [1.0, 1.0, 1.0], "long": [9.0]})
    now[0] = 6.0
    assert watch.format_line(counts) == (
        "6/10 units (3 done, 2 cached, 1 failed), 1.0 million plays per second, 6 s left"
    )


def test_elsewhere_than_on_a_terminal_a_line_comes_every_ten_seconds(capsys):
    now = [0.0]
    counts = CellCounts(total=100, cached=1)
    with ProgressDisplay(clock=lambda: now[0]) as watch:
        watch(counts, "")
        for second in range(1, 36):
            now[0] = float(second)
            counts.done += 1
            watch(counts, "S-Br-10")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4  # what is to come, then 10, 20 and 30 seconds
    assert lines[1].startswith("11/100 units (10 done, 1 cached, 0 failed)")


def test_spans_are_written_for_people():
    assert [format_elapsed(s) for s in (0.4, 59.6, 61, 3599, 86_400)] == [
        "0 s", "1 min 0 s", "1 min 1 s", "59 min 59 s", "24 h 0 min",
    ]  # fmt: skip
