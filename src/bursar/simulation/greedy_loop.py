"""The loop of b-greedy: only the ratio of the arm just played changes, so the leader is known.

A coin is drawn at every play, as in the plain loop; all arms are looked at only when the leader's
ratio does not stand above all others any more. The choices are those of the plain loop.
"""

from typing import Any

from bursar.arrays import Floats
from bursar.jit.arms import Game, argmax
from bursar.jit.bounds import ratio
from bursar.jit.rng import Stream, below, uniform
from bursar.policies.b_greedy import epsilon
from bursar.simulation.lazy_loop import ABSENT, NEVER, Tree, put
from bursar.simulation.plain_loop import DONE, PAUSED, SHORT, over, record_checkpoints


def play(
    p: Any, rows: Floats, spans: Floats, bits: int, start: Any, length: Any, n: Floats,
    game: Game, tree: Tree, ratios: Floats, best: Any, regrets: Floats, levels: Floats,
    checkpoints: Floats, choices: Any, stream: Stream,
) -> int:  # fmt: skip
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full.

    ``best[0]`` is the arm of the highest ratio, left out of the tree of the others; -1: unknown.
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
                if top < 0 or not ratios[top] > tree[1].bound:
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
