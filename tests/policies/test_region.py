"""The largest ratio of a region, against a search that knows nothing of how it is computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from twins import divergence

from bursar.jit.compile import compiled
from bursar.policies.pooled_gittins import allows, largest_ratio

weight = st.floats(2.0, 1e7)
mean = st.floats(0.001, 0.999)
z = st.floats(0.0, 6.0)
LARGEST = 1e150  # a square of more is no double


def least_divergence(
    weight_r: float, r: float, weight_c: float, c: float, log_ratio: float
) -> float:
    """The edge of the smallest region that holds a point of a ratio: the least of a convex sum."""

    def slope(log_y: float) -> float:
        x, y = math.exp(log_ratio + log_y), math.exp(log_y)
        return weight_r * (x - r) * (1.0 - y) + weight_c * (y - c) * (1.0 - x)

    low, high = math.log(r) - log_ratio, min(math.log(c), -log_ratio)
    if low >= high:
        return 0.0  # the means themselves
    log_y = brentq(slope, low, high, xtol=1e-15)
    x, y = math.exp(log_ratio + log_y), math.exp(log_y)
    return weight_r * divergence(r, x) + weight_c * divergence(c, y)


def slow_ratio(weight_r: float, r: float, weight_c: float, c: float, z: float) -> float:
    """The ratio whose region is the given one."""
    low = high = math.log(r / c)
    arm = weight_r, r, weight_c, c
    while least_divergence(*arm, high) < 0.5 * z * z:
        high += max(1e-6, high - low)
    return math.exp(
        brentq(lambda q: least_divergence(*arm, q) - 0.5 * z * z, low, high, xtol=1e-12)
    )


def cases(count: int, heaviest: float, edge: float, most: float) -> tuple[np.ndarray, ...]:
    """Weights from 2 on, means between the edges (dense there), and z."""
    rng = np.random.default_rng(int(heaviest) % 997)
    weights = np.exp(rng.uniform(math.log(2.0), math.log(heaviest), (2, count)))
    near = np.exp(rng.uniform(math.log(edge), math.log(0.5), (2, count)))
    means = np.where(rng.random((2, count)) < 0.5, near, 1.0 - near)
    return weights[0], means[0], weights[1], means[1], rng.uniform(0.0, most, count)


@compiled
def ratios(weight_r, r, weight_c, c, z):
    out = np.empty(z.size)
    for i in range(z.size):
        out[i] = largest_ratio(weight_r[i], r[i], weight_c[i], c[i], z[i])
    return out


def test_it_is_what_a_search_finds():
    checked = 0
    for case in zip(*cases(200, 1e7, 1e-3, 6.0), strict=True):
        arm = [float(x) for x in case]
        got = largest_ratio(*arm)
        if got < 1e50:  # beyond, the search is no better than what it judges
            assert got == pytest.approx(slow_ratio(*arm), rel=1e-8)
            checked += 1
    assert checked > 180


def test_more_hope_is_never_a_smaller_ratio():
    """100,000 cases; the policy rounds old indices up by 1e-9 and relies on it."""
    case = cases(100_000, 1e7, 1e-3, 6.0)
    least = ratios(*case)
    for more in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 0.01):
        assert (ratios(*case[:4], case[4] * (1.0 + more)) >= least * (1.0 - 1e-9)).all()


@given(weight, mean, weight, mean, z, z)
def test_a_wider_region_has_a_larger_ratio(weight_r, r, weight_c, c, a, b):
    less, more = (largest_ratio(weight_r, r, weight_c, c, one) for one in sorted((a, b)))
    assert r / c * (1.0 - 1e-15) <= less <= more * (1.0 + 1e-9)


@given(weight, mean, weight, mean)
def test_without_hope_it_is_the_ratio_of_the_means(weight_r, r, weight_c, c):
    assert largest_ratio(weight_r, r, weight_c, c, 0.0) == r / c
    assert largest_ratio(weight_r, r, weight_c, c, 1e-9) == pytest.approx(r / c, rel=1e-6)


@given(st.floats(1e10, 1e12), st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.5, 6.0))
def test_large_samples_have_fiellers_interval(size, r, c, z):
    """(r - q c)² = z² (var r + q² var c)."""
    var_r, var_c = r * (1.0 - r) / size, 3.0 * c * (1.0 - c) / size
    half, square = r * c, c * c - z * z * var_c
    fieller = half + math.sqrt(half * half - square * (r * r - z * z * var_r))
    got = largest_ratio(size, r, size / 3.0, c, z)
    assert got * c / r - 1.0 == pytest.approx(fieller / square * c / r - 1.0, rel=1e-3)


@given(weight, mean, weight, mean, z)
def test_a_ratio_is_allowed_if_it_is_not_above_the_largest(weight_r, r, weight_c, c, z):
    arm = weight_r, r, weight_c, c, z
    largest = largest_ratio(*arm)
    assume(largest < LARGEST)
    assert allows(*arm, largest * (1.0 - 1e-6))
    assert not allows(*arm, largest * (1.0 + 1e-9))
    assert allows(*arm, 0.5 * r / c)


def test_what_is_allowed_in_many_cases():
    for case in zip(*cases(20_000, 1e7, 1e-3, 6.0), strict=True):
        largest = largest_ratio(*case)
        assert not allows(*case, largest * (1.0 + 1e-9))
        assert allows(*case, largest * (1.0 - 1e-6)) or largest > LARGEST


def test_extreme_samples_have_a_ratio_too():
    """It is infinite only where no double holds it: hardly any trials of hardly any cost."""
    case = cases(100_000, 1e12, 1e-9, 10.0)
    _, r, weight_c, c, z = case
    got = ratios(*case)
    assert (got >= r / c * (1.0 - 1e-15)).all()  # false for NaN too
    beyond = np.isinf(got)
    assert (z[beyond] ** 2 > 600.0 * (weight_c * c)[beyond]).all()
    assert 0 < beyond.sum() < 20_000
