"""The data of Figure 1: how often 99% bounds of reward over cost are exceeded, how loose they are.

Means of rewards and costs are drawn at random, a pair of Bernoulli arms each; so are the means of
n samples of either. A bound is violated if the true ratio exceeds it. All bounds are the package's
own: of each policy at the moment when its radius is that of the level.

The rows ``as_published`` repeat the errors of the published script (docs/deviations.md, 18-21).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bursar.errors import InvalidInput
from bursar.policies import policy as policy_of
from bursar.theory import alpha, z_from_alpha
from bursar.theory.intervals import interval, ratio_bound
from bursar.validation import Floats, check_int, check_positive

__all__ = ["SIZES", "TYPES", "as_published", "correct", "coverage", "example"]

# ==== analysis.bound_formulas
# Bounds of reward over cost at a given level: each policy's index, its clock set to the level.
#
# Hoeffding's radius is sqrt(log(2/level) / 2n), that of UCB-SC sqrt(log(1/level) / 2n) since its disc
# holds both means at once.

# united, composite, hybrid: the types of the paper's table
TYPES = {
    "i-ucb": "u",
    "ucb-sc": "u",
    "kl-ucb-sc": "u",
    "c-ucb": "h",
    "budget-ucb": "h",
    "m-ucb": "c",
    "omega-ucb": "c",
}
_LEAST = 0.001  # lambda of the published script, and its smallest denominator


def correct(r: Floats, c: Floats, n: int, level: float) -> dict[str, Floats]:
    """Return the bounds by name, as their papers define them."""
    seen: dict[str, Any] = {"n": n, "mean_reward": r, "mean_cost": c}
    plays = max(n, 2)  # any number does: alpha and factor take it out again
    radius = math.log(2.0 / level) / (2.0 * math.log(plays))
    alpha = math.sqrt(radius)
    budget = policy_of("budget-ucb").but(factor=radius, min_cost=_LEAST)
    # log(t/n) of the plus is log(1/level) in round t = n/level: UCB-SC and KL-UCB-SC at that level
    late = round(n / level) - 1
    return {
        "i-ucb": policy_of("i-ucb").but(alpha=alpha).indices(**seen, plays=plays),
        "ucb-sc": policy_of("ucb-sc-plus").indices(**seen, plays=late),
        "kl-ucb-sc": policy_of("kl-ucb-sc-plus").indices(**seen, plays=late),
        "c-ucb": policy_of("c-ucb").but(alpha=alpha).indices(**seen, plays=plays),
        "budget-ucb": budget.indices(**seen, plays=plays),
        "m-ucb": policy_of("m-ucb").but(alpha=alpha).indices(**seen, plays=plays),
        "omega-ucb": ratio_bound(r, c, n, alpha=level),
    }


def as_published(r: Floats, c: Floats, n: int, level: float) -> dict[str, Floats]:
    """Return the bounds that the published script has, with its errors; costs must be positive."""
    e = math.sqrt(math.log(2.0 / level) / (2.0 * n))
    right = correct(r, c, n, level)
    disc = level / 2.0  # taken for R² whatever n is
    reach = r * c + np.sqrt(disc * np.maximum(r * r + c * c - disc, 0.0))
    return {
        "i-ucb": right["i-ucb"],
        "ucb-sc": reach / np.maximum(c * c - disc, _LEAST),
        "c-ucb": right["c-ucb"],
        "budget-ucb": r / c + e / c * (1.0 + np.minimum(r + e, 1.0) / np.maximum(r - e, _LEAST)),
        "m-ucb": np.minimum(r + e, 1.0) / np.maximum(c - e, _LEAST),
        "omega-ucb": ratio_bound(r, c, n, alpha=level / 2.0),
    }


SIZES = (100, 1_000, 10_000, 100_000)
_NORMAL = 1.959963984540054


def coverage(
    pairs: int = 10_000,
    level: float = 0.01,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return a row a bound and sample size, corrected and as published.

    Parameters
    ----------
    pairs : int
        Random pairs of a mean reward and a mean cost, both uniform.
    level : float
        Nominal probability of a violation.
    sizes : sequence of int
        Samples of each.
    seed : int
        Same seed, same rows.

    Returns
    -------
    list of dict
        ``bound``, ``type`` (u united, c composite, h hybrid), ``samples``, ``pairs``,
        ``violations`` with its 95% interval (Wilson) ``violations_low`` and ``violations_high``,
        ``tightness_median`` of bound over ratio (an infinite bound counts as the loosest; None if
        the median is infinite), ``tightness_mean`` of the finite ones (None if there are none),
        ``infinite`` (share of bounds), ``zero_costs`` (pairs whose samples all cost nothing; their
        bound is infinite and never violated), ``as_published``.
    """
    check_int("pairs", pairs, 1, "10,000 in the paper")
    if not 0.0 < check_positive("level", level, "0.01 in the paper") < 1.0:
        raise InvalidInput(f"level must be below 1, got {level!r}; 0.01 in the paper")
    rows: list[dict[str, Any]] = []
    for n in sizes:
        rng = np.random.default_rng([seed, check_int("sizes", n, 1, "100 or more in the paper")])
        mu_r, mu_c = 1.0 - rng.random(pairs), 1.0 - rng.random(pairs)  # in (0, 1]
        r, c = rng.binomial(n, mu_r) / n, rng.binomial(n, mu_c) / n
        zero = int((c == 0.0).sum())
        for name, bound in correct(r, c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, zero, False))
        positive_c = _redrawn(rng, c, mu_c, n)
        for name, bound in as_published(r, positive_c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, 0, True))
    return rows


def _redrawn(rng: np.random.Generator, c: Floats, mu_c: Floats, n: int) -> Floats:
    """Draw costs anew until their mean is above 0, as the published script does."""
    c = c.copy()
    while (zero := np.flatnonzero(c == 0.0)).size:
        c[zero] = rng.binomial(n, mu_c[zero]) / n
    return c


def _row(
    name: str, n: int, ratio: Floats, bound: Floats, zero: int, published: bool
) -> dict[str, Any]:
    share = float((ratio > bound).mean())
    low, high = interval(share, ratio.size, _NORMAL)
    finite = np.isfinite(bound)
    tightness = bound / ratio
    middle = float(np.median(tightness))
    return {
        "bound": name,
        "type": TYPES[name],
        "samples": n,
        "pairs": int(ratio.size),
        "violations": share,
        "violations_low": low,
        "violations_high": high,
        "tightness_median": middle if np.isfinite(middle) else None,
        "tightness_mean": float(tightness[finite].mean()) if finite.any() else None,
        "infinite": float(1.0 - finite.mean()),
        "zero_costs": zero,
        "as_published": published,
    }


# ==== analysis.example
# Example 2 of the paper: two arms, 1,000 plays each, and what two policies make of them.

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
