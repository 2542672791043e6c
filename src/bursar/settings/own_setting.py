"""A setting of the user's own: the arms of one group of an ad export."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np

from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.problems import Bernoulli, Problem
from bursar.settings import draws
from bursar.settings.clicks import Clicks

__all__ = ["TOP", "Model", "OwnSetting"]

Model = Literal["bernoulli", "beta"]
TOP = 0.99  # the largest mean cost of a group, as in the paper's settings of ads
_MODELS = {"bernoulli": "Bernoulli", "beta": "Beta"}


@dataclass(frozen=True)
class OwnSetting:
    """Arms with what they cost and brought; every repetition plays the same means.

    A play is one click. It brings ``prize`` or nothing, with the chance that gives the arm's reward
    a click. What it costs is ``coin`` or nothing (``bernoulli``) or anything between (``beta``,
    with parameters drawn anew each repetition as in FB-Bt), with the arm's cost a click as mean.

    Attributes
    ----------
    name : str
        The group, for example ``916/30-34``.
    arm_names : tuple of str
        The arms, in the order of the file.
    clicks, cost, reward : tuple of float
        Sums over the lines of each arm, in the user's units.
    prize : float
        What a reward of 1 stands for: 1 for counts.
    model : {"bernoulli", "beta"}
        How costs vary.
    source : str
        The file.
    trial, unit : str
        What the file calls clicks and rewards.
    """

    name: str
    arm_names: tuple[str, ...]
    clicks: tuple[float, ...]
    cost: tuple[float, ...]
    reward: tuple[float, ...]
    prize: float = 1.0
    model: Model = "bernoulli"
    source: str = field(default="", compare=False)
    trial: str = field(default="clicks", compare=False)
    unit: str = field(default="rewards", compare=False)

    kind: ClassVar[str] = "own"
    variant: ClassVar[str] = "bursar"
    needs_data: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sizes = {len(self.arm_names), len(self.clicks), len(self.cost), len(self.reward)}
        if sizes != {len(self.arm_names)} or len(self.arm_names) < 2:
            raise InvalidInput(f"{self.name}: give clicks, cost and reward of two arms or more")
        if self.model not in _MODELS:
            raise InvalidInput(f"model must be 'bernoulli' or 'beta', got {self.model!r}")
        if min(self.clicks) <= 0.0 or min(self.cost) <= 0.0 or min(self.reward) < 0.0:
            raise InvalidInput(
                f"{self.name}: every arm needs clicks and cost above 0, no reward below"
            )
        most = float(self.reward_rate.max())
        if not most <= self.prize:
            raise InvalidInput(f"{self.name}: prize must be {most:g} or more, got {self.prize!r}")

    def __str__(self) -> str:
        return self.name

    @property
    def arms(self) -> tuple[int, ...]:
        """Number of arms of its one problem."""
        return (len(self.arm_names),)

    @property
    def distribution(self) -> str:
        """Of costs."""
        return _MODELS[self.model]

    @property
    def cost_rate(self) -> Floats:
        """Money a click, of each arm."""
        return np.asarray(np.divide(self.cost, self.clicks), dtype=np.float64)

    @property
    def reward_rate(self) -> Floats:
        """Reward a click, of each arm, in the user's units."""
        return np.asarray(np.divide(self.reward, self.clicks), dtype=np.float64)

    @property
    def coin(self) -> float:
        """The money that a cost of 1 stands for."""
        return float(self.cost_rate.max()) / TOP

    def identity(self, data: Any = None) -> str:
        """Return a text that changes whenever the problems may."""
        content = (self.arm_names, self.clicks, self.cost, self.reward, self.prize, self.model)
        return f"own {self.name} {sha256(repr(content).encode()).hexdigest()}"

    def problems(self, repetition: int, data: Any = None) -> list[Problem]:
        """Return the one problem of a repetition; ``data`` is not looked at."""
        if int(repetition) != repetition or repetition < 0:
            raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
        reward = np.minimum(self.reward_rate / self.prize, 1.0)
        cost = self.cost_rate / self.coin
        if self.model == "bernoulli":
            return [Bernoulli(reward, cost, self.name)]
        rng = np.random.default_rng(int(repetition))
        return [Clicks(reward, *draws.click_costs(rng, cost), self.name)]
