"""Holds that follow a quantile or a caller's estimate, batches that do not fit, and numbers as
people have them.
"""

from __future__ import annotations

import csv
import json
import math
import random
from bisect import bisect_left, insort
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dashboard_site import site
from hand_clock import HandClock, folded, live_state
from pyarrow import parquet
from typer.testing import CliRunner

from bursar.campaign import Campaign
from bursar.campaign.export import export_decisions
from bursar.campaign.overruns import exceeds_quantile
from bursar.campaign.state import encode_snapshot
from bursar.cli.campaign import app
from bursar.errors import BudgetExhausted, CampaignExists, IdempotencyMismatch, InvalidInput
from bursar.formatting import format_money
from bursar.ledger import MemoryStore


def made(budget: str = "100", arms: dict[str, Any] | None = None, **rules: Any) -> Campaign:
    rules = {"clock": HandClock()} | rules
    return Campaign("c", budget, {"x": "1"} if arms is None else arms, **rules)


def settle(campaign: Campaign, cost: Any, reward: Any = 0.5, **options: Any) -> str:
    decision = campaign.ask(**options)
    campaign.tell(decision, cost=cost, reward=reward)
    return decision.id


# the pause of arms with quantile holds


def live(quantile: float, plays: int, chance: random.Random) -> bool:
    """Play an arm whose costs stay the same; return whether it is paused. Only ranks matter."""
    costs: list[float] = []
    ordered: list[float] = []
    overruns = 0
    for _ in range(plays):
        cost = chance.random()
        over = len(costs) >= 30 and cost > ordered[math.ceil(quantile * len(costs)) - 1]
        costs.append(cost)
        insort(ordered, cost)
        if over:
            overruns += 1
            newest: Any = costs[-1000:]
            if exceeds_quantile(newest, quantile, overruns, 3):
                return True
        if len(costs) > 1000:
            del ordered[bisect_left(ordered, costs.pop(0))]
    return False


def count_pauses(quantile: float, lives: int, seed: int) -> int:
    chance = random.Random(seed)
    return sum(live(quantile, 10_000, chance) for _ in range(lives))


def test_an_arm_whose_costs_stay_the_same_is_hardly_ever_paused() -> None:
    """Before, each of these lives ended at the third overrun, after 300 plays."""
    assert count_pauses(0.99, 40, seed=1) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("quantile", "lives"), [(0.99, 300), (0.9, 30)])
def test_less_than_one_arm_in_a_hundred_is_paused_by_chance(quantile: float, lives: int) -> None:
    assert count_pauses(quantile, lives, seed=2) < lives / 100


def test_a_quantile_hold_with_the_default_rule_earns_on() -> None:
    """Heavy tails: the largest cost is some twenty times the median."""
    chance = random.Random(3)
    campaign = made("10000", {"x": "50"}, hold="quantile:0.99", rounding="up")
    for _ in range(2500):
        settle(campaign, chance.lognormvariate(0.0, 1.0) / 10)
    status, (arm,) = campaign.status(), campaign.arms()
    assert arm.state == "active"
    assert 10 < arm.overruns == status.overruns < 50
    [alarm] = campaign.alarms
    assert alarm.startswith(f"costs exceeded their holds by {format_money(status.overrun)} in all")
    assert f"{arm.overruns} of 'x'" in alarm
    assert "hold='quantile:0.99'" in alarm


@pytest.mark.parametrize(("spread", "before", "within"), [(0.2, 400, 40), (0.5, 1500, 250)])
def test_an_arm_whose_costs_double_is_paused_soon(spread: float, before: int, within: int) -> None:
    delays = []
    for seed in range(5):
        chance = random.Random(seed)
        campaign = made("10000", {"x": "50"}, hold="quantile:0.99", rounding="up")
        for _ in range(before):
            settle(campaign, chance.lognormvariate(0.0, spread))
        assert campaign.arms()[0].state == "active"
        plays = 0
        while campaign.arms()[0].state == "active" and plays < 400:
            settle(campaign, 2 * chance.lognormvariate(0.0, spread))
            plays += 1
        delays.append(plays)
    assert sorted(delays)[2] <= within, delays


