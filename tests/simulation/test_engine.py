"""The engine: its quick loops against the plain one play by play, tapes, budgets, and BTS's law."""

from __future__ import annotations

import numpy as np
import pytest
from extent import extent
from scipy import stats

import bursar
from bursar.errors import InvalidInput, TapeTooLong
from bursar.jit.arms import new_game
from bursar.jit.rng import new_stream
from bursar.simulation import thompson_loop
from bursar.simulation.game import columns_for, fastest_loop, run
from bursar.simulation.lazy_loop import (
    ABSENT,
    NEVER,
    find_expired,
    find_infinite,
    find_waking,
    new_tree,
    put,
)
from bursar.simulation.tape import Tape
from bursar.simulation.thompson_loop import tail

SHARES = np.linspace(0.05, 1.0, 20)
LAZY = [
    p
    for cls in bursar.POLICIES.values()
    for p in cls.examples()
    if fastest_loop(p) in ("lazy", "greedy")
]
RECALL = [
    p.but(ties=ties)
    for cls in bursar.POLICIES.values()
    for p in cls.examples()
    if fastest_loop(p) == "cached"
    for ties in ("random", "first")
]


def problem(number: int) -> bursar.Problem:
    """K from 1 to 300, all three distributions, equal arms and nearly free arms among them."""
    rng = np.random.default_rng([7, number])
    arms = int(
        rng.choice([1, 2, 3, 5, 10, 30, 100, 300], p=[0.1, 0.1, 0.1, 0.2, 0.2, 0.15, 0.1, 0.05])
    )
    kind = number % 4
    if kind == 0:
        reward, cost = rng.uniform(size=arms), rng.uniform(0.01, 1.0, arms)
        if number % 8 == 0:
            reward[:], cost[:] = reward[0], cost[0]  # every arm alike: ties all the time
        return bursar.Bernoulli(reward, cost)
    if kind == 1:
        return bursar.GeneralizedBernoulli(rng.uniform(size=(arms, 5)), rng.uniform(size=(arms, 5)))
    if kind == 2:
        return bursar.Beta(*rng.uniform(0.05, 5.0, size=(4, arms)))
    reward, cost = rng.uniform(size=arms), rng.uniform(0.2, 1.0, arms)
    cost[0] = 0.002  # costs nothing for hundreds of plays: infinite indices
    return bursar.Bernoulli(reward, cost)


@pytest.mark.parametrize("policy", LAZY, ids=str)
def test_the_lazy_loop_makes_the_choices_of_the_plain_one(policy):
    """12 of 200 problems for each policy, 8 of 20 for further parameters of it.

    They have each kind of problem twice and 1 to 300 arms; the longest games end early.
    """
    first = next(iter(type(policy).examples()))
    for number in range(extent(12, 200) if policy == first else extent(8, 20)):
        compare(policy, number)


@pytest.mark.parametrize("policy", RECALL, ids=str)
def test_a_loop_that_recalls_makes_the_choices_of_the_plain_one(policy):
    """12 of 80 problems for each policy and rule for ties, 8 of 12 for further parameters."""
    first = next(iter(type(policy).examples()))
    for number in range(extent(12, 80) if policy.but(ties="random") == first else extent(8, 12)):
        place = problem(number)
        if place.arms * place.cost.mean() < 1e4 * place.min_cost:  # else a million plays
            compare(policy, number)


def test_a_long_game_that_is_recalled_agrees_too():
    """From the first plays, when arms have all in common to learn, to a budget that is spent."""
    rng = np.random.default_rng(4)
    for place in (
        bursar.Bernoulli(rng.uniform(size=8), rng.uniform(0.1, 1.0, 8)),
        bursar.Beta(*rng.uniform(0.05, 5.0, size=(4, 8))),
        bursar.Bernoulli([0.5, 0.5, 0.5, 0.49], [0.5, 0.5, 0.5, 0.5]),
    ):
        for policy in RECALL:
            tape = Tape(place, (0, 4))
            games = [
                run(policy, tape, 4_000.0, SHARES, (0, 4), loop=loop, record=True)
                for loop in ("plain", "auto")
            ]
            assert games[0].choices.tolist() == games[1].choices.tolist()


def compare(policy: bursar.Policy, number: int) -> None:
    place = problem(number)
    slow = policy.name == "kl-ucb-sc-plus" or policy.choose_cached is not None
    plays = 100 + 2 * place.arms if slow else 1500 + 6 * place.arms  # well beyond the first of each
    budget = plays * place.cost.mean()
    if number % 4 == 3:  # an arm is nearly free: with 300 arms, the budget pays a million plays
        budget = min(budget, 1.2 * place.cost.sum() + extent(100_000, 10**9) * place.min_cost)
    tape = Tape(place, (1, number))
    plain = run(policy, tape, budget, SHARES, (1, number), loop="plain", record=True)
    quick = run(policy, tape, budget, SHARES, (1, number), record=True)
    differ = np.flatnonzero(
        plain.choices[: quick.choices.size] != quick.choices[: plain.choices.size]
    )
    assert not differ.size, f"problem {number}, {place.arms} arms: other choice at play {differ[0]}"
    assert plain.choices.size == quick.choices.size
    assert plain.plays.tolist() == quick.plays.tolist()
    assert plain.regret.tolist() == quick.regret.tolist()
    assert plain.spent == pytest.approx(quick.spent, rel=1e-12)


