r"""KL-UCB-SC+: the largest ratio of two means within a Kullback-Leibler ball.

.. math:: \sup\{\mu/\tau : kl(r,\mu) + kl(c,\tau) \le L\}, \qquad L = \log(t/n)/n

kl is that of Bernoulli variables. Infinite if and only if the mean cost is 0. UCB-SC+ is what is
left of it after Pinsker's inequality, so its index is never below this one. Without the plus
(``plus=False``, KL-UCB-SC) L = log(t)/n. ``region="box"`` bounds reward and cost apart, each with
kl <= L: a looser rule, kept for comparison.

Watanabe, Komiyama, Nakamura & Kudo (2017). KL-UCB-based policy for budgeted multi-armed bandits
with stochastic action costs. IEICE Trans. Fundamentals E100-A(11). The formula is derived from the
optimality that its abstract claims; see docs/deviations.md.
"""

from dataclasses import dataclass

from bursar.jit.compile import compiled
from bursar.jit.divergence import ball_ratio, box_ratio
from bursar.policies.base import Policy, PolicyContext, one_of
from bursar.policies.ucb_sc import Params, clock, log_share


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, t: float) -> float:
    level = log_share(p.plus, n, t) / n
    return box_ratio(r, c, level) if p.box else ball_ratio(r, c, level)


@dataclass(frozen=True)
class KLUCBSCPlus(Policy):
    """KL-UCB-SC+; ``plus=False`` gives KL-UCB-SC."""

    plus: bool = True
    region: str = "ball"

    name, title = "kl-ucb-sc-plus", "KL-UCB-SC+"
    year = 2017
    source = "Watanabe, Komiyama, Nakamura & Kudo, IEICE Trans. 2017"
    formula = "sup mu/tau with kl(r, mu) + kl(c, tau) <= log((N + 1) / n) / n"
    domains = (("region", one_of("ball", "box")),)
    example_params = ({}, {"plus": False}, {"region": "box"})
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(float(self.plus), box=float(self.region == "box"))
