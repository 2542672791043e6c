"""Arms whose means change while the budget is spent."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, check_array, check_values, to_floats
from bursar.errors import InvalidInput
from bursar.problems.base import Arms, Draws, Problem

_STEPS = 4096  # of the budget, to follow arms that tire


class Nonstationary(Problem):
    """Arms that yield 0 or 1, with means that depend on the share of the budget spent.

    All policies meet the same means at the same spend, so that the best arm at a moment is well
    defined: the one of the highest mean reward per mean cost. Regret adds up the mean loss of each
    play against it.

    Parameters
    ----------
    start : array_like
        Shares of the budget at which moments begin; the first is 0.
    reward, cost : array_like
        Mean rewards and costs, one row per moment and one column per arm.
    fatigue : array_like, optional
        By how much each arm tires: its mean reward is multiplied by exp(-fatigue * share), with the
        share of the budget that was spent on this very arm.
    min_cost : float, optional
        A lower bound on all mean costs, in which budgets are counted; by default the least.

    Examples
    --------
    >>> halves = [[0.5, 0.5], [0.5, 0.5]]
    >>> problem = Nonstationary([0, 0.5], reward=[[0.8, 0.3], [0.2, 0.3]], cost=halves)
    >>> problem.best_at(0.1), problem.best_at(0.9)
    (0, 1)
    >>> round(problem.rate, 3)
    1.1
    """

    def __init__(
        self,
        start: ArrayLike,
        reward: ArrayLike,
        cost: ArrayLike,
        fatigue: ArrayLike | None = None,
        min_cost: float | None = None,
        name: str = "",
    ) -> None:
        self.start = np.atleast_1d(to_floats("start", start))
        self.rewards = np.ascontiguousarray(check_array("reward", reward, least=0.0, most=1.0))
        self.costs = np.ascontiguousarray(check_array("cost", cost, above=0.0, most=1.0))
        moments, shape = self.start.size, self.rewards.shape
        if len(shape) != 2 or shape[0] != moments or shape != self.costs.shape:
            raise InvalidInput(
                f"give a row of mean rewards and costs for each of {moments} moments, got arrays of"
                f" shape {shape} and {self.costs.shape}"
            )
        rises = (np.diff(self.start) > 0.0).all()
        if self.start[0] != 0.0 or not rises or self.start[-1] >= 1.0:
            raise InvalidInput(f"start must rise from 0 and stay below 1, got {start!r}")
        super().__init__(self.rewards[0], self.costs[0], name)
        given = np.zeros(self.arms) if fatigue is None else fatigue
        self.fatigue: Floats = np.atleast_1d(to_floats("fatigue", given))
        if self.fatigue.shape != (self.arms,):
            raise InvalidInput(f"give the fatigue of each of {self.arms} arms, got {fatigue!r}")
        check_values("fatigue", self.fatigue, self.fatigue >= 0.0, "0 or more")
        least = float(self.costs.min())
        if min_cost is not None and not 0.0 < min_cost <= least:
            raise InvalidInput(f"min_cost must be in (0, {least:g}], got {min_cost!r}")
        self._min_cost = least if min_cost is None else float(min_cost)

    @property
    def min_cost(self) -> float:
        """A lower bound on all mean costs at all times."""
        return self._min_cost

    @property
    def ratios(self) -> Floats:
        """Mean reward per mean cost of arms that are not tired, one row per moment."""
        return np.asarray(self.rewards / self.costs)

    @property
    def rate(self) -> float:
        """Mean reward per unit of money when always playing the currently best arm."""
        if not self.fatigue.any():
            lengths = np.diff(np.append(self.start, 1.0))
            return float(lengths @ self.ratios.max(axis=1))
        ratios, spent, earned = self.ratios, np.zeros(self.arms), 0.0
        for step in range(_STEPS):
            now = ratios[self.moment((step + 0.5) / _STEPS)] * np.exp(-self.fatigue * spent)
            arm = int(np.argmax(now))
            earned += now[arm] / _STEPS
            spent[arm] += 1.0 / _STEPS
        return float(earned)

    def moment(self, share: float) -> int:
        """Return the row of the means that hold once a share of the budget is spent."""
        return int(np.searchsorted(self.start, share, side="right")) - 1

    def best_at(self, share: float) -> int:
        """Return the arm of the highest mean reward per mean cost, none being tired."""
        return int(np.argmax(self.ratios[self.moment(share)]))

    def _parameters(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "reward": self.rewards,
            "cost": self.costs,
            "fatigue": self.fatigue,
            "min_cost": self.min_cost,
        }

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        raise InvalidInput(
            "the outcomes of a nonstationary problem depend on what was spent before;"
            " play it with bursar.simulate or bursar.play"
        )
