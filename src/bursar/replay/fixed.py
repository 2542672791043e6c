r"""Fixed arms: what always playing one arm would have earned, by inverse propensity weights.

.. math:: w_t = 1\{a_t = k\}/p_t, \qquad
    \text{IPS } \tfrac1T\sum w_t r_t, \qquad \text{self-normalised } \sum w_t r_t / \sum w_t

Reward per cost is :math:`\sum w_t r_t/\sum w_t c_t` by either. Intervals are normal, with errors of
the linearised ratios. Valid for choices that do not learn: for those that do, see `passes`.

Swaminathan & Joachims (2015). The self-normalized estimator for counterfactual learning. NeurIPS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bursar.checks import Floats
from bursar.replay.support import Support
from bursar.replay.value import Value, normal_value

__all__ = ["ArmValue", "arm_values"]


@dataclass(frozen=True)
class ArmValue:
    """What plays of one arm bring and cost.

    ``reward``, ``cost`` and ``ratio`` are self-normalised; ``ips_reward`` is not, so it is unbiased
    but wider. ``effective`` is how many rows of equal weight would say as much.
    """

    arm: str
    rows: int
    effective: float
    reward: Value
    cost: Value
    ratio: Value
    ips_reward: Value


def arm_values(rows: Support, level: float = 0.95) -> list[ArmValue]:
    """Return the value of each arm, with intervals."""
    return [_value(rows, k, level) for k in range(len(rows.arms))]


def _value(rows: Support, k: int, level: float) -> ArmValue:
    own = rows.arm == k
    # clipped propensities have a floor above them
    w = 1.0 / np.maximum(rows.propensity[own], rows.floor[k])
    r, c = rows.reward[own], rows.cost[own]
    one = np.ones_like(w)
    total = len(rows)
    ips = float((w * r).sum()) / total
    spread = float((w * r) @ (w * r)) / total - ips * ips
    return ArmValue(
        rows.arms[k],
        int(own.sum()),
        float(w.sum() ** 2 / (w @ w)),
        _ratio(w, r, one, level),
        _ratio(w, c, one, level),
        _ratio(w, r, c, level),
        normal_value(ips, math.sqrt(max(spread, 0.0) / total), level),
    )


def _ratio(w: Floats, above: Floats, below: Floats, level: float) -> Value:
    bottom = float(w @ below)
    if bottom <= 0.0:
        return Value(math.inf, math.inf, math.inf)
    mean = float(w @ above) / bottom
    off = w * (above - mean * below)
    few = off.size / max(off.size - 1, 1)
    return normal_value(mean, math.sqrt(few * float(off @ off)) / bottom, level)
