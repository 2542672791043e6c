"""The plain loop: every policy, a full decision a play. Obvious, and the lazy loop's judge."""
# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`choose`, `remember`, `variances` … are bound for each policy by `bursar.engine.kernels`)

from __future__ import annotations

from typing import Any

from bursar.arms import Arms
from bursar.checks import Floats
from bursar.engine.state import DONE, PAUSED, SHORT, State, note_marks, over
from bursar.stream import Stream

__all__ = ["play"]


def play(
    p: Any,
    rows: Floats,
    spans: Floats,
    bits: int,
    start: Any,
    length: Any,
    n: Floats,
    state: State,
    arms: Arms,
    memory: Floats,
    lost: Floats,
    marks: Floats,
    noted: Floats,
    choices: Any,
    stream: Stream,
) -> int:
    """Play on until the budget is spent, a tape is too short, or ``choices`` is full."""
    s = state[0]
    while not over(s):
        if choices.size > 0 and s.filled >= choices.size:
            return PAUSED
        if s.decided == 0:
            s.leader = choose(p, arms, state, memory, stream)
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
        if variances:
            arm.reward_m2, arm.cost_m2 = after[2], after[3]
        if trials:
            arm.own_reward, arm.own_cost = after[4], after[5]
        n[k] = have + 1.0
        s.spent += after[1] - before[1]
        s.plays += 1
        s.decided = 0
        if notes:  # a tape holds sums: their differences are the values, but for rounding
            reward, cost = min(after[0] - before[0], 1.0), min(after[1] - before[1], 1.0)
            remember(p, arms, state, memory, k, reward, cost)
        if choices.size > 0:
            choices[s.filled] = k
        s.filled += 1
        if s.spent >= marks[s.mark]:
            note_marks(s, n, lost, marks, noted)
    return DONE
