"""The games of a setting and policy, put in order: one number, or one curve, a repetition.

Repetitions are independent of each other, the problems within one are not (the same campaigns of
ads come back each time). So problems are averaged first and repetitions are the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.result import Result

__all__ = [
    "at_share",
    "curves",
    "final",
    "has",
    "paired",
    "regret",
    "rows_of",
    "settings_of",
    "single",
]

_REGRET = 2  # the column of `Result.values`


def settings_of(result: Result) -> list[str]:
    """Return the settings of which there are games, in the order of the result."""
    return [result.settings[i] for i in np.unique(result.setting)]


def has(result: Result, setting: str, policy: str) -> bool:
    """Whether there is a game of this policy on this setting."""
    return bool(rows_of(result, setting, policy).size)


def rows_of(result: Result, setting: str, policy: str) -> Any:
    """Return the numbers of the games of a policy on a setting; none if there are none."""
    if setting not in result.settings or policy not in result.policies:
        return np.empty(0, dtype=np.intp)
    here = result.setting == result.settings.index(setting)
    return np.flatnonzero(here & (result.policy == result.policies.index(policy)))


def at_share(result: Result, share: float) -> int:
    """Return the position of the noted share of the budget that is nearest to ``share``."""
    return int(np.abs(result.shares - share).argmin())


def single(result: Result, setting: str, policy: str) -> Floats:
    """Return the final regret of every game, problems not averaged."""
    return np.asarray(result.values[_rows(result, setting, policy), -1, _REGRET])


def final(result: Result, setting: str, policy: str) -> Floats:
    """Return the final regret, one number a repetition: the mean over its problems."""
    return regret(result, setting, policy)[:, -1]


def regret(result: Result, setting: str, policy: str) -> Floats:
    """Return regret, repetitions x shares of the budget, averaged over problems."""
    return curves(result, setting, policy)[1]


def curves(
    result: Result, setting: str, policy: str, places: Sequence[int] | None = None
) -> tuple[Any, Floats]:
    """Return the repetitions there are, in rising order, and the regret curve of each.

    ``places`` are the positions of the shares that are wanted; all by default.
    """
    rows = _rows(result, setting, policy)
    rows = rows[np.argsort(result.repetition[rows], kind="stable")]
    repetitions, first = np.unique(result.repetition[rows], return_index=True)
    wanted = range(result.shares.size) if places is None else places
    values = result.values[rows[:, np.newaxis], np.array(wanted), _REGRET]
    counts = np.diff(np.append(first, rows.size))[:, np.newaxis]
    return repetitions, np.add.reduceat(values, first, axis=0) / counts


def paired(
    result: Result, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the regret of two policies up to a share of the budget, in repetitions of both.

    With ``since`` only what was lost after that share.
    """
    places = [at_share(result, share), *([at_share(result, since)] if since else [])]
    mine, ours = curves(result, setting, one, places)
    theirs, those = curves(result, setting, other, places)
    _, left, right = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    first, second = ours[left], those[right]
    if not since:
        return first[:, 0], second[:, 0]
    return first[:, 0] - first[:, 1], second[:, 0] - second[:, 1]


def _rows(result: Result, setting: str, policy: str) -> Any:
    rows = rows_of(result, setting, policy)
    if rows.size == 0:
        raise InvalidInput(
            f"no game of {policy!r} on {setting!r} in this result;"
            f" it has {', '.join(result.policies)} on {', '.join(result.settings)}"
        )
    return rows
