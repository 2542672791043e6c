"""Theorem 5's bound for the problems that were played, to set beside the measured regret."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bursar.checks import Floats
from bursar.plan import BUDGET_PLAYS
from bursar.problems import Problem
from bursar.theory import regret_bound

__all__ = ["bound", "bounds"]


def bound(
    problems: Sequence[Problem],
    rho: float,
    shares: ArrayLike,
    budget_plays: float = BUDGET_PLAYS,
) -> Floats:
    """Return the bound at shares of the budget, averaged over problems.

    Parameters
    ----------
    problems : sequence of Problem
        As of ``bursar.setting("S-Br-10").problems(repetition)``; of several repetitions if wanted.
    rho : float
        Exploration parameter.
    shares : array_like
        Shares of the budget of each problem.
    budget_plays : float
        The whole budget, in units of a problem's smallest mean cost.
    """
    return np.asarray(bounds(problems, rho, shares, budget_plays).mean(axis=0))


def bounds(
    problems: Sequence[Problem],
    rho: float,
    shares: ArrayLike,
    budget_plays: float = BUDGET_PLAYS,
) -> Floats:
    """Return the bound of each problem, problems x shares; infinite where the theorem is silent.

    It begins when the budget pays for a play of each arm.
    """
    parts = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    lines = np.full((len(problems), parts.size), np.inf)
    for line, problem in zip(lines, problems, strict=True):
        enough = np.floor(2.0 * parts * budget_plays) > problem.arms
        if enough.any():
            money = parts[enough] * budget_plays * problem.min_cost
            line[enough] = regret_bound(money, rho, problem.reward, problem.cost)
    return lines
