"""Example 2 of the paper: two arms, 1,000 plays each, and what two policies make of them."""

from __future__ import annotations

from typing import Any

from bursar.intervals import ratio_bound
from bursar.policies import policy as policy_of
from bursar.theory import alpha, z_from_alpha

__all__ = ["example"]

_REWARD, _COST = (0.8, 0.1), (0.2, 0.1)
_PLAYS, _ROUND = 1_000, 10_000
_PAPER_M, _PAPER_OMEGA = (2.95, 48.6), (5.5, 2.1)


def example() -> list[dict[str, float]]:
    """Return a row an arm: what the paper prints, and what the formulas give.

    ``omega_at_bound`` has the z of the level alpha(t) that Theorem 3 names, ``omega_policy`` the
    z = sqrt(2 rho log t) that the policy itself uses.

    >>> [round(row["m_ucb"], 2) for row in example()]
    [8.61, 48.63]
    """
    state: dict[str, Any] = {"n": _PLAYS, "mean_reward": _REWARD, "mean_cost": _COST}
    m_ucb = policy_of("m-ucb:alpha=1").indices(**state, plays=_ROUND - 1)
    own = policy_of("omega-ucb:rho=1").indices(**state, plays=_ROUND - 1)
    z = z_from_alpha(alpha(_ROUND, 1.0))
    at_bound = ratio_bound(_REWARD, _COST, _PLAYS, z=z)
    return [
        {
            "arm": arm + 1,
            "mean_reward": _REWARD[arm],
            "mean_cost": _COST[arm],
            "m_ucb_paper": _PAPER_M[arm],
            "m_ucb": float(m_ucb[arm]),
            "omega_paper": _PAPER_OMEGA[arm],
            "omega_at_bound": float(at_bound[arm]),
            "omega_policy": float(own[arm]),
        }
        for arm in range(2)
    ]
