"""Whole games: the budget, the seed, what is recorded, and that learning pays."""

from __future__ import annotations

import numpy as np
import pytest

import bursar
from bursar.errors import InvalidInput, MissingKnowledge

PROBLEM = bursar.Bernoulli(reward=[0.9, 0.6, 0.3], cost=[0.3, 0.6, 0.9])
EVERY = [p for cls in bursar.POLICIES.values() for p in cls.examples()]


@pytest.mark.parametrize("policy", EVERY, ids=str)
def test_a_game_ends_with_the_budget(policy):
    run = bursar.play(policy, PROBLEM, budget=40, seed=3, record=True)
    assert 40 <= run.spent <= 41
    assert run.plays == run.choices.size == run.plays_per_arm.sum()
    assert np.bincount(run.choices, minlength=3).tolist() == run.plays_per_arm.tolist()
    assert run.regret == pytest.approx((PROBLEM.regret * run.plays_per_arm).sum())
    again = bursar.play(str(policy), PROBLEM, budget=40, seed=3, record=True)
    assert again.choices.tolist() == run.choices.tolist()
    assert run.policy == str(policy)


PROBLEMS = [
    bursar.Beta([2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0]),
    bursar.Empirical([[[0.0, 0.5], [1.0, 1.0], [0.5, 0.25]], [[0.25, 0.5]]]),
    bursar.Nonstationary([0, 0.5], [[0.8, 0.3], [0.2, 0.3]], [[0.5, 0.5], [0.5, 0.5]]),
]


