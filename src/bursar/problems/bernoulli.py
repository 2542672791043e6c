"""Arms that yield 0 or 1."""

from __future__ import annotations

import numpy as np

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
    def random(cls, arms: int, seed: int = 0, cost_low: float = 0.0) -> Bernoulli:
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
