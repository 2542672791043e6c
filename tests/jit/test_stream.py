from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bursar.errors import InvalidInput
from bursar.jit.rng import below, beta, gamma, new_stream, normal, uniform


@pytest.mark.parametrize("position", [(0,), (1, 2, 3), (2**40, 7)])
def test_uniforms_are_those_of_numpys_philox(position):
    stream = new_stream(*position)
    numpys = np.random.Generator(np.random.Philox(key=stream[:2].copy()))
    assert [uniform(stream) for _ in range(1001)] == [numpys.random() for _ in range(1001)]


def test_the_counter_carries():
    stream = new_stream(5)
    stream[2:5] = np.uint64(2**64 - 1)
    counter = sum(int(word) << (64 * i) for i, word in enumerate(stream[2:6]))
    numpys = np.random.Generator(np.random.Philox(key=stream[:2].copy(), counter=counter))
    assert [uniform(stream) for _ in range(9)] == [numpys.random() for _ in range(9)]


def test_positions_give_streams_of_their_own():
    first = {position: uniform(new_stream(*position)) for position in [(0,), (1,), (0, 1), (1, 0)]}
    assert len(set(first.values())) == 4


@pytest.mark.parametrize("position", [(-1,), (0.5,), ()])
def test_a_seed_is_a_whole_number(position):
    with pytest.raises(InvalidInput, match="a seed must be a whole number, 0 or more, got"):
        new_stream(*position)


def test_below_is_even():
    stream = new_stream(11)
    counts = np.bincount([below(stream, 7) for _ in range(14_000)], minlength=7)
    assert counts.size == 7
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1), (1, 9), (6, 1), (2, 2), (2, 41), (57, 3), (1.5, 1.25), (4000, 90), (1e6, 2)],
)
def test_beta_variates_are_beta(a, b):
    stream = new_stream(13)
    drawn = [beta(stream, float(a), float(b)) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > 1e-4
    assert 0.0 <= min(drawn) <= max(drawn) <= 1.0


@pytest.mark.parametrize("shape", [0.02, 0.5, 1.0, 3.7, 1e6])
def test_gamma_variates_are_gamma(shape):
    stream = new_stream(14)
    drawn = [gamma(stream, shape) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 1e-4


def test_normal_variates_are_normal():
    stream = new_stream(15)
    drawn = [normal(stream) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.norm.cdf).pvalue > 1e-4
