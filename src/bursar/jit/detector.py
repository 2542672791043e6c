r"""A test for changes of the mean of a bounded variable, repeated after every few values.

The values :math:`x_1, x_2, \ldots` lie in [0, 1]. At any time n and for a split into s older and r
newer ones, the likelihood ratio of "two means" against "one mean" of Bernoulli data is

.. math:: G = s\,kl(\bar x_{old}, \bar x) + r\,kl(\bar x_{new}, \bar x)
            \le s\,kl(\bar x_{old}, \mu) + r\,kl(\bar x_{new}, \mu),

and :math:`P(s\,kl(\bar x_{old}, \mu) > a) \le 2e^{-a}` for any independent values in [0, 1] of mean
:math:`\mu` (Hoeffding 1963, Theorem 1). So without a change, G is at most 2 log 2 and the sum of
two exponential variables, and

.. math:: P(G - 2\log 2 \ge y) \le (1 + y)\,e^{-y}.

That is one look. All looks together get ``RISK``: the i-th look at level j (newer parts of 4 to 7
units of :math:`8 \cdot 2^j` values, looked at once a unit; at level 0 also 1 to 3) gets

.. math:: \delta_{ij} = \frac{RISK}{7\,(j+1)(j+2)\,i(i+1)}, \qquad \sum_{i,j} 7\,\delta_{ij} = RISK.

Long parts are looked at rarely, so a change of half of all data pays for few looks. Each level
keeps the sums up to its last eight looks: memory grows like log n, the mean work of a value does
not grow at all.

A cost is measured in units of twice the mean of the first 16 (of the most that it can be, if that
is less), what exceeds that counts as 1: prices are often a small part of the most that a call can
cost, and a test in units of that maximum would miss a doubling.

After Besson, Kaufmann, Maillard & Seznec (2022). Efficient change-point detection for tackling
piecewise-stationary bandits, https://arxiv.org/abs/1902.01575; windows that double as in ADWIN,
Bifet & Gavaldà (2007).
"""

import math
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.compile import compiled

RISK = 0.001
"""Probability that a test ever raises an alarm although nothing changes."""

WARM = 16  # values that tell the unit of costs
LEVELS = 20
_UNIT = 8  # values between two looks
_SLOTS = 8  # looks of a level that are remembered
_HALF = 4  # units in the newer part, at least; beyond 7 the next level looks
_LOOKS = 7  # parts that a look compares at most
# rows; a test is a column, so that levels that were not reached yet are never touched
_N, _SUM, _RAW, _SCALE, _TOP, _MARKS = 0, 1, 2, 3, 4, 5
_WIDTH = _MARKS + 2 * _SLOTS * LEVELS
_TWICE = 2.0 * math.log(2.0)


class Parts(NamedTuple):
    """The two sides of a change: numbers of values, and their means in the original units."""

    older: int
    newer: int
    before: float
    after: float


def new_tests(tops: list[float], known: bool) -> Floats:
    """Return a column per test; a top is the most a value can be, or its unit if ``known``."""
    tests = np.zeros((_WIDTH, len(tops)))
    for test, top in enumerate(tops):
        restart(tests, test, known, top)
    return tests


def with_room(tests: Floats, count: int) -> Floats:
    """Return the same tests with room for ``count``; pages that are never written use no memory."""
    if count <= tests.shape[1]:
        return tests
    wider, rows = np.zeros((_WIDTH, max(2 * tests.shape[1], count, 16))), used(tests)
    wider[:rows, : tests.shape[1]] = tests[:rows]
    return wider


def restart(tests: Floats, test: int, known: bool, top: float | None = None) -> None:
    """Forget all values; those that follow define the new normal."""
    top = float(tests[_TOP, test]) if top is None else top
    tests[: used(tests), test] = 0.0
    tests[_TOP, test] = top
    tests[_SCALE, test] = top if known else 0.0


def used(tests: Floats) -> int:
    """Return how many rows hold anything; all others are 0."""
    units = int(tests[_N].max(initial=0.0)) // _UNIT
    return _MARKS + 2 * _SLOTS * min(units.bit_length(), LEVELS)


def parts(tests: Floats, test: int, newer: int) -> Parts:
    """Return what a test knows of both sides, right after it found a change."""
    level = max((newer // _UNIT).bit_length() - 3, 0)
    older = int(tests[_N, test]) - newer
    slot = older // (_UNIT << level) % _SLOTS
    raw = float(tests[_MARKS + 2 * (level * _SLOTS + slot) + 1, test])
    return Parts(older, newer, raw / older, (float(tests[_RAW, test]) - raw) / newer)


@compiled
def _entropy(total: float, n: float) -> float:
    """Return n times the entropy of the mean: minus the largest log-likelihood of n values."""
    rest = n - total
    found = 0.0
    if total > 0.0:
        found -= total * math.log(total / n)
    if rest > 0.0:
        found -= rest * math.log(rest / n)
    return found


@compiled
def _look(tests: Floats, test: int, units: int) -> int:
    """Compare newer parts with what was before; return the length of the one that stands out."""
    n, total = tests[_N, test], tests[_SUM, test]
    whole = _entropy(total, n)
    best, found = 0.0, 0
    at, unit = units, _UNIT
    for level in range(LEVELS):
        base = _MARKS + 2 * _SLOTS * level
        least = _HALF if level else 1
        if at > least:
            weight = _LOOKS * (level + 1.0) * (level + 2.0) * at * (at + 1.0)
            need = math.log(weight / RISK)
            for k in range(least, min(_SLOTS, at)):
                before, sum_before = n - k * unit, tests[base + 2 * ((at - k) % _SLOTS), test]
                apart = _entropy(sum_before, before) + _entropy(total - sum_before, n - before)
                y = whole - apart - _TWICE
                if y > need:
                    margin = y - math.log(1.0 + y) - need
                    if margin > best:
                        best, found = margin, k * unit
        row = base + 2 * (at % _SLOTS)
        tests[row, test], tests[row + 1, test] = total, tests[_RAW, test]
        if at % 2:
            break
        at //= 2
        unit *= 2
    return found


@compiled
def feed(tests: Floats, test: int, value: float) -> int:
    """Take a value of 0 or more; return how many of the newest differ from those before, or 0."""
    scale = tests[_SCALE, test]
    tests[_N, test] += 1.0
    tests[_RAW, test] += value
    if scale == 0.0:  # the first values of a cost
        if tests[_N, test] == WARM:
            unit, top = 2.0 * tests[_RAW, test] / WARM, tests[_TOP, test]
            tests[_SCALE, test] = unit if 0.0 < unit < top else top
            tests[_N, test] = tests[_RAW, test] = 0.0
        return 0
    tests[_SUM, test] += min(value / scale, 1.0)
    n = int(tests[_N, test])
    if n % _UNIT:
        return 0
    return _look(tests, test, n // _UNIT)
