"""What is proven about ω-UCB, as functions: Theorems 3 to 6, the asymmetry, and a lower bound.

Everything takes numbers or arrays that broadcast, gives a Python float for scalars and a float64
array otherwise, and raises `bursar.errors.InvalidInput` for values outside of a theorem.

Heyden, Arzamasov, Fouché & Böhm (2024). Budgeted Multi-Armed Bandits with Asymmetric Confidence
Intervals. KDD '24. https://arxiv.org/abs/2306.07071
"""

from bursar.theory.intervals import alpha, alpha_exact, asymmetry, z_from_alpha, z_rho
from bursar.theory.plays import gaps, n_star, proportional_gaps, suboptimal_plays, xi, xi_upper
from bursar.theory.regret import (
    excess_plays,
    excess_plays_order,
    lower_bound,
    regret_bound,
    regret_order,
    regret_order_name,
    tau_budget,
)

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
