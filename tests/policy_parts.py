"""Parts of decisions that policies do not show: what KUBE packs, which arms MRCB plays together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import bursar
from bursar.arrays import Floats
from bursar.jit.arms import new_game
from bursar.jit.bounds import ratio
from bursar.jit.compile import as_records, interpreted
from bursar.jit.rng import new_stream
from bursar.policies.base import PolicyContext
from bursar.policies.kube import pack
from bursar.policies.mrcb import MRCB, best_set, clock, optimistic

__all__ = ["find_best_set", "packing"]


def packing(*, mean_cost: Any, budget_left: float, **state: Any) -> Floats:
    """Return how many plays of each arm KUBE packs into the rest of the budget."""
    density = bursar.policy("kube").indices(mean_cost=mean_cost, **state)
    cost, game = np.array(mean_cost, dtype=float), new_game(budget_left, "first")
    return np.asarray(pack(density, cost, float(budget_left), game, new_stream(0)))


def find_best_set(
    policy: MRCB, *, n: Any, mean_reward: Any, mean_cost: Any, rounds: int
) -> tuple[list[int], float]:
    """Return the arms that MRCB plays in the next round, and their optimistic ratio.

    The search is interpreted: its machine code is tested by the twins, and takes seconds to make.
    """
    now = clock(policy.kernel_params(PolicyContext(len(n))), float(rounds))
    columns = (np.array(column, dtype=float) for column in (n, mean_reward, mean_cost))
    pairs: Any = [optimistic(*row, now) for row in zip(*columns, strict=True)]
    u, low = (np.array(column) for column in zip(*pairs, strict=True))
    search = interpreted(best_set)
    chosen = search(u, low, policy.set_size, as_records(new_game(math.inf, "first")), new_stream(0))
    return chosen.tolist(), float(ratio(u[chosen].sum(), low[chosen].sum()))
