"""What a campaign shows: its arms, why it decided so, what is to come, whether it adds up."""

from __future__ import annotations

import json
import math
import random
from dataclasses import FrozenInstanceError, astuple
from decimal import Decimal

import numpy as np
import pytest
from extent import extent
from hand_clock import HandClock, live_state
from msgspec.structs import replace

import bursar
from bursar.campaign import Campaign, Estimate, audit, explanation
from bursar.campaign.learner import CampaignLearner
from bursar.campaign.state import encode_snapshot
from bursar.client.decode import decode_explanation
from bursar.errors import BudgetExhausted, CorruptLedger, InvalidInput, UnknownDecision
from bursar.ledger import MemoryStore

OLD = "omega-star-ucb:rho=0.25"  # the default of campaigns before 2.0
Z = bursar.theory.z_from_alpha(0.05)
START = 1_767_225_600  # 2026-01-01


def make_clock() -> HandClock:
    return HandClock(START)


def view(campaign: Campaign, key: str):
    return next(one for one in campaign.arms() if one.key == key)


def played(outcomes, **options):
    """Play given outcomes, arm by arm: {key: [(cost, reward), …]}."""
    campaign = Campaign("c", **options)
    for key, rows in outcomes.items():
        for cost, reward in rows:
            campaign.tell(campaign.ask(among=[key]), cost=cost, reward=reward)
    return campaign


# arms


def test_an_arm_is_shown_in_the_users_own_units() -> None:
    rows = [("0.10", -1.5), ("0.35", 4.0), ("0.05", 2.0), ("0.50", -2.0)]
    campaign = played(
        {"ad": rows},
        budget="20.00", arms={"ad": "0.50", "tv": "2.00"}, reward_range=(-2, 5), exponent=2,
        policy="omega-ucb:rho=0.25",
    )  # fmt: skip
    ad = view(campaign, "ad")
    low, high = bursar.interval(0.625, 4, Z, low=-2, high=5)
    assert astuple(ad.reward) == pytest.approx((0.625, low, high))
    below, above = bursar.interval(0.25, 4, Z, low=0, high=0.5)
    assert astuple(ad.cost) == pytest.approx((0.25, below, above))
    bound = bursar.ratio_bound(0.625, 0.25, 4, reward_range=(-2, 5), cost_range=(0, 0.5))
    assert astuple(ad.ratio) == pytest.approx((2.5, low / below, bound))
    assert low < 0 < high
    assert (ad.plays, ad.asks, ad.open, ad.spent, ad.held) == (4, 4, 0, Decimal("1.00"), 0)
    assert ad.max_cost == ad.hold == Decimal("0.50")
    assert ad.share_of_asks == ad.share_of_spend == 1.0


def test_omega_star_trusts_the_variance_after_30_plays() -> None:
    random_ = random.Random(1)
    rows = [(f"{random_.uniform(0.2, 0.3):.4f}", random_.uniform(0.4, 0.6)) for _ in range(30)]
    options = {"budget": "50", "arms": {"a": "1"}, "policy": "omega-star-ucb:rho=0.25"}
    few = view(played({"a": rows[:29]}, **options), "a")
    many = view(played({"a": rows}, **options), "a")
    rewards, costs = np.array([r for _, r in rows]), np.array([float(c) for c, _ in rows])
    eta = bursar.eta(rewards.mean(), rewards.var(), 30)
    assert astuple(many.reward) == pytest.approx(
        (rewards.mean(), *bursar.interval(rewards.mean(), 30, Z, eta))
    )
    bound = bursar.ratio_bound(
        rewards.mean(),
        costs.mean(),
        30,
        eta_reward=eta,
        eta_cost=bursar.eta(costs.mean(), costs.var(), 30),
    )
    assert many.ratio.high == pytest.approx(bound)
    assert many.reward.high - many.reward.low < 0.4 * (few.reward.high - few.reward.low)


def test_an_arm_that_loses_has_a_ratio_below_0_at_both_ends() -> None:
    campaign = played(
        {"bad": [("1", -2.0)] * 200}, budget="500", arms={"bad": "2"}, reward_range=(-2, 5),
        policy="omega-ucb:rho=0.25",
    )  # fmt: skip
    ratio = view(campaign, "bad").ratio
    assert ratio.low < ratio.value < ratio.high < 0
    assert ratio.value == pytest.approx(-2.0)


