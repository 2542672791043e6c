"""The boundary of optimal stopping, against stopping problems that are solved step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss

from bursar.policies.pooled_gittins import KNOTS, STEP, WHOLE_PLAYS, hope

EDGE = 8.0  # of the grid, in standard deviations


def later(v: np.ndarray, u: np.ndarray, now: float, then: float, end: float) -> np.ndarray:
    """What an arm is worth after more plays, on the average, by its mean u/sqrt(now) now.

    ``v`` is what it is worth by its mean u/sqrt(then) then, with ``end`` - ``then`` plays left.
    """
    points, weights = hermegauss(21)
    spread = math.sqrt(1.0 / now - 1.0 / then)
    total = np.zeros_like(u)
    for x, w in zip(points, weights / weights.sum(), strict=True):
        at = (u / math.sqrt(now) + spread * x) * math.sqrt(then)
        inside = np.interp(at, u, v, left=0.0)
        # an arm that is that good is played to the end
        total += w * np.where(at > EDGE, (end - then) * at / math.sqrt(then), inside)
    return total


def zero(u: np.ndarray, worth: np.ndarray) -> float:
    """How many standard deviations below 0 it stops being worth to play on."""
    i = int(np.argmax(worth > 0.0))
    return float(-np.interp(0.0, worth[i - 1 : i + 1], u[i - 1 : i + 1]))


def boundary(growth: float, least: float) -> np.ndarray:
    """Solve the problem with horizon 1 backwards, ``growth`` being a step of the plays done.

    Rows are the logarithm of the plays done, and the boundary there.
    """
    u = np.linspace(-EDGE, EDGE, 2401)
    v, then, rows = np.zeros_like(u), 1.0, []
    while then > least:
        now = then / (1.0 + growth)
        worth = (then - now) * u / math.sqrt(now) + later(v, u, now, then, 1.0)
        rows.append((math.log(now), zero(u, worth)))
        v, then = np.maximum(worth, 0.0), now
    return np.array(rows[::-1])


def test_it_is_the_boundary_of_optimal_stopping():
    """At the knots and between them; the error goes with the root of a step."""
    coarse, fine = boundary(0.04, 8e-5), boundary(0.02, 8e-5)
    shares = [math.exp(-((STEP * knot) ** 2)) for knot in range(1, 13)]
    for share in (*shares, 0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4):
        wide, narrow = (np.interp(math.log(share), *rows.T) for rows in (coarse, fine))
        exact = narrow + (narrow - wide) / (math.sqrt(2.0) - 1.0)
        n = 1e12  # so many plays that a whole one is a step of no length
        assert hope(n, n / share - n) == pytest.approx(exact, abs=0.01), share


def test_whole_plays_lower_the_boundary_by_what_is_taken_off():
    """Stop between whole plays only: 200 plays in all, one at a time, from the last on."""
    end, u = 200, np.linspace(-EDGE, EDGE, 1601)
    v, found = np.zeros_like(u), {}
    for n in range(end - 1, 0, -1):
        worth = u / math.sqrt(n) + later(v, u, n, n + 1, end)
        found[n] = zero(u, worth)
        v = np.maximum(worth, 0.0)
    for n in (1, 2, 3, 5, 10, 30, 100):
        assert hope(n, end - n) == pytest.approx(found[n], abs=0.1)
        if n <= 10:  # without it the boundary would be far off
            assert hope(n, end - n) + WHOLE_PLAYS / math.sqrt(n) > found[n] + 0.1


def test_long_horizons_follow_the_expansion():
    """z² = 2 log(1/t) - loglog(1/t) - log(16 pi) + o(1), and no jump where it takes over."""
    n = 1e5
    for log in (25.1, 50.0, 100.0, 300.0, 600.0):
        z = hope(n, n * math.expm1(log)) + WHOLE_PLAYS / math.sqrt(n)
        expansion = math.sqrt(2.0 * log - math.log(log) - math.log(16.0 * math.pi))
        assert expansion < z < expansion + 0.05
    last = (STEP * (len(KNOTS) - 1)) ** 2
    below, above = (hope(n, n * math.expm1(last + step)) for step in (-1e-9, 1e-9))
    assert below == pytest.approx(above, abs=1e-7)


@given(st.floats(0.5, 1e12), st.floats(0, 1e15), st.floats(0, 1e15))
def test_there_is_never_more_hope_with_less_left(played, a, b):
    less, more = sorted((a, b))
    assert 0.0 <= hope(played, less) <= hope(played, more)


@given(st.floats(2.0, 1e9), st.floats(1.0, 1e3), st.floats(0, 1e12))
def test_an_arm_that_was_played_more_is_hoped_for_less(played, times, left):
    """But for the first few plays: whole plays take off most where there were fewest."""
    free = [hope(n, left) for n in (played, played * times)]
    assert free[1] <= free[0] + WHOLE_PLAYS / math.sqrt(played)


@given(st.floats(0.5, 1e12), st.floats(-1e6, 0))
def test_nothing_is_hoped_for_when_nothing_is_left(played, left):
    assert hope(played, left) == 0.0
