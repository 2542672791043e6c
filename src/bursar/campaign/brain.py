"""What a campaign has learned, and the policy that chooses by it.

Decisions that wait for their outcome count as plays that bring and cost what the arm did so far: so
a hundred asks in a row do not all go to the arm that looked best before the first of them.
"""
# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821
# (`choose` and `observe` in the templates are bound to those of a policy by `specialize`)

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from bursar.arms import Arms, Game, new_arms, new_game
from bursar.checks import Floats
from bursar.compiled import compiled, specialize
from bursar.policies import Policy, kernels
from bursar.policies.scale import Range, Scale
from bursar.stream import Stream, new_stream

__all__ = ["Brain"]


class Brain:
    """Statistics of all arms in the policy's units, and its compiled choice."""

    def __init__(self, policy: Policy, reward_range: Range, seed: int) -> None:
        self.policy = policy
        # whether it plays the arm of the largest index
        self.has_index = policy.index is not None and policy.choose is None
        self.reward_range = reward_range
        self.arms: Arms = new_arms(0)
        self.seen: Arms = new_arms(0)  # with open decisions in it
        self.prior: Floats = np.zeros(0)  # what an arm may cost that nobody has seen yet
        self.open: list[int] = []
        self.costs: list[float] = []
        self.most = 0.0  # the most that any arm can cost, in the user's units
        self.game = new_game(math.inf, policy.ties)
        self._stream = new_stream(seed)
        self._memory = np.zeros(0)
        self._parameters: Any = None
        self._pick, self._wait, self._take, self._scores = _kernels(cast(Any, type(policy)))

    def add_arm(self, max_cost: float) -> None:
        """Make room for an arm; if it can cost more than all others, costs are scaled anew."""
        self.arms = np.append(self.arms, new_arms(1))
        self.open.append(0)
        self.costs.append(max_cost)
        if max_cost > self.most:
            shrink = self.most / max_cost
            self.arms["cost"] *= shrink
            self.arms["cost_m2"] *= shrink * shrink
            self.arms["own_cost"] *= shrink
            self.game["spent"] *= shrink
            self.most = max_cost
        self.look_again()

    def look_again(self) -> None:
        """Work out anew how arms look with what waits."""
        self.seen = new_arms(self.arms.size)
        self.prior = 0.5 * np.array(self.costs) / self.most
        for arm, waiting in enumerate(self.open):
            _see(self.arms, self.seen, self.prior, arm, float(waiting))

    def know(self, budget: float, min_cost: float | None) -> None:
        """Tell the policy what it may know beforehand; again whenever that changes."""
        self.scale = Scale.of(self.policy, self.reward_range, (0.0, self.most))
        facts = self.policy._facts(self.arms.size, budget, min_cost, self.scale)
        for name in self.policy.needs:
            self.policy._known(facts, name)
        self._parameters = self.policy.parameters(facts)
        self.game["budget"] = math.inf if facts.budget is None else facts.budget

    def choose(self, allowed: Sequence[int] | None, seq: int) -> int:
        """Return the arm for decision ``seq`` among those allowed, all by default."""
        p, game, memory, stream = self._parameters, self.game, self._memory, self._stream
        if allowed is None:
            return int(self._pick(p, self.seen, game, memory, stream, seq))
        few = self.seen[np.asarray(allowed, dtype=np.intp)]
        return allowed[int(self._pick(p, few, game, memory, stream, seq))]

    def certainty(self, arms: int) -> float | None:
        """Return how likely the policy's choice was, if that can be known; ties apart."""
        if self.has_index:
            return 1.0
        return 1.0 / arms if self.policy.name == "uniform" else None

    def equals(self, allowed: Sequence[int]) -> list[int]:
        """Return the arms among which an index policy draws: those of the largest index."""
        few = self.seen[np.asarray(allowed, dtype=np.intp)]
        fresh = np.flatnonzero(few["n"] == 0.0)
        if fresh.size:
            return [allowed[int(fresh[0])]]
        scores = self._scores(self._parameters, few, self.game)
        return [allowed[int(i)] for i in np.flatnonzero(scores == scores.max())]

    def uniform(self, seq: int) -> tuple[float, float]:
        """Return two numbers in [0, 1) that belong to decision ``seq``."""
        words = np.random.Philox(key=self._stream[:2], counter=[0, seq, 2, 0]).random_raw(2)
        return float(words[0]) / 2.0**64, float(words[1]) / 2.0**64

    def asked(self, arm: int) -> None:
        """Count a decision that waits."""
        self.open[arm] = waiting = self.open[arm] + 1
        self._wait(self.arms, self.seen, self.game, self.prior, arm, waiting, 1)

    def closed(self, arm: int) -> None:
        """Count one that waits no more and brought nothing to learn from."""
        self.open[arm] = waiting = self.open[arm] - 1
        self._wait(self.arms, self.seen, self.game, self.prior, arm, waiting, -1)

    def learn(self, arm: int, reward: float, cost: float, seq: int, waited: bool) -> None:
        """Learn an outcome, in the user's units; ``waited`` if its decision was counted so."""
        if waited:
            self.open[arm] -= 1
        r, c = self._scaled(reward, cost)
        self._take(
            self.arms, self.seen, self.game, self.prior, self._stream,
            arm, self.open[arm], r, c, seq, -1 if waited else 0,
        )  # fmt: skip

    def forget(self, arm: int, reward: float, cost: float, seq: int) -> None:
        """Take an outcome back that was learned at event ``seq`` and is corrected now."""
        r, c = self._scaled(reward, cost)
        alone, game = new_arms(1), self.game.copy()
        # BTS's trials are drawn again, from the same place
        self._take(alone, new_arms(1), game, self.prior, self._stream, 0, 0, r, c, seq, 0)
        record = self.arms[arm]
        n = float(record["n"]) - 1.0
        for name, value in (("reward", r), ("cost", c)):
            total = float(record[name])
            with_it, without = total / (n + 1.0), (total - value) / n if n else value
            squares = float(record[f"{name}_m2"]) - (value - without) * (value - with_it)
            record[name] = total - value if n else 0.0
            record[f"{name}_m2"] = max(squares, 0.0) if n else 0.0
            own = float(record[f"own_{name}"] - alone[0][f"own_{name}"])
            record[f"own_{name}"] = max(own, 0.0)
        record["n"] = n
        self.game["plays"] -= 1
        self.game["spent"] -= c
        _see(self.arms, self.seen, self.prior, arm, float(self.open[arm]))

    def _scaled(self, reward: float, cost: float) -> tuple[float, float]:
        """Map an outcome into the policy's units; what exceeds its range counts as its end."""
        low, high = self.reward_range
        r = self.scale.reward_in(min(max(reward, low), high))
        return r, self.scale.cost_in(min(cost, self.most))


