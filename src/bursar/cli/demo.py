"""Simulated campaigns for ``bursar serve --demo``, so that the dashboard has much to show.

Language models of different price and skill answer questions, and ads earn sales that are known
only later. Some rewards arrive late, some answers never, and a few cost more than their hold. The
hours before the start are simulated in a moment, with a clock that is set by hand.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from bursar.campaign import Campaign, Decision
from bursar.campaign.commands import ask_command, tell_command
from bursar.campaign.creation import open_store
from bursar.errors import BudgetExhausted, BursarError, InvalidInput
from bursar.service.keys import Keys
from bursar.service.service import Service

_OVERRUN_SHARE = 1 / 300  # of the costs are above the maximum of their arm
_LOST_SHARE, _LATE_SHARE = 1 / 400, 0.15  # of the answers never come; of the rewards come late
_HISTORY_SECONDS = 3 * 3600.0  # before the start that are simulated
_BATCH = 10  # asks of those hours that share a commit
_TOP_UP_SECONDS = 20.0  # between the end of a budget and its rise


class _DemoArm(NamedTuple):
    """What the policy has to find out about an arm, and the maximum cost that it knows."""

    mean_cost: float
    max_cost: str
    success: float  # probability


@dataclass(frozen=True, kw_only=True)
class DemoCampaign:
    """A campaign and the true costs and rewards of its arms."""

    name: str
    budget: str
    currency: str
    exponent: int
    policy: str
    arms: Mapping[str, _DemoArm]
    pace: float  # asks per second
    delay: tuple[float, float]  # seconds until a late reward
    history: int  # asks before the start
    rules: Mapping[str, Any]

    def draw_cost(self, arm: str, rng: random.Random) -> str:
        """Return the cost of a play."""
        most = float(self.arms[arm].max_cost)
        if rng.random() < _OVERRUN_SHARE:
            cost = most * rng.uniform(1.02, 1.3)
        else:
            cost = min(most, rng.gammavariate(4.0, self.arms[arm].mean_cost / 4.0))
        return str(Decimal(cost).quantize(Decimal(1).scaleb(-self.exponent)))

    def draw_reward(self, arm: str, rng: random.Random) -> float:
        """Return the reward of a play."""
        return float(rng.random() < self.arms[arm].success)


_CAMPAIGNS = (
    DemoCampaign(
        name="assistant", budget="12.00", currency="USD", exponent=6,
        policy="omega-star-ucb:rho=0.25",
        arms={
            "tiny": _DemoArm(0.0006, "0.003", 0.12), "small": _DemoArm(0.0018, "0.008", 0.74),
            "medium": _DemoArm(0.0065, "0.03", 0.84), "large": _DemoArm(0.021, "0.09", 0.91),
            "thinking": _DemoArm(0.046, "0.2", 0.95),
        },
        pace=6.0, delay=(15.0, 60.0), history=1500, rules={"hold_ttl": 1800.0, "overruns": 0},
    ),
    DemoCampaign(
        name="ads", budget="900.00", currency="EUR", exponent=2, policy="bts",
        arms={
            "search": _DemoArm(0.62, "0.95", 0.12), "video": _DemoArm(0.38, "0.60", 0.035),
            "banner": _DemoArm(0.09, "0.15", 0.012), "social": _DemoArm(0.21, "0.40", 0.05),
        },
        pace=1.2, delay=(30.0, 120.0), history=400,
        rules={"hold_ttl": 1800.0, "overruns": 0, "explore": 0.05},
    ),
)  # fmt: skip


class _ManualClock:
    """A clock that stands still until it is set; it starts in the past."""

    def __init__(self, seconds_ago: float) -> None:
        self.now = time.time_ns() // 1000 - round(seconds_ago * 1e6)

    def wall(self) -> int:
        return self.now

    def steady(self) -> int:
        return self.now

    def boot(self) -> str:
        return ""  # the clock belongs to no machine


class DemoSimulation:
    """The campaigns of a demo: their history, and the requests that continue it."""

    def __init__(self, storage: str, seed: int = 7) -> None:
        _check_ledger(storage)
        self._rng = random.Random(seed)
        for demo in _CAMPAIGNS:
            self._create(demo, storage)

    def _create(self, demo: DemoCampaign, storage: str) -> None:
        clock = _ManualClock(_HISTORY_SECONDS)
        campaign = Campaign(
            demo.name, demo.budget, {key: arm.max_cost for key, arm in demo.arms.items()},
            demo.policy, storage=storage, currency=demo.currency, exponent=demo.exponent,
            clock=clock, **demo.rules,
        )  # fmt: skip
        try:
            if campaign.status().asks == 0:  # a given storage may have it already
                self._simulate_history(demo, campaign, clock)
        finally:
            campaign.close()

    def _simulate_history(
        self, demo: DemoCampaign, campaign: Campaign, clock: _ManualClock
    ) -> None:
        rng, rounds = self._rng, demo.history // _BATCH
        for left in reversed(range(rounds)):
            asked = campaign.ask(_BATCH)
            clock.now += round(_HISTORY_SECONDS * 1e6 / rounds)
            lost = left in (rounds // 10, rounds // 20)  # recent enough to be still held
            campaign.tell_many(
                [
                    {
                        "decision": one.id,
                        "cost": demo.draw_cost(one.arm, rng),
                        "reward": demo.draw_reward(one.arm, rng),
                    }
                    for one in asked[lost:]
                ]
            )

    async def run(self, service: Service) -> None:
        """Ask and tell until cancelled."""
        await asyncio.gather(*(self._play(service, demo) for demo in _CAMPAIGNS))

    async def _play(self, service: Service, demo: DemoCampaign) -> None:
        answers: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._rng.expovariate(demo.pace))
            try:
                decision: Decision = await service.submit(demo.name, ask_command())
                service.metrics.asks["granted"].inc()
            except BudgetExhausted:
                await asyncio.sleep(_TOP_UP_SECONDS)
                await self._top_up(service, demo)
                continue
            except BursarError:  # paused by a visitor, or the server stops
                await asyncio.sleep(1.0)
                continue
            task = asyncio.create_task(self._answer(service, demo, decision))
            answers.add(task)
            task.add_done_callback(answers.discard)

    async def _answer(self, service: Service, demo: DemoCampaign, decision: Decision) -> None:
        rng = self._rng
        if rng.random() < _LOST_SHARE:
            return  # its hold stays until it lapses
        await asyncio.sleep(rng.uniform(0.2, 3.0))
        config = (await service.find_campaign(demo.name)).config
        cost, reward = demo.draw_cost(decision.arm, rng), demo.draw_reward(decision.arm, rng)

        async def report(cost: str | None, reward: float | None, outcome: str) -> None:
            command = tell_command(config, decision, cost, reward)
            await service.submit(demo.name, command, urgent=True)
            service.metrics.outcomes[outcome].inc()

        late = rng.random() < _LATE_SHARE
        try:
            await report(cost, None if late else reward, "settled")
            if late:
                await asyncio.sleep(rng.uniform(*demo.delay))
                await report(None, reward, "rewarded")
        except BursarError:
            return  # voided by a visitor, or the server stops

    async def _top_up(self, service: Service, demo: DemoCampaign) -> None:
        campaign = await service.find_campaign(demo.name)
        more = (await service.run_in_thread(campaign.status)).budget + Decimal(demo.budget)
        try:
            await service.change(demo.name, campaign.set_budget, more, by="demo")
        except BursarError:
            return


def _check_ledger(url: str) -> None:
    """Raise InvalidInput for a ledger with other campaigns or keys: a demo needs no key."""
    store = open_store(url)
    try:
        others = set(store.names()) - {demo.name for demo in _CAMPAIGNS}
        if others or not Keys(store).is_empty():
            raise InvalidInput(
                "a demo needs no key, so it must have its own ledger; this one contains"
                f" {', '.join(sorted(others)[:3]) or 'keys'}. Omit --storage and BURSAR_STORAGE,"
                " or give a new file"
            )
    finally:
        store.close()
