"""The plain loop: every policy, a full decision per play; the other loops are tested against it."""

from collections.abc import Callable
from typing import Any

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import inlined
from bursar.jit.rng import Stream

Play = Callable[[Any, Game, Any, Any, Stream], int]
"""Plays on, with (p, game, levels and checkpoints, choices, stream); returns why it stopped."""
Finish = Callable[[], tuple[float, float, Floats]]
"""Returns the regret, the reward and the plays of each arm."""

DONE, SHORT, PAUSED = 0, 1, 2
"""Why a loop returned: the budget is spent, a tape is too short, the choices are full."""


@inlined
def over(s: Any) -> bool:
    """Tell whether the game has ended."""
    if s.careful:
        return bool(s.spent + 1.0 > s.budget)  # a play costs at most 1
    return bool(s.spent >= s.budget)


@inlined
def record_checkpoints(
    s: Any, n: Floats, regrets: Floats, levels: Floats, checkpoints: Floats
) -> None:
    """Record plays, spend and regret at each level of the spend that was just reached.

    Regret is summed over arms, not over plays: the same number in any order of plays.
    ``levels`` ends with infinity, which no game reaches.
    """
    regret = 0.0
    for k in range(n.size):
        regret += n[k] * regrets[k]
    while s.spent >= levels[s.level]:
        checkpoints[s.level, 0] = s.plays
        checkpoints[s.level, 1] = s.spent
        checkpoints[s.level, 2] = regret
        s.level += 1


# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `game.make_loop` binds a policy's `choose`, `update_memory` …


def play(
    p: Any, rows: Floats, spans: Floats, bits: int, start: Any, length: Any, n: Floats,
    game: Game, arms: Arms, memory: Floats, regrets: Floats, levels: Floats, checkpoints: Floats,
    choices: Any, stream: Stream,
) -> int:  # fmt: skip
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full."""
    s = game[0]
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            return PAUSED
        if s.decided == 0:
            s.leader = choose(p, arms, game, memory, stream)
            s.decided = 1
        k = s.leader
        have = int(n[k])
        if have + 1 >= length[k]:
            s.short = k
            return SHORT
        before, after = rows[start[k] + have], rows[start[k] + have + 1]
        arm = arms[k]
        arm.n = have + 1.0
        arm.reward, arm.cost = after[0], after[1]
        if uses_variance:
            arm.reward_m2, arm.cost_m2 = after[2], after[3]
        if trials:
            arm.own_reward, arm.own_cost = after[4], after[5]
        n[k] = have + 1.0
        s.spent += after[1] - before[1]
        s.plays += 1
        s.decided = 0
        if has_memory:  # a tape holds sums: their differences are the values, but for rounding
            reward, cost = min(after[0] - before[0], 1.0), min(after[1] - before[1], 1.0)
            update_memory(p, arms, game, memory, k, reward, cost)
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        if s.spent >= levels[s.level]:
            record_checkpoints(s, n, regrets, levels, checkpoints)
    return DONE
