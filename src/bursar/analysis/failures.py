"""Games that fail: to the end they stay on a wrong arm.

A game has failed if over the last half of its budget it loses more than a tenth of what the best
arm brings for that half. By then a policy that learns plays the best arm, or one nearly as good,
almost always: what it still loses is a few thousandths. A game that still loses a tenth plays
a wrong arm most of the time. Between the two lie few games, so the threshold matters little: of
1,000 games of ω-UCB with rho = 1/4 on S-Br-10, 1.4% lose more than a tenth and 1.6% more than
a twentieth; on S-Br-50 6.4% and 7.8%.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bursar.analysis.games import rows_of, single
from bursar.result import Result

__all__ = ["FAILED", "failed", "failed_share", "spread"]

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
