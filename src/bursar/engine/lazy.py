"""The lazy loop: it touches an arm only when that arm may be the best one, and is exact.

The index of an arm that is not played never falls (``Policy.monotone``). So its index at a future
time bounds it until then: a certificate (bound, expiry). While the leader's index is above all
bounds and none has expired, the leader is the arm that a look at all arms would find, ties and all.
Arms whose certificate does not hold any longer are woken, evaluated exactly, and certified anew.

Between wake-ups the leader is played again and again, and these plays need not be looked at one by
one. The tape knows the least mean reward and the largest mean cost of a chunk of plays, squared
deviations only grow, and the radius is smallest at the last play: if the index in that worst of all
cases is above all bounds, every single play of the block was right.
"""
# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`index`, `clock`, `variances`, `worst` … are bound for each policy by `bursar.engine.kernels`)

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bursar.checks import Floats
from bursar.compiled import compiled
from bursar.engine.state import DONE, PAUSED, SHORT, State, note_marks, over
from bursar.engine.tree import (
    ABSENT,
    NEVER,
    Tree,
    find_expired,
    find_infinite,
    find_waking,
    put,
)
from bursar.stream import Stream, below

__all__ = ["block", "certify", "decide", "evaluate", "play", "worst"]

_LONGEST = 1 << 12  # plays of one block
_SLACK = 1.0 + 1e-12  # bounds are rounded up by more than an evaluation can err


def worst(
    p: Any,
    n: float,
    r: float,
    r_high: float,
    c_low: float,
    c: float,
    vr: float,
    vc: float,
    now: Any,
) -> float:
    """Return a lower bound of the index over a block; most indices are monotone in their data."""
    return index(p, n, r, c, vr, vc, now)


def evaluate(p: Any, row: Floats, n: float, now: Any) -> float:
    """Return the index of an arm from its row of the tape."""
    if not variances:
        return index(p, n, row[0] / n, row[1] / n, 0.0, 0.0, now)
    free = max(n - divisor, 1.0)
    return index(p, n, row[0] / n, row[1] / n, row[2] / free, row[3] / free, now)


def block(
    p: Any, rows: Floats, spans: Floats, bits: int, first: int, last: int, n1: float, now: Any
) -> float:
    """Return what the index cannot fall below over the rows ``first`` … ``last``, up to play n1."""
    span = spans[first >> bits]
    r, r_high, c_low, c = span[0], span[1], span[2], span[3]
    for i in range((first >> bits) + 1, (last >> bits) + 1):
        span = spans[i]
        r, r_high = min(r, span[0]), max(r_high, span[1])
        c_low, c = min(c_low, span[2]), max(c, span[3])
    if not variances:
        return worst(p, n1, r, r_high, c_low, c, 0.0, 0.0, now)
    free = max(n1 - divisor, 1.0)
    return worst(p, n1, r, r_high, c_low, c, rows[first, 2] / free, rows[first, 3] / free, now)


def certify(
    p: Any, row: Floats, n: float, here: float, best: float, plays: int, stretch: Floats, arm: int
) -> tuple[float, int]:
    """Return a bound of an arm's index that is below ``best``, and until when it holds."""
    gap = best - here
    if gap > 0.0:
        limit = best if best == math.inf else best - 0.25 * gap
        for _ in range(8):
            ahead = plays + 1 + int(stretch[arm] * plays)
            bound = evaluate(p, row, n, clock(p, float(ahead))) * _SLACK
            if bound < limit:
                if bound < here + 0.25 * gap:
                    stretch[arm] = min(2.0 * stretch[arm], 1e6)  # look farther the next time
                return bound, ahead
            stretch[arm] = max(0.25 * stretch[arm], 1e-9)
    return here * _SLACK, plays