@compiled
def _see(arms: Arms, seen: Arms, prior: Floats, k: int, waiting: float) -> None:
    """Let an arm look as if what waits had come in at its means, or at half of its most."""
    seen[k] = arms[k]
    if waiting <= 0.0:
        return
    n = arms[k].n
    if n > 0.0:
        grown = (n + waiting) / n
        seen[k].reward *= grown
        seen[k].cost *= grown
        seen[k].reward_m2 *= grown
        seen[k].cost_m2 *= grown
        seen[k].own_reward *= grown
        seen[k].own_cost *= grown
    else:
        seen[k].reward = seen[k].own_reward = 0.5 * waiting
        seen[k].cost = seen[k].own_cost = prior[k] * waiting
    seen[k].n = n + waiting


@compiled
def _at(stream: Stream, seq: int, purpose: int) -> None:
    """Turn to the random numbers of an event: a place in the counter, no state between events."""
    stream[2], stream[3], stream[4], stream[5] = 0, seq, purpose, 0
    stream[10] = 4


def _pick(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, seq: int) -> int:
    _at(stream, seq, 0)
    return choose(p, arms, game, memory, stream)


def _wait(
    arms: Arms, seen: Arms, game: Game, prior: Floats, k: int, waiting: int, step: int
) -> None:
    game[0].plays += step
    _see(arms, seen, prior, k, float(waiting))


def _take(
    arms: Arms, seen: Arms, game: Game, prior: Floats, stream: Stream,
    k: int, waiting: int, reward: float, cost: float, seq: int, step: int,
) -> None:  # fmt: skip
    game[0].plays += step
    _at(stream, seq, 1)
    observe(arms, game, k, reward, cost, stream)
    _see(arms, seen, prior, k, float(waiting))


@cache
def _kernels(policy: Any) -> tuple[Any, Any, Any, Any]:
    found = kernels.functions(policy)
    return (
        specialize(_pick, policy.name, choose=found["choose"]),
        specialize(_wait, "campaign"),
        specialize(_take, policy.name, observe=found["observe"]),
        found.get("scores"),
    )