def test_nothing_is_shown_of_an_arm_of_which_nothing_is_known() -> None:
    campaign = Campaign("c", budget="5", arms={"a": "1"})
    a = view(campaign, "a")
    assert (a.reward, a.cost, a.ratio, a.last, a.cap, a.overrun_probability) == (None,) * 6
    assert (a.share_of_asks, a.share_of_spend) == (None, None)
    decision = campaign.ask()
    a = view(campaign, "a")
    assert (a.asks, a.open, a.plays, a.held) == (1, 1, 0, Decimal(1))
    campaign.tell(decision, cost="1")  # the reward comes later
    assert (view(campaign, "a").open, view(campaign, "a").plays) == (1, 0)


def test_an_arm_view_is_frozen_and_plain_data() -> None:
    clock = make_clock()
    campaign = Campaign("c", budget="5", arms={"a": "1"}, caps={"arm:a": "3"}, clock=clock)
    campaign.tell(campaign.ask(), cost="0", reward=0.5)
    a = view(campaign, "a")
    with pytest.raises(FrozenInstanceError):
        a.asks = 7
    data = json.loads(json.dumps(a.as_dict(), allow_nan=False))
    assert data["cap"] == "3.000000"
    assert data["last"] == "2026-01-01T00:00:00.000001+00:00"
    assert a.ratio.high == math.inf  # it may cost nothing
    assert data["ratio"]["high"] is None


def test_the_chance_of_an_overrun_of_a_quantile_hold() -> None:
    campaign = played(
        {"a": [(f"0.{n:02}", 0.5) for n in range(10, 50)]}, budget="90",
        arms={"a": "1", "b": "1"}, hold="quantile:0.9", overruns=0,
    )  # fmt: skip
    a, b = campaign.arms()
    assert a.hold == Decimal("0.45")  # the 36th of 40
    assert a.overrun_probability == pytest.approx(5 / 41)
    assert (b.hold, b.overrun_probability) == (1, 0.0)


def test_a_cost_above_the_most_widens_the_range_of_costs() -> None:
    campaign = played({"a": [("3", 0.5)] * 2}, budget="90", arms={"a": "1", "b": "9"})
    a = view(campaign, "a")
    assert a.overruns == 2
    assert astuple(a.cost) == pytest.approx((3.0, *bursar.interval(3.0, 2, Z, low=0, high=3)))


def test_paused_and_retired_arms_are_shown_too() -> None:
    campaign = Campaign("c", budget="5", arms={"a": "1", "b": "1", "d": "1"})
    campaign.pause_arm("a")
    campaign.retire_arm("b")
    assert [one.state for one in campaign.arms()] == ["paused", "retired", "active"]


# explain

POLICIES = [
    "sf-omega-ucb", "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "bts", "uniform", "m-ucb",
    "c-ucb", "ucb-bv2", "b-greedy", "kube", "kl-ucb-sc-plus", "ucb-b2", "pooled-gittins",
]  # fmt: skip


def busy(policy: str, decisions: int = 300, **options):
    """Play a campaign in which everything happens, and return it with its decisions."""
    rules = {"explore": 0.1, "seed": 5, "caps": {"arm:mid": "9", "day": "40"}} | options
    clock = make_clock()
    campaign = Campaign(
        "busy", budget="75", arms={"dear": "2", "mid": "1", "low": "0.5"}, policy=policy,
        clock=clock, **rules,
    )  # fmt: skip
    random_ = random.Random(9)
    waiting, done = [], []
    for turn in range(decisions):
        clock.go(600)
        if turn == 60:
            campaign.pause_arm("mid")
        if turn == 90:
            campaign.resume_arm("mid")
        if turn == 120:
            campaign.add_arm("new", "3")
        if turn == 200:
            campaign.set_budget("60")
        try:
            among = [None, ["low", "dear"], None, None][turn % 4]
            decision = campaign.ask(among=among)
        except BudgetExhausted:
            break
        done.append(decision)
        waiting.append(decision)
        if turn % 17 == 0:
            campaign.void(waiting.pop())
        while len(waiting) > 4:  # outcomes come late, and not in order
            late = waiting.pop(random_.randrange(len(waiting)))
            cost = random_.random() * float(late.hold) * 0.4
            campaign.tell(late, cost=f"{cost:.4f}", reward=random_.random())
    return campaign, done


