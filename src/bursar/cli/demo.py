"""Simulated campaigns for ``bursar serve --demo``, so that the dashboard has much to show.

Language models of different price and skill answer questions, and ads earn sales that are known
only later. Some rewards arrive late, some answers never, and a few cost more than their hold. The
hours before the start are simulated in a moment, with a clock that is set by hand.
"""

import asyncio
import random
import time
from contextlib import closing, suppress
from decimal import Decimal
from importlib.resources import files
from typing import Any

import msgspec.toml
from msgspec import Struct

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


class _DemoArm(Struct, frozen=True):
    mean_cost: float
    max_cost: str
    success: float


class DemoCampaign(Struct, frozen=True):
    """A campaign of ``demo.toml`` and the true costs and rewards of its arms."""

    name: str
    budget: str
    currency: str
    exponent: int
    policy: str
    arms: dict[str, _DemoArm]
    pace: float
    delay: tuple[float, float]
    history: int
    rules: dict[str, Any]

    def draw_outcome(self, arm: str, rng: random.Random) -> tuple[str, float]:
        """Return the cost and the reward of a play."""
        most = float(self.arms[arm].max_cost)
        if rng.random() < _OVERRUN_SHARE:
            cost = most * rng.uniform(1.02, 1.3)
        else:
            cost = min(most, rng.gammavariate(4.0, self.arms[arm].mean_cost / 4.0))
        exact = Decimal(cost).quantize(Decimal(1).scaleb(-self.exponent))
        return str(exact), float(rng.random() < self.arms[arm].success)


class _ManualClock:
    """A clock that stands still until it is set; it starts in the past."""

    def __init__(self, seconds_ago: float) -> None:
        self.now = time.time_ns() // 1000 - round(seconds_ago * 1e6)

    def wall(self) -> int:
        return self.now

    steady = wall


class DemoSimulation:
    """The campaigns of a demo: their history, and the requests that continue it."""

    def __init__(self, storage: str, seed: int = 7) -> None:
        text = files("bursar.cli").joinpath("demo.toml").read_text(encoding="utf-8")
        tables = msgspec.toml.decode(text, type=dict[str, list[DemoCampaign]])
        self._campaigns = tables["campaign"]
        self._rng = random.Random(seed)
        _check_ledger(storage, {demo.name for demo in self._campaigns})
        for demo in self._campaigns:
            self._create(demo, storage)

    def _create(self, demo: DemoCampaign, storage: str) -> None:
        clock = _ManualClock(_HISTORY_SECONDS)
        campaign = Campaign(
            demo.name, demo.budget, {key: arm.max_cost for key, arm in demo.arms.items()},
            demo.policy, storage=storage, currency=demo.currency, exponent=demo.exponent,
            clock=clock, **demo.rules,
        )  # fmt: skip
        with closing(campaign):
            if campaign.status().asks == 0:  # a given storage may have it already
                self._simulate_history(demo, campaign, clock)

    def _simulate_history(
        self, demo: DemoCampaign, campaign: Campaign, clock: _ManualClock
    ) -> None:
        rng, rounds = self._rng, demo.history // _BATCH
        for left in reversed(range(rounds)):
            asked = campaign.ask(_BATCH)
            clock.now += round(_HISTORY_SECONDS * 1e6 / rounds)
            lost = left in (rounds // 10, rounds // 20)  # recent enough to be still held
            outcomes = ((one, demo.draw_outcome(one.arm, rng)) for one in asked[lost:])
            campaign.tell_many(
                [
                    {"decision": one.id, "cost": cost, "reward": reward}
                    for one, (cost, reward) in outcomes
                ]
            )

    async def run(self, service: Service) -> None:
        """Ask and tell until cancelled."""
        await asyncio.gather(*(self._play(service, demo) for demo in self._campaigns))

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
        cost, reward = demo.draw_outcome(decision.arm, rng)

        async def report(cost: str | None, reward: float | None, outcome: str) -> None:
            command = tell_command(config, decision, cost, reward)
            await service.submit(demo.name, command, urgent=True)
            service.metrics.outcomes[outcome].inc()

        late = rng.random() < _LATE_SHARE
        with suppress(BursarError):  # voided by a visitor, or the server stops
            await report(cost, None if late else reward, "settled")
            if late:
                await asyncio.sleep(rng.uniform(*demo.delay))
                await report(None, reward, "rewarded")

    async def _top_up(self, service: Service, demo: DemoCampaign) -> None:
        campaign = await service.find_campaign(demo.name)
        more = (await service.run_in_thread(campaign.status)).budget + Decimal(demo.budget)
        with suppress(BursarError):
            await service.change(demo.name, campaign.set_budget, more, by="demo")


def _check_ledger(url: str, names: set[str]) -> None:
    """Raise InvalidInput for a ledger with other campaigns or keys: a demo needs no key."""
    with closing(open_store(url)) as store:
        others = set(store.names()) - names
        if others or not Keys(store).is_empty():
            raise InvalidInput(
                "a demo needs no key, so it must have its own ledger; this one contains"
                f" {', '.join(sorted(others)[:3]) or 'keys'}. Omit --storage and BURSAR_STORAGE,"
                " or give a new file"
            )
