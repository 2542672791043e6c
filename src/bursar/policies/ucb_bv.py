r"""UCB-BV1 and UCB-BV2: the ratio plus a bonus, for discrete costs.

.. math::
    s = \sqrt{\log(t-1)/n}, \qquad
    BV1: \frac rc + \frac{(1 + 1/\lambda)\,s}{\lambda - s}, \qquad
    BV2: \frac rc + \frac{s}{\lambda_t}\left(1 + \frac{1}{\lambda_t - s}\right)

:math:`\lambda` is a known lower bound on the mean costs, :math:`\lambda_t` the smallest mean cost
seen. While s is not below it the formula is negative or undefined and the index infinite, so with
:math:`\lambda` = 0.01 BV1 plays round robin for some 90,000 plays of each arm.

Ding, Qin, Zhang & Liu (2013). Multi-armed bandit with budget constraint and variable costs. AAAI.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled
from bursar.policies.base import POSITIVE, Policy, PolicyContext


class Params(NamedTuple):
    min_cost: float


@compiled
def clock(p: Any, plays: float) -> float:
    """Return sqrt(log N), the radius of an arm with one play."""
    return math.sqrt(math.log(plays))


@compiled
def bv1_index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    s = now / math.sqrt(n)
    if c <= 0.0 or s >= p.min_cost:
        return math.inf
    if s == 0.0:  # 0/min_cost of a tiny min_cost would be 0 times infinity
        return r / c
    return r / c + (1.0 + 1.0 / p.min_cost) * s / (p.min_cost - s)


@compiled
def bv2_index(
    p: Any, n: float, r: float, c: float, vr: float, vc: float, now: tuple[float, float]
) -> float:
    """``now`` is the radius of an arm with one play, and the smallest mean cost."""
    s, least = now[0] / math.sqrt(n), now[1]
    if c <= 0.0 or s >= least:
        return math.inf
    return r / c + s / least * (1.0 + 1.0 / (least - s))


@compiled
def bv2_scores(p: Any, arms: Arms, game: Game) -> Floats:
    """Return all indices; together, because the smallest mean cost couples the arms."""
    least = math.inf
    for k in range(arms.size):
        least = min(least, arms[k].cost / arms[k].n)
    now = (clock(p, float(game[0].plays)), least)
    out = np.empty(arms.size)
    for k in range(arms.size):
        n = arms[k].n
        out[k] = bv2_index(p, n, arms[k].reward / n, arms[k].cost / n, 0.0, 0.0, now)
    return out


@dataclass(frozen=True)
class UCBBV1(Policy):
    """UCB-BV1, which knows a lower bound on the mean costs."""

    min_cost: float | None = None

    name, title = "ucb-bv1", "UCB-BV1"
    year = 2013
    source = "Ding, Qin, Zhang & Liu, AAAI 2013"
    uses_variance = False
    formula = (
        "r/c + (1 + 1/min_cost) s / (min_cost - s), infinite if s >= min_cost, s = sqrt(log(N) / n)"
    )
    domains = (("min_cost", POSITIVE),)
    example_params = ({"min_cost": 0.2}, {"min_cost": 0.9})
    needs = ("min_cost",)
    monotone = True
    index = staticmethod(bv1_index)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self._known(context, "min_cost"))


@dataclass(frozen=True)
class UCBBV2(Policy):
    """UCB-BV2, which estimates the lower bound: the smallest mean cost seen so far."""

    name, title = "ucb-bv2", "UCB-BV2"
    year = 2013
    source = "Ding, Qin, Zhang & Liu, AAAI 2013"
    uses_variance = False
    formula = (
        "r/c + (s/m) (1 + 1/(m - s)), infinite if s >= m, s = sqrt(log(N) / n), m = least mean cost"
    )
    index = staticmethod(bv2_index)
    clock = staticmethod(clock)
    scores = staticmethod(bv2_scores)

    def _now(self, p: Any, plays: float, arms: Arms, spent: float) -> Any:
        played = arms[arms["n"] > 0.0]
        least = (played["cost"] / played["n"]).min(initial=math.inf)
        return super()._now(p, plays, arms, spent), float(least)