def doubled(**rules: Any) -> Campaign:
    campaign = made("1000", {"x": "5", "y": "5"}, hold="quantile:0.9", **rules)
    for number in range(300):
        settle(campaign, f"{1 + number % 7 / 10}", among=["x"])
    while campaign.arms()[0].state == "active":
        settle(campaign, "3.5", among=["x"])
    return campaign


def test_a_pause_is_an_alarm_until_the_arm_is_resumed_and_its_hold_starts_again() -> None:
    campaign = doubled()
    [event] = [one for one in campaign.events() if one.kind == "arm-paused"]
    assert event.body["reason"].endswith("above its hold, quantile:0.9")
    pause = next(one for one in campaign.alarms if one.startswith("arm 'x' is paused after "))
    assert all(part in pause for part in (campaign.coin.format(live_state(campaign).overrun),
               "hold='quantile:0.9'", "resume it", "larger maximum cost"))  # fmt: skip
    campaign.resume_arm("x", by="ada")
    assert not any(one.startswith("arm ") for one in campaign.alarms)
    assert campaign.ask(id="first", among=["x"]).hold == 5  # what it costs now is not known
    campaign.tell("first", cost="3.5", reward=1)
    for _ in range(60):
        settle(campaign, "3.5", among=["x"])
    assert campaign.ask(among=["x"]).hold == Decimal("3.5")
    assert campaign.arms()[0].state == "active"
    assert campaign.verify(choices=True).choices
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


def test_an_arm_that_an_operator_paused_keeps_what_is_known_of_its_costs() -> None:
    campaign = made("100", hold="quantile:0.5")
    for _ in range(40):
        settle(campaign, "0.1")
    campaign.pause_arm("x")
    campaign.resume_arm("x")
    assert campaign.ask().hold == Decimal("0.1")
    assert "anew" not in [*campaign.events()][-2].body


def test_costs_above_the_maximum_pause_an_arm_under_any_rule() -> None:
    for hold in ("max", "quantile:0.9"):
        campaign = made("100", hold=hold)
        for number in range(3):
            assert campaign.arms()[0].state == "active", number
            settle(campaign, "1.5")
        assert campaign.arms()[0].state == "paused"
        assert campaign.alarms[0].startswith("costs exceeded their holds by 1.50 in all: 3 of 'x'")
        assert "arm 'x' is paused after 3 costs above their holds" in campaign.alarms[1]
        reason = [*campaign.events()][-1].body["reason"]
        assert reason == f"3 costs above {'their hold' if hold == 'max' else 'its maximum'}"


def test_overruns_pause_nothing_if_the_rule_says_so() -> None:
    campaign = made("100", hold="quantile:0.9", overruns=0)
    for cost in ["0.1"] * 50 + ["2"] * 20:
        settle(campaign, cost)
    assert campaign.arms()[0].state == "active"
    assert "overruns=0" in campaign.alarms[0]


# a hold for one request


def test_a_request_can_name_its_hold() -> None:
    campaign = made("1", {"x": "0.6", "y": "0.01"}, seed=1)
    first = campaign.ask(hold="0.02", among=["x"])
    assert first.hold == Decimal("0.02")
    assert campaign.ask(hold=Decimal("0.02"), among=["y"]).hold == Decimal("0.01")  # its maximum
    assert campaign.ask(hold=7, among=["x"]).hold == Decimal("0.6")
    with pytest.raises(BudgetExhausted):
        campaign.ask(among=["x"])
    assert campaign.ask(hold="0.25", among=["x"]).hold == Decimal("0.25")  # so it fits
    assert not campaign.ask(hold="0.05").constrained
    assert campaign.ask(hold=0.1, among=["x"]).hold == Decimal("0.1")  # it need not be exact
    assert campaign.ask(hold="0.0000011", among=["y"]).hold == Decimal("0.000002")
    assert campaign.explain(first).verified
    assert campaign.verify(choices=True).decisions == 7


