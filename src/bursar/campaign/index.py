"""The index by which a policy compared arms, in the user's units, and the bounds it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bursar.bounds import eta_of, lower, upper
from bursar.campaign.brain import Brain
from bursar.policies import kernels

__all__ = ["Index", "indices"]


class Index(NamedTuple):
    """What an arm may bring per cost at best; the bounds are None where there are none to show."""

    value: float
    reward_bound: float | None = None
    cost_bound: float | None = None


class _Arm(NamedTuple):
    n: float
    r: float
    c: float
    vr: float
    vc: float


Bounds = tuple[float, float]


def indices(brain: Brain, among: Sequence[int]) -> list[Index] | None:
    """Return the index of every arm, as in a choice among some; None if the policy has none.

    Arms count with their open decisions, as the policy sees them; one never tried is infinite.
    """
    policy, seen, plays = brain.policy, brain.seen, float(brain.game["plays"][0])
    if policy.index is None:
        return None
    if plays == 0.0:
        return [Index(math.inf)] * seen.size
    n = seen["n"]
    tried, free = np.maximum(n, 1.0), np.maximum(n - policy.variance, 1.0)
    columns = (
        n.copy(), seen["reward"] / tried, seen["cost"] / tried,
        seen["reward_m2"] / free, seen["cost_m2"] / free,
    )  # fmt: skip
    p = brain._parameters
    mine = np.array([k for k in among if n[k] > 0.0], dtype=np.intp)
    now = policy._now(p, plays, seen[mine], float(brain.game["spent"][0]))
    values = brain.scale.ratio_out(kernels.of(type(policy), "tabulate")(p, *columns, now))
    split = _SPLITS.get(policy.name)
    found = []
    for value, *numbers in zip(values.tolist(), *(one.tolist() for one in columns), strict=True):
        arm = _Arm(*numbers)
        if split is None or arm.n == 0.0:
            found.append(Index(value))
        else:
            reward, cost = split(p, arm, now, policy.variances)
            scale = brain.scale
            found.append(
                Index(
                    value,
                    scale.reward_low + scale.reward_width * reward,
                    scale.cost_low + scale.cost_width * cost,
                )
            )
    return found


def _omega(p: Any, arm: _Arm, z2: float, variances: bool) -> Bounds:
    trusted = variances and arm.n >= p.min_samples
    eta_reward = eta_of(arm.r, 1.0 - arm.r, arm.vr, p.eta_min) if trusted else 1.0
    eta_cost = eta_of(arm.c, 1.0 - arm.c, arm.vc, p.eta_min) if trusted else 1.0
    return (
        float(upper(arm.r, 1.0 - arm.r, z2 * eta_reward / arm.n)),
        float(lower(arm.c, 1.0 - arm.c, z2 * eta_cost / arm.n)),
    )


def _hoeffding(p: Any, arm: _Arm, now: float, variances: bool) -> Bounds:
    radius = now / math.sqrt(arm.n)
    return min(arm.r + radius, 1.0), max(arm.c - radius, 0.0)


def _density(p: Any, arm: _Arm, now: float, variances: bool) -> Bounds:
    return arm.r + now / math.sqrt(arm.n), arm.c


_SPLITS: dict[str, Callable[[Any, _Arm, Any, bool], Bounds]] = {
    "omega-ucb": _omega,
    "omega-star-ucb": _omega,
    "m-ucb": _hoeffding,
    "c-ucb": _density,
    "kube": _density,
    "fractional-kube": _density,
}
"""Policies whose index is a bound of the reward over a bound of the cost."""