def decide(
    p: Any,
    rows: Floats,
    start: Any,
    n: Floats,
    s: Any,
    tree: Tree,
    stretch: Floats,
    awake: Any,
    value: Floats,
    stream: Stream,
) -> int:
    """Return the arm of the highest index, all arms having been played; not in the tree then."""
    plays, arms = s.plays, n.size
    now = clock(p, float(plays))
    best, count = ABSENT, 0
    if plays == arms:  # the first choice: no arm has a certificate yet
        s.leader = -1
        for k in range(arms):
            put(tree, k, 0.0, -1)
    else:
        k = s.leader
        best = evaluate(p, rows[start[k] + int(n[k])], n[k], now)
        awake[0], value[0], count = k, best, 1
    while True:
        # beside infinite arms no finite one matters, but it may have become infinite
        level = math.inf if tree[1].infinite > 0 else best
        k = find_expired(tree, plays) if level == math.inf else find_waking(tree, level, plays)
        if k < 0:
            break
        put(tree, k, ABSENT, NEVER)
        awake[count] = k
        value[count] = evaluate(p, rows[start[k] + int(n[k])], n[k], now)
        best = max(best, value[count])
        count += 1
    if tree[1].infinite > 0:
        best = math.inf
    if best == math.inf:  # infinite indices tie, and stay infinite until their arm is played
        for i in range(count):
            if value[i] == math.inf:
                put(tree, awake[i], math.inf, NEVER)
        infinite = tree[1].infinite
        arm = find_infinite(tree, below(stream, infinite) if _drawn(infinite, s) else 0)
        put(tree, arm, ABSENT, NEVER)
    else:
        equal = 0
        for i in range(count):
            if value[i] == best:
                equal += 1
        skip = below(stream, equal) if _drawn(equal, s) else 0
        arm = _nth_equal(awake, value, count, best, skip)
    for i in range(count):
        k = awake[i]
        if k != arm and value[i] < math.inf:
            bound, ahead = certify(
                p, rows[start[k] + int(n[k])], n[k], value[i], best, plays, stretch, k
            )
            put(tree, k, bound, ahead)
    return arm


def play(
    p: Any,
    rows: Floats,
    spans: Floats,
    bits: int,
    start: Any,
    length: Any,
    n: Floats,
    state: State,
    tree: Tree,
    stretch: Floats,
    awake: Any,
    value: Floats,
    lost: Floats,
    marks: Floats,
    noted: Floats,
    choices: Any,
    stream: Stream,
) -> int:
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full."""
    s = state[0]
    arms = n.size
    while not over(s):
        if s.decided == 0:
            if s.plays < arms:
                s.leader = s.plays
            else:
                s.leader = decide(p, rows, start, n, s, tree, stretch, awake, value, stream)
            s.decided = 1
        arm = s.leader
        at, have = start[arm] + int(n[arm]), n[arm]
        room = length[arm] - 1 - int(have)
        if room < 1:
            s.short = arm
            return SHORT
        if choices.size > 0:
            room = min(room, choices.size - s.filled)
            if room < 1:
                return PAUSED
        many = 1
        if s.plays >= arms and tree[1].infinite == 0:
            wide = min(s.stride, room, tree[1].expiry - s.plays)
            if wide > 1:
                soon = clock(p, float(s.plays + 1))
                level = tree[1].bound * _SLACK
                while wide > 1:
                    last = at + wide - 1
                    if block(p, rows, spans, bits, at + 1, last, have + wide - 1.0, soon) > level:
                        many = wide
                        break
                    wide >>= 1
            s.stride = min(2 * many, _LONGEST)
        base = s.spent - rows[at, 1]
        many = _up_to(rows, at, many, base, min(marks[s.mark], s.budget), s)
        if choices.size > 0:
            for i in range(many):
                choices[s.filled + i] = arm
        s.filled += many
        s.spent = base + rows[at + many, 1]
        n[arm] = have + many
        s.plays += many
        s.decided = 0
        note_marks(s, n, lost, marks, noted)
    return DONE


@compiled
def _drawn(equal: int, s: Any) -> bool:
    return equal > 1 and s.ties_first == 0


@compiled
def _up_to(rows: Floats, at: int, many: int, base: float, level: float, s: Any) -> int:
    """Return how many plays it takes until the spend reaches a level; all, if it does not."""
    if s.careful:  # nothing is played that might exceed the budget
        while many > 1 and base + rows[at + many - 1, 1] + 1.0 > s.budget:
            many -= 1
    if base + rows[at + many, 1] < level:
        return many
    low, high = 1, many
    while low < high:
        middle = (low + high) >> 1
        if base + rows[at + middle, 1] >= level:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _nth_equal(awake: Any, value: Floats, count: int, best: float, skip: int) -> int:
    """Return the arm that has ``skip`` equally good ones of smaller number before it."""
    arm = np.int64(-1)
    for _ in range(skip + 1):
        lowest = np.int64(2**62)
        for i in range(count):
            if value[i] == best and arm < awake[i] < lowest:
                lowest = awake[i]
        arm = lowest
    return int(arm)