def test_the_hold_of_a_request_is_part_of_what_it_asked_for() -> None:
    campaign = made()
    campaign.ask(id="a", hold="0.020")
    assert campaign.ask(id="a", hold=Decimal("0.02")).replayed
    for other in ({"hold": "0.03"}, {}):
        with pytest.raises(IdempotencyMismatch):
            campaign.ask(id="a", **other)


@pytest.mark.parametrize("hold", [0, "0.00", "-1", "x", True, "1e30", math.nan, math.inf, [1]])
def test_a_hold_that_is_no_amount_is_refused(hold: Any) -> None:
    campaign = made()
    with pytest.raises(InvalidInput, match="hold"):
        campaign.ask(hold=hold)
    assert campaign.status().seq == 1


def test_an_estimate_that_was_too_low_is_money_and_pauses_nothing() -> None:
    campaign = made("100")
    for _ in range(5):
        settle(campaign, "0.5", hold="0.4")
    arm, status = campaign.arms()[0], campaign.status()
    assert (arm.state, arm.overruns, status.overruns) == ("active", 0, 0)
    assert status.overrun == Decimal("0.5")
    assert campaign.alarms[0].startswith(
        "costs exceeded their holds by 0.50 in all: all within the maximum of their arms"
    )
    wrong = [settle(campaign, "2", hold="0.4") for _ in range(2)]
    campaign.correct(wrong[0], cost="0.9")
    assert campaign.arms()[0].overruns == 1
    for _ in range(2):
        settle(campaign, "2", hold="0.4")
    assert campaign.arms()[0].state == "paused"
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


# batches


def test_a_batch_says_how_many_were_granted_and_why_not_more() -> None:
    campaign = made("10", {"large": "3", "small": "0.5"}, currency="USD")
    batch = campaign.ask(100)
    assert (batch.asked, batch.granted, len(batch)) == (100, len(batch), len(batch))
    assert campaign.available < Decimal("0.5")
    assert {one.arm for one in batch} == {"large", "small"}  # what did not fit left room
    assert batch.reason is not None
    assert "needs 0.50 USD; 0.00 USD is available and 10.00 USD is held" in batch.reason
    whole = made().ask(3)
    assert (whole.asked, whole.granted, whole.reason) == (3, 3, None)
    assert whole == [*whole]


def test_a_batch_ends_with_too_many_open_decisions_and_says_so() -> None:
    assert "the most it allows" in str(made(max_open=4).ask(10).reason)


# numbers


@pytest.mark.parametrize(
    ("reward", "number"),
    [
        (True, 1.0), (False, 0.0), (np.True_, 1.0), (np.False_, 0.0), (np.int64(1), 1.0),
        (np.float32(0.5), 0.5), (np.float64(0.25), 0.25), (Decimal("0.75"), 0.75), (1, 1.0),
        (Fraction(1, 4), 0.25),
    ],
    ids=repr,
)  # fmt: skip
def test_a_reward_may_be_a_number_of_any_kind(reward: Any, number: float) -> None:
    campaign = made()
    decision = campaign.ask()
    told = campaign.tell(decision, cost="0.1", reward=reward)
    assert (told.reward, type(told.reward)) == (number, float)
    assert campaign.correct(decision, reward=reward).reward == number
    assert campaign.verify().events == 4


@pytest.mark.parametrize("reward", [None, "1", np.array([0.5]), np.array(0.5), np.nan, b"1"])
def test_what_is_no_number_is_no_reward(reward: Any) -> None:
    campaign = made()
    with pytest.raises(InvalidInput):
        campaign.tell(campaign.ask(), reward=reward)


