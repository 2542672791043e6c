"""sf-omega-ucb: its bounds in 60 digits, its indices against the twin, units, edges, and games."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from exact import wilson
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf, sqrt
from twins import ScaleFreeOmegaUCB as Twin

import bursar
from bursar.campaign import Campaign
from bursar.jit.arms import new_arms, new_game
from bursar.policies import sf_omega_ucb
from bursar.policies.sf_omega_ucb import Params, pooled, scale_free_lower, scale_free_upper, scores

SLUG = "sf-omega-ucb"


def learner(arms: int, **game: Any) -> bursar.Learner:
    return bursar.policy(SLUG).learner(arms, **game)


# the bounds of a mean

MEANS = [1e-280, 1e-12, 0.3, 1.0, 7.5, 1e9]
WIDTHS = [0.0, 1e-18, 1e-9, 0.01, 0.5, 3.0, 1e6, 1e12]


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("a", WIDTHS)
def test_the_bounds_are_the_roots(mean, a):
    x, w = mpf(mean), mpf(a)
    ends = [x * (1 + w / 2 + sign * sqrt(w + w * w / 4)) for sign in (-1, 1)]
    low, high = scale_free_lower(mean, a), scale_free_upper(mean, a)
    for got, want in zip((low, high), ends, strict=True):
        assert abs((x - want) ** 2 - w * x * want) < mpf(10) ** -30 * (w + 1) * x * want
        assert abs(mpf(got) / want - 1) < 1e-15
    assert abs(mpf(low) * mpf(high) / x**2 - 1) < 1e-15
    assert 0.0 < low <= mean <= high
    assert (low < mean < high) == (a > 1e-17**2)


@pytest.mark.parametrize("a", [1e-4, 0.01, 0.5, 40.0])
def test_they_are_the_limit_of_theorem_1(a):
    """z²/n σ²/x² = a: with σ fixed, [0, M] matters less and less."""
    mean, z2, n = mpf("0.3"), mpf(3), 50
    variance = a * n * mean**2 / z2
    limit = [scale_free_lower(0.3, a), scale_free_upper(0.3, a)]
    gaps = []
    for most in (10**4, 10**6, 10**30):
        bounds = wilson(mean, n, z2, variance / (mean * (most - mean)), 0, most)
        gaps.append(max(abs(x / y - 1) for x, y in zip(bounds, limit, strict=True)))
    assert gaps[2] < 1e-15
    assert gaps[1] < gaps[0] / 50  # it falls as 1/M


# the indices of whole games


def tape(arms: int, rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rewards of some size that are often 0, and costs of two and a half orders of magnitude."""
    rng = np.random.default_rng(seed)
    size, chance = rng.choice([1.0, 0.6, 0.25], arms), rng.uniform(0.02, 0.9, arms)
    noise = rng.choice([0.0, 0.3], arms)[:, None]
    rewards = size[:, None] * (rng.random((arms, rounds)) < chance[:, None])
    rewards = rewards * (1.0 - noise * rng.random((arms, rounds)))
    price = np.exp(rng.normal(-4.0, 1.2, arms))
    costs = np.minimum(price[:, None] * np.exp(rng.normal(0.0, 0.8, (arms, rounds))), 1.0)
    costs[0, : rounds // 10] = 0.0  # free at first
    return rewards, costs


GAMES = [  # budgets that last, and some that are spent
    (1, 2.0, (0.0, 1.0), False), (2, 0.1, (0.0, 1.0), True), (3, 2.0, (-1.0, 1.0), True),
    (4, 0.2, (-3.0, -1.0), False),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "budget", "ends", "capped"), GAMES)
def test_every_index_is_that_of_the_twin(seed, budget, ends, capped):
    arms, rounds = 6, 80
    rewards, costs = tape(arms, rounds, seed)
    low, width = ends[0], ends[1] - ends[0]
    ours = learner(arms, seed=seed, budget=budget, reward_range=ends)
    twin = Twin(arms, budget, 0.0, False, offset=low / width)
    if capped:
        caps = np.where(np.arange(arms) % 3, 2.0 * costs.max(axis=1), 0.0)
        twin.caps = caps.tolist()
        ours.arms["cap"] = twin.caps
    for i in range(rounds):
        found = scores(ours.kernel_params, ours.arms, ours.game)
        assert found == pytest.approx(twin.indices(), rel=1e-8), f"round {i}"
        arm = ours.choose()
        assert found[arm] == found.max()
        ours.record(arm, low + width * rewards[arm, i], costs[arm, i])
        twin.record(arm, float(rewards[arm, i]), float(costs[arm, i]), None)
    arms_now, played = ours.arms, ours.plays_per_arm > 0
    n = np.maximum(arms_now["n"], 1.0)
    shown = ours.policy.indices(
        n=arms_now["n"], mean_reward=low + width * arms_now["reward"] / n,
        mean_cost=arms_now["cost"] / n, var_reward=width**2 * arms_now["reward_m2"] / n,
        var_cost=arms_now["cost_m2"] / n, plays=rounds, budget=budget, reward_range=ends,
    )  # fmt: skip
    found = scores(ours.kernel_params, arms_now, ours.game)
    assert shown[played] == pytest.approx(width * found[played], rel=1e-8)
    assert np.isposinf(shown[~played]).all()