@pytest.mark.parametrize("policy", POLICIES)
def test_every_decision_is_explained_and_found_again(policy: str) -> None:
    campaign, decisions = busy(policy, 300 if policy in POLICIES[: extent(1, 4)] else 120)
    assert len(decisions) > 100
    ways, statuses = set(), set()
    for decision in decisions:
        why = campaign.explain(decision)
        assert why.verified, why
        assert (why.arm, why.seq, why.hold) == (decision.arm, decision.seq, decision.hold)
        untried = why.how == "index" and any(one.waits for one in why.options)
        assert len(why.sentences) == 2 or (untried and len(why.sentences) == 3)
        assert why.option(why.arm).status == "chosen"
        left_out = [one for one in why.options if one.status == "unaffordable"]
        assert bool(left_out) == why.constrained == decision.constrained
        ways.add(why.how)
        statuses |= {one.status for one in why.options}
        json.dumps(why.as_dict(), allow_nan=False)
        if why.how == "index":
            able = [one.index for one in why.options if one.status in ("chosen", "open")]
            assert why.option(why.arm).index == max(able)
    assert "explored" in ways
    assert ways & {"index", "drawn"}
    assert {"chosen", "open", "excluded", "paused"} <= statuses


def test_constrained_decisions_name_what_did_not_fit() -> None:
    campaign = Campaign(
        "c", budget="10", arms={"big": "4", "small": "1", "tiny": "0.5"}, caps={"arm:tiny": "0.6"}
    )
    held = [campaign.ask(among=["big"]) for _ in range(2)]
    campaign.ask(among=["tiny"])
    why = campaign.explain(campaign.ask(id="d"))
    assert why.how == "only"
    assert why.constrained
    assert why.option("big").why == "needs 4.00 and 1.50 was left"
    assert why.option("tiny").why == "needs 0.50 and 0.10 was left of its cap"
    assert str(why) == (
        "small was the only arm that could be chosen."
        " big needs 4.00 and 1.50 was left; tiny needs 0.50 and 0.10 was left of its cap."
    )
    assert len(held) == 2


def test_many_arms_that_could_not_be_chosen_are_counted() -> None:
    campaign = Campaign("c", budget="3", arms={"a": "1", "b": "4", "c": "5", "d": "1", "e": "1"})
    campaign.pause_arm("d")
    campaign.retire_arm("e")
    assert str(campaign.explain(campaign.ask())) == (
        "a was the only arm that could be chosen."
        " Of the others, 2 were unaffordable, 1 was paused and 1 was retired."
    )


def test_every_sentence_finds_its_values() -> None:
    campaign = played({"a": [("0.5", 0.9)]}, budget="50", arms={"a": "1", "b": "1"})
    with pytest.MonkeyPatch.context() as patch:
        seen: dict[str, object] = {}

        def describe(case: object) -> dict[str, object]:
            seen.update(original(case))
            return seen

        original = explanation._describe
        patch.setattr(explanation, "_describe", describe)
        campaign.explain(campaign.ask())
    for sentence in explanation.load_sentences().values():
        assert sentence.format(**seen).endswith(".")


def test_the_index_is_the_reward_bound_over_the_cost_bound_in_the_users_units() -> None:
    random_ = random.Random(2)
    rows = {
        key: [
            (f"{random_.uniform(0, 0.9) * top:.2f}", random_.choice([-2.0, 0.5, 5.0]))
            for _ in range(count)
        ]
        for key, top, count in (("a", 0.5, 40), ("b", 2.0, 12))
    }
    campaign = played(
        rows, budget="500", arms={"a": "0.50", "b": "2.00"}, reward_range=(-2, 5), exponent=2,
        policy="omega-star-ucb:rho=0.5",
    )  # fmt: skip
    why = campaign.explain(campaign.ask())
    z = math.sqrt(2 * 0.5 * math.log(53))
    most = max(float(cost) for pairs in rows.values() for cost, _ in pairs)  # the unit of costs
    for key, n in (("a", 40), ("b", 12)):
        rewards = np.array([reward for _, reward in rows[key]])
        costs = np.array([float(cost) for cost, _ in rows[key]])
        one = why.option(key)
        eta = bursar.eta(rewards.mean(), rewards.var(), n, -2, 5)
        high = bursar.interval(rewards.mean(), n, z, eta, -2, 5)[1]
        eta = bursar.eta(costs.mean(), costs.var(), n, 0, most)
        low = bursar.interval(costs.mean(), n, z, eta, 0, most)[0]
        assert one.reward_bound == pytest.approx(high)
        assert one.cost_bound == pytest.approx(low)
        assert one.index == pytest.approx(high / low)
        assert one.arm.reward.value == pytest.approx(rewards.mean())
        assert one.tried == n


@pytest.mark.parametrize("policy", ["omega-ucb:rho=0.25", "m-ucb", "c-ucb", "fractional-kube"])
def test_bounds_of_reward_and_cost_give_the_index(policy: str) -> None:
    campaign = played(
        {"a": [("0.4", 3.0)] * 9, "b": [("0.9", 4.0), ("1.5", 2.0)] * 15}, budget="500",
        arms={"a": "1", "b": "2"}, reward_range=(0, 5), policy=policy,
    )  # fmt: skip
    for one in campaign.explain(campaign.ask()).options:
        assert one.index == pytest.approx(one.reward_bound / one.cost_bound)


