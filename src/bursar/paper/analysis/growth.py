"""How mean regret grows with the budget: straight over log budget, or bent upwards.

Logarithmic regret is a straight line where the axis of the budget is logarithmic. The curve is cut
at two decades: what the last tenfold of the budget costs is set against what the tenfold before it
cost. Both are at least 0, so ``curvature = (late - early) / (late + early)`` lies in [-1, 1]:
0 is straight, above 0 convex (faster than log; 0.82 is growth in proportion to the budget), below 0
concave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.errors import BursarError, InvalidInput
from bursar.paper.analysis.compare import bootstrap_interval, weights
from bursar.paper.analysis.games import at_share, failed_share, final, has, regret
from bursar.policies import policy as policy_of
from bursar.problems import Bernoulli, Problem
from bursar.settings import setting as setting_of
from bursar.simulation.result import BUDGET_PLAYS, Data, Place, Result
from bursar.theory import lower_bound, regret_bound
from bursar.validation import Floats

__all__ = ["FAMILIES", "Growth", "bound", "bounds", "by_rho", "decades", "growth", "least", "rhos"]

_FEWEST = 6  # repetitions; an interval of fewer says nothing


@dataclass(frozen=True)
class Growth:
    """Growth of regret on the last two decades of the budget.

    Attributes
    ----------
    shares : (float, float, float)
        Where the curve was cut; 0.01, 0.1 and 1 if these were noted.
    early, late : float
        Mean regret a tenfold of the budget, before and after the middle cut.
    curvature, low, high : float
        Bend of the mean curve, and its 95% interval (bootstrap over repetitions, percentiles).
    typical_curvature : float
        Bend of the median curve, which a few failed games do not bend.
    """

    setting: str
    policy: str
    repetitions: int
    shares: tuple[float, float, float]
    early: float
    late: float
    curvature: float
    low: float
    high: float
    typical_curvature: float

    @property
    def shape(self) -> str:
        """``convex`` or ``concave`` if the interval leaves out 0, else ``straight``."""
        if self.low > 0.0:
            return "convex"
        return "concave" if self.high < 0.0 else "straight"


def decades(result: Result) -> tuple[int, int, int]:
    """Return the positions of the three shares at which curves are cut."""
    end = result.shares.size - 1
    last = float(result.shares[end])
    cuts = (at_share(result, last / 100.0), at_share(result, last / 10.0), end)
    if not cuts[0] < cuts[1] < cuts[2]:
        raise InvalidInput(
            f"growth needs regret at about 0.01, 0.1 and 1 of the budget, got shares"
            f" {result.shares.tolist()}; note more shares"
        )
    return cuts


def growth(result: Result, setting: str, policy: str) -> Growth:
    """Measure how the regret of a policy grows with the logarithm of the budget."""
    cuts = decades(result)
    shares = result.shares[list(cuts)]
    lengths = np.diff(np.log10(shares))
    curves = regret(result, setting, policy)[:, list(cuts)]
    early, late = _slopes(curves.mean(axis=0), lengths)
    low, high = -1.0, 1.0
    if len(curves) >= _FEWEST:
        bends = _bend(*_slopes(weights(len(curves)) @ curves, lengths))
        low, high = np.quantile(bends, [0.025, 0.975])
    typical = _bend(*_slopes(np.median(curves, axis=0), lengths))
    return Growth(
        setting, policy, len(curves), (float(shares[0]), float(shares[1]), float(shares[2])),
        float(early), float(late),
        float(_bend(early, late)), float(low), float(high), float(typical),
    )  # fmt: skip


def _slopes(curves: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    steps = np.diff(curves, axis=-1) / lengths
    return steps[..., 0], steps[..., 1]


def _bend(early: Floats, late: Floats) -> Floats:
    total = np.asarray(early + late)
    return np.divide(late - early, total, out=np.zeros_like(total), where=total > 0.0)


# ==== analysis.sensitivity
# How much depends on rho: final regret of both ω policies for every rho that was played.

FAMILIES = ("omega-ucb", "omega-star-ucb")


def rhos(result: Result, family: str) -> dict[float, str]:
    """Return the slug of each rho of a family that is in the result, in rising order of rho.

    Only plain ones: a policy with another parameter changed is another policy.
    """
    found: dict[float, str] = {}
    for slug in result.policies:
        if slug.partition(":")[0] == family:
            parameters = policy_of(slug).params()
            rho, _ = parameters.pop("rho")
            if all(value == default for value, default in parameters.values()):
                found[rho] = slug
    return dict(sorted(found.items()))


def by_rho(result: Result, setting: str) -> list[dict[str, Any]]:
    """Return a row a family and rho: mean with 95% interval, median, failed games of a setting.

    ``relative`` is the mean over the smallest mean of the family: 1 for its best rho.
    """
    rows: list[dict[str, Any]] = []
    for family in FAMILIES:
        played = {r: s for r, s in rhos(result, family).items() if has(result, setting, s)}
        rows_here = [_row(result, setting, family, rho, slug) for rho, slug in played.items()]
        best = min((row["mean"] for row in rows_here), default=0.0)
        for row in rows_here:
            row["relative"] = row["mean"] / best if best > 0.0 else 1.0
        rows.extend(rows_here)
    return rows


def _row(result: Result, setting: str, family: str, rho: float, slug: str) -> dict[str, Any]:
    values = final(result, setting, slug)
    low, high = bootstrap_interval(values)
    return {
        "setting": setting,
        "family": family,
        "policy": slug,
        "rho": rho,
        "repetitions": int(values.size),
        "mean": float(values.mean()),
        "low": low,
        "high": high,
        "median": float(np.median(values)),
        "failed": failed_share(result, setting, slug),
    }


# ==== analysis.theory_line
# Theorem 5's bound for the problems that were played, to set beside the measured regret.


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


# ==== analysis.least_line
# The least regret that is possible in the long run, for the problems that were played.


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
