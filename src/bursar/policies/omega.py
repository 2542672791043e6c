r"""ω-UCB and ω*-UCB: an optimistic reward over a pessimistic cost, by asymmetric intervals.

.. math:: \Omega_k(t) = \omega^r_{k+}(t) / \omega^c_{k-}(t), \qquad z^2 = 2\rho\log t

:math:`\omega_\pm` are the bounds of Theorem 1. ω-UCB takes the variance to be the largest possible
(:math:`\eta = 1`); ω*-UCB estimates it once an arm was played ``min_samples`` times,
:math:`\eta = \sigma^2 / ((M - \mu)(\mu - m))` with the biased sample variance.

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24. https://arxiv.org/abs/2306.07071
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bursar.jit.bounds import eta_of, lower, upper
from bursar.jit.compile import compiled
from bursar.policies.base import POSITIVE, Domain, Domains, Examples, Policy, PolicyContext


class Params(NamedTuple):
    """What the compiled functions know; offsets are low/width of the ranges, 0 for [0, 1]."""

    rho: float
    min_samples: float
    eta_min: float
    reward_offset: float
    cost_offset: float


@compiled
def clock(p: Params, plays: float) -> float:
    """Return z², the same for all arms."""
    return 2.0 * p.rho * math.log1p(plays)


@compiled
def bound_ratio(p: Params, r: float, c: float, a_reward: float, a_cost: float) -> float:
    """Return the reward's upper bound over the cost's lower bound; a = z² eta / n of each."""
    floor = p.cost_offset + lower(c, 1.0 - c, a_cost)
    if floor <= 0.0:
        return math.inf
    return max(p.reward_offset + upper(r, 1.0 - r, a_reward), 0.0) / floor


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, z2: float) -> float:
    """ω-UCB: eta is 1."""
    return bound_ratio(p, r, c, z2 / n, z2 / n)


@compiled
def star_index(p: Params, n: float, r: float, c: float, vr: float, vc: float, z2: float) -> float:
    """ω*-UCB: eta is estimated from enough samples."""
    if n < p.min_samples:
        return bound_ratio(p, r, c, z2 / n, z2 / n)
    eta_reward = eta_of(r, 1.0 - r, vr, p.eta_min)
    eta_cost = eta_of(c, 1.0 - c, vc, p.eta_min)
    return bound_ratio(p, r, c, z2 * eta_reward / n, z2 * eta_cost / n)


@compiled
def star_worst(
    p: Params, n: float, r: float, r_high: float, c_low: float, c: float, vr: float, vc: float,
    z2: float,
) -> float:  # fmt: skip
    """ω*-UCB over a block of plays: eta's denominator x(1 - x) is taken at its largest."""
    eta_reward = min(1.0, max(p.eta_min, vr / _most(r, r_high)))
    eta_cost = min(1.0, max(p.eta_min, vc / _most(c_low, c)))
    return bound_ratio(p, r, c, z2 * eta_reward / n, z2 * eta_cost / n)


@compiled
def _most(low: float, high: float) -> float:
    """Return the largest x(1 - x) for x between two means."""
    x = min(max(0.5, low), high)
    return max(x * (1.0 - x), 1e-300)


@dataclass(frozen=True)
class OmegaUCB(Policy):
    """ω-UCB; a larger ``rho`` explores more, ``rho >= 1`` has proven logarithmic regret."""

    rho: float = 0.25

    name, title = "omega-ucb", "ω-UCB"
    year = 2024
    source = "Heyden, Arzamasov, Fouché & Böhm, KDD 2024"
    formula = "upper(mean reward) / lower(mean cost), Theorem 1 with eta = 1, z² = 2 rho log(N + 1)"
    domains: ClassVar[Domains] = (("rho", POSITIVE),)
    example_params: ClassVar[Examples] = ({"rho": 1 / 64}, {"rho": 1 / 4}, {"rho": 1.0})
    always_shown: ClassVar[tuple[str, ...]] = ("rho",)
    monotone = True
    uses_variance = False
    any_range = True
    index = staticmethod(index)
    clock = staticmethod(clock)

    def bounds(
        self, p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float
    ) -> tuple[float, float]:
        eta_reward = eta_of(r, 1.0 - r, vr, p.eta_min) if n >= p.min_samples else 1.0
        eta_cost = eta_of(c, 1.0 - c, vc, p.eta_min) if n >= p.min_samples else 1.0
        return (
            float(upper(r, 1.0 - r, now * eta_reward / n)),
            float(lower(c, 1.0 - c, now * eta_cost / n)),
        )

    def kernel_params(self, context: PolicyContext) -> Params:
        scale = context.scale
        offsets = scale.reward_low / scale.reward_width, scale.cost_low / scale.cost_width
        return Params(self.rho, math.inf, 0.0, *offsets)  # no number of samples is enough


@dataclass(frozen=True)
class OmegaStarUCB(OmegaUCB):
    """ω*-UCB, the paper's recommendation with ``rho=0.25``.

    With ``eta_min=0`` (the paper) an arm whose first ``min_samples`` values are all equal gets an
    interval of no width that never widens again; a small ``eta_min`` keeps it explorable.
    """

    min_samples: int = 30
    eta_min: float = 0.0

    name, title = "omega-star-ucb", "ω*-UCB"
    formula = (
        "upper(mean reward) / lower(mean cost), Theorem 1 with z² = 2 rho log(N + 1) and\n"
        "eta = variance / ((high - mean)(mean - low)) once n >= min_samples, 1 before"
    )
    domains: ClassVar[Domains] = (
        ("min_samples", Domain("1 or more", lambda count: count >= 1)),
        ("eta_min", Domain("in [0, 1]", lambda eta: 0.0 <= eta <= 1.0)),
    )
    index = staticmethod(star_index)
    worst = staticmethod(star_worst)
    uses_variance = True

    def interval_eta_min(self) -> float:
        return self.eta_min

    def kernel_params(self, context: PolicyContext) -> Params:
        params = super().kernel_params(context)
        return params._replace(min_samples=float(self.min_samples), eta_min=self.eta_min)
