"""What arms tell of each other: sums that are exact, and variances that are shared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bursar
from bursar.jit.arms import add, new_arms, new_game
from bursar.policies.pooled_gittins import COUNT, _rounded, add_up, eta, pooled, update_cache


def outcomes(kind: str, arms: int, plays: int) -> tuple[np.ndarray, np.ndarray]:
    """Which arm is played, and its reward and cost."""
    rng = np.random.default_rng([arms, plays, len(kind)])
    chosen = rng.integers(arms, size=plays)
    mean = rng.uniform(0.05, 0.95, (arms, 2))[chosen]
    if kind == "bernoulli":
        return chosen, (rng.random((plays, 2)) < mean).astype(float)
    spread = {"beta": 4.0, "narrow": 1000.0}[kind]
    return chosen, rng.beta(spread * mean, spread * (1.0 - mean))


def sums_of(arms: np.ndarray) -> np.ndarray:
    own, sums = np.empty(COUNT), np.empty(COUNT)
    add_up(arms, own, sums)
    return sums


def etas_of(arms: np.ndarray) -> np.ndarray:
    """Eta of every arm's rewards and costs."""
    general_r, general_c, centre_r, centre_c = pooled(sums_of(arms), float(arms.size))
    n = arms["n"]
    columns = n, arms["reward"] / n, arms["cost"] / n, arms["reward_m2"] / n, arms["cost_m2"] / n
    return np.array([
        [eta(m, r, vr, general_r, centre_r), eta(m, c, vc, general_c, centre_c)]
        for m, r, c, vr, vc in zip(*(x.tolist() for x in columns), strict=True)
    ])  # fmt: skip


def recorded(kind: str, arms: int, plays: int) -> np.ndarray:
    """Arms of which each was played once at least."""
    chosen, drawn = outcomes(kind, arms, plays)
    records, game = new_arms(arms), new_game(1e9)
    chosen[:arms] = np.arange(arms)
    for arm, (reward, cost) in zip(chosen.tolist(), drawn.tolist(), strict=True):
        add(records, game, arm, reward, cost)
    return records


@pytest.mark.parametrize("kind", ["bernoulli", "beta", "narrow"])
@pytest.mark.parametrize("arms", [1, 7, 300])
def test_sums_that_are_kept_are_those_of_adding_up(kind, arms):
    """Bit by bit after thousands of plays: the engine's choices are those of a full look."""
    policy = bursar.policy("pooled-gittins")
    memory = np.zeros(policy.cache_size(arms))
    params = policy.learner(arms, budget=1e4).kernel_params
    records, game = new_arms(arms), new_game(1e4)
    chosen, drawn = outcomes(kind, arms, 6000)
    for i, (arm, (reward, cost)) in enumerate(zip(chosen.tolist(), drawn.tolist(), strict=True)):
        add(records, game, arm, reward, cost)
        update_cache(params, records, game, memory, arm, reward, cost)
        if i % 97 == 0:
            assert memory[:COUNT].tolist() == sums_of(records).tolist()
    assert memory[:COUNT].tolist() == sums_of(records).tolist()


def test_arms_in_another_order_have_the_same_sums():
    records = recorded("beta", 100, 3000)
    for seed in range(20):
        other = np.random.default_rng(seed).permutation(records)
        assert sums_of(other).tolist() == sums_of(records).tolist()


@pytest.mark.parametrize("plays", [1, 2, 5, 40, 1000])
def test_zeros_and_ones_have_eta_1(plays):
    for arms in (1, 2, 10, 100):
        records = recorded("bernoulli", arms, plays * arms)
        assert pooled(sums_of(records), float(arms))[:2] == (1.0, 1.0)
        assert etas_of(records) == pytest.approx(np.ones((arms, 2)), abs=1e-12)


@given(st.integers(1, 10**6), st.floats(0.01, 0.99), st.sampled_from([0.0, 1.0]))
def test_zeros_alone_and_ones_alone_have_eta_1(n, centre, outcome):
    """A click that never came in 20 plays may still come: its variance is not 0."""
    assert eta(float(n), outcome, 0.0, 1.0, centre) == pytest.approx(1.0, abs=1e-9)


def test_arms_of_stable_prices_tell_it_of_each_other():
    """After ten plays of each of the others, an arm that was played once counts as stable, too."""
    records = recorded("narrow", 10, 10)  # once each: all may still be coins
    assert etas_of(records).min() > 0.5
    more = recorded("narrow", 10, 100)
    more[3] = records[3]
    assert etas_of(more).max() < 0.25
    long = recorded("narrow", 10, 5000)
    long[3] = records[3]
    assert etas_of(long)[3].max() < 0.2
    assert np.delete(etas_of(long), 3, axis=0).max() < 0.02


def test_an_arm_that_scatters_more_than_others_is_believed():
    records = recorded("narrow", 10, 3000)
    records[3] = recorded("bernoulli", 1, 300)[0]
    assert etas_of(records)[3].min() > 0.9


@given(st.floats(0.0, 1.0), st.floats(1e-6, 1.0), st.floats(0.01, 0.99), st.integers(1, 10**6))
def test_eta_is_a_share(mean, general, centre, n):
    for variance in (0.0, 0.3 * mean * (1.0 - mean), mean * (1.0 - mean)):
        assert 1e-6 <= eta(float(n), mean, variance, general, centre) <= 1.0


@given(st.floats(1e-6, 1.0 - 1e-6), st.floats(1e-6, 1.0 - 1e-6))
def test_averages_are_rounded_to_a_few_percent(a, b):
    for x in (a, b):
        got = _rounded(x)
        assert got == pytest.approx(x, rel=0.045)
        assert 1.0 - got == pytest.approx(1.0 - x, rel=0.045)
        assert _rounded(got) == got
    low, high = sorted((a, b))
    assert _rounded(low) <= _rounded(high)


def test_what_rounding_keeps():
    assert [_rounded(x) for x in (0.5, 0.25, 0.75, 1.0)] == [0.5, 0.25, 0.75, 1.0]
    grid = np.linspace(1e-4, 1.0, 20_001)
    rounded = np.array([_rounded(x) for x in grid])
    assert (np.diff(rounded) >= 0.0).all()
    assert len(set(rounded)) < 16 * math.log2(1e4)


def test_the_first_arm_of_all_is_taken_for_a_coin():
    nothing = np.zeros(COUNT)
    assert pooled(nothing, 0.0) == (1.0, 1.0, 0.5, 0.5)
