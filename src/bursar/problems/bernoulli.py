"""Arms that yield 0 or 1, or one of a few evenly spaced values."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast_columns
from bursar.errors import InvalidInput
from bursar.problems.base import Arms, Draws, Problem
from bursar.validation import check_int, check_number


class Bernoulli(Problem):
    """Arms whose rewards and costs are 0 or 1, with the given means.

    Parameters
    ----------
    reward, cost : array_like
        The probabilities of a reward of 1 and of a cost of 1, for each arm.

    Examples
    --------
    >>> problem = Bernoulli(reward=[0.8, 0.1], cost=[0.2, 0.1])
    >>> problem.best, problem.min_cost
    (0, 0.1)
    >>> problem.regret.round(3).tolist()
    [0.0, 0.3]
    >>> rewards, costs = problem.sample(np.random.default_rng(1), arms=[0, 1], size=4)
    >>> rewards.tolist()
    [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """

    @classmethod
    def random(cls, arms: int, seed: int = 0, cost_low: float = 0.0) -> Self:
        """Draw uniform means, rewards from [0, 1] and costs from [cost_low, 1], best arm first.

        The paper draws costs from [0, 1], its authors' code from [0.01, 1].
        """
        check_int("arms", arms, 1, "a problem needs an arm to play")
        if not 0.0 <= check_number("cost_low", cost_low) < 1.0:
            raise InvalidInput(
                f"cost_low must be in [0, 1), got {cost_low!r}; 0.01 is the authors'"
            )
        rng = np.random.default_rng(check_int("seed", seed, 0, "try 0"))
        reward, cost = rng.uniform(size=arms), rng.uniform(cost_low, 1.0, size=arms)
        order = np.argsort(-reward / cost)
        return cls(reward[order], cost[order])

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        shape = (arms.size, size)
        rewards = rng.random(shape) < self.reward[arms, None]
        costs = rng.random(shape) < self.cost[arms, None]
        return rewards.astype(np.float64), costs.astype(np.float64)


class GeneralizedBernoulli(Problem):
    """Arms whose rewards and costs take the values 0, 1/(m-1), …, 1 with given probabilities.

    Parameters
    ----------
    reward_weights, cost_weights : array_like of shape (K, m)
        One row per arm, one column per value: column ``j`` is ``j / (m - 1)``. Rows are divided by
        their sums, so that counts may be given. Rewards and costs may have different ``m``.
    mean_factor : float
        Multiplies the means that the problem states, not what it yields: budgets and regret
        follow the stated means. 1 is the truth; 0.8 repeats a slip of the paper's experiments.

    Examples
    --------
    >>> problem = GeneralizedBernoulli([[0, 0, 1], [1, 1, 0]], [[0, 1, 0], [0, 1, 1]])
    >>> problem.reward.tolist(), problem.cost.tolist()
    ([1.0, 0.25], [0.5, 0.75])
    >>> problem.sample(np.random.default_rng(1), arms=[1], size=5)[0].tolist()
    [[0.5, 0.5, 0.0, 0.5, 0.0]]
    """

    def __init__(
        self,
        reward_weights: ArrayLike,
        cost_weights: ArrayLike,
        name: str = "",
        *,
        mean_factor: float = 1.0,
    ) -> None:
        self.reward_weights = _check_weights("reward_weights", reward_weights)
        self.cost_weights = _check_weights("cost_weights", cost_weights)
        if len(self.reward_weights) != len(self.cost_weights):
            raise InvalidInput(
                f"reward_weights has {len(self.reward_weights)} arms, cost_weights"
                f" {len(self.cost_weights)}; give both a row per arm"
            )
        if not 0.0 < mean_factor <= 1.0:
            raise InvalidInput(f"mean_factor must be in (0, 1], got {mean_factor!r}")
        self.mean_factor = mean_factor
        super().__init__(
            np.minimum(_mean(self.reward_weights) * mean_factor, 1.0),
            np.minimum(_mean(self.cost_weights) * mean_factor, 1.0),
            name,
        )
        self._reward_steps, self._cost_steps = map(_steps, (self.reward_weights, self.cost_weights))

    def _parameters(self) -> dict[str, Any]:
        shown = {"reward_weights": self.reward_weights, "cost_weights": self.cost_weights}
        return shown if self.mean_factor == 1.0 else {**shown, "mean_factor": self.mean_factor}

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        rewards = _invert(self._reward_steps[arms], rng.random((arms.size, size)))
        return rewards, _invert(self._cost_steps[arms], rng.random((arms.size, size)))


def _check_weights(name: str, weights: ArrayLike) -> Floats:
    shape, (flat,) = broadcast_columns(**{name: weights})
    if len(shape) != 2 or shape[0] < 1 or shape[1] < 2:
        raise InvalidInput(
            f"{name} must be a table of one row per arm and 2 or more values, got shape {shape}"
        )
    table = flat.reshape(shape)
    wrong = np.flatnonzero((table < 0.0).any(axis=1) | ~(table > 0.0).any(axis=1))
    if wrong.size:
        raise InvalidInput(
            f"{name} must be 0 or more and not all 0 in a row,"
            f" got {table[wrong[0]].tolist()} for arm {wrong[0]}"
        )
    chances: Floats = table / table.sum(axis=1, keepdims=True)
    return chances


def _mean(chances: Floats) -> Floats:
    top = chances.shape[1] - 1
    mean: Floats = (chances * (np.arange(top + 1) / top)).sum(axis=1)
    return np.minimum(mean, 1.0)  # a sum of rounded chances may pass 1 by a last digit


def _steps(chances: Floats) -> Floats:
    """Return where the uniform number must lie to reach each value above 0."""
    total = np.cumsum(chances, axis=1)
    # divided by the last one, so that a last value of chance 0 can never come up
    steps: Floats = total[:, :-1] / total[:, -1:]
    return steps


def _invert(steps: Floats, uniform: Floats) -> Floats:
    level = np.zeros_like(uniform)
    for j in range(steps.shape[1]):  # one pass a value: no array of (arms, size, values)
        level += uniform >= steps[:, j, None]
    level /= steps.shape[1]
    return level
