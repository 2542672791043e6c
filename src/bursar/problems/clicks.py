"""Clicks: rewards of 0 or 1 at costs that follow Beta distributions."""

from __future__ import annotations

import numpy as np

from bursar.arrays import Floats
from bursar.problems.base import Arms, Draws, Problem


class Clicks(Problem):
    """Arms whose rewards are 0 or 1 and whose costs are Beta distributed.

    Parameters
    ----------
    reward : ndarray
        The probability of a reward of 1 of each arm; unlike with a Beta distribution it may be 0.
    alpha, beta : ndarray
        The two parameters of each arm's cost.
    name : str
        What tables call the problem.
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
