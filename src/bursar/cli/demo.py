"""Simulated campaigns for ``bursar serve --demo``: they spend, so that there is much to see.

Language models of different price and skill answer questions, and ads bring sales that are known
only later. Some rewards come late, some answers never, a few cost more than was held. The hours
before the start are simulated in a moment, with a clock that runs as it likes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from bursar.campaign import Campaign, Decision
from bursar.campaign.commands import ask_command, tell_command
from bursar.errors import BudgetExhausted, BursarError
from bursar.service.service import Service

__all__ = ["WORLDS", "DemoSimulation", "DemoWorld"]

# ==== cli.world
# What is true in a demo: what arms really cost and bring, which campaigns have to find out.

_OVER = 1 / 300  # share of costs that are above the most an arm should cost


@dataclass(frozen=True)
class DemoWorld:
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
    DemoWorld(
        "assistant", "12.00", "USD", 6, "omega-star-ucb:rho=0.25",
        {
            "tiny": (0.0006, "0.003", 0.12), "small": (0.0018, "0.008", 0.74),
            "medium": (0.0065, "0.03", 0.84), "large": (0.021, "0.09", 0.91),
            "thinking": (0.046, "0.2", 0.95),
        },
        6.0, (15.0, 60.0), 1500, {"hold_ttl": 1800.0, "overruns": 0},
    ),
    DemoWorld(
        "ads", "900.00", "EUR", 2, "bts",
        {
            "search": (0.62, "0.95", 0.12), "video": (0.38, "0.60", 0.035),
            "banner": (0.09, "0.15", 0.012), "social": (0.21, "0.40", 0.05),
        },
        1.2, (30.0, 120.0), 400, {"hold_ttl": 1800.0, "overruns": 0, "explore": 0.05},
    ),
)  # fmt: skip


_HISTORY = 3 * 3600.0  # seconds before the start that are simulated
_TOGETHER = 10  # asks of those hours that share a commit
_TOP_UP = 20.0  # seconds between the end of a budget and its rise
_STUCK, _LATE = 1 / 400, 0.15  # shares of answers that never come, and whose reward comes late


class _Past:
    """A clock of hours that are over: it stands where it was put."""

    def __init__(self, seconds: float) -> None:
        self.now = time.time_ns() // 1000 - round(seconds * 1e6)

    def wall(self) -> int:
        return self.now

    def steady(self) -> int:
        return self.now

    def boot(self) -> str:
        return ""  # of no machine


class DemoSimulation:
    """The campaigns of a demo: what came before it, and what goes on."""

    def __init__(self, storage: str, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        for world in WORLDS:
            self._begin(world, storage)

    def _begin(self, world: DemoWorld, storage: str) -> None:
        clock = _Past(_HISTORY)
        arms = {key: most for key, (_, most, _) in world.arms.items()}
        campaign = Campaign(
            world.name, world.budget, arms, world.policy, storage=storage,
            currency=world.currency, exponent=world.exponent, clock=clock, **world.rules,
        )  # fmt: skip
        try:
            if campaign.status().asks == 0:  # a storage that was given may have it already
                self._live_through(world, campaign, clock)
        finally:
            campaign.close()

    def _live_through(self, world: DemoWorld, campaign: Campaign, clock: _Past) -> None:
        chance, rounds = self._chance, world.history // _TOGETHER
        for left in reversed(range(rounds)):
            asked = campaign.ask(_TOGETHER)
            clock.now += round(_HISTORY * 1e6 / rounds)
            lost = left in (rounds // 10, rounds // 20)  # recent enough to be still held
            campaign.tell_many(
                [
                    {
                        "decision": one.id,
                        "cost": world.cost(one.arm, chance),
                        "reward": world.reward(one.arm, chance),
                    }
                    for one in asked[lost:]
                ]
            )

    async def run(self, service: Service) -> None:
        """Go on asking and telling until cancelled."""
        await asyncio.gather(*(self._play(service, world) for world in WORLDS))

    async def _play(self, service: Service, world: DemoWorld) -> None:
        waiting: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._chance.expovariate(world.pace))
            try:
                decision: Decision = await service.submit(world.name, ask_command())
                service.metrics.count_asks("granted")
            except BudgetExhausted:
                await asyncio.sleep(_TOP_UP)
                await self._top_up(service, world)
                continue
            except BursarError:  # paused by somebody who looks, or the end is near
                await asyncio.sleep(1.0)
                continue
            task = asyncio.create_task(self._answer(service, world, decision))
            waiting.add(task)
            task.add_done_callback(waiting.discard)

    async def _answer(self, service: Service, world: DemoWorld, decision: Decision) -> None:
        chance = self._chance
        if chance.random() < _STUCK:
            return  # lost: its hold stays until it lapses
        await asyncio.sleep(chance.uniform(0.2, 3.0))
        config = (await service.find_campaign(world.name)).config
        cost, reward = world.cost(decision.arm, chance), world.reward(decision.arm, chance)
        late = chance.random() < _LATE
        try:
            first = None if late else reward
            await service.submit(
                world.name, tell_command(config, decision, cost, first), urgent=True
            )  # fmt: skip
            service.metrics.count_outcomes("settled")
            if late:
                await asyncio.sleep(chance.uniform(*world.delay))
                await service.submit(
                    world.name, tell_command(config, decision, None, reward), urgent=True
                )
                service.metrics.count_outcomes("rewarded")
        except BursarError:
            return  # voided by somebody who looks, or the end is near

    async def _top_up(self, service: Service, world: DemoWorld) -> None:
        campaign = await service.find_campaign(world.name)
        more = (await service.run_in_thread(campaign.status)).budget + Decimal(world.budget)
        try:
            await service.change(world.name, campaign.set_budget, more, by="demo")
        except BursarError:
            return
