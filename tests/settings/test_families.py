"""Families of problems other than the paper's: drawn again the same, with true means."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bursar
from bursar.cli import app
from bursar.errors import InvalidInput, UnknownSetting
from bursar.experiments import (
    format_experiment,
    load_experiment,
    read_experiment,
)
from bursar.settings import SETTINGS
from bursar.settings.families import (
    FAMILIES,
    capped_lognormal_mean,
    clipped_normal_mean,
    exponential_mean,
    kumaraswamy_mean,
)

CHOSEN = [
    "X-br-2", "X-br-3", "X-br-low-25", "X-br-log-40", "X-br-200", "X-uniform-20", "X-triangle-60",
    "X-exp-30", "X-three-15", "X-rare-40", "X-together-25", "X-against-10", "X-stable-50",
    "X-extreme-20", "X-mixed-30", "X-br-1000",
]  # fmt: skip
HELD_OUT = [
    "X-close-5", "X-br-rare-30", "X-scatter-80", "X-censored-15", "X-two-kinds-100",
    "X-fixed-price-20", "X-lognormal-40", "X-copula-12", "X-extreme-500", "X-needle-300",
]  # fmt: skip
DRAWS = 50_000


def typed(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def drawn(name: str, repetition: int = 0):
    (problem,) = bursar.setting(name).problems(repetition)
    return problem


# the table


def test_names_numbers_and_what_was_held_out():
    assert list(FAMILIES) == CHOSEN + HELD_OUT
    numbers = [one.number for one in FAMILIES.values()]
    assert numbers == [*range(1, 17), *range(101, 111)]
    assert [name for name, one in FAMILIES.items() if one.held_out] == HELD_OUT
    for name, one in FAMILIES.items():
        assert bursar.setting(name) is one
        assert one.arms == (int(name.rpartition("-")[2]),)
        assert one.kind == "family"
        assert ("held out" in one.source) == one.held_out
        assert not one.needs_data


def test_the_page_of_settings_names_them_all():
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    for name, one in FAMILIES.items():
        about = one.source.partition("; ")[2]
        assert f"| `{name}` | {one.number} | {one.distribution} | {about} |\n" in page


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_repetition_is_the_same_problem(name):
    one, again, other = drawn(name, 3), drawn(name, 3), drawn(name, 4)
    assert (one.name, one.arms) == (name, FAMILIES[name].arms[0])
    assert one.reward.tolist() == again.reward.tolist() != other.reward.tolist()
    assert one.cost.tolist() == again.cost.tolist() != other.cost.tolist()
    first, second = (p.sample(np.random.default_rng(1), [0, 1], 5) for p in (one, again))
    assert np.array_equal(first, second)


def test_numbers_come_from_the_family_and_the_repetition():
    """Written again: the order of the draws is part of a family."""
    rng = np.random.default_rng([3, 7])
    rewards, costs = rng.uniform(0.0, 0.3, 25), rng.uniform(0.05, 0.5, 25)
    assert drawn("X-br-low-25", 7).reward.tolist() == np.maximum(rewards, 1e-3).tolist()
    assert drawn("X-br-low-25", 7).cost.tolist() == costs.tolist()
    rng = np.random.default_rng([13, 7])
    alpha, beta = rng.uniform(4.0, 40.0, (4, 50))[:2]
    assert drawn("X-stable-50", 7).reward.tolist() == (alpha / (alpha + beta)).tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_best_arm_may_be_anywhere(name):
    best = {drawn(name, repetition).best for repetition in range(20)}
    assert len(best) >= min(FAMILIES[name].arms[0], 4)


# what the arms yield


@pytest.mark.parametrize("name", FAMILIES)
def test_means_are_true(name):
    for repetition in range(2):
        problem = drawn(name, repetition)
        arms = np.unique([0, problem.best, int(np.argmin(problem.cost)), problem.arms - 1])
        values = problem.sample(np.random.default_rng(repetition), arms, DRAWS)
        for got, means in zip(values, (problem.reward, problem.cost), strict=True):
            assert ((got >= 0.0) & (got <= 1.0)).all()
            error = got.std(axis=1) / np.sqrt(DRAWS) + 1e-9
            assert (np.abs(got.mean(axis=1) - means[arms]) < 6.0 * error).all()


def test_rewards_and_costs_go_together_where_they_should():
    for name, low, high in (
        ("X-together-25", 0.3, 1.0), ("X-against-10", -1.0, -0.3), ("X-copula-12", 0.5, 1.0),
        ("X-censored-15", -0.05, 0.05),
    ):  # fmt: skip
        rewards, costs = drawn(name).sample(np.random.default_rng(1), [2, 3], DRAWS)
        found = [np.corrcoef(*pair)[0, 1] for pair in zip(rewards, costs, strict=True)]
        assert all(low < one < high for one in found), name


def test_held_out_families_are_what_they_say():
    needle = drawn("X-needle-300", 1)
    assert (needle.reward[needle.best], needle.cost[needle.best]) == (0.9, 0.1)
    assert needle.reward.max() == 0.9
    assert np.sort(needle.reward)[-2] < 0.5
    kinds = drawn("X-two-kinds-100", 1)
    assert (kinds.cost > 0.3).sum() == (kinds.reward > 0.3).sum() == 50
    price = drawn("X-fixed-price-20").sample(np.random.default_rng(1), [4], 9)[1]
    assert np.unique(price).size == 1
    scatter = drawn("X-scatter-80")
    assert 0.02 <= min(scatter.reward.min(), scatter.cost.min()) < 0.3


def test_closed_forms_agree_with_integrals():
    a, b = np.array([0.7, 3.0]), np.array([0.4, 2.5])
    chance = (np.arange(1_000_000) + 0.5) / 1_000_000
    for i in range(2):
        quantile = (1.0 - (1.0 - chance) ** (1.0 / b[i])) ** (1.0 / a[i])
        assert kumaraswamy_mean(a, b)[i] == pytest.approx(quantile.mean(), abs=1e-5)
        cut = -np.log1p(-chance * (1.0 - np.exp(-a[i]))) / a[i]
        assert exponential_mean(a)[i] == pytest.approx(cut.mean(), abs=1e-5)
    normal = np.linspace(-9.0, 9.0, 400_001)
    weight = np.exp(-(normal**2) / 2.0)
    weight /= weight.sum()
    for location, deviation in ((0.1, 0.4), (0.9, 0.05), (1.5, 1.2)):
        for mean, values in (
            (clipped_normal_mean, np.clip(location + deviation * normal, 0.0, 1.0)),
            (capped_lognormal_mean, np.minimum(np.exp(location - 2.0 + deviation * normal), 1.0)),
        ):
            at = location if mean is clipped_normal_mean else location - 2.0
            (got,) = mean(np.array([at]), np.array([deviation]))
            assert got == pytest.approx(weight @ values, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("X-br-lo-25", "no setting named 'X-br-lo-25'; did you mean 'X-br-low-25'?"),
        ("X-br-low-26", "no setting named 'X-br-low-26'; did you mean 'X-br-low-25'?"),
        ("br-log-40", "no setting named 'br-log-40'; did you mean 'X-br-log-40'?"),
        ("X-br-2:authors", "X-br-2 has no option 'authors'; it is not from the paper"),
        ("X-br-2:", "X-br-2 has no option ''; it is not from the paper"),
    ],
)
def test_names_that_are_wrong_say_what(name, message):
    with pytest.raises(UnknownSetting) as caught:
        bursar.setting(name)
    assert str(caught.value) == message


def test_what_a_family_has_not_is_refused():
    with pytest.raises(UnknownSetting, match="X-br-2 has no option 'authors'"):
        bursar.setting("X-br-2").authors()
    with pytest.raises(InvalidInput, match="repetition must be a whole number, 0 or more, got -1"):
        bursar.setting("X-br-2").problems(-1)


def test_they_are_played():
    result = bursar.simulate(
        ["uniform", "bts"], ["X-mixed-30", "X-copula-12", "X-needle-300"], 2, budget_plays=500
    )
    assert result.settings == ("X-mixed-30", "X-copula-12", "X-needle-300")
    assert (result.values[:, -1, 2] > 0.0).all()


# the experiment


def test_the_experiments_have_the_papers_settings_and_all_families(tmp_path):
    todo = load_experiment("less-regret", data="ads.csv").plan
    assert [one.name for one in todo.settings] == list(SETTINGS)
    assert (todo.repetitions, todo.budget_plays, todo.data) == (1000, 150_000, "ads.csv")
    others = load_experiment("families").plan
    assert sorted(one.name for one in others.settings) == sorted(FAMILIES)
    assert (others.repetitions, others.budget_plays) == (200, 150_000)
    for plan in (todo, others):
        assert plan.shares == (0.1, 0.25, 0.5, 0.75, 1.0)
        assert list(map(str, plan.policies)) == ["omega-star-ucb:rho=0.25", "pooled-gittins"]
    without = load_experiment("less-regret", repetitions=3, seed=5)
    assert len(without.plan.settings) == len(todo.settings) - 2
    assert (without.plan.repetitions, without.plan.seed) == (3, 5)
    path = tmp_path / "again.toml"
    path.write_text(format_experiment(without))
    assert read_experiment(path) == without


def test_the_quick_ones_are_small_and_leave_held_out_families_alone():
    todo = load_experiment("families", quick=True).plan
    assert [one.name for one in todo.settings] == CHOSEN
    assert todo.repetitions == load_experiment("less-regret", quick=True).plan.repetitions == 20
    assert load_experiment("families", quick=True, repetitions=2).plan.repetitions == 2


def test_the_commands_say_what_they_would_run(tmp_path, monkeypatch):
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path))  # no ads there
    quick = typed("reproduce", "--families", "--quick", "--dry-run", "--out", tmp_path / "q")
    assert quick.exit_code == 0, quick.output
    assert "families: 16 settings x 2 policies x 20 repetitions, in 320 units" in quick.stdout
    words = ("--repetitions", "2", "--dry-run", "--json", "--out", tmp_path / "o")
    whole = typed("reproduce", "--less-regret", *words)
    assert whole.exit_code == 0, whole.output
    assert json.loads(whole.stdout)["units"] == 2 * 9
    assert (
        "FB-Br and FB-Bt are left out; to include them, give the Facebook ads with --data"
        in whole.stderr
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--less-regret", "--changing"], ["--changing", "--less-regret"]),
        (["--less-regret", "--full"], ["--less-regret", "--full"]),
        (["--families", "--data", "x"], ["--families", "--data"]),
    ],
)
def test_options_that_exclude_each_other_are_named(words, named):
    done = typed("reproduce", *words)
    assert isinstance(done.exception, InvalidInput)
    assert all(option in str(done.exception) for option in named)


@pytest.mark.parametrize("which", ["less-regret", "families"])
def test_the_commands_write_figures_and_a_report(which, tmp_path, monkeypatch):
    few = {"S-Br-10", "X-br-2", "X-mixed-30", "X-needle-300"}
    whole = load_experiment(which)
    small = whole.but(
        repetitions=2,
        budget_plays=300.0,
        settings=tuple(one for one in whole.plan.settings if one.name in few),
        policies=tuple(map(bursar.policy, ["omega-star-ucb:rho=0.25", "bts"])),
    )
    monkeypatch.setattr("bursar.experiments.load_experiment", lambda *_, **__: small)
    monkeypatch.setenv("BURSAR_DATA", str(tmp_path))
    done = typed("reproduce", f"--{which}", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "figures" / "regret.png").is_file()
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("FB-Br and FB-Bt are left out" in page) == (which == "less-regret")
    assert ("X-needle-300" in page) == (which == "families")