def test_open_decisions_count_in_an_explanation() -> None:
    campaign = played(
        {"a": [("0.5", 0.9)] * 5, "b": [("0.5", 0.2)] * 5}, budget="500", arms={"a": "1", "b": "1"}
    )
    asked = campaign.ask(3)
    assert [one.arm for one in asked] == ["a"] * 3
    why = campaign.explain(asked[2])
    assert (why.option("a").tried, why.option("a").arm.plays, why.option("a").arm.open) == (7, 5, 2)


def test_sentences_about_an_arm_that_was_tried_less() -> None:
    campaign = played(
        {"small": [("0.5", 1.0), ("0.5", 0)] * 100, "large": [("1", 1.0), ("1", 0.8), ("1", 0.4)]},
        budget="500", arms={"small": "1", "large": "2"}, policy="omega-ucb:rho=0.25",
    )  # fmt: skip
    assert str(campaign.explain(campaign.ask())) == (
        "large was chosen because it may earn up to 1.78 per unit spent, small at most 1.26."
        " small looks better on average (1 against 0.733) but was tried 200 times, large"
        " only 3 times."
    )


def test_sentences_about_the_best_arm() -> None:
    campaign = played(
        {"a": [("0.5", 0.9)] * 8, "b": [("0.5", 0.2)] * 8}, budget="500", arms={"a": "1", "b": "1"},
        policy=OLD,
    )  # fmt: skip
    assert str(campaign.explain(campaign.ask())) == (
        "a was chosen because it may earn up to 2.29 per unit spent, b at most 0.957."
        " It also looks better on average (1.8 against 0.4); a was tried 8 times, b 8 times."
    )


def test_sentences_about_a_first_try_and_a_draw() -> None:
    campaign = Campaign("c", budget="50", arms={"a": "1", "b": "1"}, policy=OLD)
    campaign.ask()
    assert str(campaign.explain(campaign.ask())) == (
        "b was chosen because it was never tried; every arm is tried once."
        " 1 of 2 arms were tried before."
    )
    campaign = played(
        {"a": [("0.5", 0.9)]}, budget="50", arms={"a": "1", "b": "1"}, policy="uniform"
    )
    said = {str(campaign.explain(one)) for one in campaign.ask(20)}
    assert said == {
        "a was drawn at random: uniform gives 2 arms the same chance."
        " It looks best on average, with 1.8 per unit spent.",
        "b was drawn at random: uniform gives 2 arms the same chance."
        " Nothing is known about b yet.",
    }


def test_sentences_about_arms_that_wait() -> None:
    """The default tries the cheapest arm first, and a dear one only if it may pay."""
    arms = {"mid": "1", "small": "0.1", "large": "20", "huge": "21"}
    campaign = Campaign("c", budget="50", arms=arms)
    assert campaign.config.policy == "sf-omega-ucb"

    def play() -> str:
        why = campaign.explain(decision := campaign.ask())
        assert why.verified
        campaign.tell(decision, cost="0.5" if decision.arm == "mid" else "0.02", reward=0.8)
        assert {one.key for one in why.options if one.waits} == {
            one.key for one in why.options if one.index == -math.inf
        }
        assert decode_explanation(json.loads(json.dumps(why.as_dict(), allow_nan=False))) == why
        assert "−∞" not in why._repr_html_()
        return str(why)

    assert play() == (
        "small was chosen because no arm was tried yet, and none is likely to cost less."
        " 0 of 4 arms were tried before."
    )
    said = [play() for _ in range(3)]
    assert said[0].startswith("small was chosen because it may earn up to ")
    assert said[0].endswith(
        " per unit spent. mid, large and huge were not tried: at their likely costs, even the"
        " largest reward would not pay as much."
    )
    while not (first := play()).startswith("mid"):
        assert first.startswith("small")
    assert first == (
        "mid was chosen because it was never tried, and at its likely cost it may pay more than"
        " any arm that was. 1 of 4 arms were tried before."
    )
    campaign.retire_arm("huge")
    assert play().endswith(
        " large was not tried: at its likely cost, even the largest reward would not pay as much."
    )


def test_sentences_about_free_arms() -> None:
    campaign = played(
        {"a": [("0", 0.9)] * 8, "b": [("0.5", 0.2)] * 8}, budget="500", arms={"a": "1", "b": "1"},
        policy=OLD,
    )  # fmt: skip
    assert str(campaign.explain(campaign.ask())) == (
        "a was chosen because nothing limits yet what it may earn per unit spent; b may earn at"
        " most 0.957."
        " It also looks better on average (∞ against 0.4); a was tried 8 times, b 8 times."
    )


