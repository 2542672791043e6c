"""Worlds that change: how they are drawn, that games are fair and repeatable, and the answer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from compile_kernels import IN_CHANGING_WORLDS
from typer.testing import CliRunner

import bursar
from bursar.cli import app
from bursar.errors import InvalidInput, UnknownSetting
from bursar.experiments import load_experiment
from bursar.jit.rng import uniform
from bursar.paper.analysis.nonstationary import compare_forgetting, find_sweeps
from bursar.paper.figures.regret import draw_nonstationary
from bursar.paper.report.data import describe_nonstationary
from bursar.problems import Nonstationary
from bursar.settings.nonstationary import CHANGES, NONSTATIONARY
from bursar.simulation.game import run
from bursar.simulation.nonstationary_loop import Source

SHARES = np.linspace(0.1, 1.0, 10)
PLAYED = [next(iter(bursar.POLICIES[name].examples())) for name in IN_CHANGING_WORLDS]
TWO = Nonstationary([0, 0.5], reward=[[0.8, 0.3], [0.2, 0.3]], cost=[[0.4, 0.5], [0.4, 0.5]])


def play(policy, problem: Nonstationary, budget: float, **more):
    world = Source(problem, (1, 2, 3))
    return run(bursar.policy(policy), world, budget, SHARES, (1, 2, 3), **more)


@pytest.mark.parametrize("policy", PLAYED, ids=str)
def test_a_game_ends_with_its_budget_and_is_the_same_again(policy):
    game, again = (play(str(policy), TWO, 60.0, record=True) for _ in range(2))
    assert 60.0 <= game.spent[-1] <= 61.0
    assert game.plays[-1] == game.plays_per_arm.sum() == game.choices.size
    assert (np.diff(game.regret) >= 0.0).all()
    assert (game.spent >= SHARES * 60.0).all()
    assert game.choices.tolist() == again.choices.tolist()
    assert game.regret.tolist() == again.regret.tolist()


def test_regret_is_against_the_best_arm_at_the_time():
    """Written again, slowly: the moment comes from the spend before a play."""
    game = play("uniform", TWO, 80.0, record=True)
    luck = Source(TWO, (1, 2, 3))._streams.copy()
    spent = regret = 0.0
    for arm in game.choices.tolist():
        row = TWO.moment(spent / 80.0)
        best = (TWO.rewards[row] / TWO.costs[row]).max()
        regret += TWO.costs[row, arm] * best - TWO.rewards[row, arm]
        uniform(luck[arm])  # the reward's number
        spent += float(uniform(luck[arm]) < TWO.costs[row, arm])
    assert spent == game.spent[-1]
    assert regret == pytest.approx(game.regret[-1], rel=1e-12)


def test_whoever_plays_meets_the_same_luck():
    """Two policies that play one arm only meet the same outcomes: same plays for the budget."""
    single = Nonstationary([0, 0.3], reward=[[0.5], [0.9]], cost=[[0.3], [0.6]])
    games = [play(slug, single, 50.0) for slug in ("bts", "uniform", "omega-ucb", "d-omega-ucb")]
    assert len({game.plays[-1] for game in games}) == 1


def test_an_arm_tires_by_what_is_spent_on_it():
    tired = Nonstationary([0], [[0.8, 0.4]], [[0.5, 0.5]], fatigue=[3.0, 0.0])
    rested = Nonstationary([0], [[0.8, 0.4]], [[0.5, 0.5]])
    shares = [play("sw-omega-ucb:window=400", world, 2000.0) for world in (tired, rested)]
    first = [game.plays_per_arm[0] / game.plays_per_arm.sum() for game in shares]
    assert first[0] < 0.55 < 0.9 < first[1]  # half of the reward is gone at log(2)/3 = 23%
    assert tired.rate < rested.rate == pytest.approx(1.6)


def test_the_same_result_whatever_the_number_of_threads_and_the_order_of_policies():
    slugs = ["omega-ucb:rho=0.25", "sw-omega-ucb:rho=0.25,window=100", "bts"]
    one, two = (
        bursar.simulate(order, "C-abrupt-10", 4, budget_plays=3000, jobs=jobs)
        for order, jobs in ((slugs, 1), (slugs[::-1], 2))
    )
    for i, slug in enumerate(slugs):
        j = two.policies.index(slug)
        assert (one.values[one.policy == i] == two.values[two.policy == j]).all()


def test_who_forgets_nothing_plays_changing_worlds_as_omega_ucb():
    slugs = ["omega-ucb", "sw-omega-ucb:window=1000000", "d-omega-ucb:gamma=1"]
    result = bursar.simulate(slugs, ["C-season-10", "C-fatigue-10"], 3, budget_plays=3000)
    regret = result.values[:, -1, 2].reshape(6, 3)
    assert (regret == regret[:, :1]).all()


@pytest.mark.parametrize("name", [*NONSTATIONARY, "C-abrupt-3:changes=0", "C-drift-50:turns=3"])
def test_settings_are_drawn_from_their_name_and_repetition(name):
    place = bursar.setting(name)
    (world,), (again,), (other,) = (place.problems(i) for i in (4, 4, 5))
    assert world == again != other
    assert (world.arms,) == place.arms
    assert world.min_cost == 0.1 <= world.costs.min()
    assert place.source
    assert world.rate > 0.0
    assert place in (place, bursar.setting(place))


def test_a_world_of_more_changes_begins_as_one_of_fewer():
    few, many = (bursar.setting(f"C-abrupt-10:changes={n}").problems(3)[0] for n in (2, 8))
    assert (few.rewards[0] == many.rewards[0]).all()
    assert few.start.size == 3
    assert set(few.start) <= set(many.start)


def test_the_provider_doubles_the_price_of_the_best_arm_at_half_time():
    (world,) = bursar.setting("C-price-10").problems(0)
    best = world.best_at(0.0)
    changed = np.flatnonzero(world.costs[0] != world.costs[1])
    assert changed.tolist() == [best]
    assert world.costs[1, best] == 2 * world.costs[0, best]
    assert (world.moment(0.49), world.moment(0.5)) == (0, 1)


def test_drift_and_seasons_move_slowly():
    for name in ("C-drift-10", "C-season-10"):
        (world,) = bursar.setting(name).problems(1)
        assert np.abs(np.diff(world.rewards, axis=0)).max() < 0.01
        assert np.abs(world.rewards - world.rewards[0]).max() > 0.2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("C-abrup-10", "no setting named 'C-abrup-10'; did you mean 'C-abrupt-10'?"),
        ("C-abrupt-1", "no setting named 'C-abrupt-1'"),
        ("C-abrupt-10:authors", "C-abrupt-10 has no option 'authors'"),
        ("C-abrupt-10:changes=2.5", "changes must be a whole number from 0 to 1000, got '2.5'"),
        ("C-drift-10:turns=0", "turns must be a whole number from 1 to 1000, got '0'"),
        ("C-season-10:periods=x", "periods must be a number from 0 to 1000, got 'x'"),
    ],
)
def test_names_that_are_wrong_say_what(name, message):
    with pytest.raises(UnknownSetting) as caught:
        bursar.setting(name)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0.1], [[0.5]], [[0.5]]), "start must rise from 0 and stay below 1"),
        (([0, 0.5, 0.5], [[0.5]] * 3, [[0.5]] * 3), "start must rise from 0 and stay below 1"),
        (([0, 0.5], [[0.5]], [[0.5]]), "a row of mean rewards and costs for each of 2 moments"),
        (([0], [[1.5]], [[0.5]]), "reward must be in [0, 1], got 1.5"),
        (([0], [[0.5]], [[0.0]]), "cost must be in (0, 1], got 0"),
        (([0], [[0.5]], [[0.5]], [1, 2]), "give the fatigue of each of 1 arms, got [1, 2]"),
        (([0], [[0.5]], [[0.5]], [-1]), "fatigue must be 0 or more, got -1"),
        (([0], [[0.5]], [[0.5]], None, 0.7), "min_cost must be in (0, 0.5], got 0.7"),
    ],
)
def test_worlds_that_cannot_be_are_refused(given, message):
    with pytest.raises(InvalidInput) as caught:
        Nonstationary(*given)
    assert message in str(caught.value)


def test_a_changing_world_yields_nothing_apart_from_a_game():
    with pytest.raises(InvalidInput, match=r"play it with bursar\.simulate"):
        TWO.sample(np.random.default_rng(1), [0], 3)


def test_the_command_plays_them():
    words = ["simulate", "C-abrupt-3:changes=2", "--policy", "sw-omega-ucb", "--repetitions", "2",
             "--budget-plays", "500", "--json"]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["setting"] == "C-abrupt-3:changes=2"


def test_the_experiment_has_all_policies_all_worlds_and_speeds():
    todo = load_experiment("changing").plan
    later = {"sf-omega-ucb"}  # than the published results
    assert {str(p).partition(":")[0] for p in todo.policies} == set(bursar.POLICIES) - later
    assert {place.change for place in todo.settings} == set(CHANGES)
    amounts = [place.amount for place in todo.settings if place.change == "abrupt"]
    assert amounts == [0, 1, 2, 4, 8, 16, 32]
    assert load_experiment("changing", quick=True).plan.repetitions < todo.repetitions


@pytest.fixture(scope="module")
def swept():
    slugs = ["omega-star-ucb:rho=0.25", "d-omega-star-ucb:rho=0.25,gamma=0.99"]
    places = [f"C-abrupt-3:changes={n}" for n in (0, 4, 16)]
    return bursar.simulate(slugs, places, 12, budget_plays=20_000, shares=[1.0])


def test_the_answer_is_the_speed_from_which_on_the_plain_policy_loses(swept):
    assert list(find_sweeps(swept)) == ["abrupt"]
    (one,) = compare_forgetting(swept)
    assert one.speeds == [0, 4, 16]
    assert 0 in one.wins
    assert 16 in one.loses
    assert one.since is not None
    assert one.since.low > 0.0
    sentence, note = describe_nonstationary(swept)
    assert note.startswith("Each interval is for its comparison alone; 3 were made")
    assert sentence.startswith(
        "In settings of the kind 'abrupt', ω*-UCB (1/4) loses to D-ω*-UCB (1/4, gamma 0.99) from "
    )
    assert "wins at 0" in sentence


def test_the_figure_has_a_line_a_policy_and_a_tick_a_speed(swept):
    (panel,) = draw_nonstationary(swept).axes
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["0", "4", "16"]
    assert {line.get_label() for line in panel.get_lines()} == {
        "ω*-UCB, ρ = 1/4", "D-ω*-UCB, ρ = 1/4, gamma = 0.99",
    }  # fmt: skip


def test_reproduce_changing_writes_figure_and_report(tmp_path: Path, monkeypatch):
    small = load_experiment("changing").but(
        repetitions=2,
        budget_plays=300.0,
        policies=tuple(map(bursar.policy, ["omega-star-ucb:rho=0.25", "sw-omega-star-ucb"])),
    )
    monkeypatch.setattr("bursar.experiments.load_experiment", lambda *_, **__: small)
    words = ["reproduce", "--changing", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "figures" / "changing.png").is_file()
    assert "In settings of the kind" in (tmp_path / "out" / "report.html").read_text()
    refused = CliRunner().invoke(app, ["reproduce", "--changing", "--full"])
    assert isinstance(refused.exception, InvalidInput)
