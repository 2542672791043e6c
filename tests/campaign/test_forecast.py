"""Forecasts: how often they hold, how fast a campaign spends, and sudden changes of that."""

from __future__ import annotations

import asyncio
import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from extent import extent
from hand_clock import DAY, HandClock

import bursar
from bursar.campaign import Campaign
from bursar.campaign.config import DEFAULT_POLICY
from bursar.ledger import MemoryStore
from bursar.policies.uniform import Uniform
from bursar.service import maintenance
from bursar.service.service import Service, ServiceConfig

HOUR = 3600.0


def load_benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "forecast.py"
    spec = importlib.util.spec_from_file_location("benchmark_forecast", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAMPLE = ("X-br-3", "heavy tails, binary", "a dear arm is best", "few arms")
POLICIES = (DEFAULT_POLICY, "kube")


def test_80_of_100_forecasts_hold_while_the_policy_learns() -> None:
    """Four worlds with few games of two policies; of all worlds under `make test-all`."""
    benchmark = load_benchmark()
    sample = {name: benchmark.list_worlds(False)[name] for name in SAMPLE}
    found = benchmark.measure(sample, POLICIES, 2)
    held = [look.holds for looks in found.values() for look in looks]
    assert len(held) > 60
    assert 0.65 <= np.mean(held) <= 0.97, np.mean(held)


@pytest.mark.slow
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("policy", dict.fromkeys((DEFAULT_POLICY, "kube")))
def test_80_of_100_forecasts_hold_at_every_share_of_the_budget(policy: str, check: bool) -> None:
    benchmark = load_benchmark()
    found = benchmark.measure(benchmark.list_worlds(check), (policy,), 8, 2 * benchmark.FRESH)
    looks = [look for part in found.values() for look in part]
    assert 0.7 <= np.mean([look.holds for look in looks]) <= 0.9
    for share in benchmark.SHARES:
        held = np.mean([look.holds for look in looks if look.share == share])
        assert 0.65 <= held <= 0.95, (share, held)


def test_a_forecast_knows_that_the_policy_will_converge() -> None:
    """A tenth of the money went to learning which of 20 arms is best; the rest goes to that one."""
    mixes, forecasts, right = [], [], 0
    for seed in range(5, 9):
        random_ = random.Random(seed)
        chances = {f"arm{k}": 0.9 if k == 13 else 0.1 for k in range(20)}
        campaign = Campaign("c", 60, dict.fromkeys(chances, "0.2"), "pooled-gittins")
        parts, spent = [0.0, 0.0], 0.0
        ahead = None
        while campaign.available >= 0.2:
            if ahead is None and spent >= 6.0:
                ahead = campaign.forecast()
            decision = campaign.ask()
            reward = float(random_.random() < chances[decision.arm])
            campaign.tell(decision, cost="0.1", reward=reward)
            parts[ahead is not None] += reward
            spent += 0.1
        assert ahead is not None
        assert ahead.reward is not None
        mixes.append(9.0 * parts[0])
        forecasts.append(ahead.reward.value)
        right += ahead.reward.low <= parts[1] <= ahead.reward.high
    assert right >= 3  # of 4 intervals at 90%
    assert np.mean(forecasts) > 1.15 * np.mean(mixes)  # the mix so far, going on


@pytest.mark.parametrize("policy", ["omega-star-ucb:rho=0.25", "pooled-gittins"])
def test_an_untried_arm_that_costs_more_than_all_before_looks_dear(policy: str) -> None:
    """The policy's unit of costs grows in the worlds, as it does in the campaign."""
    random_ = random.Random(1)
    campaign = Campaign("c", 60, {"a": "0.02", "b": "0.02"}, policy)
    for _ in range(200):
        decision = campaign.ask()
        reward = float(random_.random() < {"a": 0.5, "b": 0.4}[decision.arm])
        campaign.tell(decision, cost="0.01", reward=reward)
    campaign.add_arm("dear", "2")
    ahead = campaign.forecast()
    assert ahead.plays is not None
    assert ahead.plays.low > 5000  # of 5800 that the cheap arms could have
    assert ahead.margin in ("a", "b")


def test_arms_of_few_plays_are_not_absurd() -> None:
    """A reward that came for nearly nothing once does not promise millions."""
    campaign = Campaign("c", 100, dict.fromkeys("abcdef", 1))
    random_ = random.Random(2)
    campaign.tell(campaign.ask(among=["a"]), cost="0.0001", reward=0.5)
    for arm in "bcdef" * 20:
        cost = min(0.2 * random_.expovariate(1.0), 1.0)
        campaign.tell(campaign.ask(among=[arm]), cost=f"{cost:.6f}", reward=0.5)
    ahead = campaign.forecast()
    assert ahead.reward is not None
    assert ahead.reward.low < 5_000.0
    assert ahead.reward.high > 200.0


def test_a_policy_that_fails_has_a_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign("c", 10, {"a": 1, "b": 1}, "uniform")
    for _ in range(10):
        campaign.tell(campaign.ask(), cost="0.5", reward=0.5)
    before = campaign.forecast()
    learner = campaign.execute(lambda transaction: transaction.state).learner

    def fail(p: Any, arms: Any, game: Any, memory: Any, stream: Any) -> int:
        raise RuntimeError("broken")

    class Broken(Uniform):
        name = "broken"
        choose = staticmethod(fail)

    monkeypatch.setattr(learner, "policy", Broken())
    assert campaign.forecast().plays == before.plays  # as asks do: any arm that fits


# the rate of spending


def spend(
    campaign: Campaign, clock: HandClock, gap: float, n: int, seed: int = 1, cost: float = 0.1
) -> None:
    """Spend at random times, ``gap`` seconds apart on average."""
    random_ = random.Random(seed)
    for _ in range(n):
        decision = campaign.ask()
        clock.go(random_.expovariate(1.0 / gap))
        amount = min(cost * random_.expovariate(1.0), 5.0)
        campaign.tell(decision, cost=f"{amount:.6f}", reward=0.5)


def make_spender(**options: Any) -> tuple[Campaign, HandClock]:
    clock = HandClock()
    arms = {"small": 5, "large": 5}
    return Campaign("c", 100_000, arms, "uniform", currency="USD", clock=clock, **options), clock


def test_the_rate_is_that_of_recent_time() -> None:
    campaign, clock = make_spender()
    spend(campaign, clock, 220.0, 400)  # 1.6 USD/h for a day
    slow = campaign.forecast().rate
    assert slow is not None
    assert slow.low < 1.64 * 24 < slow.high
    spent, since = campaign.spent, clock.now
    spend(campaign, clock, 9.5, 200)  # 38 USD/h for half an hour
    fast = float(campaign.spent - spent) / (clock.now - since) * DAY
    ahead = campaign.forecast()
    assert ahead.rate is not None
    assert ahead.rate_before is not None
    assert ahead.rate.value == pytest.approx(fast, rel=0.1)
    assert ahead.rate.low < fast < ahead.rate.high
    assert ahead.rate_before == pytest.approx(1.64 * 24, rel=0.2)
    assert ahead.rate_since is not None
    assert clock.now - 200 * 9.5 * 1.5 < ahead.rate_since.timestamp() < clock.now
    assert any(text.startswith("The rate of spending changed sud") for text in ahead.sentences)


def test_a_tenfold_rate_is_an_alarm_soon_and_for_a_day() -> None:
    campaign, clock = make_spender()
    spend(campaign, clock, 60.0, 400)
    assert campaign.alarms == []
    plays = 0
    while not campaign.alarms and plays < 300:
        spend(campaign, clock, 6.0, 10, seed=plays)
        plays += 10
    assert plays <= 200
    [alarm] = campaign.alarms
    assert alarm.startswith("c: it spends ")
    assert "USD/h since 2023-11-15 " in alarm or "USD/h since 12:" in alarm, alarm
    assert alarm.endswith(" before")
    spend(campaign, clock, 6.0, 5000)  # beyond what the search reads
    assert len(campaign.alarms) == 1
    clock.go(DAY)
    spend(campaign, clock, 6.0, 200)
    assert campaign.alarms == []


def test_the_first_minutes_are_no_day() -> None:
    campaign, clock = make_spender()
    for decision in campaign.ask(20):
        clock.go(0.1)
        campaign.tell(decision, cost="0.5", reward=0.5)
    rate = campaign.forecast().rate
    assert rate is not None
    assert rate.value == pytest.approx(10.0 * 1440)  # what was spent, per minute
    assert rate.high > 1.2 * rate.value
    assert campaign.alarms == []


def test_bursts_are_one_rate() -> None:
    """Thirty calls every hour are neither a change nor a rate of thousands a day."""
    campaign, clock = make_spender()
    random_ = random.Random(3)
    for _ in range(20):
        spend(campaign, clock, 0.01, 30, seed=random_.randrange(10**6))
        rate = campaign.forecast().rate
        clock.go(random_.uniform(0.8, 1.2) * HOUR)
        assert campaign.alarms == []
    assert rate is not None
    assert rate.low < 3.0 * 24 < rate.high


def test_nights_are_no_news_on_the_second_day() -> None:
    campaign, clock = make_spender()
    alarms = []
    for day in range(3):
        for gap, hours in ((1000.0, 12), (60.0, 12)):
            for hour in range(hours):
                spend(campaign, clock, gap, round(HOUR / gap), seed=100 * day + hour)
                alarms.append(bool(campaign.alarms))
    assert any(alarms[12:24])  # the first morning
    assert not any(alarms[60:])


def test_chance_is_no_alarm() -> None:
    """Fewer than one campaign in fifty of 1,000 decisions at random times has a false alarm."""
    found = []
    for seed in range(extent(12, 100)):
        campaign, clock = make_spender(seed=seed)
        alarm = False
        for part in range(25):
            spend(campaign, clock, 60.0, 40, seed=1000 * seed + part)
            alarm = alarm or bool(campaign.alarms)
        found.append(alarm)
    assert sum(found) <= extent(0, 2)


def test_a_service_watches_rates() -> None:
    store, clock = MemoryStore(), HandClock()
    campaign = Campaign("llm", 100_000, {"a": 5}, storage=store, currency="USD", clock=clock)
    spend(campaign, clock, 60.0, 300)
    spend(campaign, clock, 4.0, 200)
    service = Service(store, ServiceConfig(require_keys=False))
    watched = service.campaign("llm")
    watched.clock = watched.committer.clock = clock
    assert 'bursar_spend_rate_changed{campaign="llm"} 0.0' in service.metrics.to_text().decode()
    assert asyncio.run(maintenance.check_all(service)) == 0
    [alarm] = watched.alarms
    assert "USD/h since" in alarm
    assert 'bursar_spend_rate_changed{campaign="llm"} 1.0' in service.metrics.to_text().decode()
    watched.pause()
    clock.go(61.0)
    # a paused campaign does not spend
    assert not any("USD/h" in text for text in watched.alarms)


def test_changes_of_an_arm_count_from_when_they_were_found() -> None:
    """Half of a forecast's money goes as far after the only arm's price has doubled."""
    random_ = random.Random(1)
    campaign = Campaign("c", 1000, {"a": 2})
    for price, plays in ((0.1, 800), (0.4, 300)):
        for _ in range(plays):
            cost = price * random_.uniform(0.5, 1.5)
            campaign.tell(campaign.ask(), cost=f"{cost:.6f}", reward=0.5)
    ahead = campaign.forecast()
    assert ahead.plays is not None
    left = float(campaign.available)
    assert ahead.plays.value == pytest.approx(left / 0.4, rel=0.1)
    assert (
        bursar.campaign.Estimate(0.0, ahead.plays.low, ahead.plays.high).compare_to(left / 0.18)
        == "lower"
    )
