r"""m-UCB, c-UCB and i-UCB: Hoeffding radii put into the ratio in three ways.

.. math::
    \varepsilon = \alpha\sqrt{\log(t-1)/n}, \qquad
    m: \frac{\min(r + \varepsilon, 1)}{\max(c - \varepsilon, 0)}, \quad
    c: \frac{r + \varepsilon}{c}, \quad
    i: \frac{r}{c} + \varepsilon

Infinite where the denominator is not positive. The authors of ω-UCB use log(t - 2) by mistake:
``variant="authors"``.

Xia, Qin, Ding, Li, Zhang, Yu & Liu (2017). Finite budget analysis of multi-armed bandit problems.
Neurocomputing 258.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bursar.jit.compile import compiled
from bursar.policies.base import POSITIVE, VARIANT, Policy, PolicyContext


class Params(NamedTuple):
    """``lag`` is 1 in the authors' variant, which counts one play too few."""

    alpha: float
    lag: float


@compiled
def clock(p: Params, plays: float) -> float:
    """Return alpha sqrt(log N), the radius of an arm with one play."""
    return p.alpha * math.sqrt(math.log(max(plays - p.lag, 1.0)))


@compiled
def m_index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    """m-UCB: optimistic reward over pessimistic cost."""
    e = now / math.sqrt(n)
    return min(r + e, 1.0) / (c - e) if c > e else math.inf


@compiled
def c_index(p: Any, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    """c-UCB: optimistic reward over the cost as seen."""
    return (r + now / math.sqrt(n)) / c if c > 0.0 else math.inf


@compiled
def i_index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    """i-UCB: the ratio as seen plus a radius that does not scale with the cost."""
    return r / c + now / math.sqrt(n) if c > 0.0 else math.inf


@dataclass(frozen=True)
class _XiaUCB(Policy):
    """What the three share."""

    alpha: float = 1.0
    variant: str = "paper"

    year = 2017
    source = "Xia, Qin, Ding, Li, Zhang, Yu & Liu, Neurocomputing 2017"
    domains = (("alpha", POSITIVE), ("variant", VARIANT))
    example_params = ({}, {"alpha": 1.0}, {"variant": "authors"})
    monotone = True
    uses_variance = False
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.alpha, 1.0 if self.variant == "authors" else 0.0)


@dataclass(frozen=True)
class MUCB(_XiaUCB):
    """m-UCB: both means moved to their optimistic ends."""

    alpha: float = 2.0**-4

    name, title = "m-ucb", "m-UCB"
    formula = "min(r + e, 1) / max(c - e, 0), e = alpha sqrt(log(N) / n)"
    index = staticmethod(m_index)

    def bounds(
        self, p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float
    ) -> tuple[float, float]:
        radius = now / math.sqrt(n)
        return min(r + radius, 1.0), max(c - radius, 0.0)


@dataclass(frozen=True)
class CUCB(_XiaUCB):
    """c-UCB: only the reward is moved, the radius scales with 1/cost."""

    alpha: float = 2.0**-3

    name, title = "c-ucb", "c-UCB"
    formula = "(r + e) / c, e = alpha sqrt(log(N) / n)"
    index = staticmethod(c_index)

    def bounds(
        self, p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float
    ) -> tuple[float, float]:
        return r + now / math.sqrt(n), c


@dataclass(frozen=True)
class IUCB(_XiaUCB):
    """i-UCB: a radius added to the ratio."""

    alpha: float = 2.0**-2

    name, title = "i-ucb", "i-UCB"
    formula = "r / c + e, e = alpha sqrt(log(N) / n)"
    index = staticmethod(i_index)
