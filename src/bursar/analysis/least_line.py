"""The least regret that is possible in the long run, for the problems that were played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bursar.checks import Floats
from bursar.errors import BursarError
from bursar.plan import Data, Place
from bursar.problems import Bernoulli, Problem
from bursar.result import Result
from bursar.settings import setting as setting_of
from bursar.theory import lower_bound

__all__ = ["least"]


def least(
    result: Result, setting: str, places: Sequence[Place | Problem] = (), data: Data = None
) -> Floats | None:
    """Return the asymptotic lower bound of mean regret at each share of the budget.

    It is averaged as regret is: over the problems of a repetition, then over the repetitions that
    there are. A budget of less than one cost of 1 has a logarithm below 0 and counts as 0. ``None``
    if arms are not Bernoulli, or if the problems are not known.

    Parameters
    ----------
    result : Result
        The games; their budgets are taken from what the best arm would have brought for them.
    setting : str
        One that was played.
    places : sequence of settings and problems
        Those that were played; needed for those of one's own, which a name does not tell.
    data : path or Ads, optional
        The Facebook ads, for FB-Br.
    """
    here = np.flatnonzero(result.setting == result.settings.index(setting))
    numbers = np.unique(result.repetition[here])
    lines = []
    for number in numbers:
        try:
            prize, problems = _problems(setting, int(number), places, data)
        except BursarError:  # a name that no table knows, or ads that are not there
            return None
        optima = _optima(result, here[result.repetition[here] == number])
        # a class derived from Bernoulli may draw otherwise
        if len(problems) != optima.size or any(type(one) is not Bernoulli for one in problems):
            return None
        bounds = [
            _bound(problem, optimum, result.shares)
            for problem, optimum in zip(problems, optima / prize, strict=True)
        ]
        lines.append(prize * np.mean(bounds, axis=0))
    return np.asarray(np.mean(lines, axis=0)) if lines else None


def _problems(
    name: str, repetition: int, places: Sequence[Place | Problem], data: Data
) -> tuple[float, list[Problem]]:
    """Return what a reward of 1 is in the result's units, and the problems of a repetition."""
    known = [one for one in places if (one.name or "problem") == name]
    place = known[0] if known else setting_of(name)
    if isinstance(place, Problem):
        return 1.0, [place]
    return place.prize, place.problems(repetition, data)


def _optima(result: Result, rows: Any) -> Floats:
    """Return what the best arm would have brought, of each problem in the order of its games."""
    _, first = np.unique(result.problem[rows], return_index=True)
    return np.asarray(result.optimum[rows[np.sort(first)]])


def _bound(problem: Problem, optimum: float, shares: Floats) -> Floats:
    if optimum <= 0.0:  # nothing can be won, so nothing is lost
        return np.zeros_like(shares)
    budget = shares * (optimum / problem.rate)  # in costs of 1
    return np.asarray(np.maximum(lower_bound(budget, problem.reward, problem.cost), 0.0))
