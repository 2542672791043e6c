"""Where a game stands: one packed record that compiled loops read and write, and its marks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.checks import Floats
from bursar.compiled import inlined

__all__ = ["DONE", "PAUSED", "SHORT", "STATE", "new_state", "note_marks", "over"]

State = NDArray[Any]

DONE, SHORT, PAUSED = 0, 1, 2
"""Why a loop came back: the budget is spent, a tape is too short, the choices are full."""

STATE = np.dtype(
    [
        ("plays", "i8"),  # the first four are those of `bursar.arms.GAME`: policies read them
        ("spent", "f8"),
        ("budget", "f8"),
        ("ties_first", "i8"),
        ("careful", "i8"),  # stop before a play that might exceed the budget
        ("leader", "i8"),
        ("decided", "i8"),  # the leader was chosen and is yet to be played
        ("stride", "i8"),  # plays to try at once
        ("mark", "i8"),  # next share of the budget to be noted
        ("short", "i8"),  # whose tape is too short
        ("filled", "i8"),  # choices written since the loop was entered
    ]
)


def new_state(budget: float, ties: str, careful: bool) -> State:
    """Make the state of a game without plays."""
    state = np.zeros(1, dtype=STATE)
    state["budget"], state["ties_first"], state["careful"] = budget, ties == "first", careful
    state["leader"], state["stride"] = -1, 1
    return state


@inlined
def over(s: Any) -> bool:
    """Tell whether the game has ended."""
    if s.careful:
        return bool(s.spent + 1.0 > s.budget)  # a play costs at most 1
    return bool(s.spent >= s.budget)


@inlined
def note_marks(s: Any, n: Floats, lost: Floats, marks: Floats, noted: Floats) -> None:
    """Note plays, spend and regret at each share of the budget that was just reached.

    Regret is summed over arms, not over plays: the same number whatever the order of plays.
    ``marks`` ends with infinity, which no game reaches.
    """
    regret = 0.0
    for k in range(n.size):
        regret += n[k] * lost[k]
    while s.spent >= marks[s.mark]:
        noted[s.mark, 0] = s.plays
        noted[s.mark, 1] = s.spent
        noted[s.mark, 2] = regret
        s.mark += 1
