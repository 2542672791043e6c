"""The lazy loop: it touches an arm only when that arm may be the best one, and is exact.

The index of an arm that is not played never falls (``Policy.monotone``). So its index at a future
time bounds it until then: a certificate (bound, expiry). While the leader's index is above all
bounds and none has expired, the leader is the arm that a look at all arms would find, ties and all.
Arms whose certificate does not hold any longer are evaluated exactly and certified again.

Between wake-ups the leader is played again and again, and these plays need not be looked at one by
one. The tape knows the least mean reward and the largest mean cost of a chunk of plays, squared
deviations only grow, and the radius is smallest at the last play: if the index in that worst of all
cases is above all bounds, every single play of the block was right.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.jit.arms import Game, argmax
from bursar.jit.bounds import ratio
from bursar.jit.compile import compiled, inlined
from bursar.jit.rng import Stream, below, uniform
from bursar.policies.b_greedy import epsilon
from bursar.simulation.plain_loop import DONE, PAUSED, SHORT, over, record_checkpoints

# A tree over arms answers three questions at its root, in one look: what is the highest bound, when
# does the first bound expire, and how many arms have an infinite index? Changing an arm touches one
# node per level; finding the arm in question descends one path.

Tree = NDArray[Any]

NODE = np.dtype([("bound", "f8"), ("expiry", "i8"), ("infinite", "i8")])
# typed, because Numba compiles `put` once more for each whole number that is written out in a call
NEVER: Any = np.int64(2**62)  # an expiry that no game reaches
EXPIRED: Any = np.int64(-1)
ABSENT = -1.0  # the bound of an arm that is not in the tree; indices are never negative
_ROOT = 1


def new_tree(arms: int) -> Tree:
    """Make a tree with no arm in it; the leaves are its second half."""
    leaves = 1 << max(arms - 1, 0).bit_length()
    tree = np.zeros(2 * leaves, dtype=NODE)
    tree["bound"] = ABSENT
    tree["expiry"] = NEVER
    return tree


@inlined
def put(tree: Tree, arm: int, bound: float, expiry: int) -> None:
    """Set an arm's bound, valid up to and including ``expiry`` plays."""
    node = (tree.size >> 1) + arm
    tree[node].bound = bound
    tree[node].expiry = expiry
    tree[node].infinite = 1 if bound == math.inf else 0
    node >>= 1
    while node >= _ROOT:
        left, right = tree[2 * node], tree[2 * node + 1]
        bound = max(left.bound, right.bound)
        expiry = min(left.expiry, right.expiry)
        infinite = left.infinite + right.infinite
        here = tree[node]
        if here.bound == bound and here.expiry == expiry and here.infinite == infinite:
            return
        here.bound = bound
        here.expiry = expiry
        here.infinite = infinite
        node >>= 1


@inlined
def find_waking(tree: Tree, level: float, plays: int) -> int:
    """Return an arm whose bound reaches ``level`` or has expired, or -1 if there is none."""
    node = _ROOT
    if tree[node].bound < level and tree[node].expiry >= plays:
        return -1
    half = tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].bound < level and tree[node].expiry >= plays:
            node += 1
    return node - half


@inlined
def find_expired(tree: Tree, plays: int) -> int:
    """Return an arm whose bound has expired, or -1 if there is none."""
    node = _ROOT
    if tree[node].expiry >= plays:
        return -1
    half = tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].expiry >= plays:
            node += 1
    return node - half


@compiled
def find_infinite(tree: Tree, skip: int) -> int:
    """Return the arm of an infinite index that has ``skip`` such arms before it."""
    node, half = _ROOT, tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].infinite <= skip:
            skip -= tree[node].infinite
            node += 1
    return node - half


# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `game.make_loop` binds a policy's `index`, `clock`, `worst` …


_LONGEST = 1 << 12  # plays of one block
_SLACK = 1.0 + 1e-12  # bounds are rounded up by more than an evaluation can err


def worst(
    p: Any, n: float, r: float, r_high: float, c_low: float, c: float, vr: float, vc: float,
    now: Any,
) -> float:  # fmt: skip
    """Return a lower bound of the index over a block; most indices are monotone in their data."""
    return index(p, n, r, c, vr, vc, now)


def evaluate(p: Any, rows: Floats, at: int, n: float, now: Any) -> float:
    """Return the index of an arm from its row of the tape."""
    r, c = rows[at, 0] / n, rows[at, 1] / n
    if not uses_variance:
        return index(p, n, r, c, 0.0, 0.0, now)
    free = max(n - ddof, 1.0)
    return index(p, n, r, c, rows[at, 2] / free, rows[at, 3] / free, now)


def certify(
    p: Any, rows: Floats, at: int, n: float, here: float, best: float, plays: int, stretch: Floats,
    arm: int,
) -> tuple[float, int]:  # fmt: skip
    """Return a bound of an arm's index that is below ``best``, and until when it holds."""
    gap = best - here
    if best == math.inf:  # as long as infinite arms are left no finite one matters: look far ahead
        ahead = 1000 * plays
        bound = evaluate(p, rows, at, n, clock(p, float(ahead))) * _SLACK
        if bound < math.inf:
            return bound, ahead
    if gap > 0.0:
        limit = best if best == math.inf else best - 0.25 * gap
        for _ in range(8):
            ahead = plays + 1 + int(stretch[arm] * plays)
            bound = evaluate(p, rows, at, n, clock(p, float(ahead))) * _SLACK
            if bound < limit:
                if bound < here + 0.25 * gap:
                    stretch[arm] = min(2.0 * stretch[arm], 1e6)  # look farther the next time
                return bound, ahead
            stretch[arm] = max(0.25 * stretch[arm], 1e-9)
    return here * _SLACK, plays


