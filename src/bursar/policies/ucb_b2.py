r"""UCB-B2: an empirical Bernstein bonus on the rate, once the cost is known well enough.

.. math::
    \varepsilon_r = \sqrt{2V_r x/n} + 3x/n, \quad \varepsilon_c = \sqrt{2V_c x/n} + 3x/n, \quad
    x = \alpha\log N, \qquad \hat\rho + 1.4\,\frac{\varepsilon_r + \hat\rho\,\varepsilon_c}{c}

with :math:`\hat\rho = r/\max(c, \lambda)`, if :math:`0 < \varepsilon_c < c\,(1.28-1)/1.28`, else
infinite. V are *unbiased* sample variances, 1/4 before the second play. The code of ω-UCB's authors
tests :math:`\varepsilon_c < r`, the mean reward, instead (KDD '24 figures): ``variant="authors"``.

Cayci, Eryilmaz & Srikant (2020). Budget-constrained bandits over general cost and reward
distributions. AISTATS.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from bursar.jit.compile import compiled
from bursar.policies.base import VARIANT, Domain, Policy, PolicyContext

_TRUSTED = (1.28 - 1.0) / 1.28
_TINY = 1e-10  # the authors' guard against a division by 0


class Params(NamedTuple):
    alpha: float
    min_cost: float
    authors: float


@compiled
def clock(p: Params, plays: float) -> float:
    """Return x = alpha log N."""
    return p.alpha * math.log(plays)


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, x: float) -> float:
    if n < 2.0:
        vr, vc = 0.25, 0.25
    e = math.sqrt(2.0 * vr * x / n) + 3.0 * x / n
    h = math.sqrt(2.0 * vc * x / n) + 3.0 * x / n
    if p.authors:
        if not h < r:
            return math.inf
        c_div = max(c, _TINY)
    else:
        if not 0.0 < h < c * _TRUSTED:
            return math.inf
        c_div = c
    rate = r / max(c_div, p.min_cost)
    return rate + 1.4 * (e + rate * h) / c_div


@compiled
def worst(
    p: Params, n: float, r: float, r_high: float, c_low: float, c: float, vr: float, vc: float,
    x: float,
) -> float:  # fmt: skip
    """Return a lower bound over a block of plays: the finite branch, which infinity only exceeds.

    (In the authors' variant a *lower* reward makes the index infinite.)
    """
    e = math.sqrt(2.0 * vr * x / n) + 3.0 * x / n
    h = math.sqrt(2.0 * vc * x / n) + 3.0 * x / n
    c_div = max(c, _TINY)
    rate = r / max(c_div, p.min_cost)
    return rate + 1.4 * (e + rate * h) / c_div


@dataclass(frozen=True)
class UCBB2(Policy):
    """UCB-B2; ``min_cost`` is a known lower bound on the mean costs, 0 if none is known.

    ``indices`` takes unbiased variances (divided by n - 1).
    """

    alpha: float = 2.01
    min_cost: float | None = None
    variant: str = "paper"

    name, title = "ucb-b2", "UCB-B2"
    year = 2020
    source = "Cayci, Eryilmaz & Srikant, AISTATS 2020"
    formula = (
        "q + 1.4 (e + q h) / c, q = r / max(c, min_cost), if 0 < h < 0.21875 c, else infinite;\n"
        "e, h = sqrt(2 V x / n) + 3 x / n with V of rewards, costs; x = alpha log(N)"
    )
    domains = (
        ("alpha", Domain("above 2", lambda alpha: 2.0 < alpha < math.inf)),
        ("min_cost", Domain("0 or more", lambda cost: 0.0 <= cost < math.inf)),
        ("variant", VARIANT),
    )
    example_params = ({}, {"min_cost": 0.05}, {"variant": "authors"})
    monotone = True
    ddof = 1
    index = staticmethod(index)
    worst = staticmethod(worst)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        known = 0.0 if context.min_cost is None else context.min_cost
        return Params(self.alpha, known, float(self.variant == "authors"))
