r"""What all arms together tell of one: how far rewards and costs scatter, and where they lie.

An arm with few plays says little of its own variance. But arms of one problem resemble each other:
0/1 rewards are 0/1 for all of them, and stable prices are stable. So the ratio :math:`\eta` of the
variance to the largest one, m(1 - m), is averaged over arms and the average counts as three
plays of each arm. The mean of all arms' means counts as two Bernoulli trials (for one lone arm, a
coin). An empirical Bayes estimate; shrinking variances so is that of Smyth (2004), Stat. Appl.
Genet. Mol. Biol. 3(1), made for genes with three samples each.

Two roundings make it fast. What an arm adds is rounded to 2⁻³⁰, so that sums are exact in any order
and one play changes them in place. The averages are rounded to 9%, so that most plays do not
change them at all, and what was computed from them for other arms still holds.
"""

from __future__ import annotations

import math
from typing import Any

from bursar.arms import Arms
from bursar.checks import Floats
from bursar.compiled import compiled

__all__ = ["COUNT", "add_up", "eta", "pooled", "share_of"]

COUNT = 6  # numbers that an arm adds
_PLAYS = 3.0  # what the average of all arms counts in the variance of one
_GRAIN = 2.0**30
_STEPS = 8.0  # an octave
_LEAST = 1e-6  # of eta: arms without any scatter
Pool = tuple[float, float, float, float]


@compiled
def share_of(arm: Any, out: Floats) -> None:
    """Write what an arm adds: weight and weighted eta of rewards and costs, and both means."""
    n = arm.n
    for i in range(COUNT):
        out[i] = 0.0
    if n <= 0.0:
        return
    r, c = arm.reward / n, arm.cost / n
    weight = _grain((n - 1.0) / (n - 1.0 + _PLAYS))
    if weight > 0.0 and 0.0 < r < 1.0:
        out[0] = weight
        out[1] = _grain(weight * min(arm.reward_m2 / ((n - 1.0) * r * (1.0 - r)), 1.0))
    if weight > 0.0 and 0.0 < c < 1.0:
        out[2] = weight
        out[3] = _grain(weight * min(arm.cost_m2 / ((n - 1.0) * c * (1.0 - c)), 1.0))
    out[4], out[5] = _grain(r), _grain(c)


@compiled
def _grain(x: float) -> float:
    return float(math.floor(x * _GRAIN + 0.5)) / _GRAIN


@compiled
def add_up(arms: Arms, own: Floats, sums: Floats) -> None:
    """Write the sums over all arms; ``own`` has room for what one adds."""
    for i in range(COUNT):
        sums[i] = 0.0
    for k in range(arms.size):
        share_of(arms[k], own)
        for i in range(COUNT):
            sums[i] += own[i]


@compiled
def pooled(sums: Floats, arms: float) -> Pool:
    """Return eta of rewards and of costs, and both means, of arms in general.

    One more arm is counted, of the largest variance and with mean 1/2.
    """
    return (
        _rounded((1.0 + sums[1]) / (1.0 + sums[0])),
        _rounded((1.0 + sums[3]) / (1.0 + sums[2])),
        _rounded((0.5 + sums[4]) / (1.0 + arms)),
        _rounded((0.5 + sums[5]) / (1.0 + arms)),
    )


@compiled
def _rounded(x: float) -> float:
    """Round to eighths of an octave, of x or of what is missing to 1, whichever is smaller."""
    if x >= 1.0:
        return 1.0
    near = x if x <= 0.5 else 1.0 - x
    near = min(math.pow(2.0, math.floor(_STEPS * math.log2(near) + 0.5) / _STEPS), 0.5)
    return near if x <= 0.5 else 1.0 - near


@compiled
def eta(n: float, mean: float, variance: float, general: float, centre: float) -> float:
    """Return an arm's variance over the largest possible; ``general`` is that of arms in general.

    The prior's trials, ``general`` plays, are in the sample here: but for rounding 0/1 data have
    eta 1, however few and even if all are equal.
    """
    size = n + general
    m = (n * mean + general * centre) / size
    most = m * (1.0 - m)
    squares = n * (variance + (mean - m) ** 2) + general * ((centre - m) ** 2 + _coin(centre))
    found = (_PLAYS * general * most + squares) / ((_PLAYS + n + 2.0 * general - 1.0) * most)
    return min(max(found, _LEAST), 1.0)


@compiled
def _coin(p: float) -> float:
    return p * (1.0 - p)
