"""A policy at work: it chooses arms one at a time and learns from what they cost and bring."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bursar.arms import new_arms, new_game
from bursar.checks import Floats, real, whole
from bursar.errors import InvalidInput
from bursar.policies import kernels
from bursar.policies.scale import Range, Scale
from bursar.stream import new_stream

if TYPE_CHECKING:
    from bursar.policies.base import Policy

__all__ = ["Learner"]


class Learner:
    """The state of one game: statistics of each arm, the game so far, the policy's random stream.

    Examples
    --------
    >>> import bursar
    >>> learner = bursar.policy("omega-star-ucb:rho=0.25").learner(arms=2)
    >>> for _ in range(6):
    ...     arm = learner.choose()
    ...     learner.record(arm, reward=[0.9, 0.4][arm], cost=[0.5, 0.5][arm])
    >>> learner.plays_per_arm.tolist()
    [4, 2]
    """

    def __init__(
        self,
        policy: Policy,
        arms: int,
        seed: int | tuple[int, ...],
        budget: float | None,
        min_cost: float | None,
        reward_range: Range,
        cost_range: Range,
    ) -> None:
        arms = whole("arms", arms, 1, "a game needs an arm to play")
        self.policy = policy
        self.scale = Scale.of(policy, reward_range, cost_range)
        self._ranges = reward_range, cost_range
        facts = policy._facts(arms, budget, min_cost, self.scale)
        for name in policy.needs:
            policy._known(facts, name)
        self.parameters = policy.parameters(facts)
        self.arms = new_arms(arms)
        self.game = new_game(math.inf if facts.budget is None else facts.budget, policy.ties)
        self.memory: Floats = np.zeros(policy.memory_size(arms))
        self.stream = new_stream(*(seed if isinstance(seed, tuple) else (seed,)))
        self._decide = kernels.of(type(policy), "decide")
        self._learn = kernels.of(type(policy), "learn")

    def choose(self) -> int:
        """Return the arm to play next; each call is a decision of its own: record its outcome."""
        return int(self._decide(self.parameters, self.arms, self.game, self.memory, self.stream))

    def record(self, arm: int, reward: float, cost: float) -> None:
        """Learn what a play of an arm brought and cost."""
        if whole("arm", arm, 0, "give what choose() returned") >= self.arms.size:
            raise InvalidInput(f"arm must be in 0…{self.arms.size - 1}, got {arm!r}")
        for name, value, (low, high) in zip(
            ("reward", "cost"), (reward, cost), self._ranges, strict=True
        ):
            if not low <= real(name, value) <= high:  # false for NaN too
                raise InvalidInput(
                    f"{name} must be in its range [{low:g}, {high:g}], got {value!r};"
                    f" start the learner with {name}_range=(low, high) that fits the data"
                )
        scale = self.scale
        self._learn(
            self.parameters,
            self.arms,
            self.game,
            self.memory,
            arm,
            float(scale.reward_in(reward)),
            float(scale.cost_in(cost)),
            self.stream,
        )

    @property
    def plays_per_arm(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Plays of each arm."""
        return self.arms["n"].astype(np.int64)

    @property
    def spent(self) -> float:
        """What all plays cost, in the user's units."""
        per_arm = self.arms["cost"] * self.scale.cost_width + self.arms["n"] * self.scale.cost_low
        return float(per_arm.sum())

    @property
    def earned(self) -> float:
        """What all plays brought, in the user's units."""
        scale = self.scale
        per_arm = self.arms["reward"] * scale.reward_width + self.arms["n"] * scale.reward_low
        return float(per_arm.sum())
