"""What is true in a demo: what arms really cost and bring, which campaigns have to find out."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

__all__ = ["WORLDS", "World"]

_OVER = 1 / 300  # share of costs that are above the most an arm should cost


@dataclass(frozen=True)
class World:
    """A campaign and how its arms really are: mean cost, most it can cost, chance of a success."""

    name: str
    budget: str
    currency: str
    exponent: int
    policy: str
    arms: Mapping[str, tuple[float, str, float]]
    pace: float  # asks a second
    delay: tuple[float, float]  # seconds until a late reward
    history: int  # asks before the start
    rules: Mapping[str, Any] = field(default_factory=dict)

    def cost(self, arm: str, chance: random.Random) -> str:
        """Return what a play of an arm costs."""
        mean, most, _ = self.arms[arm]
        top = float(most)
        if chance.random() < _OVER:
            drawn = top * chance.uniform(1.02, 1.3)  # billed more than anybody expected
        else:
            drawn = min(top, chance.gammavariate(4.0, mean / 4.0))
        return str(Decimal(drawn).quantize(Decimal(1).scaleb(-self.exponent)))

    def reward(self, arm: str, chance: random.Random) -> float:
        """Return what a play of an arm brings."""
        return float(chance.random() < self.arms[arm][2])


WORLDS = (
    World(
        "assistant", "12.00", "USD", 6, "omega-star-ucb:rho=0.25",
        {
            "tiny": (0.0006, "0.003", 0.12), "small": (0.0018, "0.008", 0.74),
            "medium": (0.0065, "0.03", 0.84), "large": (0.021, "0.09", 0.91),
            "thinking": (0.046, "0.2", 0.95),
        },
        6.0, (15.0, 60.0), 1500, {"hold_ttl": 1800.0, "overruns": 0},
    ),
    World(
        "ads", "900.00", "EUR", 2, "bts",
        {
            "search": (0.62, "0.95", 0.12), "video": (0.38, "0.60", 0.035),
            "banner": (0.09, "0.15", 0.012), "social": (0.21, "0.40", 0.05),
        },
        1.2, (30.0, 120.0), 400, {"hold_ttl": 1800.0, "overruns": 0, "explore": 0.05},
    ),
)  # fmt: skip