def test_sentences_about_a_tie() -> None:
    campaign = played(
        {"a": [("0", 0.9)] * 8, "b": [("0", 0.2)] * 7}, budget="500", arms={"a": "1", "b": "1"},
        policy=OLD,
    )  # fmt: skip
    asked = campaign.ask(12)
    assert {one.arm for one in asked} == {"a", "b"}
    chosen, other = ("a", "b") if asked[0].arm == "a" else ("b", "a")
    counts = {"a": 8, "b": 7}
    assert str(campaign.explain(asked[0])) == (
        f"{chosen} was drawn from a tie: nothing limits yet what it or {other} may earn per unit"
        f" spent. Neither has cost anything yet; {chosen} was tried {counts[chosen]} times,"
        f" {other} {counts[other]} times."
    )


def test_sentences_about_exploring() -> None:
    campaign = played(
        {"a": [("0.5", 0.9)] * 8, "b": [("0.5", 0.2)] * 8}, budget="500",
        arms={"a": "1", "b": "1"}, explore=0.25, seed=1, policy=OLD,
    )  # fmt: skip
    whys = [campaign.explain(one) for one in campaign.ask(40)]
    assert all(why.verified for why in whys)
    explored = [why for why in whys if why.how == "explored"]
    assert 4 <= len(explored) <= 16
    odd = next(why for why in explored if why.arm == "b" and why.policy_arm == "a")
    assert odd.propensity == pytest.approx(0.125)
    assert str(odd) == (
        "b was explored: 25% of decisions go to any of 2 arms at random."
        " The policy would have chosen a."
    )


def test_records_have_short_reprs_and_escape_html() -> None:
    campaign = played(
        {"<b>": [("0.5", 0.9)] * 8, "b": [("0.5", 0.2)] * 8}, budget="500", currency="EUR",
        arms={"<b>": "1", "b": "1"}, policy=OLD,
    )  # fmt: skip
    assert repr(campaign.status()) == "<Status c: active, 8.00 of 500.00 EUR spent, 0 open>"
    assert repr(view(campaign, "b")) == "<ArmView b: active, 8 plays, 0.4 per unit spent>"
    why = campaign.explain(campaign.ask(id="d1"))
    assert repr(why) == f"<Explanation of d1: {why.sentences[0]}>"
    assert why._repr_html_().startswith("<p>&lt;b&gt; was chosen because")
    assert "<td>&lt;b&gt;</td><td>chosen</td><td>8</td><td>1.8</td><td>2.29</td>" in (
        why._repr_html_()
    )


def test_a_policy_that_fails_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = played(
        {"a": [("0.5", 0.9)], "b": [("0.5", 0.2)]}, budget="50", arms={"a": "1", "b": "1"}
    )

    def fails(self: CampaignLearner, allowed: object, seq: int) -> int:
        raise ZeroDivisionError("oh")

    with monkeypatch.context() as patch:
        patch.setattr(CampaignLearner, "choose", fails)
        decision = campaign.ask()
        why = campaign.explain(decision)
        assert why.verified
    assert why.how == "fallback"
    assert str(why) == (
        f"{decision.arm} was drawn at random among 2 arms because the policy failed"
        " (ZeroDivisionError: oh). The budget was checked as usual."
    )
    later = campaign.explain(decision)  # the policy works again, so that choice cannot be repeated
    assert not later.verified
    assert str(later) == str(why)
    assert campaign.explain(campaign.ask()).how == "index"


def test_a_decision_long_gone_is_explained_the_same_way() -> None:
    campaign, decisions = busy("bts", 80)
    first = campaign.explain(decisions[3].id)
    reopened = Campaign("busy", storage=campaign.store, clock=campaign.clock)
    assert reopened.explain(decisions[3]) == first
    with pytest.raises(UnknownDecision, match="has no decision 'x'"):
        campaign.explain("x")


def test_a_snapshot_shortens_the_way_and_changes_nothing() -> None:
    campaign, decisions = busy("omega-star-ucb:rho=0.25", 100)
    before = [campaign.explain(one) for one in decisions]
    middle = decisions[50].seq
    other = Campaign("busy", storage=_cut(campaign, middle), clock=make_clock())
    content = encode_snapshot(live_state(other))
    with campaign.store.open_writer("busy") as writer:
        writer.save_snapshot(middle, content)
    assert [campaign.explain(one) for one in decisions] == before


