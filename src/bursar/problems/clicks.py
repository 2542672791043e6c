"""Clicks: rewards of all or nothing at costs that vary, by Beta distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from bursar.arrays import Floats
from bursar.problems.base import Arms, Draws, Problem

__all__ = ["Clicks"]


class Clicks(Problem):
    """Arms whose rewards are 0 or 1 and whose costs are Beta distributed.

    Parameters
    ----------
    reward : ndarray
        The chance of a reward of 1, an arm; 0 will do, where a Beta distribution would not.
    alpha, beta : ndarray
        The two parameters of each arm's cost.
    name : str
        What tables call the problem.
    """

    def __init__(self, reward: Floats, alpha: Floats, beta: Floats, name: str = "") -> None:
        super().__init__(reward, alpha / (alpha + beta), name)
        self.alpha, self.beta = alpha, beta

    def _parameters(self) -> dict[str, Any]:
        return {"reward": self.reward, "alpha": self.alpha, "beta": self.beta}

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        shape = (arms.size, size)
        rewards = rng.random(shape) < self.reward[arms, None]
        costs = rng.beta(self.alpha[arms, None], self.beta[arms, None], shape)
        return rewards.astype(np.float64), costs
