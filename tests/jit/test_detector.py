"""The test for changes: how often it is wrong, how soon it is right, that it is a plain fold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.jit import detector
from bursar.jit.compile import interpreted, specialize
from bursar.jit.detector import (  # fmt: skip
    LEVELS,
    RISK,
    WARM,
    feed,
    new_tests,
    parts,
    restart,
    used,
    with_room,
)


def _feed_all(tests, test, values):
    for k in range(values.size):
        newer = feed(tests, test, values[k])
        if newer:
            return k, newer
    return -1, 0


feed_all = specialize(_feed_all, "detector")
"""Take many values, up to the first alarm; return its position and length, or (-1, 0)."""


def first_alarm(values: np.ndarray, top: float = 1.0, known: bool = True) -> tuple[int, int]:
    """Return after how many values there is an alarm, and how many are new; (-1, 0) if none."""
    return feed_all(new_tests([top], known), 0, np.ascontiguousarray(values, dtype=np.float64))


# what it promises


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("s", "r"), [(8, 8), (40, 8), (8, 40), (64, 32)])
def test_one_look_is_wrong_no_more_often_than_derived(p: float, s: int, r: int) -> None:
    def law(n: int) -> np.ndarray:
        return np.array([math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)])

    def entropy(total: np.ndarray, n: int) -> np.ndarray:
        rest = n - total
        with np.errstate(divide="ignore", invalid="ignore"):
            both = np.where(total > 0, total * np.log(total / n), 0.0)
            return -both - np.where(rest > 0, rest * np.log(rest / n), 0.0)

    old, new = np.arange(s + 1.0)[:, None], np.arange(r + 1.0)[None, :]
    ratio = entropy(old + new, s + r) - entropy(old, s) - entropy(new, r)
    chance = law(s)[:, None] * law(r)[None, :]
    for y in np.linspace(0.0, 12.0, 49):
        wrong = float(chance[ratio - 2.0 * math.log(2.0) >= y].sum())
        assert wrong <= (1.0 + y) * math.exp(-y)


def test_all_looks_together_have_the_risk_and_no_more() -> None:
    # the sum over i of 1 / (i (i + 1)) up to m is 1 - 1 / (m + 1), and so is that over levels
    levels = sum(Fraction(1, (j + 1) * (j + 2)) for j in range(LEVELS))
    looks = sum(Fraction(1, i * (i + 1)) for i in range(1, 1000))
    assert Fraction(9, 10) < levels * looks < 1


DRAWS = {
    "rare": lambda rng, n: (rng.random(n) < 0.01).astype(float),
    "coin": lambda rng, n: (rng.random(n) < 0.5).astype(float),
    "often": lambda rng, n: (rng.random(n) < 0.97).astype(float),
    "uniform": lambda rng, n: rng.random(n),
    "ends": lambda rng, n: rng.beta(0.1, 0.1, n),
    "narrow": lambda rng, n: rng.beta(80.0, 20.0, n),
    "same": lambda rng, n: np.full(n, rng.random()),
}
PRICES = {
    "tokens": lambda rng, n: rng.gamma(3.0, 0.01, n),
    "heavy": lambda rng, n: np.minimum(0.002 * (1.0 + rng.pareto(1.2, n)), 1.0),
    "mostly free": lambda rng, n: np.where(rng.random(n) < 0.95, 0.0, rng.random(n)),
    "dear": lambda rng, n: rng.uniform(0.6, 1.0, n),
    "free": lambda rng, n: np.zeros(n),
}


@pytest.mark.parametrize("length", [100, 1000, 20_000])
@pytest.mark.parametrize("name", [*DRAWS, *PRICES])
def test_what_does_not_change_raises_no_alarm(name: str, length: int) -> None:
    known = name in DRAWS
    draw = DRAWS[name] if known else PRICES[name]
    rng = np.random.default_rng([7, length, len(name)])
    wrong = sum(first_alarm(draw(rng, length), 1.0, known)[0] >= 0 for _ in range(100))
    assert wrong <= 1  # 0.1 are allowed on average: two in a hundred would be a fault


def test_values_that_come_in_another_order_raise_no_alarm() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        values = (rng.random(5000) < 0.3).astype(float)
        late = np.arange(5000) + rng.exponential(300.0, 5000) * (rng.random(5000) < 0.5)
        assert first_alarm(values[np.argsort(late, kind="stable")]) == (-1, 0)


# how soon it is right


def theory(a: float, b: float, past: int) -> int:
    """Return after how many new values their expected likelihood ratio is enough."""
    for newer in range(8, 100_000, 8):
        n = past + newer
        mean = (past * a + newer * b) / n
        level = max((newer // 8).bit_length() - 3, 0)
        at = n // (8 << level)
        need = math.log(7 * (level + 1) * (level + 2) * at * (at + 1) / RISK)
        y = past * kl(a, mean) + newer * kl(b, mean) - 2.0 * math.log(2.0)
        if y > 0.0 and y - math.log(1.0 + y) > need:
            return newer
    raise AssertionError("never")


def kl(p: float, q: float) -> float:
    left = p * math.log(p / q) if p > 0.0 else 0.0
    return left + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


@pytest.mark.parametrize(
    ("a", "b", "past"),
    [(0.3, 0.6, 1000), (0.6, 0.3, 1000), (0.1, 0.2, 10_000), (0.5, 0.4, 10_000), (0.05, 0.5, 400)],
)
def test_a_jump_is_seen_about_as_soon_as_theory_says(a: float, b: float, past: int) -> None:
    rng = np.random.default_rng(11)
    expected, delays = theory(a, b, past), []
    for _ in range(100):
        values = np.append(rng.random(past) < a, rng.random(20 * expected) < b)
        place, newer = first_alarm(values.astype(float))
        assert place >= past
        delays.append(place - past)
        assert newer <= 2 * (place + 1 - past) + 56  # it says about when
    assert 0.5 * expected <= np.median(delays) <= 1.5 * expected
    assert max(delays) <= 5 * expected


@pytest.mark.parametrize("part", [0.3, 0.03, 0.003])
def test_a_price_that_doubles_is_seen_whatever_part_of_the_most_it_is(part: float) -> None:
    rng = np.random.default_rng(5)
    for factor, most in ((2.0, 300), (0.5, 800)):
        for _ in range(20):
            prices = rng.gamma(4.0, part / 4.0, 3000) * np.repeat([1.0, factor], [1000, 2000])
            place, _ = first_alarm(np.minimum(prices, 2.0), 2.0, known=False)
            assert 1000 <= place <= 1000 + most


def test_the_means_on_both_sides_are_told() -> None:
    row = new_tests([10.0], False)
    prices = np.append(np.full(1000, 0.5), np.full(1000, 5.0))  # far beyond the unit of the test
    place, newer = feed_all(row, 0, prices)
    found = parts(row, 0, newer)
    assert place - 1000 < 64
    assert found.older + found.newer == place + 1 - WARM
    assert abs(found.newer - (place + 1 - 1000)) < 16
    assert found.before == pytest.approx(0.5, abs=0.05)
    assert found.after == pytest.approx(5.0, abs=1.5)


# a plain fold


def slow(values: list[float], top: float, known: bool) -> tuple[int, int]:
    """Do the same from the formula: at every look all sums anew, and kl in place of entropies."""
    unit, start = top, 0
    if not known:
        first = values[:WARM]
        twice = 2.0 * sum(first) / WARM
        unit, start = (twice if 0.0 < twice < top else top), WARM
    scaled = [min(value / unit, 1.0) for value in values]
    for place in range(start, len(values)):
        n = place + 1 - start
        best, found = 0.0, 0
        for level in range(LEVELS):
            size = 8 << level
            if n % size:
                break
            at = n // size
            for k in range(1 if level == 0 else 4, min(8, at)):
                newer = k * size
                old, new = scaled[start : place + 1 - newer], scaled[place + 1 - newer : place + 1]
                mean = math.fsum(old + new) / n
                y = len(old) * kl(math.fsum(old) / len(old), mean)
                y += newer * kl(math.fsum(new) / newer, mean) - 2.0 * math.log(2.0)
                need = math.log(7 * (level + 1) * (level + 2) * at * (at + 1) / RISK)
                if y > 0.0 and y - math.log(1.0 + y) - need > best:
                    best, found = y - math.log(1.0 + y) - need, newer
        if found:
            return place, found
    return -1, 0


pieces = st.lists(
    st.tuples(st.integers(1, 120), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])), max_size=6
)


def stream(kinds: list[tuple[int, float]], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = [np.minimum(rng.gamma(9.0, mean / 9.0, n), 1.0) for n, mean in kinds]
    return np.concatenate([*found, np.zeros(0)])


@settings(max_examples=60)
@given(pieces, st.integers(0, 10**6), st.booleans())
def test_the_fold_finds_what_the_formula_finds(
    kinds: list[tuple[int, float]], seed: int, known: bool
) -> None:
    values = stream(kinds, seed)
    assert first_alarm(values, 1.0, known) == slow(values.tolist(), 1.0, known)


@settings(max_examples=30)
@given(pieces, st.integers(0, 10**6), st.integers(0, 700))
def test_a_row_can_be_put_aside_and_taken_up_again(
    kinds: list[tuple[int, float]], seed: int, cut: int
) -> None:
    values = stream(kinds, seed)
    whole, halves = new_tests([1.0], False), new_tests([1.0], False)
    place, newer = feed_all(whole, 0, values)
    if feed_all(halves, 0, values[:cut])[0] < 0:
        rows = used(halves)
        assert not halves[rows:].any()
        again = np.zeros_like(halves)
        again[:rows] = np.frombuffer(halves[:rows].tobytes()).reshape(rows, 1)
        rest = feed_all(again, 0, values[cut:])
        assert rest == (place - cut if place >= 0 else -1, newer)
        assert again.tobytes() == whole.tobytes()


def test_machine_code_and_python_agree_in_every_bit() -> None:
    plain = interpreted(detector.feed)
    rng = np.random.default_rng(2)
    for known in (True, False):
        mine, other = new_tests([1.0], known), new_tests([1.0], known)
        for value in np.append(rng.random(300) * 0.2, rng.random(200)):
            assert feed(mine, 0, value) == plain(other, 0, value)
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=0.0)


def test_a_test_that_begins_again_is_as_new() -> None:
    for known in (True, False):
        row = new_tests([3.0], known)
        feed_all(row, 0, np.random.default_rng(1).random(500))
        restart(row, 0, known)
        assert row.tobytes() == new_tests([3.0], known).tobytes()


def test_tests_side_by_side_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(9)
    first, second = rng.random(900), rng.random(40)
    both = with_room(new_tests([1.0], True), 2)
    restart(both, 1, False, 5.0)
    feed_all(both, 0, first)
    feed_all(both, 1, second)
    both = with_room(both, 40)
    restart(both, 1, False)
    feed_all(both, 1, second)
    alone, other = new_tests([1.0], True), new_tests([5.0], False)
    feed_all(alone, 0, first)
    feed_all(other, 0, second)
    assert both[:, 0].tobytes() == alone[:, 0].tobytes()
    assert both[:, 1].tobytes() == other[:, 0].tobytes()
    assert not both[:, 2:].any()
