"""Problems: draws have the stated means and shapes, and what cannot be is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bursar.errors import InvalidInput
from bursar.problems import Bernoulli, Beta, Empirical, GeneralizedBernoulli, Problem, Sampled


def clicks(arm, rng, size):
    clicked = rng.random(size) < (0.2, 0.6, 0.9)[arm]
    return np.where(clicked, 1.0, 0.0), np.where(clicked, 0.5, 0.1)


TABLES = [[(1.0, 0.5), (0.0, 0.25)], [(0.5, 1.0)], [(0.2, 0.1), (0.4, 0.1), (0.9, 0.7)]]
PROBLEMS = [
    Bernoulli([0.9, 0.0, 1.0], [0.3, 1.0, 0.01], name="coins"),
    GeneralizedBernoulli(
        [[1, 2, 3, 4, 5], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]],
        [[5, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1]],
    ),
    GeneralizedBernoulli([[1, 3], [2, 2], [4, 1]], [[1, 1, 1], [0, 1, 5], [2, 1, 0]]),
    Beta([2, 0.05, 4], [1, 3, 0.1], [0.5, 5, 1], [0.5, 1, 4]),
    Sampled([0.2, 0.6, 0.9], [0.18, 0.34, 0.46], clicks),
    Sampled.of(
        [
            (stats.beta(2, 3), stats.uniform(0.1, 0.5)),
            (stats.bernoulli(0.3), stats.truncnorm(-1, 1, 0.5, 0.25)),
            (stats.triang(0.2), stats.beta(1, 9)),
        ]
    ),
    Empirical(TABLES),
]
IDS = ["bernoulli", "generalized", "uneven", "beta", "sampled", "scipy", "empirical"]
every = pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)


@every
def test_draws_have_the_stated_means(problem):
    n = 200_000
    draws = problem.sample(np.random.default_rng(7), np.arange(3), n)
    for drawn, mean in zip(draws, (problem.reward, problem.cost), strict=True):
        error = drawn.std(axis=1) / np.sqrt(n)
        assert (np.abs(drawn.mean(axis=1) - mean) <= 5 * error + 1e-12).all()


@every
def test_shapes_types_and_range(problem):
    rng = np.random.default_rng(1)
    for arms, size in (([2, 0, 2, 1], 50), ([1], 1), ([0, 1], 0), ([], 3)):
        for drawn in problem.sample(rng, np.array(arms, dtype=np.int64), size):
            assert drawn.shape == (len(arms), size)
            assert drawn.dtype == np.float64
            assert ((drawn >= 0) & (drawn <= 1)).all()


@every
def test_the_generator_decides_and_rows_are_independent(problem):
    first, again = (problem.sample(np.random.default_rng(3), [0, 2, 0], 400) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one, other)
    assert any(not np.array_equal(drawn[0], drawn[2]) for drawn in first)


@every
def test_what_every_problem_tells(problem):
    assert problem.arms == 3
    ratio = problem.reward / problem.cost
    assert problem.best == int(np.argmax(ratio))
    assert problem.min_cost == problem.cost.min()
    want = problem.cost * (ratio.max() - ratio)
    assert problem.regret == pytest.approx(want)
    assert problem.regret[problem.best] == 0.0
    assert problem == problem
    assert all(problem != other for other in PROBLEMS if other is not problem)
    assert problem.describe().startswith(f"{type(problem).__name__}(")


def test_means_are_those_of_the_distributions():
    uneven = PROBLEMS[2]
    assert uneven.reward == pytest.approx([0.75, 0.5, 0.2])
    assert uneven.cost == pytest.approx([0.5, 11 / 12, 1 / 6])
    assert PROBLEMS[3].reward == pytest.approx([2 / 3, 0.05 / 3.05, 4 / 4.1])
    assert PROBLEMS[6].cost == pytest.approx([0.375, 1.0, 0.3])


def test_generalized_values_have_their_chances():
    problem = GeneralizedBernoulli([[1, 0, 2, 3, 0]], [[0, 1, 0, 0, 0]])
    rewards, costs = problem.sample(np.random.default_rng(5), [0], 100_000)
    values, counts = np.unique(rewards, return_counts=True)
    assert values.tolist() == [0.0, 0.5, 0.75]  # a value of weight 0 never comes up
    assert counts / 100_000 == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.01)
    assert set(costs.ravel()) == {0.25}


def test_stated_means_can_be_scaled_without_changing_the_draws():
    weights = [[1, 2, 3, 4, 5]], [[5, 4, 3, 2, 1]]
    true, stated = GeneralizedBernoulli(*weights), GeneralizedBernoulli(*weights, mean_factor=0.8)
    assert stated.reward == pytest.approx(0.8 * true.reward)
    assert stated.cost == pytest.approx(0.8 * true.cost)
    assert stated != true
    assert "mean_factor=0.8" in stated.describe()
    one, other = (p.sample(np.random.default_rng(2), [0], 50)[0] for p in (true, stated))
    assert np.array_equal(one, other)


def test_pairs_stay_together():
    rewards, costs = Empirical(TABLES).sample(np.random.default_rng(4), [0, 2], 500)
    for row, arm in enumerate((0, 2)):
        assert set(zip(rewards[row], costs[row], strict=True)) == set(TABLES[arm])
    rewards, costs = PROBLEMS[4].sample(np.random.default_rng(4), [1], 500)
    assert np.array_equal(costs, np.where(rewards == 1.0, 0.5, 0.1))


def test_ranges_of_observed_pairs_are_divided_out():
    problem = Empirical([[(30, 2.0), (10, 4.0)]], reward_range=(0, 40), cost_range=(1, 8))
    assert problem.reward.tolist() == [0.5]
    assert problem.cost.tolist() == [0.375]


def test_names_do_not_matter_for_equality_but_show():
    assert Bernoulli([0.5], [0.5], name="a") == Bernoulli([0.5], [0.5])
    assert repr(Bernoulli([0.5], [0.5], name="a")).endswith("name='a')")
    assert Bernoulli([0.5], [0.5]) != "Bernoulli"


def bad(reward=0.5, cost=0.5):
    return Sampled(
        [0.5], [0.5], lambda arm, rng, size: (np.full(size, reward), np.full(size, cost))
    )


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Bernoulli([0.5, 0.5], [0.1, 0.0]),
            "cost must be in (0, 1], got 0 as the mean cost of arm 1;"
            " a zero-cost arm would never use up the budget; remove it",
        ),
        (lambda: Bernoulli([0.5], [-0.1]), "cost must be in (0, 1], got -0.1"),
        (lambda: Bernoulli([0.5], [1.1]), "cost must be in (0, 1], got 1.1"),
        (
            lambda: Bernoulli([0.5, 0.1], [0.1, 0.2, 0.3]),
            "shapes do not match: reward (2,), cost (3,); pass equal lengths or single numbers",
        ),
        (
            lambda: Problem([0.5], [float("nan")]),
            "cost must be finite, got nan; leave out values that were not observed",
        ),
        (
            lambda: Beta(3, 1, 1, 1),
            "give one mean reward and cost per arm, got arrays of shape ()",
        ),
        (lambda: Beta([1], [1], [0], [1]), "cost_alpha must be positive, got 0"),
        (
            lambda: GeneralizedBernoulli([[1, 1]], [[1, 0]]),
            "cost must be in (0, 1], got 0 as the mean cost of arm 0;"
            " a zero-cost arm would never use up the budget; remove it",
        ),
        (
            lambda: GeneralizedBernoulli([1, 1], [[1, 1]]),
            "reward_weights must be a table of one row per arm and 2 or more values, got shape",
        ),
        (
            lambda: GeneralizedBernoulli([[1, 1], [0, 0]], [[1, 1], [1, 1]]),
            "reward_weights must be 0 or more and not all 0 in a row, got [0.0, 0.0] for arm 1",
        ),
        (
            lambda: GeneralizedBernoulli([[1, 1]], [[2, -1]]),
            "cost_weights must be 0 or more and not all 0 in a row, got [2.0, -1.0] for arm 0",
        ),
        (
            lambda: GeneralizedBernoulli([[1, 1]], [[1, 1], [1, 1]]),
            "reward_weights has 1 arms, cost_weights 2; give both a row per arm",
        ),
        (
            lambda: GeneralizedBernoulli([[1, 1]], [[1, 1]], mean_factor=0),
            "mean_factor must be in (0, 1], got 0",
        ),
        (lambda: Empirical([]), "give a table of (reward, cost) pairs for each arm, got none"),
        (
            lambda: Empirical([[(0.5, 0.5)], [0.5, 0.5]]),
            "the table of arm 1 must have a (reward, cost) pair in each row, got shape (2,)",
        ),
        (
            lambda: Empirical([[(0.5, 0.5), (0.5, -0.5)]]),
            "cost must be in its range [0, 1], got -0.5 for arm 0;"
            " pass the cost_range that fits the data",
        ),
        (
            lambda: Empirical([[(7, 0.5)]]),
            "reward must be in its range [0, 1], got 7 for arm 0;"
            " pass the reward_range that fits the data",
        ),
        (
            lambda: Empirical([[(0.5, 0.0)], [(0.5, 0.0)]]),
            "cost must be in (0, 1], got 0 as the mean cost of arm 0;"
            " a zero-cost arm would never use up the budget; remove it",
        ),
        (
            lambda: Empirical([[(0.5, 0.5)]], reward_range=(-1, 1)),
            "reward_range must be (low, high) with 0 <= low < high, got (-1, 1);"
            " a shift would change the reward per cost",
        ),
        (
            lambda: Sampled([0.5], [0.5], 3),
            "sampler must be a function of (arm, rng, size), got 3;"
            " for scipy distributions there is Sampled.of",
        ),
        (
            lambda: bad(reward=1.5).sample(RNG, [0], 3),
            "rewards must be in [0, 1], got 1.5 for arm 0; divide by the largest possible value",
        ),
        (
            lambda: bad(cost=float("nan")).sample(RNG, [0], 3),
            "costs must be in [0, 1], got nan for arm 0; divide by the largest possible value",
        ),
        (
            lambda: Sampled([0.5], [0.5], lambda a, r, n: (0.5, 0.5)).sample(RNG, [0], 3),
            "the sampler must return 3 rewards for arm 0, got shape ()",
        ),
        (
            lambda: Sampled([0.5], [0.5], lambda a, r, n: None).sample(RNG, [0], 3),
            "the sampler must return (rewards, costs), got None for arm 0",
        ),
        (
            lambda: Sampled.of([(1, 2)]),
            "give a pair of frozen distributions (reward, cost) for each arm, with mean() and"
            " rvs(size=, random_state=), got [(1, 2)]",
        ),
        (
            lambda: Sampled.of([(stats.norm(0.5, 3), stats.uniform())]).sample(RNG, [0], 99),
            "rewards must be in [0, 1], got",
        ),
        (lambda: PROBLEMS[0].sample(RNG, [0, 3], 1), "arms must be in 0…2, got 3"),
        (lambda: PROBLEMS[0].sample(RNG, [-1], 1), "arms must be in 0…2, got -1"),
        (
            lambda: PROBLEMS[0].sample(RNG, [0.5], 1),
            "arms must be a list of whole numbers, got [0.5]",
        ),
        (lambda: PROBLEMS[0].sample(RNG, [0], -1), "size must be 0 or more, got -1"),
    ],
)
def test_what_cannot_be_is_named(call, message):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_a_bare_problem_cannot_be_drawn():
    with pytest.raises(NotImplementedError, match="Problem has no _draw"):
        Problem([0.5], [0.5]).sample(RNG, [0], 1)


def test_many_parameters_are_summarised():
    rng = np.random.default_rng(1)
    problem = Empirical(rng.uniform(0.1, 1.0, size=(3, 500, 2)).tolist(), name="ads")
    assert len(repr(problem)) < 120
    assert repr(problem).startswith("<Empirical 'ads': 3 arms, mean rewards 0.5")
    assert len(problem.describe()) > 10_000
