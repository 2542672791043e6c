"""Games on tables of evaluations, and ``bursar reproduce --real``."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bursar.cli import app
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.experiments import real_costs
from bursar.experiments.real_costs import make_worlds, play_tables, play_world, read_tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four arms whose prices span three orders of magnitude; the cheapest earns most per cost."""
    rng = np.random.default_rng(1)
    lines = ["model,score,cost_usd"]
    for arm, (price, quality) in enumerate([(0.001, 0.7), (0.01, 0.8), (0.1, 0.85), (1.0, 0.9)]):
        for cost in price * rng.lognormal(0.0, 0.8, 50):
            lines.append(f"model-{arm},{int(rng.random() < quality)},{cost}")
    lines += ["model-0,1,0", "model-1,,0.01", "model-2,1,", "model-3,1"]
    with gzip.open(tmp_path / "evals.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    (tmp_path / "notes.csv").write_text("day,visitors\nmonday,3\n")
    (tmp_path / "empty.csv").write_text("")
    return tmp_path


def test_tables_are_found_by_their_columns(folder: Path) -> None:
    (table,) = read_tables(folder)
    assert (table.name, len(table.arms), table.left_out) == ("evals", 4, 4)
    assert sum(one.size for one in table.costs) == 200
    assert all(one.size == two.size for one, two in zip(table.rewards, table.costs, strict=True))


def test_a_column_separates_tables_and_words_are_rewards(tmp_path: Path) -> None:
    rows = [
        f"{bench},{arm},{done},0.5"
        for bench in "ab"
        for arm in "xy"
        for done in 6 * ("True", "False")
    ]
    (tmp_path / "all.csv").write_text("\n".join(["benchmark,model,resolved,cost_usd", *rows]))
    first, second = read_tables(tmp_path)
    assert (first.name, second.name) == ("a", "b")
    assert float(first.rewards[0].mean()) == 0.5


@pytest.mark.parametrize("name", ["as it is", "equal maxima", "padded maxima"])
def test_maxima_change_and_rows_do_not(folder: Path, name: str) -> None:
    (table,) = read_tables(folder)
    worlds = {one.variant: one for one in make_worlds(table)}
    assert all((a == b).all() for a, b in zip(worlds[name].costs, table.costs, strict=True))
    assert all(
        most >= cost.max() for most, cost in zip(worlds[name].maxima, table.costs, strict=True)
    )
    dear = worlds["dear is best, 1.2"]
    rates = [r.mean() / c.mean() for r, c in zip(dear.rewards, dear.costs, strict=True)]
    assert int(np.argmax(rates)) == 3


def test_the_scale_free_policy_finds_the_best_arm_where_a_range_hides_it(folder: Path) -> None:
    (table,) = read_tables(folder)
    world = make_worlds(table)[0]
    ours = play_world(world, 6, "sf-omega-ucb", 12)
    paper = play_world(world, 6, "omega-star-ucb:rho=0.25", 12)
    assert ours.mean() > 0.85
    assert ours.mean() > paper.mean() + 0.2
    assert (play_world(world, 6, "greedy", 12) <= 1.3).all()


def test_games_do_not_depend_on_workers(folder: Path) -> None:
    tables = read_tables(folder)
    found = [
        [
            (one.variant, one.policy, one.shares.tolist())
            for one in play_tables(
                tables, ("sf-omega-ucb", "greedy:5%"), 3, budgets=(3,), workers=workers
            )
        ]
        for workers in (1, 2)
    ]
    assert found[0] == found[1]


def test_long_games_are_played_less_often(folder: Path) -> None:
    world = make_worlds(read_tables(folder)[0])[0]
    assert real_costs.count_games(world, 3, 60) == 60
    assert real_costs.count_games(world, 10**9, 60) == 0


def test_the_command_prints_and_keeps_the_shares(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_costs, "POLICIES", ("sf-omega-ucb", "greedy"))
    arguments = ["reproduce", "--real", "--data", str(folder), "--quick", "--repetitions", "3"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert {row["policy"] for row in rows} == {"sf-omega-ucb", "greedy"}
    assert all(0.0 <= row["worst"] <= row["mean"] for row in rows)
    kept = (folder / "out" / "real-costs.csv").read_text().splitlines()
    assert len(kept) == len(rows) + 1
    assert "4 rows without a reward or cost left out" in done.stderr


def test_errors_say_what_to_give(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(MissingData, match="no folder"):
        read_tables(tmp_path / "none")
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(MissingData, match="columns 'model' or 'arm'"):
        read_tables(empty)
    (empty / "few.csv").write_text("model,score,cost_usd\na,1,0.1\nb,1,0.1\n")
    with pytest.raises(InvalidData, match="fewer than two arms have 10 rows"):
        read_tables(empty)
    with pytest.raises(InvalidInput, match="games must be 2 or more, got 1"):
        list(play_tables(read_tables(folder), ("greedy",), 1))
    done = CliRunner().invoke(app, ["reproduce", "--real"])
    assert isinstance(done.exception, MissingData)
    assert "give their folder with --data" in str(done.exception)


def test_the_summary_compares_with_greedy(folder: Path) -> None:
    cells = [
        real_costs.WorldShares(
            table=table, variant="as it is", tries=6, policy=name, shares=np.array(shares)
        )
        for table in ("evals", "commit0")
        for name, shares in (("greedy", [0.8, 0.6]), ("kube", [0.6, 0.7]), ("bts", [0.9, 0.9]))
    ]
    found = {(one.part, one.policy): one for one in real_costs.summarize(cells)}
    assert set(found) == {
        (part, name) for part in ("choosing", "checking") for name in ("greedy", "kube", "bts")
    }
    kube = found["checking", "kube"]
    assert (kube.worlds, kube.below_greedy) == (1, 1)
    assert kube.mean == pytest.approx(0.65)
    assert kube.largest_gap == pytest.approx(-0.05)
    assert found["checking", "bts"].below_greedy == 0
