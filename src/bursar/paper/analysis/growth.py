"""How mean regret grows with the budget: straight over log budget, or bent upwards.

Logarithmic regret is a straight line where the axis of the budget is logarithmic. What the last
decade of the budget costs is compared with what the decade before it costs. Both are at least 0, so
``curvature = (late - early) / (late + early)`` lies in [-1, 1]: 0 is straight, above 0 convex
(faster than log; 0.82 is growth in proportion to the budget), below 0 concave.

The module also computes what regret is compared with: other values of rho, Theorem 5's upper bound,
and the asymptotic lower bound, each for the problems that were played.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats
from bursar.errors import BursarError, InvalidInput
from bursar.paper.analysis import games
from bursar.paper.analysis.compare import FEWEST, bootstrap_interval, bootstrap_weights
from bursar.policies import policy as policy_of
from bursar.problems import Bernoulli, Problem
from bursar.settings import setting as setting_of
from bursar.settings.base import Data
from bursar.simulation import BUDGET_PLAYS
from bursar.simulation.result import AnySetting, Result
from bursar.theory import lower_bound, regret_bound


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Growth of regret on the last two decades of the budget; claims show these fields."""

    setting: str
    policy: str
    repetitions: int
    lost_before: float  # mean regret per decade of the budget, in the second-to-last decade
    lost_in_last_decade: float  # and in the last
    curvature: float  # of the mean curve
    curvature_low: float  # its 95% interval (bootstrap over repetitions, percentiles)
    curvature_high: float
    curvature_of_median: float  # of the median curve, which a few failed games do not bend


def decades(result: Result) -> tuple[int, int, int]:
    """Return the positions of the three shares that bound the last two decades."""
    last = float(result.shares[-1])
    first, middle, end = (games.nearest_share(result, last / by) for by in (100.0, 10.0, 1.0))
    if not first < middle < end:
        raise InvalidInput(
            f"growth needs regret at about 0.01, 0.1 and 1 of the budget, got shares"
            f" {result.shares.tolist()}; record more shares"
        )
    return first, middle, end


def measure_growth(result: Result, setting: str, policy: str) -> Growth:
    """Measure how the regret of a policy grows with the logarithm of the budget."""
    cuts = decades(result)
    lengths = np.diff(np.log10(result.shares[list(cuts)]))
    curves = games.regret_curves(result, setting, policy)[:, list(cuts)]
    early, late = _slopes(curves.mean(axis=0), lengths)
    low, high = -1.0, 1.0
    if len(curves) >= FEWEST:
        bends = _bend(*_slopes(bootstrap_weights(len(curves)) @ curves, lengths))
        low, high = np.quantile(bends, [0.025, 0.975])
    typical = _bend(*_slopes(np.median(curves, axis=0), lengths))
    return Growth(
        setting=setting,
        policy=policy,
        repetitions=len(curves),
        lost_before=float(early),
        lost_in_last_decade=float(late),
        curvature=float(_bend(early, late)),
        curvature_low=float(low),
        curvature_high=float(high),
        curvature_of_median=float(typical),
    )


def _slopes(curves: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    steps = np.diff(curves, axis=-1) / lengths
    return steps[..., 0], steps[..., 1]


def _bend(early: Floats, late: Floats) -> Floats:
    total = np.asarray(early + late)
    return np.divide(late - early, total, out=np.zeros_like(total), where=total > 0.0)


FAMILIES = ("omega-ucb", "omega-star-ucb")


def measure_sensitivity(result: Result, setting: str) -> list[dict[str, Any]]:
    """Return final regret for each ω family and rho."""
    rows = []
    for family in FAMILIES:
        for rho, slug in _slugs_by_rho(result, family).items():
            if games.has_games(result, setting, slug):
                values = games.final_regret(result, setting, slug)
                low, high = bootstrap_interval(values)
                mean, median = float(values.mean()), float(np.median(values))
                row = {"family": family, "rho": rho, "mean": mean, "low": low, "high": high}
                rows.append(row | {"median": median})
    return rows


def _slugs_by_rho(result: Result, family: str) -> dict[float, str]:
    """Return the slugs of a family by rho, in rising order.

    A policy with another parameter changed is another policy and left out.
    """
    found: dict[float, str] = {}
    for slug in result.policies:
        if slug.partition(":")[0] == family:
            parameters = policy_of(slug).params()
            rho, _ = parameters.pop("rho")
            if all(value == default for value, default in parameters.values()):
                found[rho] = slug
    return dict(sorted(found.items()))


def upper_bounds(
    problems: Sequence[Problem], rho: float, shares: ArrayLike, budget_plays: float = BUDGET_PLAYS
) -> Floats:
    """Return Theorem 5's bound of each problem, problems x shares.

    It is infinite until the budget pays for a play of each arm, where the theorem begins.
    ``budget_plays`` is the whole budget, in units of a problem's smallest mean cost.
    """
    parts = np.atleast_1d(np.asarray(shares, dtype=np.float64))
    lines = np.full((len(problems), parts.size), np.inf)
    for line, problem in zip(lines, problems, strict=True):
        enough = np.floor(2.0 * parts * budget_plays) > problem.arms
        if enough.any():
            money = parts[enough] * budget_plays * problem.min_cost
            line[enough] = regret_bound(money, rho, problem.reward, problem.cost)
    return lines


def least_regret(
    result: Result, setting: str, settings: Sequence[AnySetting | Problem] = (), data: Data = None
) -> Floats | None:
    """Return the asymptotic lower bound of mean regret at each share of the budget.

    It is averaged as regret is: over the problems of a repetition, then over repetitions. A budget
    of less than one cost of 1 has a negative logarithm and counts as 0. ``None`` if arms are not
    Bernoulli, or if the problems are not known: a user's own are found in ``settings``, which holds
    those that were played, and FB-Br needs ``data``. Budgets are derived from what the best arm
    would have earned.
    """
    here = np.flatnonzero(result.setting == result.settings.index(setting))
    numbers = np.unique(result.repetition[here])
    lines = []
    for number in numbers:
        try:
            prize, problems = _problems(setting, int(number), settings, data)
        except BursarError:  # a name that no table knows, or ads that are not there
            return None
        rows = here[result.repetition[here] == number]
        _, first = np.unique(result.problem[rows], return_index=True)
        optima = result.optimum[rows[np.sort(first)]]  # in the order of the problems' games
        # a class derived from Bernoulli may draw in another way
        if len(problems) != optima.size or any(type(one) is not Bernoulli for one in problems):
            return None
        bounds = [
            _lower_bound(problem, optimum, result.shares)
            for problem, optimum in zip(problems, optima / prize, strict=True)
        ]
        lines.append(prize * np.mean(bounds, axis=0))
    return np.asarray(np.mean(lines, axis=0)) if lines else None


def _problems(
    name: str, repetition: int, settings: Sequence[AnySetting | Problem], data: Data
) -> tuple[float, list[Problem]]:
    """Return what a reward of 1 is in the result's units, and the problems of a repetition."""
    known = [one for one in settings if (one.name or "problem") == name]
    setting = known[0] if known else setting_of(name)
    if isinstance(setting, Problem):
        return 1.0, [setting]
    return setting.prize, setting.problems(repetition, data)


def _lower_bound(problem: Problem, optimum: float, shares: Floats) -> Floats:
    if optimum <= 0.0:  # nothing can be earned, so nothing is lost
        return np.zeros_like(shares)
    budget = shares * (optimum / problem.rate)  # in costs of 1
    return np.asarray(np.maximum(lower_bound(budget, problem.reward, problem.cost), 0.0))
