r"""Budget-UCB: the ratio plus a bonus that knows how small a cost can be.

.. math::
    \frac rc + \frac{\varepsilon}{c}\left(1 + \frac{\min(r + \varepsilon, 1)}
    {\max(c - \varepsilon, \lambda)}\right), \qquad \varepsilon = \sqrt{f\log(t-1)/n}

with :math:`\lambda` a known lower bound on the mean costs and f = 1 in the paper's table. The code
of ω-UCB's authors has f = 2 and log(t - 2): ``variant="authors"``.

Xia, Ding, Zhang, Yu & Qin (2015). Budgeted bandit problems with continuous random costs. ACML.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from bursar.jit.compile import compiled
from bursar.policies.base import POSITIVE, VARIANT, Policy, PolicyContext


class Params(NamedTuple):
    min_cost: float
    factor: float
    lag: float


@compiled
def clock(p: Params, plays: float) -> float:
    """Return sqrt(f log N), the radius of an arm with one play."""
    return math.sqrt(p.factor * math.log(max(plays - p.lag, 1.0)))


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    if c <= 0.0:
        return math.inf
    e = now / math.sqrt(n)
    if e == 0.0:  # 0/min_cost of a tiny min_cost would be 0 times infinity
        return r / c
    return r / c + e / c * (1.0 + min(r + e, 1.0) / max(c - e, p.min_cost))


@dataclass(frozen=True)
class BudgetUCB(Policy):
    """Budget-UCB; ``factor`` is f in the radius: 1 (paper), 2 (authors) unless given."""

    min_cost: float | None = None
    factor: float | None = None
    variant: str = "paper"

    name, title = "budget-ucb", "Budget-UCB"
    year = 2015
    source = "Xia, Ding, Zhang, Yu & Qin, ACML 2015"
    formula = "r/c + (e/c) (1 + min(r + e, 1) / max(c - e, min_cost)), e = sqrt(factor log(N) / n)"
    domains = (("min_cost", POSITIVE), ("factor", POSITIVE), ("variant", VARIANT))
    example_params = ({"min_cost": 0.01}, {"min_cost": 0.1, "variant": "authors"})
    needs = ("min_cost",)
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        authors = self.variant == "authors"
        factor = self.factor if self.factor is not None else (2.0 if authors else 1.0)
        return Params(self._known(context, "min_cost"), factor, 1.0 if authors else 0.0)
