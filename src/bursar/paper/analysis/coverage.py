"""Figure 1 and Example 2: how often 99% bounds of reward per cost fail, how loose they are.

Means of rewards and costs are drawn at random for pairs of Bernoulli arms, and so are the means of
n samples of each. A bound is violated if the true ratio exceeds it. Each bound is the index of a
policy at the moment when its radius is that of the level: Hoeffding's radius is
sqrt(log(2/level) / 2n), that of UCB-SC sqrt(log(1/level) / 2n), since its disc holds both means.

The rows ``as_published`` repeat the errors of the published script (docs/deviations.md, 18-21).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.policies import policy as policy_of
from bursar.theory import alpha, z_from_alpha
from bursar.theory.intervals import interval, ratio_bound
from bursar.validation import check_int, check_positive

# united, composite, hybrid: the types of the paper's table
_TYPES = {
    "i-ucb": "u",
    "ucb-sc": "u",
    "kl-ucb-sc": "u",
    "c-ucb": "h",
    "budget-ucb": "h",
    "m-ucb": "c",
    "omega-ucb": "c",
}
_LEAST = 0.001  # lambda of the published script, and its smallest denominator
_SIZES = (100, 1_000, 10_000, 100_000)
_NORMAL = 1.959963984540054
_REWARD, _COST = (0.8, 0.1), (0.2, 0.1)
_PLAYS, _ROUND = 1_000, 10_000
_PAPER_M, _PAPER_OMEGA = (2.95, 48.6), (5.5, 2.1)


def measure_coverage(
    pairs: int = 10_000, level: float = 0.01, sizes: Sequence[int] = _SIZES, seed: int = 0
) -> list[dict[str, Any]]:
    """Return a row for each bound and sample size, corrected and as published.

    ``pairs`` of a mean reward and a mean cost, both uniform, are drawn; ``level`` is the nominal
    probability of a violation. A row has ``bound``, ``type`` (u united, c composite, h hybrid),
    ``samples``, ``pairs``, ``violations`` with its 95% interval (Wilson) ``violations_low`` and
    ``violations_high``, ``tightness_median`` of bound over ratio (an infinite bound counts as the
    loosest; None if the median is infinite), ``tightness_mean`` of the finite ones (None if there
    are none), ``infinite`` (share of bounds), ``zero_costs`` (pairs whose samples all cost nothing;
    their bound is infinite and never violated), ``as_published``.
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
        for name, bound in correct_bounds(r, c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, zero, False))
        # the published script draws costs again until their mean is above 0
        while (free := np.flatnonzero(c == 0.0)).size:
            c[free] = rng.binomial(n, mu_c[free]) / n
        for name, bound in _published_bounds(r, c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, 0, True))
    return rows


def correct_bounds(r: Floats, c: Floats, n: int, level: float) -> dict[str, Floats]:
    """Return the bounds by name, as their papers define them."""
    seen: dict[str, Any] = {"n": n, "mean_reward": r, "mean_cost": c}
    plays = max(n, 2)  # any number will do: alpha and factor cancel it
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


def _published_bounds(r: Floats, c: Floats, n: int, level: float) -> dict[str, Floats]:
    """Return the bounds that the published script has, with its errors; costs must be positive."""
    e = math.sqrt(math.log(2.0 / level) / (2.0 * n))
    right = correct_bounds(r, c, n, level)
    disc = level / 2.0  # taken for R² for every n
    reach = r * c + np.sqrt(disc * np.maximum(r * r + c * c - disc, 0.0))
    return {
        "i-ucb": right["i-ucb"],
        "ucb-sc": reach / np.maximum(c * c - disc, _LEAST),
        "c-ucb": right["c-ucb"],
        "budget-ucb": r / c + e / c * (1.0 + np.minimum(r + e, 1.0) / np.maximum(r - e, _LEAST)),
        "m-ucb": np.minimum(r + e, 1.0) / np.maximum(c - e, _LEAST),
        "omega-ucb": ratio_bound(r, c, n, alpha=level / 2.0),
    }


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
        "type": _TYPES[name],
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


def example_2() -> list[dict[str, float]]:
    """Return what the paper prints for each arm of Example 2, and what the formulas give.

    ``omega_at_bound`` has the z of the level alpha(t) that Theorem 3 names, ``omega_policy`` the
    z = sqrt(2 rho log t) that the policy itself uses.

    >>> [round(row["m_ucb"], 2) for row in example_2()]
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
