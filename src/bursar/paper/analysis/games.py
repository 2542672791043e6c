"""The games of a setting and policy, put in order: one number, or one curve, a repetition.

Repetitions are independent of each other, the problems within one are not (the same campaigns of
ads come back each time). So problems are averaged first and repetitions are the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.errors import InvalidInput
from bursar.simulation.result import Result
from bursar.validation import Floats

__all__ = [
    "FAILED",
    "at_share",
    "curves",
    "failed",
    "failed_share",
    "final",
    "has",
    "paired",
    "regret",
    "rows_of",
    "settings_of",
    "single",
    "spread",
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


# ==== analysis.failures
# Games that fail: to the end they stay on a wrong arm.
#
# A game has failed if over the last half of its budget it loses more than a tenth of what the best
# arm brings for that half. By then a policy that learns plays the best arm, or one nearly as good,
# almost always: what it still loses is a few thousandths. A game that still loses a tenth plays
# a wrong arm most of the time. Between the two lie few games, so the threshold matters little: of
# 1,000 games of ω-UCB with rho = 1/4 on S-Br-10, 1.4% lose more than a tenth and 1.6% more than
# a twentieth; on S-Br-50 6.4% and 7.8%.

FAILED = 0.1  # lost, as a share of what the best arm brings
_HALF = 0.5


def failed(result: Result) -> NDArray[np.bool_]:
    """Return for each game whether it failed.

    If the half of the budget was not noted, the nearest share below it is taken; if none below was,
    all of the regret counts, with that of learning.
    """
    return _failed(result, np.arange(result.values.shape[0]))


def failed_share(result: Result, setting: str, policy: str) -> float:
    """Return the share of games of a policy on a setting that failed; 0 if there are no games."""
    games = _failed(result, rows_of(result, setting, policy))
    return float(games.mean()) if games.size else 0.0


def spread(result: Result, setting: str, policy: str) -> dict[str, float]:
    """Return how the final regret is distributed over games, problems not averaged."""
    values = single(result, setting, policy)
    p05, p25, median, p75, p95 = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    return {
        "games": int(values.size),
        "mean": float(values.mean()),
        "p05": float(p05),
        "p25": float(p25),
        "median": float(median),
        "p75": float(p75),
        "p95": float(p95),
        "max": float(values.max()),
        "failed": failed_share(result, setting, policy),
    }


def _failed(result: Result, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    before = np.flatnonzero(result.shares <= _HALF)
    regret = result.values[rows, :, 2]
    lost, played = regret[:, -1], float(result.shares[-1])
    if before.size and result.shares.size > 1:
        lost = lost - regret[:, before[-1]]
        played -= float(result.shares[before[-1]])
    return np.asarray(lost > FAILED * played * result.optimum[rows])
