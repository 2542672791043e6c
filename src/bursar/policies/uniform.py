"""Uniform random: every arm equally likely, nothing learned. The yardstick for all others."""

from dataclasses import dataclass
from typing import Any

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream, below
from bursar.policies.base import Policy


@compiled
def choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    return below(stream, arms.size)


@dataclass(frozen=True)
class Uniform(Policy):
    """Uniform random choice; a policy that does not beat it has learned nothing."""

    name, title = "uniform", "Uniform random"
    year = None
    source = "no source: the yardstick"
    formula = "each arm with probability 1/K"
    choose = staticmethod(choose)
    uses_variance = False
    learns = False

    def choice_probability(self, arms: int) -> float:
        return 1.0 / arms

    def describe_draw(self, arms: int) -> str:
        return f"uniform gives {arms} arms the same chance"
