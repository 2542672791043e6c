r"""The loop of BTS: it draws a ratio only when that may decide; the law of the choice is unchanged.

BTS plays the arm of the largest ratio R of two draws. Fix a level q between the leader's ratio and
the others'. The leader is chosen unless its R falls to q or below, or another's R rises above q.

*Thinning.* For any s, :math:`P(R > q) \le p = E[R^s] q^{-s}`, a quotient of Beta functions. Mark
the arm with probability p. If marked, draw R with its density tilted by :math:`R^s` (parameters
a + s and a' - s), and accept it if R > q with probability :math:`(q/R)^s`: so R is accepted with
density :math:`p f(r) r^s / E[R^s] \cdot (q/r)^s = f(r)`, exactly that of R above q. An arm that is
not marked or not accepted has R <= q; if its value matters after all, it is drawn below q by
rejection. The leader's fall to q or below is the same with 1/R.

*Marks are rare*, so they come from a clock: the marks of all arms in all decisions are points of a
Poisson process with rate p/(1-p) per arm and decision, and an unmarked decision costs no draw.
Level, s and p are recomputed now and then; they change the speed, never the law.
"""

import math
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Game
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, beta, uniform
from bursar.policies.bts import posterior
from bursar.simulation.plain_loop import DONE, PAUSED, SHORT, over, record_checkpoints


@compiled
def draw_ratio(stream: Stream, n: float, over: float, under: float, s: float = 0.0) -> float:
    """Draw X/Y from the posteriors of hits in n trials, its density tilted by (X/Y)^s."""
    a, b = posterior(n, over)
    x = beta(stream, a + s, b)
    a, b = posterior(n, under)
    y = beta(stream, a - s, b)
    return x / y if y > 0.0 else math.inf


@compiled
def tail(n: float, over_hits: float, under_hits: float, log_q: float) -> tuple[float, float]:
    """Return s and a bound of P(X/Y > q); X and Y have the posteriors of hits in n trials."""
    a, d, total = over_hits + 1.0, under_hits + 1.0, n + 2.0
    spread = 1.0 / a + 1.0 / d - 2.0 / total + 1e-9
    s = min((log_q - math.log((a - 0.5) / (d - 0.5))) / spread, d - 1.0)
    if s <= 0.0:
        return 0.0, 1.0
    log_moment = (
        math.lgamma(a + s) - math.lgamma(a) - math.lgamma(total + s) + math.lgamma(total)
        + math.lgamma(d - s) - math.lgamma(d) - math.lgamma(total - s) + math.lgamma(total)
    )  # fmt: skip
    return s, min(1.0, math.exp(log_moment - s * log_q))


@compiled
def accepted(
    stream: Stream, n: float, over_hits: float, under_hits: float, s: float, p: float, q: float
) -> float:
    """Return X/Y > q if a marked arm has one, else 0. Marks come with 1 - exp(-p/(1-p)) >= p."""
    x = draw_ratio(stream, n, over_hits, under_hits, s)
    if not x > q:
        return 0.0
    keep = math.exp(s * math.log(q / x)) * p / -math.expm1(-p / (1.0 - p))
    return x if uniform(stream) < keep else 0.0


@compiled
def set_weight(weights: Floats, arm: int, rate: float) -> None:
    node = (weights.size >> 1) + arm
    weights[node] = rate
    node >>= 1
    while node >= 1:
        weights[node] = weights[2 * node] + weights[2 * node + 1]
        node >>= 1


@compiled
def pick(weights: Floats, x: float) -> int:
    """Return the arm at position x of the rates laid end to end."""
    node, half = 1, weights.size >> 1
    while node < half:
        node <<= 1
        if x >= weights[node] and weights[node + 1] > 0.0:
            x -= weights[node]
            node += 1
    return node - half


# the loop's own memory: clock, level (and its logarithm), the leader, its tilt and bound, the plays
# at which all this is looked at again, how many rivals it has, and whether it has none
CLOCK, LEVEL, LOG_LEVEL, LEADER, TILT, BOUND, REFRESH, RIVALS, SIMPLE = range(9)
_TOO_LIKELY = 0.5  # an arm that is marked in every other decision is drawn in full
_PLAIN = -1.0  # as LEADER: draw all arms
_UNSET = -1.0  # as CLOCK: not wound yet