def decide(
    p: Any, rows: Floats, start: Any, n: Floats, s: Any, tree: Tree, stretch: Floats, awake: Any,
    value: Floats, stream: Stream,
) -> int:  # fmt: skip
    """Return the arm of the highest index, all arms having been played; not in the tree then."""
    plays, arms = s.plays, n.size
    now = clock(p, float(plays))
    best, count = ABSENT, 0
    if plays == arms:  # the first choice: no arm has a certificate yet
        s.leader = -1
        for k in range(arms):
            put(tree, k, 0.0, EXPIRED)
    else:
        k = s.leader
        best = evaluate(p, rows, start[k] + int(n[k]), n[k], now)
        awake[0], value[0], count = k, best, 1
    while True:
        # beside infinite arms no finite one matters, but it may have become infinite
        level = math.inf if tree[1].infinite > 0 else best
        k = find_expired(tree, plays) if level == math.inf else find_waking(tree, level, plays)
        if k < 0:
            break
        put(tree, k, ABSENT, NEVER)
        awake[count] = k
        value[count] = evaluate(p, rows, start[k] + int(n[k]), n[k], now)
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
            at = start[k] + int(n[k])
            bound, ahead = certify(p, rows, at, n[k], value[i], best, plays, stretch, k)
            put(tree, k, bound, ahead)
    return arm


def play(
    p: Any, rows: Floats, spans: Floats, bits: int, start: Any, length: Any, n: Floats,
    game: Game, tree: Tree, stretch: Floats, awake: Any, value: Floats, regrets: Floats,
    levels: Floats, checkpoints: Floats, choices: Any, stream: Stream,
) -> int:  # fmt: skip
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full."""
    s = game[0]
    arms = n.size
    while not over(s):
        if s.decided == 0:
            if s.plays < arms:
                s.leader = s.plays
            else:
                stays = False
                if s.plays > arms and tree[1].infinite == 0 and tree[1].expiry >= s.plays:
                    k = s.leader
                    here = evaluate(p, rows, start[k] + int(n[k]), n[k], clock(p, float(s.plays)))
                    stays = tree[1].bound < here < math.inf
                if not stays:
                    s.leader = decide(p, rows, start, n, s, tree, stretch, awake, value, stream)
            s.decided = 1
        arm = s.leader
        have = n[arm]
        at = start[arm] + int(have)
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
                m2r = rows[at + 1, 2] if uses_variance else 0.0
                m2c = rows[at + 1, 3] if uses_variance else 0.0
                while wide > 1:
                    chunk = (at + 1) >> bits
                    r, r_high = spans[chunk, 0], spans[chunk, 1]
                    c_low, c = spans[chunk, 2], spans[chunk, 3]
                    for i in range(chunk + 1, ((at + wide - 1) >> bits) + 1):
                        r, r_high = min(r, spans[i, 0]), max(r_high, spans[i, 1])
                        c_low, c = min(c_low, spans[i, 2]), max(c, spans[i, 3])
                    n1 = have + wide - 1.0
                    free = max(n1 - ddof, 1.0)
                    if worst(p, n1, r, r_high, c_low, c, m2r / free, m2c / free, soon) > level:
                        many = wide
                        break
                    wide >>= 1
            s.stride = min(2 * many, _LONGEST)
        base = s.spent - rows[at, 1]
        many = _up_to(rows, at, many, base, min(levels[s.level], s.budget), s)
        if choices.size > 0:
            for i in range(many):
                choices[s.filled + i] = arm
        s.filled += many
        s.spent = base + rows[at + many, 1]
        n[arm] = have + many
        s.plays += many
        s.decided = 0
        if s.spent >= levels[s.level]:
            record_checkpoints(s, n, regrets, levels, checkpoints)
    return DONE


@inlined
def _drawn(equal: int, s: Any) -> bool:
    return equal > 1 and s.ties_first == 0


@inlined
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


def play_greedy(
    p: Any, rows: Floats, spans: Floats, bits: int, start: Any, length: Any, n: Floats,
    game: Game, tree: Tree, ratios: Floats, best: Any, regrets: Floats, levels: Floats,
    checkpoints: Floats, choices: Any, stream: Stream,
) -> int:  # fmt: skip
    """Play b-greedy on, as `play` does: only the ratio of the arm just played changes.

    A coin is drawn at every play, as in the plain loop; all arms are looked at only when the
    leader's ratio does not stand above all others any more. The choices are those of the plain
    loop. ``best[0]`` is the arm of the highest ratio, left out of the tree of the others; -1:
    unknown.
    """
    s = game[0]
    arms = n.size
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            return PAUSED
        if s.decided == 0:
            if s.plays < arms:
                s.leader = s.plays
            elif uniform(stream) < epsilon(p, float(arms), float(s.plays)):
                s.leader = below(stream, arms)
            else:
                top = best[0]
                if top < 0 or not ratios[top] > tree[_ROOT].bound:
                    if top >= 0:
                        put(tree, top, ratios[top], NEVER)
                    top = argmax(ratios, game, stream)
                    best[0] = top
                    put(tree, top, ABSENT, NEVER)
                s.leader = top
            s.decided = 1
        k = s.leader
        at, have = start[k] + int(n[k]), int(n[k])
        if have + 1 >= length[k]:
            s.short = k
            return SHORT
        n[k] = have + 1.0
        ratios[k] = ratio(rows[at + 1, 0], rows[at + 1, 1])
        if k != best[0]:
            put(tree, k, ratios[k], NEVER)
        s.spent += rows[at + 1, 1] - rows[at, 1]
        s.plays += 1
        s.decided = 0
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        if s.spent >= levels[s.level]:
            record_checkpoints(s, n, regrets, levels, checkpoints)
    return DONE
