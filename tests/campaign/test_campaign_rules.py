"""Rules of campaigns that a model of whole lives does not reach, or reaches too seldom."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hand_clock import DAY, HandClock, folded, live_state

from bursar.campaign import Campaign
from bursar.campaign.events import ASKED, BUDGET_SET
from bursar.campaign.state import VERSION, decode_snapshot, encode_snapshot
from bursar.errors import (
    BudgetExhausted,
    BursarError,
    CampaignExists,
    InvalidInput,
    NotActive,
    OutcomeConflict,
    TooManyOpen,
    UnknownCampaign,
)
from bursar.ledger import Event, MemoryStore


def made(budget: str = "100", arms: dict[str, str] | None = None, **rules: Any) -> Campaign:
    rules = {"exponent": 2, "clock": HandClock()} | rules
    return Campaign("c", budget, {"x": "1"} if arms is None else arms, **rules)


def played(campaign: Campaign, costs: list[int]) -> list[str]:
    ids = []
    for cost in costs:
        decision = campaign.ask()
        campaign.tell(decision, cost=Decimal(cost) / 100, reward=0.5)
        ids.append(decision.id)
    return ids


# holds by a quantile


def test_a_quantile_hold_is_the_maximum_until_enough_is_known() -> None:
    campaign = made(hold="quantile:0.9")
    played(campaign, [*range(1, 30)])
    assert campaign.ask().hold == Decimal(1)
    played(campaign, [30])
    assert campaign.ask().hold == Decimal("0.27")  # of 1 to 30 the 27th


def test_a_quantile_hold_never_exceeds_the_maximum_and_is_never_free() -> None:
    campaign = made("1000", hold="quantile:0.5", overruns=0)
    played(campaign, [0] * 30)
    assert campaign.ask().hold == Decimal("0.01")
    played(campaign, [300] * 60)
    assert campaign.ask().hold == Decimal(1)


def test_a_corrected_cost_replaces_the_wrong_one_in_the_quantile() -> None:
    campaign = made(hold="quantile:0.5")
    ids = played(campaign, [90] * 16 + [10] * 15)
    assert campaign.ask().hold == Decimal("0.90")
    for id in ids[:2]:
        campaign.correct(id, cost="0.10")
    assert campaign.ask().hold == Decimal("0.10")
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


def test_states_agree_with_what_asks_do_under_quantile_holds_and_caps() -> None:
    campaign = made("100", hold="quantile:0.5")
    played(campaign, [10] * 30)
    campaign.set_budget(campaign.spent + Decimal("0.50"))
    assert campaign.state == "active"  # the maximum does not fit, the quantile does
    assert campaign.ask().hold == Decimal("0.10")
    capped = made("100", caps={"arm:x": "1"})
    capped.ask()
    assert capped.state == "exhausted"
    with pytest.raises(BudgetExhausted):
        capped.ask()


# outcomes


def test_a_late_cost_is_shown_in_the_answer() -> None:
    campaign = made()
    decision = campaign.ask()
    campaign.void(decision)
    told = campaign.tell(decision, cost="0.40", reward=0.5)
    assert (told.money, told.cost, told.reward) == ("settled", Decimal("0.40"), 0.5)


def test_late_costs_above_their_hold_pause_an_arm_too() -> None:
    campaign = made(overruns=1, arms={"x": "1", "y": "1"})
    decision = campaign.ask(among=["x"])
    campaign.void(decision)
    campaign.tell(decision, cost="2")
    with pytest.raises(BudgetExhausted, match="no active arm"):
        campaign.ask(among=["x"])


def test_a_reward_does_not_pause_an_arm_that_was_resumed() -> None:
    campaign = made(overruns=1)
    decision = campaign.ask()
    campaign.tell(decision, cost="2")
    campaign.resume_arm("x")
    campaign.tell(decision, reward=0.5)
    assert campaign.ask().arm == "x"


def test_a_report_that_replaced_a_made_up_reward_is_remembered() -> None:
    campaign = made(reward_ttl=60, hold_ttl=DAY, default_reward=0.0)
    decision = campaign.ask()
    campaign.clock.go(61)
    campaign.tell(decision, reward=0.5, report="r")
    assert campaign.tell(decision, reward=0.5, report="r").replayed
    with pytest.raises(OutcomeConflict):
        campaign.tell(decision, cost="0.10", reward=0.5, report="r")


def test_a_real_reward_replaces_a_default_that_was_due_but_not_yet_booked() -> None:
    campaign = made(reward_ttl=60, default_reward=0.0)
    decision = campaign.ask()
    campaign.clock.set(3600)  # wrongly, so that nothing is booked by itself
    told = campaign.tell(decision, cost="0.50", reward=1.0)
    assert told.reward_state == "observed"
    assert live_state(campaign).learner.arms["reward"].sum() == 1.0


def test_a_corrected_reward_is_forgotten_as_it_was_learned() -> None:
    """BTS learns a reward of a half by tossing a coin: the same toss must be taken back."""
    campaign = made(policy="bts", arms={"x": "1", "y": "1"})
    ids = played(campaign, [50] * 40)
    assert 5 < live_state(campaign).learner.arms["own_reward"].sum() < 35
    for id in ids:
        campaign.correct(id, reward=0.0)
    learned = live_state(campaign).learner.arms
    assert learned["n"].sum() == 40
    assert list(learned["own_reward"]) == list(learned["reward"]) == [0, 0]


def test_asks_that_wait_for_room_are_not_lost() -> None:
    campaign = made(max_open=3)
    assert len(campaign.ask(5)) == 3
    with pytest.raises(TooManyOpen):
        campaign.ask(5)


def test_an_outcome_that_is_refused_does_not_keep_others_from_being_booked() -> None:
    campaign = made()
    first, second = campaign.ask(2)
    answers = campaign.tell_many(
        [
            {"decision": first, "cost": "0.10"},
            {"decision": "never", "cost": "0.10"},
            {"decision": second, "cost": "0.20"},
        ]
    )
    assert [isinstance(one, BursarError) for one in answers] == [False, True, False]
    assert campaign.spent == Decimal("0.30")


def test_cutting_the_budget_after_a_grant_in_the_same_commit_is_no_corruption(
    tmp_path: Any,
) -> None:
    campaign = made("10", storage=f"sqlite:///{tmp_path}/spend.db")

    def both(transaction: Any) -> None:
        body = {
            "arm": 0, "hold": 100, "p": 1.0, "print": "*", "constrained": False,
            "expires": transaction.now + 10**9, "due": transaction.now + 10**9,
        }  # fmt: skip
        transaction.append_event(ASKED, body, "mine")
        transaction.append_event(BUDGET_SET, {"budget": 0, "before": 1000, "by": ""})

    campaign.execute(both)
    assert campaign.available == -1


# words


@pytest.mark.parametrize("text", ["\ud800", 7, None, "x" * 2000])
def test_words_that_no_log_can_keep_are_refused(text: Any) -> None:
    campaign = made(arms={"x": "1", "y": "1"})
    decision = campaign.ask()
    before = encode_snapshot(live_state(campaign))
    steps = [
        lambda: campaign.void(decision, reason=text),
        lambda: campaign.correct(decision, cost="0.10", reason=text),
        lambda: campaign.set_budget("5", by=text),
        lambda: campaign.set_cap("day", "5", by=text),
        lambda: campaign.add_arm("z", "1", by=text),
        lambda: campaign.add_arm(text, "1"),
        lambda: campaign.pause_arm("x", reason=text),
        lambda: campaign.pause(by=text),
        lambda: campaign.ask(among=[text]),
    ]
    for step in steps:
        with pytest.raises(InvalidInput):
            step()
    if text is not None:
        with pytest.raises(InvalidInput):
            campaign.tell(decision, cost="0.10", report=text)
        with pytest.raises(InvalidInput):
            campaign.ask(id=text)
    assert encode_snapshot(live_state(campaign)) == before
    assert len(list(campaign.events())) == 2


# opening and closing


def test_what_was_closed_stays_closed_after_a_restore() -> None:
    store = MemoryStore()
    campaign = made(storage=store)
    campaign.end()
    with store.open_writer("c") as log:
        restored_ = Event(3, log.head.ts + 1, "restored", "", {"epoch": 2})
        log.append([restored_], live_state(campaign).summary(granted=False))
    assert campaign.state == "closed"
    for step in (campaign.resume, campaign.pause, lambda: campaign.reconcile("0")):
        with pytest.raises(NotActive):
            step()


def test_a_closed_campaign_books_outcomes_and_grants_nothing() -> None:
    campaign = made()
    decision = campaign.ask()
    campaign.end()
    campaign.end()  # twice is once
    with pytest.raises(NotActive, match="is closed"):
        campaign.ask()
    campaign.tell(decision, cost="0.50")
    assert (campaign.state, campaign.spent) == ("closed", Decimal("0.50"))


def test_opening_again_with_the_same_words_is_the_same_campaign() -> None:
    store = MemoryStore()
    campaign = made(storage=store, caps={"day": "5"})
    campaign.ask()
    campaign.add_arm("y", "2")
    assert made(storage=store, caps={"day": "5"}).held == 1
    with pytest.raises(CampaignExists, match="with a different budget and caps"):
        made("7", storage=store)
    with pytest.raises(UnknownCampaign, match="'d'"):
        Campaign("d", storage=store)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="budget must be above 0"):
        made("0")


def test_a_snapshot_of_another_version_is_not_used() -> None:
    campaign = made()
    content = encode_snapshot(live_state(campaign))
    other = content.replace(b"\xa1v" + bytes([VERSION]), b"\xa1v\x63")
    assert other != content
    assert decode_snapshot(other) is None


# a policy that knows the budget


def spent_by(campaign: Campaign, plays: int) -> list[str]:
    """Ask and tell at most this often; each outcome depends on the arm and the transaction."""
    chosen = []
    for _ in range(plays):
        try:
            decision = campaign.ask()
        except BudgetExhausted:
            break
        turn = (7 * decision.seq) % 10
        cost = Decimal(turn) / (20 if decision.arm == "stable" else 10)
        reward = {"stable": 0.5, "good": float(turn < 6), "bad": float(turn < 1)}[decision.arm]
        campaign.tell(decision, cost=cost, reward=reward)
        chosen.append(decision.arm)
    return chosen


GITTINS: dict[str, Any] = {"policy": "pooled-gittins", "seed": 3}
THREE = {"good": "1", "bad": "1", "stable": "0.5"}


def test_pooled_gittins_spends_a_campaign_to_its_end_and_says_why() -> None:
    campaign = made("40", THREE, **GITTINS)
    chosen = spent_by(campaign, 1000)
    assert len(chosen) < 1000
    assert campaign.spent <= 40
    assert campaign.state == "exhausted"
    assert min(chosen.count(arm) for arm in THREE) > 0
    assert chosen.count("bad") < len(chosen) / 4
    campaign = made("40", THREE, **GITTINS)
    spent_by(campaign, 30)
    decision = campaign.ask()
    why = campaign.explain(decision)
    indices = {one.arm.key: one.index for one in why.options}
    assert why.verified
    assert why.how == "index"
    assert indices[decision.arm] == max(indices.values())


def test_pooled_gittins_goes_on_the_same_way_after_a_restart(tmp_path: Any) -> None:
    whole = spent_by(made("40", THREE, **GITTINS), 60)
    place = f"sqlite:///{tmp_path}/campaign.db"
    first = spent_by(made("40", THREE, storage=place, **GITTINS), 25)
    reopened = Campaign("c", storage=place, clock=HandClock())
    assert first + spent_by(reopened, 35) == whole
