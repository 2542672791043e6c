"""What is proven about ω-UCB, as functions: Theorems 3 to 6, the asymmetry, and a lower bound.

Everything takes numbers or arrays that broadcast, gives a Python float for scalars and a float64
array otherwise, and raises `bursar.errors.InvalidInput` for values outside of a theorem.

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24. https://arxiv.org/abs/2306.07071
"""

from bursar.theory.confidence import alpha, alpha_exact, z_from_alpha, z_rho
from bursar.theory.excess import excess_plays, excess_plays_order
from bursar.theory.failure import xi, xi_upper
from bursar.theory.gap import gaps, proportional_gaps
from bursar.theory.horizon import tau_budget
from bursar.theory.least import lower_bound
from bursar.theory.plays import n_star, suboptimal_plays
from bursar.theory.regret import regret_bound, regret_order, regret_order_name
from bursar.theory.skew import asymmetry

__all__ = [
    "alpha",
    "alpha_exact",
    "asymmetry",
    "excess_plays",
    "excess_plays_order",
    "gaps",
    "lower_bound",
    "n_star",
    "proportional_gaps",
    "regret_bound",
    "regret_order",
    "regret_order_name",
    "suboptimal_plays",
    "tau_budget",
    "xi",
    "xi_upper",
    "z_from_alpha",
    "z_rho",
]
