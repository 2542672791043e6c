"""Arms whose outcomes the user provides: a function that draws them, or a table of observed ones.

Reward and cost may depend on each other.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast_columns, to_floats
from bursar.errors import InvalidInput
from bursar.problems.base import Arms, Draws, Problem

Range = tuple[float, float]
Sampler = Callable[[int, np.random.Generator, int], tuple[ArrayLike, ArrayLike]]


class Distribution(Protocol):
    """What a frozen distribution of ``scipy.stats`` can do, and all that is asked of one."""

    def mean(self) -> Any:
        """Return the mean."""

    def rvs(self, *, size: int, random_state: np.random.Generator) -> Any:
        """Draw ``size`` values."""


class Sampled(Problem):
    """Arms whose outcomes come from a function.

    Parameters
    ----------
    reward, cost : array_like
        The true means of each arm: what the function yields on average. Budgets and regret
        follow them.
    sampler : callable
        ``sampler(arm, rng, size)`` returns ``size`` rewards and ``size`` costs of an arm, all in
        [0, 1], drawn with ``rng`` and nothing else.

    Examples
    --------
    Reward and cost may depend on each other. Here a click earns the reward and costs more:

    >>> def ad(arm, rng, size):
    ...     clicked = rng.random(size) < (0.2, 0.6)[arm]
    ...     return np.where(clicked, 1.0, 0.0), np.where(clicked, 0.5, 0.1)
    >>> problem = Sampled(reward=[0.2, 0.6], cost=[0.18, 0.34], sampler=ad)
    >>> rewards, costs = problem.sample(np.random.default_rng(1), arms=[0, 1], size=4)
    >>> rewards.tolist()
    [[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]
    >>> costs.tolist()
    [[0.1, 0.1, 0.5, 0.1], [0.5, 0.5, 0.1, 0.5]]
    """

    parameter_names = ("reward", "cost", "sampler")

    def __init__(
        self, reward: ArrayLike, cost: ArrayLike, sampler: Sampler, name: str = ""
    ) -> None:
        if not callable(sampler):
            raise InvalidInput(
                f"sampler must be a function of (arm, rng, size), got {sampler!r};"
                " for scipy distributions there is Sampled.of"
            )
        super().__init__(reward, cost, name)
        self.sampler = sampler

    @classmethod
    def of(cls, distributions: Sequence[tuple[Distribution, Distribution]], name: str = "") -> Self:
        """Make a problem of two frozen distributions per arm: reward and cost, independent.

        Examples
        --------
        >>> from scipy.stats import triang, uniform
        >>> problem = Sampled.of([(uniform(0.4, 0.6), triang(0.5)), (uniform(), uniform(0.2, 0.2))])
        >>> problem.reward.round(2).tolist(), problem.cost.round(2).tolist()
        ([0.7, 0.5], [0.5, 0.3])
        """
        try:
            pairs = [(reward, cost) for reward, cost in distributions]
            reward, cost = ([float(pair[i].mean()) for pair in pairs] for i in (0, 1))
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidInput(
                "give a pair of frozen distributions (reward, cost) for each arm, with mean() and"
                f" rvs(size=, random_state=), got {distributions!r}"
            ) from error

        def sampler(arm: int, rng: np.random.Generator, size: int) -> tuple[Any, Any]:
            of_reward, of_cost = pairs[arm]
            rewards = of_reward.rvs(size=size, random_state=rng)
            return rewards, of_cost.rvs(size=size, random_state=rng)

        return cls(reward, cost, sampler, name)

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        drawn = np.empty((2, arms.size, size))
        for row, arm in enumerate(arms.tolist()):
            outcome = self.sampler(arm, rng, size)
            if not isinstance(outcome, tuple | list | np.ndarray) or len(outcome) != 2:
                raise InvalidInput(
                    f"the sampler must return (rewards, costs), got {outcome!r} for arm {arm}"
                )
            for side, what in enumerate(("reward", "cost")):
                drawn[side, row] = _check_outcomes(what, outcome[side], arm, size)
        return drawn[0], drawn[1]


def _check_outcomes(what: str, values: ArrayLike, arm: int, size: int) -> Floats:
    array = to_floats(f"the {what}s of arm {arm}", values)
    if array.shape != (size,):
        raise InvalidInput(
            f"the sampler must return {size} {what}s for arm {arm}, got shape {array.shape}"
        )
    wrong = ~((array >= 0.0) & (array <= 1.0))  # a NaN is in no range
    if wrong.any():
        raise InvalidInput(
            f"{what}s must be in [0, 1], got {array[wrong][0]:g} for arm {arm};"
            " divide by the largest possible value"
        )
    return array


class Empirical(Problem):
    """Arms whose outcomes are drawn from tables of observed pairs, so that they keep together.

    Parameters
    ----------
    tables : sequence of array_like of shape (m, 2)
        One table per arm, one row per observation: reward, cost. Lengths may differ.
    reward_range, cost_range : (float, float)
        The smallest and largest value possible, 0 or more. Values are divided by the upper end
        (not shifted: that would change the reward per cost).

    Examples
    --------
    >>> mondays = [(12, 3.0), (0, 2.0)]
    >>> tuesdays = [(20, 4.0), (5, 1.0), (5, 1.0)]
    >>> problem = Empirical([mondays, tuesdays], reward_range=(0, 20), cost_range=(0, 4))
    >>> problem.reward.tolist(), problem.cost.tolist()
    ([0.3, 0.5], [0.625, 0.5])
    >>> rewards, costs = problem.sample(np.random.default_rng(1), arms=[1], size=3)
    >>> list(zip(rewards[0].tolist(), costs[0].tolist()))
    [(0.25, 0.25), (0.25, 0.25), (0.25, 0.25)]
    """

    parameter_names = ("tables",)

    def __init__(
        self,
        tables: Sequence[ArrayLike],
        reward_range: Range = (0.0, 1.0),
        cost_range: Range = (0.0, 1.0),
        name: str = "",
    ) -> None:
        ranges = {
            "reward": _check_range("reward", reward_range),
            "cost": _check_range("cost", cost_range),
        }
        self.tables = [_scale_table(arm, table, ranges) for arm, table in enumerate(tables)]
        if not self.tables:
            raise InvalidInput("give a table of (reward, cost) pairs for each arm, got none")
        means = np.array([table.mean(axis=0) for table in self.tables])
        super().__init__(means[:, 0], means[:, 1], name)
        self._lengths = np.array([len(table) for table in self.tables])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._pairs = np.concatenate(self.tables)

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        rows = rng.integers(0, self._lengths[arms, None], size=(arms.size, size))
        rows += self._starts[arms, None]
        return self._pairs[rows, 0], self._pairs[rows, 1]


def _check_range(what: str, given: Range) -> Range:
    shape, (ends,) = broadcast_columns(**{f"{what}_range": given})
    if shape != (2,) or not 0.0 <= ends[0] < ends[1]:
        raise InvalidInput(
            f"{what}_range must be (low, high) with 0 <= low < high, got {given!r};"
            " a shift would change the reward per cost"
        )
    return float(ends[0]), float(ends[1])


def _scale_table(arm: int, given: ArrayLike, ranges: dict[str, Range]) -> Floats:
    shape, (flat,) = broadcast_columns(**{f"the table of arm {arm}": given})
    if len(shape) != 2 or shape[1] != 2 or not shape[0]:
        raise InvalidInput(
            f"the table of arm {arm} must have a (reward, cost) pair in each row, got shape {shape}"
        )
    table = flat.reshape(shape)
    for column, (what, (low, high)) in enumerate(ranges.items()):
        values = table[:, column]
        wrong = (values < low) | (values > high)
        if wrong.any():
            raise InvalidInput(
                f"{what} must be in its range [{low:g}, {high:g}], got {values[wrong][0]:g}"
                f" for arm {arm}; pass the {what}_range that fits the data"
            )
        table[:, column] = values / high
    return table