def test_a_long_game_agrees_too():
    """Long enough for blocks of thousands of plays and for tapes that grow many times."""
    place = bursar.setting("S-Br-10").problems(3)[0]
    for slug in ("omega-ucb:rho=1", "omega-star-ucb:rho=0.25", "ucb-b2", "b-greedy"):
        tape = Tape(place, (0, 3))
        games = [
            run(
                bursar.policy(slug),
                tape,
                40_000 * place.min_cost,
                SHARES,
                (0, 3),
                loop=loop,
                record=True,
            )
            for loop in ("plain", "auto")
        ]
        assert games[0].choices.tolist() == games[1].choices.tolist()


@pytest.mark.parametrize("name", ["plain", "auto"])
def test_games_end_with_the_budget_and_marks_rise(name):
    for policy in (next(iter(cls.examples())) for cls in bursar.POLICIES.values()):
        place = problem(5)
        tape = Tape(place, (2, 5))
        game = run(policy, tape, 60.0, SHARES, (2, 5), loop=name, record=True)
        assert 60.0 <= game.spent[-1] <= 61.0
        assert (np.diff(game.plays) >= 0).all()
        assert (np.diff(game.regret) >= 0).all()
        assert (game.spent >= SHARES * 60.0).all()
        assert game.plays[-1] == game.plays_per_arm.sum() == game.choices.size
        assert game.regret[-1] == pytest.approx(place.regret @ game.plays_per_arm)


def test_nothing_is_overspent_if_so_wished():
    for slug in ("omega-ucb:rho=1", "bts", "b-greedy", "uniform"):
        for number in (1, 2, 3):
            tape = Tape(problem(number), (3, number))
            game = run(bursar.policy(slug), tape, 50.5, SHARES, (3, number), overspend="never")
            assert 49.5 < game.spent[-1] <= 50.5


def test_outcomes_depend_on_seed_repetition_arm_and_play_only():
    place = problem(2)
    one, other = Tape(place, (4, 2)), Tape(place, (4, 2))
    last = place.arms - 1
    for arm in (0, 0, last, 0):
        one.extend(arm)
    for arm in (last, 0, 0, 0):
        other.extend(arm)
    for arm in (0, last):
        rows = [t.rows[t.start[arm] : t.start[arm] + t.length[arm]] for t in (one, other)]
        assert np.array_equal(*rows)
    fresh = Tape(place, (4, 3))
    assert not np.array_equal(fresh.rows[:60], one.rows[:60])


def test_a_tape_is_running_statistics_of_its_outcomes():
    place = problem(2)
    tape = Tape(place, (5,))
    for _ in range(3):
        tape.extend(0)
    rows = tape.rows[tape.start[0] : tape.start[0] + tape.length[0]]
    reward, cost = np.diff(rows[:, 0]), np.diff(rows[:, 1])
    for n in (1, 2, 30, 63, 64, 65, rows.shape[0] - 1):
        assert rows[n, 2] == pytest.approx(n * np.var(reward[:n]), abs=1e-9)
        assert rows[n, 3] == pytest.approx(n * np.var(cost[:n]), abs=1e-9)
    n = np.arange(1, rows.shape[0])
    means = rows[1:, 0] / n, rows[1:, 1] / n
    for chunk in range(rows.shape[0] >> tape.bits):
        inside = (n >> tape.bits) == chunk
        span = tape.spans[(tape.start[0] >> tape.bits) + chunk]
        assert span[0] == means[0][inside].min()
        assert span[1] == means[0][inside].max()
        assert span[2] == means[1][inside].min()
        assert span[3] == means[1][inside].max()
    assert 0.0 < rows[-1, 4] / n[-1] < 1.0
    assert rows[-1, 4] / n[-1] == pytest.approx(means[0][-1], abs=0.05)


def test_only_the_columns_that_are_read_are_kept():
    slugs = {"omega-ucb:rho=1": 2, "omega-star-ucb:rho=1": 4, "bts": 6}
    for slug, columns in slugs.items():
        assert columns_for([bursar.policy(slug)]) == columns
    place = problem(4)
    narrow = Tape(place, (6,), columns=2)
    wide = Tape(place, (6,))
    games = [
        run(bursar.policy("m-ucb"), t, 30.0, SHARES, (6,), record=True) for t in (narrow, wide)
    ]
    assert games[0].choices.tolist() == games[1].choices.tolist()
    for tape in (narrow, wide):
        for _ in range(3):
            tape.extend(0)
    first, other = (t.rows[t.start[0] : t.start[0] + t.length[0], :2] for t in (narrow, wide))
    assert np.array_equal(first, other), "outcomes depend on which columns are kept"