# properties

plays = st.one_of(st.integers(1, 40).map(float), st.floats(1e-6, 1.0), st.sampled_from([1e3, 1e9]))
share = st.one_of(st.just(0.0), st.floats(1e-6, 1.0), st.just(1.0))
arm = st.tuples(plays, share, share, share, share, share)  # n, means, variances, maximum
records = st.lists(st.one_of(arm, st.just((0.0, 0.0, 0.0, 0.0, 0.0, 1.0))), min_size=1, max_size=6)


def table(rows: list[tuple[float, ...]]) -> np.ndarray:
    """Arms from plays, mean reward and cost, shares of the largest variances, and maxima."""
    arms = new_arms(len(rows))
    n, r, c, vr, vc, cap = np.array(rows).T
    arms["n"], arms["reward"], arms["cost"], arms["cap"] = n, n * r, n * c, cap
    arms["reward_m2"], arms["cost_m2"] = n * vr * r * (1.0 - r), n * vc * c * (1.0 - c)
    return arms


def scored(arms: np.ndarray, budget: float, spent: float = 0.0, offset: float = 0.0) -> np.ndarray:
    game = new_game(budget)
    game["spent"] = spent
    return scores(Params(1.0, budget, offset), arms, game)


@given(
    records,
    st.sampled_from([1e-3, 5.0, 1e9]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.0, -0.5, -2.0]),
)
def test_no_score_is_nan(rows, budget, gone, offset):
    """Zero and constant costs and rewards, fractions of plays, more spent than there was."""
    found = scored(table(rows), budget, gone * budget, offset)
    assert not np.isnan(found).any()
    played = np.array(rows)[:, 0] > 0.0
    assert np.isfinite(found[played]).all()
    assert offset < 0.0 or (found[played] >= 0.0).all()
    assert np.isin(found[~played], [math.inf, -math.inf]).all()
    assert played.any() or math.inf in found


@given(records, st.floats(1e-4, 1.0), st.sampled_from([0.1, 50.0]))
def test_the_unit_of_costs_is_no_matter(rows, factor, budget):
    """Cents or euros within one range: indices are divided, decisions are the same."""
    if all(c == 0.0 for n, _, c, *_ in rows if n):
        return  # nothing tells the unit yet
    arms = table(rows)
    before = scored(arms, budget)
    arms["cost"] *= factor
    arms["cost_m2"] *= factor**2
    arms["cap"] *= factor
    after = scored(arms, budget * factor)
    assert after * factor == pytest.approx(before, rel=1e-7)


@given(records, st.floats(1e-3, 1e3))
def test_all_maxima_may_be_padded_alike(rows, factor):
    arms = table(rows)
    before = scored(arms, 20.0)
    arms["cap"] *= factor
    assert scored(arms, 20.0) == pytest.approx(before, rel=1e-7)


@pytest.mark.parametrize("cost", [0.0, 0.01])
@pytest.mark.parametrize("factor", [1e-6, 1e-2, 1e4])
def test_maxima_say_nothing_before_costs_were_seen_beside_them(cost, factor):
    rows = [(3.0, 0.3, cost, 1.0, 0.2, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)]
    rows.append((0.0, 0.0, 0.0, 0.0, 0.0, 5.0))
    arms = table(rows)
    before = scored(arms, 20.0)
    arms["cap"] *= factor
    assert scored(arms, 20.0).tolist() == before.tolist()


@given(records, st.sampled_from([0.0, -0.5]))
def test_no_index_is_above_the_largest_reward_for_the_lower_bound_of_the_cost(rows, offset):
    arms, budget = table(rows), 30.0
    p, now = Params(1.0, budget, offset), (budget, *pooled(arms))
    for one, found in zip(arms, scored(arms, budget, offset=offset), strict=True):
        if (n := one["n"]) == 0.0:
            continue
        state = n, one["reward"] / n, one["cost"] / n, one["reward_m2"] / n, one["cost_m2"] / n
        log_cost, precision, _ = sf_omega_ucb._cost_of(n, state[2], state[4], now)
        cost = math.exp(log_cost)
        chance = sf_omega_ucb._reward_of(n, state[1], state[3], log_cost, now)[2]
        z = sf_omega_ucb._hope(p, n, budget / cost, chance)
        assert found <= (1.0 + offset) / scale_free_lower(cost, z * z / precision) * (1 + 1e-12)
        assert found == sf_omega_ucb.index(p, *state, now)


