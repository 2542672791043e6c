"""What the command line tells about a policy: its facts, and an example state with its index."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from bursar.policies import Policy
from bursar.stream import new_stream

__all__ = ["card_of", "facts_of"]

_DRAWS = 1000
_BUDGET, _MIN_COST = 200.0, 0.1
# three arms after 100 plays: dear and good, cheap and fair, rarely played
_N = np.array([50, 40, 10])
_REWARDS = np.array([36, 12, 4])
_COSTS = np.array([25, 8, 5])


def facts_of(cls: type[Policy]) -> dict[str, Any]:
    """Return what a row of the table of policies shows."""
    return {
        "slug": cls.name,
        "name": cls.title,
        "year": cls.year,
        "source": cls.source,
        "parameters": {name: default for name, (_, default) in cls().settings().items()},
        "needs": list(cls.needs),
    }


def card_of(policy: Policy) -> dict[str, Any]:
    """Return all that is to say of one policy, with an example of three arms."""
    facts = facts_of(type(policy))
    if "min_cost" in policy.needs and getattr(policy, "min_cost", None) is None:
        example = _example(policy.but(min_cost=_MIN_COST))
        example["given"] = {"min_cost": _MIN_COST}
    else:
        example = _example(policy)
    return {
        **facts,
        "slug": str(policy),
        "parameters": {name: value for name, (value, _) in policy.settings().items()},
        "formula": policy.formula,
        "about": inspect.cleandoc(policy.__doc__ or "").split("\n")[0].replace("``", ""),
        "example": example,
    }


def _example(policy: Policy) -> dict[str, Any]:
    n = _N.astype(float)
    r, c = _REWARDS / n, _COSTS / n
    arms: list[dict[str, Any]] = [
        {"arm": k, "n": int(_N[k]), "mean_reward": float(r[k]), "mean_cost": float(c[k])}
        for k in range(n.size)
    ]
    if policy.index is not None:
        free = n - 1.0 if policy.variance else n
        index = policy.indices(
            n=n,
            mean_reward=r,
            mean_cost=c,
            plays=int(n.sum()),
            var_reward=n * r * (1 - r) / free,
            var_cost=n * c * (1 - c) / free,
            budget=_BUDGET,
        )
        for arm, value in zip(arms, index, strict=True):
            arm["index"] = float(value)
    shares = _shares(policy)
    for arm, share in zip(arms, shares, strict=True):
        arm["chosen"] = f"{share:.0%}"
    if max(shares) == 1.0:
        verdict = f"It plays arm {int(np.argmax(shares))}."
    else:
        verdict = f"It draws: the last column is the share of {_DRAWS:,} draws."
    return {"plays": int(n.sum()), "arms": arms, "verdict": verdict}


def _shares(policy: Policy) -> list[float]:
    """Return how often each arm is chosen from the example, over many draws of the policy."""
    if policy.round_size > _N.size:
        return [1.0] * _N.size
    learner = policy.learner(_N.size, budget=_BUDGET, min_cost=_MIN_COST)
    for k in range(_N.size):
        for play in range(_N[k]):
            learner.record(k, float(play < _REWARDS[k]), float(play < _COSTS[k]))
    saved = [a.copy() for a in (learner.arms, learner.game, learner.memory)]
    counts = np.zeros(_N.size)
    for draw in range(_DRAWS):
        learner.arms[:], learner.game[:], learner.memory[:] = saved
        learner.stream[:] = new_stream(draw)
        counts[learner.choose()] += 1
    return [float(count) / _DRAWS for count in counts]