def test_a_tape_that_would_not_fit_is_refused():
    place = bursar.Bernoulli([0.5, 0.5], [0.5, 0.5], name="tiny")
    tape = Tape(place, (7,), limit=100_000)
    with pytest.raises(
        TapeTooLong, match=r"tiny: arm \d needs more than [\d,]+ plays and all arms"
    ):
        run(bursar.policy("uniform"), tape, 1e6, SHARES, (7,))


def test_memory_is_reused_when_tapes_move():
    place = bursar.Bernoulli(np.full(50, 0.5), np.full(50, 0.5))
    tape = Tape(place, (8,))
    for _ in range(4):
        for arm in range(50):
            tape.extend(arm)
    assert tape.used <= 2 * tape.length.sum()


def test_an_unknown_loop_is_refused():
    with pytest.raises(InvalidInput, match="kube has no 'lazy' loop; choose 'auto' or 'plain'"):
        run(bursar.policy("kube"), Tape(problem(1), (9,)), 5.0, SHARES, (9,), loop="lazy")


def test_the_tree_finds_what_a_search_would():
    rng = np.random.default_rng(0)
    for arms in (1, 2, 7, 64, 100):
        tree = new_tree(arms)
        bound, expiry = np.full(arms, ABSENT), np.full(arms, NEVER)
        for _ in range(300):
            k = int(rng.integers(arms))
            bound[k] = rng.choice([ABSENT, np.inf, rng.uniform()])
            expiry[k] = rng.choice([NEVER, int(rng.integers(50))])
            put(tree, k, bound[k], expiry[k])
            level, plays = float(rng.uniform()), int(rng.integers(50))
            waking = np.flatnonzero((bound >= level) | (expiry < plays))
            found = find_waking(tree, level, plays)
            assert (found in waking) if waking.size else found == -1
            expired = np.flatnonzero(expiry < plays)
            found = find_expired(tree, plays)
            assert (found in expired) if expired.size else found == -1
            infinite = np.flatnonzero(np.isinf(bound))
            assert tree[1]["infinite"] == infinite.size
            for skip in range(min(infinite.size, 3)):
                assert find_infinite(tree, skip) == infinite[skip]


def frozen(number: int):
    """Posteriors of some arms, as rows of a tape."""
    rng = np.random.default_rng([11, number])
    arms = int(rng.integers(2, 12))
    n = rng.integers(1, [30, 300, 3000][number % 3], arms)
    chance = rng.uniform(size=(2, arms))
    hits = rng.binomial(n, chance[0]), rng.binomial(n, chance[1])
    start = np.concatenate(([0], np.cumsum(n + 1)[:-1])).astype(np.int64)
    rows = np.zeros((int((n + 1).sum()), 6))
    rows[start + n, 4], rows[start + n, 5] = hits
    return rows, start, n.astype(float)


@pytest.mark.parametrize("number", range(extent(6, 12)))  # each size of sample twice
def test_bts_draws_less_but_chooses_with_the_same_law(number):
    """Choices from frozen posteriors, the short way and in full: one chi-square test each."""
    rows, start, n = frozen(number)
    draws = 60_000
    counts = np.zeros((2, n.size))
    state, memory = new_game(1e9), thompson_loop.new_memory(n.size)
    state["plays"] = int(n.sum())
    short, full = new_stream(number, 1), new_stream(number, 2)
    for _ in range(draws):
        counts[0, thompson_loop.decide(rows, start, n, state[0], *memory, short)] += 1
        counts[1, thompson_loop.decide_in_full(rows, start, n, full)] += 1
        state["plays"] += 1
    often = counts.sum(axis=0) > 20
    if often.sum() > 1:
        assert stats.chi2_contingency(counts[:, often]).pvalue > 1e-4


def test_the_tail_bound_of_bts_is_a_bound():
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(1, 400))
        over, under = rng.binomial(n, rng.uniform()), rng.binomial(n, rng.uniform())
        ratio = rng.beta(over + 1, n - over + 1, 20_000) / rng.beta(
            under + 1, n - under + 1, 20_000
        )
        q = float(np.quantile(ratio, rng.uniform(0.5, 0.999)))
        _, bound = tail(float(n), float(over), float(under), float(np.log(q)))
        assert (ratio > q).mean() <= bound + 4 * np.sqrt(bound / 20_000) + 1e-9


def test_bts_has_the_regret_of_its_plain_loop():
    """100 games each on one problem: means within 4 standard errors of their difference."""
    place = bursar.setting("S-Br-10").problems(1)[0]
    finals = {"plain": [], "auto": []}
    for repetition in range(100):
        tape = Tape(place, (12, repetition))
        for loop, found in finals.items():
            game = run(
                bursar.policy("bts"),
                tape,
                2000 * place.min_cost,
                SHARES,
                (12, repetition),
                loop=loop,
            )
            found.append(game.regret[-1])
    gap = np.mean(finals["plain"]) - np.mean(finals["auto"])
    error = np.hypot(*(stats.sem(found) for found in finals.values()))
    assert abs(gap) < 4 * error
