"""Arms that repeat what was observed: pairs of reward and cost, drawn with replacement."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast_columns
from bursar.errors import InvalidInput
from bursar.problems.base import Arms, Draws, Problem

Range = tuple[float, float]


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