def count_reads(campaign: Campaign, decision) -> int:
    """Return how many events of the log the explanation of a decision reads."""
    count, read = 0, campaign.store.read

    def counted(name, after=0):
        nonlocal count
        for one in read(name, after):
            count += 1
            yield one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign.store, "read", counted)
        campaign.explain(decision)
    return count


@pytest.fixture(params=["memory", "sqlite"])
def storage(request, tmp_path):
    return "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/a.db"


def long_campaign(storage: str, count: int = 150) -> tuple[Campaign, list]:
    campaign = Campaign("c", budget="100", arms={"a": "0.2", "b": "0.2"}, storage=storage)
    decisions = []
    for number in range(count):
        decisions.append(campaign.ask())
        campaign.tell(decisions[-1], cost="0.1", reward=number % 3 / 2)
    return campaign, decisions


def test_13_4_an_explanation_starts_from_the_nearest_snapshot(storage, monkeypatch) -> None:
    monkeypatch.setattr("bursar.campaign.committer.SNAPSHOT_EVERY", 20)
    campaign, decisions = long_campaign(storage)
    assert max(count_reads(campaign, one) for one in decisions) <= 22
    reread = [campaign.explain(one) for one in decisions]
    monkeypatch.setattr(audit, "_iterate_snapshots", lambda *_: iter(()))
    assert [campaign.explain(one) for one in decisions] == reread
    assert all(one.verified for one in reread)
    campaign.close()


def test_13_4_the_first_explanation_of_a_log_without_snapshots_shortens_the_next(
    storage, monkeypatch
) -> None:
    monkeypatch.setattr(audit, "_KEEP_EVERY", 20)
    campaign, decisions = long_campaign(storage)
    assert count_reads(campaign, decisions[-1]) > 290
    assert max(count_reads(campaign, one) for one in decisions) <= 22
    assert campaign.verify().snapshot is not None
    campaign.close()


def test_13_4_an_old_snapshot_that_is_not_what_the_log_says_is_found(monkeypatch) -> None:
    monkeypatch.setattr("bursar.campaign.committer.SNAPSHOT_EVERY", 20)
    campaign, _ = long_campaign("memory")
    campaign.verify()
    other, _ = long_campaign("memory", 10)
    live_state(other).reward += 1.0
    with campaign.store.open_writer("c") as writer:
        writer.save_snapshot(21, encode_snapshot(live_state(other)))
    with pytest.raises(CorruptLedger, match="event 21 of 'c' leads to another state than its snap"):
        campaign.verify()


def _cut(campaign: Campaign, seq: int) -> MemoryStore:
    """Return a store with the log up to an event."""
    store = MemoryStore()
    first, *rest = campaign.events()
    with campaign.store.open_writer(campaign.name) as writer:
        totals = writer.totals
    store.create(campaign.name, first, totals)
    with store.open_writer(campaign.name) as writer:
        writer.append([event for event in rest if event.seq <= seq], totals)
    return store


def test_a_log_that_was_changed_is_told() -> None:
    campaign = played(
        {"a": [("0.5", 0.9)] * 3, "b": [("0.5", 0.1)] * 3}, budget="50", arms={"a": "1", "b": "1"}
    )
    decision = campaign.ask()
    with campaign.store.open_writer("c") as writer:
        asked = writer.decision_events(decision.id)[0]
        asked.body["arm"] = 1
    why = campaign.explain(decision)
    assert not why.verified
    assert why.sentences[2] == (
        "Repeating the choice from the log gives a, which is not what the log says."
    )


# forecast


def toss(
    campaign: Campaign, clock: HandClock, chances, random_: random.Random
) -> tuple[float, int]:
    """Play once: costs and rewards are 1 or 0, a minute apart on average."""
    decision = campaign.ask()
    clock.go(random_.expovariate(1 / 60))
    reward, cost = (float(random_.random() < chance) for chance in chances[decision.arm])
    campaign.tell(decision, cost=int(cost), reward=reward)
    return reward, int(cost)


@pytest.mark.parametrize("policy", ["omega-star-ucb:rho=0.25", "uniform"])
def test_ninety_of_a_hundred_forecasts_hold(policy: str) -> None:
    chances = {"x": (0.7, 0.4), "y": (0.5, 0.5), "z": (0.3, 0.3)}
    held = []
    for seed in range(extent(90, 150)):
        clock, random_ = make_clock(), random.Random(seed)
        campaign = Campaign(
            "f", budget=100, arms=dict.fromkeys(chances, 1), policy=policy, seed=seed, clock=clock
        )
        for _ in range(100):
            toss(campaign, clock, chances, random_)
        ahead = campaign.forecast()
        plays, reward = 0, 0.0
        while campaign.available >= 1:
            reward += toss(campaign, clock, chances, random_)[0]
            plays += 1
        held.append(
            (
                ahead.plays.low <= plays <= ahead.plays.high,
                ahead.reward.low <= reward <= ahead.reward.high,
                ahead.exhausted_early.timestamp() <= clock.now <= ahead.exhausted_late.timestamp(),
            )
        )
    shares = np.mean(held, axis=0)
    assert ((shares >= 0.8) & (shares <= 0.98)).all(), shares


