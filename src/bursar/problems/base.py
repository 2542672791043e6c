"""What all problems share: the true means of their arms, regret, and outcomes to draw."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.arrays import Floats, broadcast_columns, check_values
from bursar.errors import InvalidInput

Arms = NDArray[np.int64]
Draws = tuple[Floats, Floats]

_LONGEST = 200  # characters of a text that shows all parameters


class Problem:
    """Arms with known mean rewards and costs in [0, 1]; subclasses say how outcomes are drawn.

    Parameters
    ----------
    reward, cost : array_like
        The true means of each arm: rewards in [0, 1], costs in (0, 1].
    name : str
        What tables call the problem; it plays no part in comparisons.
    """

    parameter_names: ClassVar[tuple[str, ...]] = ("reward", "cost")  # that make problems equal
    reward: Floats
    cost: Floats
    name: str

    def __init__(self, reward: ArrayLike, cost: ArrayLike, name: str = "") -> None:
        shape, (self.reward, self.cost) = broadcast_columns(reward=reward, cost=cost)
        if len(shape) != 1 or not self.reward.size:
            raise InvalidInput(
                f"give one mean reward and cost per arm, got arrays of shape {shape}"
            )
        check_values(
            "reward", self.reward, (self.reward >= 0.0) & (self.reward <= 1.0), "in [0, 1]"
        )
        free = np.flatnonzero(self.cost == 0.0)
        if free.size:
            raise InvalidInput(
                f"cost must be in (0, 1], got 0 as the mean cost of arm {free[0]};"
                " a zero-cost arm would never use up the budget; remove it"
            )
        check_values("cost", self.cost, (self.cost > 0.0) & (self.cost <= 1.0), "in (0, 1]")
        self.name = name

    def sample(self, rng: np.random.Generator, arms: ArrayLike, size: int) -> Draws:
        """Draw ``size`` outcomes of each of the given arms.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where the randomness comes from. The draws of one call are one block: two calls of
            half the size give other numbers than one call.
        arms : array_like of int
            Arms, in any order; an arm given twice gets two independent rows.
        size : int
            Outcomes per arm.

        Returns
        -------
        rewards, costs : ndarray of float64
            Both of shape ``(len(arms), size)``, with values in [0, 1].
        """
        chosen = np.asarray(arms)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise InvalidInput(f"arms must be a list of whole numbers, got {arms!r}")
        outside = (chosen < 0) | (chosen >= self.arms)
        if outside.any():
            raise InvalidInput(f"arms must be in 0…{self.arms - 1}, got {chosen[outside][0]}")
        if size < 0:
            raise InvalidInput(f"size must be 0 or more, got {size!r}")
        return self._draw(rng, chosen.astype(np.int64, copy=False), size)

    def _draw(self, rng: np.random.Generator, arms: Arms, size: int) -> Draws:
        raise NotImplementedError(f"{type(self).__name__} has no _draw; see bursar.Sampled")

    def _parameters(self) -> dict[str, Any]:
        """Return what makes two problems of a class equal."""
        return {name: getattr(self, name) for name in self.parameter_names}

    def parameters(self) -> dict[str, Any]:
        """Return what the problem is made of, as plain lists and numbers."""
        return {key: _to_plain(value) for key, value in self._parameters().items()}

    def describe(self) -> str:
        """Return class, parameters and name as text, however long: what identifies the problem."""
        shown = [f"{key}={value}" for key, value in self.parameters().items()]
        if self.name:
            shown.append(f"name={self.name!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __repr__(self) -> str:
        """Return all parameters if that is a short text, else a summary."""
        if len(text := self.describe()) <= _LONGEST:
            return text
        name = f" {self.name!r}" if self.name else ""
        return (
            f"<{type(self).__name__}{name}: {self.arms} arms,"
            f" mean rewards {self.reward.min():.3g} to {self.reward.max():.3g},"
            f" mean costs {self.cost.min():.3g} to {self.cost.max():.3g}>"
        )

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Problem):
            return NotImplemented
        ours, theirs = self._parameters(), other._parameters()
        return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in ours)

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
    def rate(self) -> float:
        """Mean reward of the best arm per unit of money."""
        return float(self.reward[self.best] / self.cost[self.best])

    @property
    def regret(self) -> Floats:
        """Mean loss of a play of each arm, compared with spending its cost on the best arm."""
        ratio = self.reward[self.best] / self.cost[self.best]
        losses: Floats = np.maximum(self.cost * ratio - self.reward, 0.0)
        losses[self.best] = 0.0
        return losses


def _to_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)