@pytest.mark.parametrize("slug", ["omega-star-ucb:rho=0.25", "bts", "b-greedy", "uniform"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda one: type(one).__name__)
def test_every_problem_can_be_played(slug, problem):
    run = bursar.play(slug, problem, budget=40, seed=3, record=True)
    assert 40 <= run.spent <= 41
    assert run.plays == run.choices.size == run.plays_per_arm.sum()
    assert np.bincount(run.choices, minlength=2).tolist() == run.plays_per_arm.tolist()
    assert 0.0 < run.reward <= run.plays
    short = bursar.play(slug, problem, budget=40, seed=3, record=True, max_plays=30)
    assert short.plays == 30
    assert short.choices.tolist() == run.choices[:30].tolist()


def test_another_seed_is_another_game():
    games = {
        bursar.play("bts", PROBLEM, 40, seed=s, record=True).choices.tobytes() for s in range(9)
    }
    assert len(games) == 9


SLOW = ("ucb-bv1", "ucb-bv2", "ucb-b2")  # infinite indices: still round robin at such budgets
LEARNERS = [slug for slug in bursar.POLICIES if slug not in ("uniform", *SLOW)]


@pytest.mark.parametrize("slug", LEARNERS)
def test_learning_beats_chance(slug):
    problem = bursar.Bernoulli(reward=[0.9, 0.5, 0.5, 0.2], cost=[0.3, 0.6, 0.9, 0.7])
    ours = np.mean([bursar.play(slug, problem, 2000, seed=s).regret for s in range(10)])
    chance = np.mean([bursar.play("uniform", problem, 2000, seed=s).regret for s in range(10)])
    assert ours < 0.6 * chance


def test_the_paper_prefers_its_own_policy_with_reason():
    """ω*-UCB(1/4) against the yardsticks, 20 fixed games on a random problem of 10 arms."""
    problem = bursar.Bernoulli.random(10, seed=1, cost_low=0.01)
    budget = 20_000 * problem.min_cost
    regret = {
        slug: np.mean([bursar.play(slug, problem, budget, seed=s).regret for s in range(20)])
        for slug in ("omega-star-ucb:rho=0.25", "omega-ucb:rho=1", "b-greedy", "uniform")
    }
    assert regret["omega-star-ucb:rho=0.25"] < regret["omega-ucb:rho=1"] < regret["uniform"] / 3


def test_ties_first_takes_the_first():
    """All arms alike: with ties="first" the initial plays and the next choice are in order."""
    same = bursar.Bernoulli(reward=[1.0] * 4, cost=[1.0] * 4)
    first = bursar.play("m-ucb", same, 5, ties="first", record=True)
    assert first.choices.tolist() == [0, 1, 2, 3, 0]
    assert first.policy == "m-ucb:ties=first"
    fair = [bursar.play("m-ucb", same, 5, seed=s, record=True).choices[4] for s in range(40)]
    assert set(fair) == {0, 1, 2, 3}


def test_plays_can_be_limited_and_long_games_come_in_chunks():
    assert bursar.play("uniform", PROBLEM, 1e6, max_plays=0).plays == 0
    assert bursar.play("uniform", PROBLEM, 1e6, max_plays=10, record=True).choices.size == 10
    run = bursar.play("uniform", PROBLEM, 1e9, max_plays=200_001, record=True)
    assert run.plays == run.choices.size == 200_001
    assert bursar.play("uniform", PROBLEM, 100).choices is None


def test_learner_in_the_users_own_units():
    learner = bursar.policy("omega-star-ucb:rho=0.25").learner(
        2, reward_range=(-1, 4), cost_range=(10, 50), seed=1
    )
    assert learner.choose() == 0
    learner.record(0, reward=3.5, cost=20)
    assert learner.choose() == 1
    learner.record(1, reward=-0.5, cost=45)
    assert learner.spent == pytest.approx(65)
    assert learner.earned == pytest.approx(3.0)
    assert learner.plays_per_arm.tolist() == [1, 1]
    index = learner.policy.indices(
        n=[1, 1], mean_reward=[3.5, -0.5], mean_cost=[20, 45], plays=2,
        reward_range=(-1, 4), cost_range=(10, 50),
    )  # fmt: skip
    assert learner.choose() == int(np.argmax(index))


@pytest.mark.parametrize(
    ("arm", "reward", "cost", "message"),
    [
        (0, 1.5, 0.5, r"reward must be in its range \[0, 1\], got 1.5; start the learner with rew"),
        (0, 0.5, -0.1, r"cost must be in its range \[0, 1\], got -0.1"),
        (0, float("nan"), 0.5, "reward must be in its range"),
        (2, 0.5, 0.5, "arm must be in 0…1, got 2"),
        (-1, 0.5, 0.5, "arm must be a whole number, 0 or more, got -1; give what choose"),
        (0.5, 0.5, 0.5, "arm must be a whole number, 0 or more, got 0.5"),
        (True, 0.5, 0.5, "arm must be a whole number, 0 or more, got True"),
        (0, "a", 0.5, "reward must be a number, got 'a'"),
        (0, 0.5, None, "cost must be a number, got None"),
    ],
)
def test_an_outcome_that_cannot_be_is_refused_and_changes_nothing(arm, reward, cost, message):
    learner = bursar.policy("bts").learner(2)
    before = learner.arms.copy(), learner.stream.copy()
    with pytest.raises(InvalidInput, match=message):
        learner.record(arm, reward, cost)
    assert (learner.arms == before[0]).all()
    assert (learner.stream == before[1]).all()


def test_a_learner_is_told_what_its_policy_must_know():
    with pytest.raises(MissingKnowledge, match="kube needs to know the budget, got None; give bud"):
        bursar.policy("kube").learner(2)
    with pytest.raises(MissingKnowledge, match="ucb-bv1 needs to know min_cost"):
        bursar.policy("ucb-bv1").learner(2)
    bursar.policy("ucb-bv1:min_cost=0.1").learner(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bursar.play("bts", PROBLEM, 0), "budget must be positive and finite, got 0"),
        (lambda: bursar.play("bts", PROBLEM, float("inf")), "got inf"),
        (
            lambda: bursar.play("bts", PROBLEM, 9, max_plays=-1),
            "max_plays must be a whole number, 0 or more, got -1",
        ),
        (lambda: bursar.play("bts", PROBLEM, 9, seed=-1), "a seed must be a whole number"),
        (lambda: bursar.policy("bts").learner(0), "arms must be a whole number, 1 or more, got 0"),
        (lambda: bursar.policy("bts").learner(1.5), "arms must be a whole number, 1 or more, got"),
        (
            lambda: bursar.play("bts", None, 9),
            "problem must be a problem such as bursar.Bernoulli, got None",
        ),
        (lambda: bursar.play("bts", PROBLEM, "9"), "budget must be a number, got '9'"),
        (lambda: bursar.play("bts", PROBLEM, 9, max_plays=1.5), "max_plays must be a whole number"),
        (lambda: bursar.policy("ucb-bv1").learner(2, min_cost=-1), "min_cost must be positive and"),
        (lambda: bursar.Bernoulli.random(3, cost_low=2), r"cost_low must be in \[0, 1\), got 2"),
        (
            lambda: bursar.Bernoulli.random(3, seed=-1),
            "seed must be a whole number, 0 or more, got",
        ),
        (
            lambda: bursar.policy("bts").learner(2, budget=-1),
            "budget must be positive and finite, got -1",
        ),
        (lambda: bursar.Bernoulli([0.5], [0.0]), r"cost must be in \(0, 1\], got 0"),
        (lambda: bursar.Bernoulli([1.5], [0.5]), r"reward must be in \[0, 1\], got 1.5"),
        (lambda: bursar.Bernoulli([], []), r"give one mean reward and cost per arm, got arrays of"),
        (lambda: bursar.Bernoulli.random(0), "arms must be a whole number, 1 or more, got 0"),
    ],
)
def test_bad_games_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_problems_show_themselves():
    assert repr(bursar.Bernoulli([0.5], [0.25])) == "Bernoulli(reward=[0.5], cost=[0.25])"
    assert bursar.Bernoulli([0.5], [0.25]) == bursar.Bernoulli([0.5], [0.25])
    assert bursar.Bernoulli([0.5], [0.25]) != bursar.Bernoulli([0.5], [0.3])
    drawn = bursar.Bernoulli.random(50, seed=4, cost_low=0.01)
    assert drawn.best == 0
    assert (np.diff(drawn.reward / drawn.cost) <= 0).all()
    assert drawn.min_cost >= 0.01
