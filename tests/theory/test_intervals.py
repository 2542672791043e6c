"""Theorems 1 and 2 as a caller meets them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bursar
from bursar.errors import InvalidInput

unit = st.floats(0, 1)
counts = st.integers(0, 10**9)
widths = st.floats(0, 40)


@given(unit, counts, widths, unit, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_the_interval_holds_the_mean_and_stays_in_the_range(x, n, z, eta, low, width):
    high = low + width
    mean = min(low + width * x, high)
    lower, upper = bursar.interval(mean, n, z, eta, low, high)
    slack = 1e-13 * (abs(low) + abs(high))
    assert low - slack <= lower <= mean + slack
    assert mean - slack <= upper <= high + slack


@given(unit, st.integers(1, 10**6), widths, unit, unit)
def test_a_larger_eta_gives_a_wider_interval(x, n, z, eta, more):
    narrow = bursar.interval(x, n, z, min(eta, more))
    wide = bursar.interval(x, n, z, max(eta, more))
    assert wide[0] <= narrow[0] * (1 + 1e-12)
    assert wide[1] >= narrow[1] * (1 - 1e-12)


@given(unit, st.integers(1, 10**6), st.floats(1e-3, 40), st.floats(1e-6, 1))
def test_the_lower_bound_is_0_only_at_0_and_the_upper_1_only_at_1(x, n, z, eta):
    lower, upper = bursar.interval(x, n, z, eta)
    if x == 0.0 or x > 1e-145:  # below, the bound itself is smaller than any double
        assert (lower == 0.0) == (x == 0.0)
    assert upper <= 1.0
    if x == 1.0:
        assert upper == 1.0


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (17, 40), (40, 40), (123, 4567)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_bernoulli_data_give_scipys_wilson_interval(k, n, level):
    want = stats.binomtest(k, n).proportion_ci(level, "wilson")
    got = bursar.interval(k / n, n, stats.norm.isf((1 - level) / 2))
    assert got == pytest.approx((want.low, want.high), rel=1e-12, abs=1e-14)


def test_edges_are_exact():
    assert bursar.interval(0.3, 0, 2.0) == (0.0, 1.0)
    assert bursar.interval(5.0, 0, 0.0, low=-2.0, high=7.0) == (-2.0, 7.0)
    assert bursar.interval(0.3, 9, 0.0) == (0.3, 0.3)
    assert bursar.interval(0.3, 9, 2.0, eta=0.0) == (0.3, 0.3)
    assert bursar.interval(2.0, 9, 2.0, low=2.0, high=3.0)[0] == 2.0
    assert bursar.interval(3.0, 9, 2.0, low=2.0, high=3.0)[1] == 3.0


def test_the_mean_lies_inside_to_the_last_digit():
    mean = 1.9802358830946436
    lower, upper = bursar.interval(mean, 744701946110806.6, 1.519509179392418e-09, 1, 0, 3)
    assert lower <= mean <= upper
    lower, upper = bursar.interval(-5e-324, 9, 1.0, 1, -1e6, 0)
    assert lower <= -5e-324 <= upper


def test_a_range_too_wide_for_a_double():
    with pytest.raises(InvalidInput, match="high must be above low by a finite width"):
        bursar.interval(0.0, 10, 2.0, 1.0, -1.7e308, 1.7e308)


def test_arrays_broadcast_and_scalars_stay_scalars():
    lower, upper = bursar.interval([[0.1], [0.9]], [10, 100, 1000], 2.0)
    assert lower.shape == upper.shape == (2, 3)
    assert (np.diff(lower, axis=1) > 0).all()
    assert isinstance(bursar.interval(0.5, 10, 2.0)[0], float)
    assert bursar.interval([], [], 2.0)[0].shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, 10, 2.0), r"mean must be in its range \[0, 1\], got 1.5; pass the range that fits"),
        ((0.5, -1, 2.0), "n must be 0 or more samples, got -1"),
        ((0.5, 10, -2.0), "z must be 0 or more, got -2"),
        ((0.5, 10, 2.0, 1.5), r"eta must be in \[0, 1\], got 1.5"),
        (
            (0.5, 10, 2.0, 1.0, 1.0, 0.0),
            "high must be above low by a finite width, got low=1 and high=0; swap or narrow them",
        ),
        (
            (math.nan, 10, 2.0),
            "mean must be finite, got nan; leave out values that were not observed",
        ),
        (("many", 10, 2.0), "mean must be a number or an array of numbers, got 'many'"),
        (([0.1, 0.2], [1, 2, 3], 2.0), r"shapes do not match: mean \(2,\), n \(3,\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        bursar.interval(*arguments)


def test_the_ratio_bound_is_reward_over_cost():
    z = stats.norm.isf(0.05 / 2)
    reward = bursar.interval(0.4, 50, z, 0.5, 0.0, 2.0)[1]
    cost = bursar.interval(0.3, 50, z)[0]
    got = bursar.ratio_bound(0.4, 0.3, 50, eta_reward=0.5, reward_range=(0, 2))
    assert got == pytest.approx(reward / cost, rel=1e-12)
    assert bursar.ratio_bound(0.4, 0.0, 50) == math.inf
    assert bursar.ratio_bound(0.4, 0.3, 0) == math.inf
    assert bursar.ratio_bound([0.4, 0.2], [0.3, 0.0], 50).tolist()[1] == math.inf


def test_the_ratio_bound_holds_as_often_as_it_says():
    """10,000 Bernoulli samples of size 200; nominal 5%, the normal approximation is not exact."""
    rng = np.random.default_rng(0)
    mu_r, mu_c = rng.uniform(0.1, 0.9, size=(2, 10_000))
    r, c = rng.binomial(200, mu_r) / 200, rng.binomial(200, mu_c) / 200
    violated = mu_r / mu_c > bursar.ratio_bound(r, c, 200, alpha=0.05)
    assert violated.mean() < 0.05


@pytest.mark.parametrize("alpha", [0.0, -1.0, 1.5, math.nan])
def test_alpha_outside_its_domain(alpha):
    with pytest.raises(InvalidInput, match=r"alpha must be in \(0, 1\], got"):
        bursar.ratio_bound(0.5, 0.5, 10, alpha=alpha)
    with pytest.raises(InvalidInput, match="costs cannot be negative"):
        bursar.ratio_bound(0.5, 0.5, 10, cost_range=(-1, 1))


@given(st.lists(st.floats(0, 1), min_size=30, max_size=60))
def test_eta_of_a_sample_needs_no_clamp(sample):
    mean, variance = float(np.mean(sample)), float(np.var(sample))
    assert 0.0 <= bursar.eta(mean, variance, len(sample)) <= 1.0


@given(st.integers(0, 50), st.integers(30, 60))
def test_eta_of_bernoulli_data_is_1(hits, n):
    mean = min(hits, n) / n
    assert bursar.eta(mean, mean * (1 - mean), n) == pytest.approx(1.0, abs=1e-15)


def test_eta_before_enough_samples_and_its_floor():
    assert bursar.eta(0.5, 0.0, n=29) == 1.0
    assert bursar.eta(0.5, 0.0, n=30) == 0.0
    assert bursar.eta(0.5, 0.0, n=30, eta_min=0.1) == 0.1
    assert bursar.eta([2.0, 3.0], [0.5, 0.5], low=1.0, high=5.0).tolist() == [0.5 / 3, 0.5 / 4]
    with pytest.raises(InvalidInput, match=r"eta_min must be in \[0, 1\], got 2"):
        bursar.eta(0.5, 0.1, eta_min=2)


def test_the_bound_of_a_ratio_is_above_it_even_when_rewards_are_losses():
    bound = bursar.ratio_bound(-1.99, 0.5, 10_000, reward_range=(-2, 5))
    assert -1.99 / 0.5 < bound < 0.0