def test_the_range_of_costs_is_no_matter():
    """A thousand times the range of costs in a learner, and a thousand times the maximum reward."""
    rewards, costs = tape(5, 400, 8)
    narrow = learner(5, budget=3.0)
    wide = learner(5, budget=3.0, cost_range=(0.0, 1000.0))
    for i in range(400):
        arm = narrow.choose()
        assert wide.choose() == arm
        for one in (narrow, wide):
            one.record(arm, rewards[arm, i], costs[arm, i])
    assert min(narrow.plays_per_arm) > 0


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 1.0)])
def test_a_long_sample_leaves_nothing_to_hope_for(ends):
    state = {"mean_reward": 0.3, "mean_cost": 0.2, "var_reward": 0.1, "var_cost": 0.02}
    found = [
        bursar.policy(SLUG).indices(n=n, **state, plays=int(n), budget=1e6, reward_range=ends)
        for n in (10.0, 1e3, 1e6, 1e9)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 3.0
    assert found[3] == pytest.approx(0.3 / 0.2, rel=1e-6)


# ranges of rewards


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-5.0, 0.0), (-2.0, -1.0)])
def test_losses_are_learned_from(low, high):
    rng = np.random.default_rng(2)
    game = learner(3, seed=4, budget=40.0, reward_range=(low, high))
    for _ in range(400):
        arm = game.choose()
        game.record(arm, high if rng.random() < [0.2, 0.9, 0.5][arm] else low, 0.1)
    assert game.plays_per_arm.min() > 0
    assert game.plays_per_arm.argmax() == 1
    assert game.plays_per_arm[1] > 300


def test_a_campaign_with_losses_finds_the_arm_that_gains():
    rng = np.random.default_rng(5)
    campaign = Campaign(
        "c", "30", {"a": "1", "b": "1", "c": "1"}, SLUG, reward_range=(-1, 1), seed=2
    )
    asked = []
    for _ in range(150):
        one = campaign.ask()
        reward = 1.0 if rng.random() < {"a": 0.3, "b": 0.9, "c": 0.5}[one.arm] else -1.0
        campaign.tell(one, cost="0.1", reward=reward)
        asked.append(one.arm)
    assert set(asked) == {"a", "b", "c"}
    assert asked.count("b") > 90
    assert campaign.explain(one).verified
    assert campaign.verify(choices=True)


# how it does


def dear_and_cheap(seed: int, rows: int = 1000) -> tuple[bursar.Empirical, list[float]]:
    """30 lognormal prices, the largest 1000 times the least, heavy-tailed costs; and the maxima."""
    rng = np.random.default_rng(seed)
    at = [NormalDist().inv_cdf((k + 0.5) / 30) for k in rng.permutation(30)]
    log_price = math.log(1000.0) / (2.0 * max(at)) * np.array(at)
    chance = np.clip(0.5 + 0.05 * log_price + rng.normal(0.0, 0.15, 30), 0.02, 0.98)
    tables = [
        np.column_stack([rng.random(rows) < q, np.exp(x + rng.normal(0.0, 1.0, rows))])
        for x, q in zip(log_price, chance, strict=True)
    ]
    most = [one[:, 1].max() for one in tables]
    return bursar.Empirical(tables, cost_range=(0.0, max(most))), [m / max(most) for m in most]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_prices_of_three_orders_of_magnitude(seed):
    """Six times one try of each arm; with declared maxima, it knows beforehand what is dear."""
    problem, caps = dear_and_cheap(seed)
    budget = 6.0 * problem.cost.sum()
    rate = (problem.reward / problem.cost).max()
    game = learner(30, seed=seed, budget=budget)
    game.arms["cap"] = caps
    rewards, costs = problem.sample(np.random.default_rng(seed), range(30), 4000)
    while game.spent < budget and game.plays_per_arm.max() < 4000:
        arm = game.choose()
        at = game.plays_per_arm[arm]
        game.record(arm, rewards[arm, at], costs[arm, at])
    last = game.arms[arm]  # the rest of the budget goes to that arm
    informed = game.earned + max(budget - game.spent, 0.0) * last["reward"] / last["cost"]
    blind = bursar.play(SLUG, problem, budget, seed=seed).reward
    ranged = bursar.play("omega-star-ucb:rho=0.25", problem, budget, seed=seed).reward
    assert informed > 0.9 * rate * budget
    assert blind > 0.6 * rate * budget
    assert ranged < 0.5 * blind


def test_every_arm_is_tried_in_a_long_game():
    problem, _ = dear_and_cheap(1)
    run = bursar.play(SLUG, problem, 400.0 * problem.cost.sum(), seed=3, max_plays=20_000)
    assert run.plays_per_arm.min() >= 1


@pytest.mark.parametrize("arms", [1, 2, 1000])
def test_any_number_of_arms(arms):
    rng = np.random.default_rng(arms)
    problem = bursar.Bernoulli(rng.uniform(0.1, 0.9, arms), rng.uniform(0.001, 1.0, arms))
    run = bursar.play(SLUG, problem, 0.05 * arms + 5.0, seed=1, max_plays=2000)
    assert run.plays > 5
    assert run.reward / run.spent > 0.9 * (problem.reward.sum() / problem.cost.sum())