@compiled
def _watch(
    rows: Floats, start: Any, n: Floats, k: int, own: Floats, tilt: Floats, bound: Floats,
    weights: Floats, rivals: Any,
) -> None:  # fmt: skip
    """Find how likely an arm is above the level: rarely (a rate), or often (a rival)."""
    row = rows[start[k] + int(n[k])]
    tilt[k], bound[k] = tail(n[k], row[4], row[5], own[LOG_LEVEL])
    if bound[k] > _TOO_LIKELY:
        set_weight(weights, k, 0.0)
        rivals[int(own[RIVALS])] = k
        own[RIVALS] += 1.0
        own[SIMPLE] = 0.0
    else:
        set_weight(weights, k, bound[k] / (1.0 - bound[k]))


@compiled
def _refresh(
    rows: Floats, start: Any, n: Floats, s: Any, own: Floats, tilt: Floats, bound: Floats,
    weights: Floats, rivals: Any,
) -> None:  # fmt: skip
    """Choose a new leader and level: the level of the rarest marks, by a normal approximation."""
    arms = n.size
    own[REFRESH] = s.plays + 16 + s.plays // 16
    own[RIVALS] = 0.0
    own[LEADER], own[SIMPLE] = _PLAIN, 0.0
    best, leader = -math.inf, -1
    for k in range(arms):
        row = rows[start[k] + int(n[k])]
        middle = math.log((row[4] + 0.5) / (row[5] + 0.5))
        tilt[k] = middle
        bound[k] = math.sqrt(
            1.0 / (row[4] + 1.0) + 1.0 / (row[5] + 1.0) - 2.0 / (n[k] + 2.0) + 1e-9
        )
        if middle > best and n[k] > 4.0:
            best, leader = middle, k
    if leader < 0:
        return
    least, level = math.inf, 0.0
    for step in range(1, 13):
        z = 0.4 * step
        tried = best - z * bound[leader]
        price = (2.0 + arms) * math.exp(-0.5 * z * z)  # after a fall all arms are drawn
        for k in range(arms):
            if k != leader:
                away = (tried - tilt[k]) / bound[k]
                price += 1.0 if away <= 0.0 else math.exp(-0.5 * away * away)
        if price < least:
            least, level = price, tried
    own[LOG_LEVEL], own[LEVEL] = level, math.exp(level)
    row = rows[start[leader] + int(n[leader])]
    own[TILT], own[BOUND] = tail(n[leader], row[5], row[4], -level)
    if own[BOUND] > _TOO_LIKELY:
        return
    own[LEADER] = leader
    set_weight(weights, leader, 0.0)
    for k in range(arms):
        if k != leader:
            _watch(rows, start, n, k, own, tilt, bound, weights, rivals)
    if 2.0 * own[RIVALS] > arms:
        own[LEADER] = _PLAIN


@compiled
def decide_in_full(rows: Floats, start: Any, n: Floats, stream: Stream) -> int:
    best, arm = -1.0, 0
    for k in range(n.size):
        row = rows[start[k] + int(n[k])]
        x = draw_ratio(stream, n[k], row[4], row[5])
        if x > best:
            best, arm = x, k
    return arm


