"""Bounds of reward over cost at a given level: each policy's index, its clock set to the level.

Hoeffding's radius is sqrt(log(2/level) / 2n), that of UCB-SC sqrt(log(1/level) / 2n) since its disc
holds both means at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bursar.checks import Floats
from bursar.intervals import ratio_bound
from bursar.policies import policy as policy_of

__all__ = ["TYPES", "as_published", "correct"]

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
