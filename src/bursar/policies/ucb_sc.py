r"""UCB-SC+: the steepest line from the origin to a disc around (mean cost, mean reward).

.. math::
    \frac{rc + R\sqrt{r^2 + c^2 - R^2}}{c^2 - R^2}, \qquad R^2 = \frac{\log(t/n)}{2n}

Infinite if R >= c. The same number as the published (r + ac)/(c - ar), without its division by a
difference. Without the plus (``plus=False``, UCB-SC) the radius has log t in place of log(t/n).
The code of ω-UCB's authors has log((t-1)/n): ``variant="authors"``.

Watanabe, Komiyama, Nakamura & Kudo (2018). UCB-SC: a fast variant of KL-UCB-SC for budgeted
multi-armed bandit problem. IEICE Trans. Fundamentals E101-A(3).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from bursar.jit.compile import compiled
from bursar.policies.base import VARIANT, Policy, PolicyContext


class Params(NamedTuple):
    plus: float
    lag: float = 0.0
    box: float = 0.0  # of KL-UCB-SC+


@compiled
def clock(p: Params, plays: float) -> float:
    """Return t, the round being decided."""
    return plays + 1.0 - p.lag


@compiled
def log_share(plus: float, n: float, t: float) -> float:
    """Return log(t/n), the logarithm of how rarely the arm was played; log t without the plus."""
    return max(math.log1p((t - n) / n), 0.0) if plus else math.log(t)


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, t: float) -> float:
    radius = math.sqrt(log_share(p.plus, n, t) / (2.0 * n))
    if c <= radius:
        return math.inf
    far = c + radius
    root = math.sqrt(r * r + (c - radius) * far)
    return (r * (c / far) + root * (radius / far)) / (c - radius)  # c² may be too small a number


@dataclass(frozen=True)
class UCBSCPlus(Policy):
    """UCB-SC+; ``plus=False`` gives UCB-SC."""

    plus: bool = True
    variant: str = "paper"

    name, title = "ucb-sc-plus", "UCB-SC+"
    year = 2018
    source = "Watanabe, Komiyama, Nakamura & Kudo, IEICE Trans. 2018"
    formula = (
        "(r c + R sqrt(r² + c² - R²)) / (c² - R²), infinite if c <= R,\n"
        "R² = log((N + 1) / n) / (2 n)"
    )
    domains = (("variant", VARIANT),)
    example_params = ({}, {"plus": False}, {"variant": "authors"})
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(float(self.plus), 1.0 if self.variant == "authors" else 0.0)
