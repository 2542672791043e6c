"""Arms whose costs, and perhaps rewards, are anything between 0 and 1, by Beta distributions."""

import numpy as np
from numpy.typing import ArrayLike

from bursar.arrays import Floats, broadcast_columns, check_values
from bursar.problems.base import Arms, Draws, Problem


class Beta(Problem):
    """Arms whose rewards and costs are Beta distributed.

    Parameters
    ----------
    reward_alpha, reward_beta, cost_alpha, cost_beta : array_like
        The two parameters of each arm's reward and of its cost, all positive; the mean is
        ``alpha / (alpha + beta)``.

    Examples
    --------
    >>> problem = Beta(reward_alpha=[3, 1], reward_beta=1, cost_alpha=1, cost_beta=[1, 3])
    >>> problem.reward.tolist(), problem.cost.tolist()
    ([0.75, 0.5], [0.5, 0.25])
    >>> rewards, costs = problem.sample(np.random.default_rng(1), arms=[1], size=3)
    >>> costs.round(3).tolist()
    [[0.055, 0.204, 0.161]]
    """

    parameter_names = ("reward_alpha", "reward_beta", "cost_alpha", "cost_beta")

    def __init__(
        self,
        reward_alpha: ArrayLike,
        reward_beta: ArrayLike,
        cost_alpha: ArrayLike,
        cost_beta: ArrayLike,
        name: str = "",
    ) -> None:
        given = reward_alpha, reward_beta, cost_alpha, cost_beta
        shape, columns = broadcast_columns(**dict(zip(self.parameter_names, given, strict=True)))
        for parameter, values in zip(self.parameter_names, columns, strict=True):
            check_values(parameter, values, values > 0.0, "positive")
        self.reward_alpha, self.reward_beta, self.cost_alpha, self.cost_beta = columns
        super().__init__(
            (self.reward_alpha / (self.reward_alpha + self.reward_beta)).reshape(shape),
            (self.cost_alpha / (self.cost_alpha + self.cost_beta)).reshape(shape),
            name,
        )

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        shape = (arms.size, size)
        rewards = rng.beta(self.reward_alpha[arms, None], self.reward_beta[arms, None], shape)
        return rewards, rng.beta(self.cost_alpha[arms, None], self.cost_beta[arms, None], shape)


class Clicks(Problem):
    """Arms whose rewards are 0 or 1 and whose costs are Beta distributed.

    Parameters
    ----------
    reward : ndarray
        The probability of a reward of 1 of each arm; unlike with a Beta distribution it may be 0.
    alpha, beta : ndarray
        The two parameters of each arm's cost.
    """

    parameter_names = ("reward", "alpha", "beta")

    def __init__(self, reward: Floats, alpha: Floats, beta: Floats, name: str = "") -> None:
        super().__init__(reward, alpha / (alpha + beta), name)
        self.alpha, self.beta = alpha, beta

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        shape = (arms.size, size)
        rewards = rng.random(shape) < self.reward[arms, None]
        costs = rng.beta(self.alpha[arms, None], self.beta[arms, None], shape)
        return rewards.astype(np.float64), costs