@pytest.mark.parametrize(
    ("cost", "amount"),
    [
        (np.int64(1), "1"), (np.uint8(1), "1"), (np.float64(0.25), "0.25"),
        (np.float32(0.5), "0.5"), (Decimal("0.003"), "0.003"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_cost_may_be_a_number_of_numpy(cost: Any, amount: str) -> None:
    campaign = made()
    assert campaign.tell(campaign.ask(), cost=cost).cost == Decimal(amount)


@pytest.mark.parametrize("cost", [np.True_, np.float64(0.1), np.float32(0.1), np.array([1])])
def test_a_cost_of_numpy_must_be_exact_as_any_other(cost: Any) -> None:
    campaign = made()
    with pytest.raises(InvalidInput, match="cost"):
        campaign.tell(campaign.ask(), cost=cost)


def test_the_rounding_of_a_campaign_reaches_every_way_to_report() -> None:
    campaign = made(rounding="up", exponent=2)
    assert campaign.run(lambda arm: (0.123, True), most=1) == 1
    with campaign.decide() as decision:
        decision.settle(cost=0.123, reward=1)
    first, second = campaign.ask(2)
    campaign.tell_many([{"decision": first, "cost": np.float64(0.123)}])
    assert campaign.tell(second, cost="0.129", rounding="down").cost == Decimal("0.12")
    assert campaign.correct(second, cost="0.121").cost == Decimal("0.13")
    assert campaign.spent == Decimal("0.13") * 4
    again = Campaign("c", storage=campaign.store)
    assert again.config.rounding == "up"
    plain = made()
    assert "rounding" not in next(plain.events()).body["config"]
    with pytest.raises(InvalidInput, match="rounding must be 'up', 'down' or 'nearest'"):
        made(rounding="even")


@pytest.mark.parametrize(
    ("budget", "arms", "more", "exponent"),
    [
        ("0.000001", {"a": "0.000000001"}, {}, 9),
        ("1", {"a": "0.5"}, {}, 6),
        ("1", {"a": Decimal("0.00000010")}, {}, 7),
        (1, {"a": 0.25}, {"caps": {"day": "0.50000001"}}, 8),
        ("1", {"a": "0.5"}, {"min_cost": "0.0000000001", "policy": "ucb-bv1"}, 10),
        ("1.00", {"a": "0.5"}, {"exponent": 2}, 2),
    ],
)
def test_the_exponent_is_as_large_as_the_first_amounts_need(
    budget: Any, arms: Any, more: Any, exponent: int
) -> None:
    store = MemoryStore()
    for _ in range(2):  # the same again opens it
        campaign = made(budget, arms, storage=store, **more)
        assert campaign.coin.exponent == exponent
    assert campaign.tell(campaign.ask(), cost="0").cost == 0


@pytest.mark.parametrize("amount", ["0.0000000000001", 0.1, "1e-400"])
def test_an_amount_that_no_exponent_fits_is_refused(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="the maximum cost of 'a'"):
        made("1", {"a": amount})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"budget": "0.4"}, "no arm fits: the budget allows 0.40 USD, .* 'a', .* 0.50 USD; raise"),
        ({"caps": {"day": "0.4"}}, "the cap allows 0.40 USD"),
        ({"caps": {"arm:a": "0.1", "arm:b": "0.6"}}, "the cap allows 0.60 USD, .* 'b', .* 0.70"),
    ],
)
def test_a_campaign_that_could_never_grant_an_ask_is_refused(more: Any, message: str) -> None:
    store, arms = MemoryStore(), {"a": "0.5", "b": "0.7"}
    with pytest.raises(InvalidInput, match=message):
        made(arms=arms, storage=store, currency="USD", **({"budget": "1"} | more))
    assert not store.names()
    assert made("0.5", arms, caps={"arm:b": "0"}).ask().arm == "a"  # one that fits is enough


# exports


def test_an_export_has_the_context_of_each_decision(tmp_path: Path) -> None:
    campaign = made()
    settle(campaign, "0.1", context={"task": "qa", "ü": [1, None]})
    settle(campaign, "0.1", hold="0.5")
    assert export_decisions(campaign, tmp_path / "a.csv") == 2
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert json.loads(first["context"]) == {"task": "qa", "ü": [1, None]}
    assert (second["context"], second["available"], second["hold"]) == ("", "x", "0.500000")
    export_decisions(campaign, tmp_path / "a.parquet")
    kept = parquet.read_table(tmp_path / "a.parquet")["context"].to_pylist()
    assert kept == [first["context"], None]