def test_a_forecast_of_constant_outcomes_is_arithmetic() -> None:
    clock = make_clock()
    campaign = Campaign("c", budget="100", arms={"a": "0.5"}, reward_range=(0, 10), clock=clock)
    for _ in range(100):
        decision = campaign.ask()
        clock.go(3600)
        campaign.tell(decision, cost="0.5", reward=4.0)
    ahead = campaign.forecast()
    assert ahead.plays.value == pytest.approx(100, rel=0.02)
    assert ahead.reward.value == pytest.approx(400, rel=0.02)
    assert ahead.rate.value == pytest.approx(12.0, rel=0.01)
    assert ahead.value_of_unit.value == pytest.approx(8.0, rel=0.02)
    assert ahead.value_of_unit.low < 8.0 < ahead.value_of_unit.high
    end = clock.now + 100 * 3600
    assert ahead.exhausted.timestamp() == pytest.approx(end, abs=2 * 3600)
    week = campaign.forecast(days=1)
    assert week.plays.value == pytest.approx(24, rel=0.02)
    assert week.reward.value == pytest.approx(96, rel=0.02)


def test_the_end_game_is_told() -> None:
    clock = make_clock()
    campaign = Campaign(
        "c", budget="60", arms={"large": "2", "small": "0.1", "odd": "0.5"}, clock=clock
    )
    for key, cost, reward in [("large", "1", 0.9), ("small", "0.1", 0.05), ("odd", "0.5", 0.1)]:
        for _ in range(10):
            campaign.tell(campaign.ask(among=[key]), cost=cost, reward=reward)
    campaign.retire_arm("odd")
    ahead = campaign.forecast()
    assert (ahead.best, ahead.best_needs, ahead.then) == ("large", Decimal(2), ("small",))
    assert ahead.unusable < ahead.unusable_most == Decimal("0.1")
    assert ahead.sentences[-2] == (
        f"Below 2.00 large is no longer affordable, but small is;"
        f" about {ahead.unusable.normalize():f} will be left over."
    )
    json.dumps(ahead.as_dict(), allow_nan=False)


def test_a_forecast_when_nothing_happened_lately() -> None:
    clock = make_clock()
    campaign = Campaign("c", budget="10", arms={"a": "1"}, clock=clock)
    assert str(campaign.forecast()) == "Nothing is known yet: no decision has an outcome."
    assert campaign.forecast().plays is None
    for _ in range(4):
        campaign.tell(campaign.ask(), cost="0.5", reward=0.5)
    clock.go(8 * 86_400)
    ahead = campaign.forecast()
    assert (ahead.rate, ahead.exhausted) == (None, None)
    assert ahead.sentences[1] == (
        "Nothing was spent in the last 7 days, so it is unknown when the budget will be used up."
    )
    assert ahead.plays.low < 16 < ahead.plays.high
    assert campaign.forecast(days=3).plays is None
    with pytest.raises(InvalidInput, match="days must be a number above 0"):
        campaign.forecast(days=-1)


def test_caps_of_arms_end_in_a_forecast() -> None:
    rows = {"good": [("0.5", 1.0), ("0.5", 0.8)] * 20, "poor": [("0.5", 0.2)] * 4}
    options = {"budget": "100", "arms": {"good": "1", "poor": "1"}}
    free = played(rows, **options).forecast()
    capped = played(rows, **options, caps={"arm:good": "30"}).forecast()
    assert free.margin == "good"
    assert capped.margin == "poor"
    assert capped.reward.value < 0.6 * free.reward.value
    assert capped.value_of_unit.value < 0.5 * free.value_of_unit.value
    both = played(rows, **options, caps={"arm:good": "30", "arm:poor": "12"}).forecast()
    assert 58 <= both.unusable <= both.unusable_most < 61  # of 100, 42 can be spent
    assert both.plays.value == pytest.approx(38, abs=2)  # each stops where its hold ends