@compiled
def decide(
    rows: Floats, start: Any, n: Floats, s: Any, own: Floats, tilt: Floats, bound: Floats,
    weights: Floats, rivals: Any, marked: Any, stream: Stream,
) -> int:  # fmt: skip
    if s.plays >= own[REFRESH]:
        _refresh(rows, start, n, s, own, tilt, bound, weights, rivals)
    if own[LEADER] == _PLAIN:
        return decide_in_full(rows, start, n, stream)
    if own[CLOCK] == _UNSET:
        own[CLOCK] = -math.log1p(-uniform(stream))
    leader = int(own[LEADER])
    fall = own[BOUND] / (1.0 - own[BOUND])
    rate = fall + weights[1]
    own[SIMPLE] = 1.0 if own[RIVALS] == 0.0 else 0.0
    level = own[LEVEL]
    best, arm, low = 0.0, -1, 0.0
    fell = False
    left = rate
    while own[CLOCK] <= left:  # the marks of this decision
        left -= own[CLOCK]
        own[CLOCK] = -math.log1p(-uniform(stream))
        x = uniform(stream) * rate
        k = leader if x < fall else pick(weights, x - fall)
        if marked[k] == s.plays:
            continue
        marked[k] = s.plays
        row = rows[start[k] + int(n[k])]
        if k == leader:
            y = accepted(stream, n[k], row[5], row[4], own[TILT], own[BOUND], 1.0 / level)
            if y > 0.0:
                fell, low = True, 1.0 / y
        else:
            y = accepted(stream, n[k], row[4], row[5], tilt[k], bound[k], level)
            if y > best:
                best, arm = y, k
    own[CLOCK] -= left
    for i in range(int(own[RIVALS])):
        k = rivals[i]
        row = rows[start[k] + int(n[k])]
        y = draw_ratio(stream, n[k], row[4], row[5])
        if y > best:
            best, arm = y, k
    if not fell:
        if best <= level:
            return leader
        row = rows[start[leader] + int(n[leader])]
        y = draw_ratio(stream, n[leader], row[4], row[5])
        while y <= level:
            y = draw_ratio(stream, n[leader], row[4], row[5])
        return leader if y > best else arm
    if best > level:
        return arm
    if low > best:
        best, arm = low, leader
    for k in range(n.size):
        if k != leader and bound[k] <= _TOO_LIKELY:
            row = rows[start[k] + int(n[k])]
            y = draw_ratio(stream, n[k], row[4], row[5])
            while y > level:
                y = draw_ratio(stream, n[k], row[4], row[5])
            if y > best:
                best, arm = y, k
    return arm


def play(
    p: Any, rows: Floats, spans: Floats, bits: int, start: Any, length: Any, n: Floats,
    game: Game, own: Floats, tilt: Floats, bound: Floats, weights: Floats, rivals: Any,
    marked: Any, regrets: Floats, levels: Floats, checkpoints: Floats, choices: Any, stream: Stream,
) -> int:  # fmt: skip
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full."""
    s = game[0]
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            return PAUSED
        if s.decided == 0:
            rate = own[BOUND] / (1.0 - own[BOUND]) + weights[1]
            if own[CLOCK] > rate and own[SIMPLE] > 0.0 and s.plays < own[REFRESH]:
                own[CLOCK] -= rate  # no mark in this decision: the leader it is
                s.leader = int(own[LEADER])
            else:
                s.leader = decide(
                    rows, start, n, s, own, tilt, bound, weights, rivals, marked, stream
                )
            s.decided = 1
        k = s.leader
        at, have = start[k] + int(n[k]), int(n[k])
        if have + 1 >= length[k]:
            s.short = k
            return SHORT
        before, after = rows[at], rows[at + 1]
        n[k] = have + 1.0
        if own[LEADER] == k:  # the moment's quotient of Beta functions, one trial on
            total, tilted = have + 2.0, own[TILT]
            own[BOUND] *= (total / (total + tilted)) * (total / (total - tilted))
            if after[5] > before[5]:
                own[BOUND] *= 1.0 + tilted / (before[5] + 1.0)
            if after[4] > before[4]:
                own[BOUND] *= 1.0 - tilted / (before[4] + 1.0)
            if own[BOUND] > _TOO_LIKELY:
                own[REFRESH] = 0.0
        elif own[LEADER] != _PLAIN and bound[k] <= _TOO_LIKELY:
            _watch(rows, start, n, k, own, tilt, bound, weights, rivals)
        s.spent += after[1] - before[1]
        s.plays += 1
        s.decided = 0
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        if s.spent >= levels[s.level]:
            record_checkpoints(s, n, regrets, levels, checkpoints)
    return DONE


def new_memory(arms: int) -> tuple[Any, ...]:
    """Make what the loop keeps beside the game: memory, tilts, bounds, rates, rivals, marks."""
    leaves = 1 << max(arms - 1, 0).bit_length()
    own = np.zeros(9)
    own[LEADER], own[CLOCK] = _PLAIN, _UNSET
    return (
        own,
        np.zeros(arms),
        np.ones(arms),
        np.zeros(2 * leaves),
        np.zeros(arms + 1, dtype=np.int64),
        np.full(arms, -1, dtype=np.int64),
    )
