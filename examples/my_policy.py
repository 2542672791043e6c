"""A policy of one's own, in one file: hope that fades with every play of an arm.

index = (mean reward + hope / n) / mean cost
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import bursar
from bursar.jit.compile import compiled
from bursar.testing import check_policy


class Params(NamedTuple):
    """What the compiled functions get to know of the policy."""

    hope: float


@compiled
def clock(p: Params, plays: float) -> float:
    """Return what the index needs of time: nothing here."""
    return 0.0


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    """Return how good an arm may be: n plays, mean reward r, mean cost c, variances vr, vc."""
    return (r + p.hope / n) / c if c > 0.0 else math.inf


@dataclass(frozen=True)
class Optimist(bursar.Policy):
    """Hope that fades with every play."""

    hope: float = 1.0

    name = "optimist"
    title = "Optimist"
    year = 2026
    source = "this file, 2026"
    formula = "(r + hope / n) / c"
    monotone = True
    index = staticmethod(index)
    clock = staticmethod(clock)

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        self._require(self.hope >= 0.0, "hope", "0 or more")

    def kernel_params(self, context: object) -> Params:
        """Return the numbers for the compiled functions."""
        return Params(self.hope)


if __name__ == "__main__":
    check_policy(Optimist())
    problem = bursar.Bernoulli.random(10, seed=1, cost_low=0.01)
    for policy in (Optimist(), "omega-star-ucb:rho=0.25", "uniform"):
        print(bursar.play(policy, problem, budget=200))