# the other doors


def test_the_service_takes_holds_and_numbers_as_an_embedded_campaign_does() -> None:
    with site() as (service, client):
        body = {"name": "c", "budget": "0.00001", "arms": [{"key": "x", "max_cost": "0.000000004"}]}
        done = client.post("/v1/campaigns", json=body | {"rounding": "up"})
        assert (done.status_code, done.json()["exponent"]) == (201, 9), done.text
        assert done.json()["config"]["rounding"] == "up"
        assert client.post("/v1/campaigns", json=body | {"rounding": "up"}).status_code == 200
        refused = client.post("/v1/campaigns", json=body | {"name": "d", "budget": "0.000000001"})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
        path = "/v1/campaigns/c/decisions"
        one = client.post(path, json={"id": "a", "hold": "0.000000002"}).json()
        assert one["hold"] == "0.000000002"
        other = client.post(path, json={"id": "a", "hold": "0.000000003"})
        assert other.json()["code"] == "idempotency-mismatch"
        told = client.post(f"{path}/a/outcome", json={"cost": "0.0000000031", "reward": True})
        assert (told.json()["cost"], told.json()["reward"]) == ("0.000000004", 1.0)
        some = client.post(path, json={"n": 2, "hold": "0.000000001"}).json()
        assert (some["asked"], some["granted"], some["reason"]) == (2, 2, None)
        service.campaign("c").set_budget("0.000000010")
        few = client.post(path, json={"n": 9}).json()
        assert (few["asked"], few["granted"], len(few["decisions"])) == (9, 1, 1)
        assert few["reason"].startswith(
            "Budget exhausted: the cheapest arm, 'x', needs 0.000000004"
        )
        shown = client.get("/v1/campaigns/c").json()
        assert shown["overrun"] == "0.000000002"
        assert shown["alarms"][0].startswith("costs exceeded their holds by 0.000000002 in all")


def test_metrics_and_the_dashboard_have_overruns_and_pauses() -> None:
    with site() as (service, client):
        campaign = Campaign("c", "100", {"x": "1", "y": "1"}, storage=service.store)
        for _ in range(3):
            settle(campaign, "1.5", among=["x"])
        metrics = client.get("/metrics").text
        for line in ("bursar_overruns_total", "bursar_paused_arms"):
            assert f'{line}{{campaign="c"}}' in metrics
        assert 'bursar_overruns_total{campaign="c"} 3.0' in metrics
        assert 'bursar_paused_arms{campaign="c"} 1.0' in metrics
        page = client.get("/campaigns/c").text
        assert "1.50 in 3 costs" in page
        assert "Alarm: arm &#39;x&#39; is paused after 3 costs above their holds" in page


def test_the_form_takes_a_rounding_and_finds_the_exponent() -> None:
    with site() as (service, client):
        assert '<option value="">none</option>' in client.get("/new").text
        form = {"name": "f", "budget": "1", "arm-0-key": "a", "arm-0-cost": "0.00000001"}
        done = client.post("/new", data=form | {"rounding": "up", "rows": "3"})
        campaign = service.campaign("f")
        assert (campaign.coin.exponent, campaign.config.rounding) == (8, "up"), done.text


def test_the_shell_takes_a_hold_and_a_rounding(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        env = {"BURSAR_STORAGE": f"sqlite:///{tmp_path / 'a.db'}"}
        done = CliRunner().invoke(app, list(words), env=env)
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.stdout

    run("create", "c", "--budget", "0.001", "--arm", "x=0.00000001", "--rounding", "nearest")
    id, arm, hold = run("ask", "c", "--hold", "0.000000004").split()
    assert (arm, hold) == ("x", "0.00000001")  # rounded up
    assert run("tell", "c", id, "--cost", "0.000000014").startswith(
        f"{id}\tx\tsettled for 0.00000001,"
    )


def test_a_campaign_that_exists_is_compared_with_its_rounding() -> None:
    store = MemoryStore()
    made(storage=store)
    with pytest.raises(CampaignExists, match="config"):
        made(storage=store, rounding="up")
