"""Arms that change while a campaign runs: found, distinguished, and reset if the rule says so."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hand_clock import DAY, HandClock, folded, live_state
from service_app import Live, live  # noqa: F401

from bursar.campaign import ArmChange, Campaign, committer
from bursar.campaign.config import Config
from bursar.campaign.state import decode_snapshot, encode_snapshot
from bursar.client import Client
from bursar.dashboard.events import EventDescriber
from bursar.dashboard.overview import summarize
from bursar.errors import InvalidInput
from bursar.ledger import MemoryStore

ARMS = {"small": "1.00", "large": "4.00"}
Outcome = tuple[str, float]


def world(seed: int = 1, price: float = 1.0, quality: float = 0.5) -> Callable[[str], Outcome]:
    """Return what an arm costs and brings; ``price`` is a factor of what small costs."""
    chance = random.Random(seed)

    def play(arm: str) -> Outcome:
        factor, good = (price, quality) if arm == "small" else (6.0, 0.6)
        return f"{chance.uniform(0.05, 0.15) * factor:.6f}", float(chance.random() < good)

    return play


def made(**rules: Any) -> Campaign:
    return Campaign("c", budget="100000", arms=ARMS, currency="USD", **rules)


def changed(campaign: Campaign) -> list[dict[str, Any]]:
    return [event.body for event in campaign.events() if event.kind == "changed"]


def small(campaign: Campaign) -> Any:
    return next(arm for arm in campaign.arms() if arm.key == "small")


def after_a_price_rise(**rules: Any) -> Campaign:
    campaign = made(**rules)
    campaign.run(world(), most=600)
    assert changed(campaign) == []
    campaign.run(world(2, price=2.5), most=150)
    return campaign


def test_a_dearer_arm_is_told_from_a_worse_one() -> None:
    dearer = after_a_price_rise()
    (price,) = changed(dearer)
    assert (price["key"], price["what"], price["reset"]) == ("small", "cost", False)
    assert price["before"] == pytest.approx(0.1, rel=0.1)
    assert price["after"] == pytest.approx(0.25, rel=0.25)
    worse = made()
    worse.run(world(), most=600)
    worse.run(world(2, quality=0.05), most=150)
    (quality,) = changed(worse)
    assert (quality["key"], quality["what"]) == ("small", "reward")
    assert quality["before"] == pytest.approx(0.5, abs=0.1)
    assert quality["after"] == pytest.approx(0.05, abs=0.2)


def test_rewards_are_told_in_the_units_of_the_user() -> None:
    campaign = made(reward_range=(-10.0, 30.0), policy="omega-ucb:rho=0.25")
    campaign.run(lambda arm: ("0.1", 20.0 if arm == "small" else 0.0), most=300)
    campaign.run(lambda arm: ("0.1", -8.0), most=100)
    (found,) = changed(campaign)
    assert found["before"] == pytest.approx(20.0, abs=3.0)
    assert found["after"] == pytest.approx(-8.0, abs=3.0)


def test_a_flag_is_seen_wherever_people_look() -> None:
    campaign = after_a_price_rise()
    (alarm,) = campaign.alarms
    assert alarm.startswith("small changed at ")
    assert "its mean cost went from 0." in alarm
    arm = small(campaign)
    (one,) = arm.changed
    assert (one.what, one.reset) == ("cost", False)
    assert arm.plays > 500  # nothing is forgotten
    data = json.loads(json.dumps(arm.as_dict(), allow_nan=False))
    assert data["changed"][0]["after"] == one.after
    (said,) = [text for text in campaign.forecast().sentences if "mean cost of small" in text]
    assert said.endswith("recently; this forecast goes by the newer outcomes.")
    last = campaign.ask(among=["small"])
    assert f"Its mean cost went from {one.before:.3g} to {one.after:.3g} in" in str(
        campaign.explain(last)
    )
    first = next(event.decision for event in campaign.events() if event.kind == "asked")
    assert "went from" not in str(campaign.explain(first))  # not known then


def test_a_forecast_speaks_of_changes_of_the_last_days_only() -> None:
    clock = HandClock()
    campaign = after_a_price_rise(clock=clock)
    assert any("recently" in text for text in campaign.forecast().sentences)
    clock.go(8 * DAY)
    campaign.run(world(3, price=2.5), most=2)
    assert not any("recently" in text for text in campaign.forecast().sentences)
    assert small(campaign).changed  # the arm still says so


def test_an_arm_is_learned_anew_if_so_wished() -> None:
    flagged, campaign = after_a_price_rise(), made(on_change="reset")
    campaign.run(world(), most=600)
    others = next(arm for arm in campaign.arms() if arm.key == "large").plays
    campaign.run(world(2, price=2.5), most=150)
    (found,) = changed(campaign)
    assert found["reset"]
    arm = small(campaign)
    assert arm.plays < 150
    assert arm.cost.value == pytest.approx(0.25, rel=0.2)
    assert small(flagged).cost.value < 0.15
    assert next(arm for arm in campaign.arms() if arm.key == "large").plays >= others
    assert campaign.alarms[0].endswith("; it is learned anew")
    assert any("it is learned from scratch" in text for text in campaign.forecast().sentences)
    assert campaign.verify(choices=True).choices == 750


def until_reset(campaign: Campaign) -> tuple[list[Any], Any]:
    """Play small until it is learned anew, with two decisions open; return all and the open."""
    play, told = world(2, price=4.0), []
    campaign.run(world(), most=400)
    waiting = campaign.ask(2)
    while not changed(campaign):
        decision = campaign.ask(among=["small"])
        cost, reward = play("small")
        told.append(campaign.tell(decision, cost=cost, reward=reward))
    return told, waiting


def test_what_waits_for_its_outcome_outlives_a_reset() -> None:
    campaign = made(on_change="reset")
    _, waiting = until_reset(campaign)
    learner = live_state(campaign).learner
    assert sum(learner.open) == 2
    assert learner.game["plays"][0] == learner.seen["n"].sum()
    mine = sum(one.arm == "small" for one in waiting)
    assert (small(campaign).plays, small(campaign).open) == (0, mine)
    for one in waiting:
        campaign.tell(one, cost="0.2", reward=1.0)
    assert (small(campaign).plays, campaign.open) == (mine, 0)
    assert learner.game["plays"][0] == learner.seen["n"].sum()
    campaign.verify(choices=True)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("omega-star-ucb:rho=0.25", "; every arm is tried once."),
        ("sf-omega-ucb", ", and at its likely cost it may pay more than the others."),
    ],
)
def test_the_first_choice_after_a_reset_says_why(policy: str, reason: str) -> None:
    campaign = made(on_change="reset", policy=policy)
    _, waiting = until_reset(campaign)
    for one in waiting:
        campaign.void(one)
    decision = campaign.ask()
    told = campaign.explain(decision)
    assert (decision.arm, told.how, told.verified) == ("small", "first", True)
    assert told.sentences[0] == (
        f"small was chosen because it is learned from scratch since its mean cost changed{reason}"
    )


@pytest.mark.parametrize("policy", ["omega-star-ucb:rho=0.25", "bts"])
def test_a_correction_of_what_was_forgotten_moves_money_and_nothing_else(policy: str) -> None:
    campaign = made(on_change="reset", policy=policy)
    told, _ = until_reset(campaign)
    campaign.tell(campaign.ask(among=["small"]), cost="0.4", reward=1.0)
    before, spent = live_state(campaign).learner.arms.copy(), campaign.spent
    for _ in range(2):  # the second is of a decision that was corrected before
        for one in told[:3]:
            campaign.correct(one, cost="0.9", reward=0.0, reason="a test")
    assert live_state(campaign).learner.arms.tobytes() == before.tobytes()
    assert campaign.spent > spent
    later = campaign.tell(campaign.ask(among=["small"]), cost="0.4", reward=1.0)
    campaign.correct(later, reward=0.0)
    assert small(campaign).plays == 2  # what was learned since can be corrected
    assert small(campaign).reward.value == pytest.approx(0.5)
    campaign.verify(choices=True)
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


def test_holds_that_are_a_quantile_are_the_most_again_after_a_reset() -> None:
    campaign = made(on_change="reset", hold="quantile:0.9", overruns=0)
    campaign.run(world(), most=300)
    assert small(campaign).hold < 1
    until_reset(campaign)
    assert small(campaign).hold == 1


def test_no_test_runs_if_changes_are_ignored() -> None:
    campaign = after_a_price_rise(on_change="ignore")
    assert (changed(campaign), campaign.alarms, small(campaign).changed) == ([], [], ())


def test_a_restart_between_snapshots_raises_the_same_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(committer, "SNAPSHOT_EVERY", 50)
    store = MemoryStore()
    campaign = made(storage=store)
    campaign.run(world(), most=600)
    play = world(2, price=2.5)
    for _ in range(150):
        campaign = Campaign("c", storage=store)  # from the newest snapshot, and what came since
        campaign.run(play, most=1)
    assert changed(campaign) == changed(after_a_price_rise())
    assert campaign.verify().snapshot is not None
    state = live_state(campaign)
    assert (
        encode_snapshot(decode_snapshot(encode_snapshot(state)))
        == encode_snapshot(state)
        == encode_snapshot(folded(campaign))
    )


def test_a_price_is_watched_although_rewards_take_days() -> None:
    campaign = made()
    for cost in ["0.10"] * 200 + ["0.30"] * 60:
        campaign.tell(campaign.ask(among=["small"]), cost=cost)
    (found,) = changed(campaign)
    assert found["what"] == "cost"
    assert found["after"] == pytest.approx(0.3, rel=0.2)
    assert small(campaign).plays == 0


def test_outcomes_in_another_order_are_no_change() -> None:
    chance, play = random.Random(4), world(5)
    campaign = made(reward_ttl=1e9)
    late: list[tuple[Any, float]] = []
    for _ in range(2000):
        decision = campaign.ask(among=["small"])
        cost, reward = play("small")
        campaign.tell(decision, cost=cost)
        late.append((decision, reward))
        while late and chance.random() < 0.6:
            decision, reward = late.pop(chance.randrange(len(late)))
            campaign.tell(decision, reward=reward)
    while late:
        decision, reward = late.pop()  # the newest first
        campaign.tell(decision, reward=reward)
    assert changed(campaign) == []


def test_failures_that_are_told_by_silence_are_no_change() -> None:
    clock, chance = HandClock(), random.Random(6)
    campaign = made(clock=clock, default_reward=0.0, reward_ttl=3600.0)
    for _ in range(1500):
        clock.go(10)
        decision = campaign.ask(among=["small"])
        sold = chance.random() < 0.2
        campaign.tell(decision, cost="0.1", reward=1.0 if sold else None)
    assert small(campaign).plays > 1000
    assert changed(campaign) == []  # although the first hour told of sales only


def test_the_same_news_twice_and_corrections_are_no_news() -> None:
    campaign = made()
    for n in range(100):
        decision = campaign.ask(id=f"d{n}", among=["small"])
        campaign.tell(decision, cost="0.1", reward=0.5)
    before = live_state(campaign).learner.watch.tobytes()
    for n in range(100):
        campaign.tell(f"d{n}", cost="0.1", reward=0.5)
        campaign.correct(f"d{n}", cost="0.9", reward=0.0)
    assert live_state(campaign).learner.watch.tobytes() == before
    assert changed(campaign) == []


def test_a_dearer_arm_beside_it_is_no_change_of_an_arm() -> None:
    campaign, play = made(), world(8)
    campaign.run(play, most=300)
    campaign.add_arm("huge", "400.00")  # costs are scaled anew
    for _ in range(300):
        cost, reward = play("small")
        campaign.tell(campaign.ask(among=["small"]), cost=cost, reward=reward)
    assert changed(campaign) == []
    play = world(9, price=2.5)
    for _ in range(100):
        cost, reward = play("small")
        campaign.tell(campaign.ask(among=["small"]), cost=cost, reward=reward)
    assert [one["what"] for one in changed(campaign)] == ["cost"]


def test_both_can_change_at_once_and_in_one_commit() -> None:
    campaign = made(on_change="reset")
    outcomes = [("0.1", 1.0)] * 400 + [("0.9", 0.0)] * 40
    decisions = [campaign.ask(among=["small"]) for _ in outcomes]
    campaign.tell_many(
        [
            {"decision": one.id, "cost": cost, "reward": reward}
            for one, (cost, reward) in zip(decisions, outcomes, strict=True)
        ]
    )
    assert {one["what"] for one in changed(campaign)} == {"cost", "reward"}
    assert {one.what for one in small(campaign).changed} == {"cost", "reward"}
    campaign.verify(choices=True)


def test_a_campaign_made_before_there_was_the_rule_is_watched() -> None:
    body = Config("bts").to_body()
    del body["on_change"]
    assert Config.from_body(body).on_change == "flag"


def test_the_rule_is_one_of_three() -> None:
    with pytest.raises(InvalidInput) as error:
        made(on_change="panic")
    assert str(error.value) == "on_change must be 'flag', 'reset' or 'ignore', got 'panic'"


def test_a_reward_that_was_made_up_is_no_news_when_the_cost_comes_after_it() -> None:
    clock = HandClock()
    campaign = made(clock=clock, default_reward=0.0, reward_ttl=60.0)
    decision = campaign.ask(among=["small"])
    clock.go(100)
    campaign.expire()
    watch = live_state(campaign).learner.watch
    campaign.tell(decision, cost="0.1")
    assert small(campaign).plays == 1
    assert watch[0, :4].tolist() == [1.0, 0.0, 0.0, 0.0]  # a cost of small, and nothing else


def test_the_pages_show_an_arm_that_changed() -> None:
    campaign = after_a_price_rise(on_change="reset")
    summary = summarize(campaign)
    changed = {arm.key: arm.changed for arm in summary.arms}
    assert changed["large"] == ()
    assert (changed["small"][0].what, changed["small"][0].reset) == ("cost", True)
    assert ("bad", "alarms") in summary.alerts
    assert any(alarm.startswith("small changed") for alarm in summary.alarms)
    event = next(event for event in campaign.events() if event.kind == "changed")
    assert EventDescriber.find_group(event.kind) == "trouble"
    text = EventDescriber(campaign.coin, [arm.key for arm in summary.arms]).describe(event)
    assert text.startswith("The mean cost of small changed from 0.")


def test_the_service_and_its_client_show_an_arm_that_changed(live: Live) -> None:  # noqa: F811
    with Client(live.url, key=live.token) as client:
        campaign = client.create("alarm", "900", ARMS, on_change="reset")
        decisions = campaign.ask(260, among=["small"])
        prices = ["0.1"] * 200 + ["0.9"] * 60
        campaign.tell_many(
            [
                {"decision": one.id, "cost": cost, "reward": 0.5}
                for one, cost in zip(decisions, prices, strict=True)
            ]
        )
        (one,) = small(campaign).changed
        assert (one.what, one.reset) == ("cost", True)
        assert isinstance(one, ArmChange)
        assert any(text.startswith("small changed at") for text in campaign.alarms)
