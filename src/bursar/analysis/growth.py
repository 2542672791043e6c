"""How mean regret grows with the budget: straight over log budget, or bent upwards.

Logarithmic regret is a straight line where the axis of the budget is logarithmic. The curve is cut
at two decades: what the last tenfold of the budget costs is set against what the tenfold before it
cost. Both are at least 0, so ``curvature = (late - early) / (late + early)`` lies in [-1, 1]:
0 is straight, above 0 convex (faster than log; 0.82 is growth in proportion to the budget), below 0
concave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bursar.analysis.games import at_share, regret
from bursar.analysis.permutation import weights
from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.result import Result

__all__ = ["Growth", "decades", "growth"]

_FEWEST = 6  # repetitions; an interval of fewer says nothing


@dataclass(frozen=True)
class Growth:
    """Growth of regret on the last two decades of the budget.

    Attributes
    ----------
    shares : (float, float, float)
        Where the curve was cut; 0.01, 0.1 and 1 if these were noted.
    early, late : float
        Mean regret a tenfold of the budget, before and after the middle cut.
    curvature, low, high : float
        Bend of the mean curve, and its 95% interval (bootstrap over repetitions, percentiles).
    typical_curvature : float
        Bend of the median curve, which a few failed games do not bend.
    """

    setting: str
    policy: str
    repetitions: int
    shares: tuple[float, float, float]
    early: float
    late: float
    curvature: float
    low: float
    high: float
    typical_curvature: float

    @property
    def shape(self) -> str:
        """``convex`` or ``concave`` if the interval leaves out 0, else ``straight``."""
        if self.low > 0.0:
            return "convex"
        return "concave" if self.high < 0.0 else "straight"


def decades(result: Result) -> tuple[int, int, int]:
    """Return the positions of the three shares at which curves are cut."""
    end = result.shares.size - 1
    last = float(result.shares[end])
    cuts = (at_share(result, last / 100.0), at_share(result, last / 10.0), end)
    if not cuts[0] < cuts[1] < cuts[2]:
        raise InvalidInput(
            f"growth needs regret at about 0.01, 0.1 and 1 of the budget, got shares"
            f" {result.shares.tolist()}; note more shares"
        )
    return cuts


def growth(result: Result, setting: str, policy: str) -> Growth:
    """Measure how the regret of a policy grows with the logarithm of the budget."""
    cuts = decades(result)
    shares = result.shares[list(cuts)]
    lengths = np.diff(np.log10(shares))
    curves = regret(result, setting, policy)[:, list(cuts)]
    early, late = _slopes(curves.mean(axis=0), lengths)
    low, high = -1.0, 1.0
    if len(curves) >= _FEWEST:
        bends = _bend(*_slopes(weights(len(curves)) @ curves, lengths))
        low, high = np.quantile(bends, [0.025, 0.975])
    typical = _bend(*_slopes(np.median(curves, axis=0), lengths))
    return Growth(
        setting, policy, len(curves), (float(shares[0]), float(shares[1]), float(shares[2])),
        float(early), float(late),
        float(_bend(early, late)), float(low), float(high), float(typical),
    )  # fmt: skip


def _slopes(curves: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    steps = np.diff(curves, axis=-1) / lengths
    return steps[..., 0], steps[..., 1]


def _bend(early: Floats, late: Floats) -> Floats:
    total = np.asarray(early + late)
    return np.divide(late - early, total, out=np.zeros_like(total), where=total > 0.0)