def test_nothing_more_is_expected_once_nothing_fits() -> None:
    campaign = played({"a": [("0.5", 0.5)] * 5}, budget="3", arms={"a": "1"})
    ahead = campaign.forecast()
    assert ahead.plays == ahead.reward == Estimate(0.0, 0.0, 0.0)
    assert ahead.exhausted == ahead.exhausted_late  # now
    assert ahead.value_of_unit.low < 1.0 < ahead.value_of_unit.high
    assert ahead.sentences[0] == "No arm is affordable with the 0.50 that will be left."
    campaign.end()
    assert campaign.forecast().plays == Estimate(0.0, 0.0, 0.0)
    assert str(campaign.forecast()).startswith("The campaign is closed.")


def test_a_forecast_is_the_same_each_time() -> None:
    clock = make_clock()
    campaign = played(
        {"a": [("0.5", 0.5), ("0.2", 1.0)] * 5}, budget="30", arms={"a": "1"}, clock=clock
    )
    ahead = campaign.forecast()
    assert ahead == campaign.forecast()
    assert repr(ahead) == f"<Forecast: {ahead}>"
    assert ahead._repr_html_().startswith("<ul><li>About 7")


# verify


def test_a_campaign_that_adds_up() -> None:
    campaign, decisions = busy("bts", 150)
    found = campaign.verify(choices=True)
    assert found.decisions == found.choices == len(decisions)
    assert (found.spent, found.held) == (campaign.spent, campaign.held)
    assert found.events == sum(1 for _ in campaign.events())
    with campaign.store.open_writer("busy") as writer:
        writer.save_snapshot(found.events, encode_snapshot(live_state(campaign)))
    again = campaign.verify()
    assert (again.snapshot, again.choices) == (found.events, None)
    assert again.hash == found.hash == json.loads(json.dumps(again.as_dict()))["hash"]


def _changed(campaign: Campaign, seq: int, **body) -> Campaign:
    """Return the campaign from a log in which an event was changed, hashes and all."""
    store = MemoryStore()
    with campaign.store.open_writer(campaign.name) as writer:
        events, totals = writer.events_after(0), writer.totals
    events = [
        replace(event, body=event.body | body) if event.seq == seq else event for event in events
    ]
    store.create(campaign.name, events[0], totals)
    with store.open_writer(campaign.name) as writer:
        writer.append(events[1:], totals)
    return Campaign(campaign.name, storage=store, clock=make_clock())


def test_a_grant_beyond_the_budget_is_found() -> None:
    campaign = played({"a": [("0.5", 0.5)] * 4}, budget="10", arms={"a": "1"})
    asked = [event.seq for event in campaign.events() if event.kind == "asked"][2]
    with pytest.raises(CorruptLedger, match=f"event {asked} of 'c' grants more than the budget"):
        _changed(campaign, asked, hold=99_000_000).verify()


def test_a_choice_that_the_policy_did_not_make_is_found() -> None:
    campaign = played(
        {"a": [("0.5", 0.9)] * 4, "b": [("0.5", 0.1)] * 4}, budget="10", arms={"a": "1", "b": "1"}
    )
    seq = campaign.ask().seq
    changed = _changed(campaign, seq, arm=1)
    changed.verify()  # the money is right
    with pytest.raises(CorruptLedger, match=f"event {seq} of 'c' is not what the policy chooses"):
        changed.verify(choices=True)


def test_a_snapshot_that_is_not_what_the_log_says_is_found() -> None:
    campaign = played({"a": [("0.5", 0.5)] * 4}, budget="10", arms={"a": "1"})
    other = played({"a": [("0.5", 0.5)] * 3 + [("0.5", 0.6)]}, budget="10", arms={"a": "1"})
    with campaign.store.open_writer("c") as writer:
        writer.save_snapshot(9, encode_snapshot(live_state(other)))
    with pytest.raises(CorruptLedger, match="event 9 of 'c' leads to another state than its snap"):
        campaign.verify()


def test_a_memory_that_is_not_what_the_log_says_is_found() -> None:
    campaign = played({"a": [("0.5", 0.5)] * 4}, budget="10", arms={"a": "1"})
    live_state(campaign).spent -= 1
    with pytest.raises(CorruptLedger, match="event 9 of 'c' leads to another state than the one"):
        campaign.verify()


def test_verify_reads_a_file_whose_hashes_must_hold(tmp_path) -> None:
    campaign = Campaign("c", budget="10", arms={"a": "1"}, storage=f"sqlite:///{tmp_path}/a.db")
    for _ in range(5):
        campaign.tell(campaign.ask(), cost="0.5", reward=0.5)
    assert campaign.verify(choices=True).decisions == 5
    assert campaign.explain(campaign.ask()).verified
    assert view(campaign, "a").plays == 5
    assert campaign.forecast().plays.low > 3
    campaign.close()
