"""Problems: what the arms of a game bring and cost on average."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bursar.checks import Floats, columns_of, require
from bursar.errors import InvalidInput

__all__ = ["Bernoulli"]


class Bernoulli:
    """Arms whose rewards and costs are 0 or 1, with the given means.

    Examples
    --------
    >>> problem = Bernoulli(reward=[0.8, 0.1], cost=[0.2, 0.1])
    >>> problem.best, problem.min_cost
    (0, 0.1)
    >>> problem.regret.round(3).tolist()
    [0.0, 0.3]
    """

    def __init__(self, reward: ArrayLike, cost: ArrayLike) -> None:
        shape, (self.reward, self.cost) = columns_of(reward=reward, cost=cost)
        if len(shape) != 1 or not self.reward.size:
            raise InvalidInput(f"give one mean reward and cost an arm, got arrays of shape {shape}")
        require((self.reward >= 0.0) & (self.reward <= 1.0), "reward", self.reward, "in [0, 1]")
        require((self.cost > 0.0) & (self.cost <= 1.0), "cost", self.cost, "in (0, 1]")

    @classmethod
    def random(cls, arms: int, seed: int = 0, cost_low: float = 0.01) -> Bernoulli:
        """Draw uniform means, rewards from [0, 1] and costs from [cost_low, 1], best arm first."""
        if arms < 1:
            raise InvalidInput(f"arms must be 1 or more, got {arms!r}")
        rng = np.random.default_rng(seed)
        reward, cost = rng.uniform(size=arms), rng.uniform(cost_low, 1.0, size=arms)
        order = np.argsort(-reward / cost)
        return cls(reward[order], cost[order])

    def __repr__(self) -> str:
        return f"Bernoulli(reward={self.reward.tolist()}, cost={self.cost.tolist()})"

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Bernoulli)
            and np.array_equal(self.reward, other.reward)
            and np.array_equal(self.cost, other.cost)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.reward.size)

    @property
    def best(self) -> int:
        """The arm of the highest mean reward per mean cost."""
        return int(np.argmax(self.reward / self.cost))

    @property
    def min_cost(self) -> float:
        """The smallest mean cost."""
        return float(self.cost.min())

    @property
    def regret(self) -> Floats:
        """What a play of each arm loses on average against spending its cost on the best arm."""
        ratio = self.reward[self.best] / self.cost[self.best]
        lost: Floats = np.maximum(self.cost * ratio - self.reward, 0.0)
        lost[self.best] = 0.0
        return lost
