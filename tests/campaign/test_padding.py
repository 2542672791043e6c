"""A declared maximum is a limit for safety: padding it changes nothing of what is learned."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hand_clock import HandClock, folded, live_state

import bursar
from bursar.campaign import Campaign
from bursar.campaign.config import Config
from bursar.campaign.creation import create_campaign
from bursar.campaign.learner import CampaignLearner
from bursar.campaign.state import decode_snapshot, encode_snapshot
from bursar.errors import CampaignExists, InvalidInput
from bursar.ledger import MemoryStore
from bursar.money import Coin

ARMS = {"small": 1.0, "medium": 2.0, "large": 5.0, "new": 1.0}
COSTS = {"small": 0.2, "medium": 1.2, "large": 4.4, "new": 0.4}  # the new one is free at first
GOOD = {"small": 0.2, "medium": 0.45, "large": 0.8, "new": 0.1}


def accepted() -> list[Any]:
    """Return an example of every policy that a campaign accepts, with random ties and without."""
    kinds = [next(iter(kind.examples())) for kind in bursar.POLICIES.values()]
    return [
        pytest.param(str(one.but(ties=ties)), id=f"{one.name}-{ties}")
        for one in kinds
        for ties in ("random", "first")
        if one.round_size == 1 and not one.memory_size(2)
    ]


def story(
    policy: str,
    arms: dict[str, float],
    budget: str = "400",
    idle: float | None = None,
    pauses: str = "idle",
    all_first: bool = False,
    **rules: Any,
) -> tuple[list[str], Campaign]:
    """Play a campaign of open, late, corrected and voided decisions; return its choices.

    An arm of the maximum ``idle`` is added and paused before it was ever played. ``all_first``:
    each arm is asked for by its name once.
    """
    campaign = Campaign(
        "c", budget, {key: f"{most:f}" for key, most in arms.items()}, policy, min_cost="0.01",
        clock=HandClock(), **rules,
    )  # fmt: skip
    if idle is not None:
        campaign.add_arm("idle", f"{idle:f}")
        campaign.pause_arm("idle")
    elif pauses != "idle":  # as many events, on which random numbers depend
        campaign.pause_arm(pauses)
        campaign.resume_arm(pauses)
    chance = {key: random.Random(key) for key in COSTS}

    def cost_of(arm: str) -> str:
        paid = 0.0 if arm == "new" and choices.count(arm) < 6 else chance[arm].betavariate(1.0, 3.0)
        return f"{COSTS[arm] * paid:.4f}"

    def reward_of(arm: str) -> float:
        return float(chance[arm].random() < GOOD[arm])

    choices, waiting = [], []
    names = [*arms] if all_first else []
    for play in range(140):
        one = campaign.ask(among=[names.pop()] if names else None)
        choices.append(one.arm)
        waiting.append(one)
        if play < 11 or play % 7 in (2, 3):  # the first choices know nothing but open decisions
            continue
        while waiting:
            done = waiting.pop(0 if play % 2 else -1)
            if play % 13 == 5:
                campaign.void(done)
            else:
                campaign.tell(done, cost=cost_of(done.arm))  # the reward comes later
                campaign.tell(done, reward=reward_of(done.arm))
            if play % 11 == 6:
                campaign.correct(done, cost=cost_of(done.arm), reward=1.0)
    return choices, campaign


@pytest.mark.parametrize("policy", accepted())
def test_padding_changes_no_choice(policy: str) -> None:
    rich = "60000"
    choices, campaign = story(policy, ARMS)
    assert len(set(choices)) > 1
    campaign.verify(choices=True)
    assert story(policy, {key: 3 * most for key, most in ARMS.items()})[0] == choices
    # The formula of a policy that does not try every arm must know maxima: what an untried arm
    # costs is guessed from its own, by the share that tried arms cost of theirs. One arm's maximum
    # matters as long as some arm was never tried, and no longer.
    all_first = not bursar.policy(policy).tries_all
    same = story(policy, ARMS, all_first=all_first)[0]
    assert story(policy, ARMS | {"large": 50.0}, all_first=all_first)[0] == same
    few, _ = story(policy, ARMS, rich)
    assert story(policy, {key: 1000 * most for key, most in ARMS.items()}, rich)[0] == few
    # a policy may know how many arms there are, but not what a paused one could cost
    beside, _ = story(policy, ARMS, idle=1.0)
    assert story(policy, ARMS, idle=1_000_000.0)[0] == beside


@pytest.mark.parametrize("policy", accepted())
def test_a_paused_arm_changes_no_choice(policy: str) -> None:
    if policy.startswith("pd-bwk"):
        pytest.skip("its confidence radius counts arms")
    choices, _ = story(policy, ARMS, pauses="small")
    assert story(policy, ARMS, idle=1_000_000.0)[0] == choices


def test_padding_changes_no_test_for_changes() -> None:
    """A unit of twice the first mean is the same, be the maximum near that mean or far away."""

    def resets(most: str) -> list[Any]:
        campaign = Campaign("c", "100000", {"a": most}, on_change="reset")
        chance = random.Random(1)
        for mean in (0.9, 0.2):  # the first is above half of the smaller maximum
            for _ in range(300):
                cost = f"{mean * chance.uniform(0.9, 1.1):.4f}"
                campaign.tell(campaign.ask(), cost=cost, reward=1.0)
        return [(event.seq, event.body) for event in campaign.events() if event.kind == "changed"]

    found = resets("1")
    assert found
    assert resets("3") == found


def test_the_unit_is_the_largest_cost_learned() -> None:
    learner = CampaignLearner(bursar.policy("bts"), (0.0, 1.0), seed=1)
    learner.add_arms([2.0, 8.0])
    learner.set_context(100.0, None)
    learner.add_arms([16.0])
    learner.set_context(200.0, None)
    assert learner.most == 0.2, "a guess by the budget alone"
    assert learner.seen["cap"].tolist() == [10.0, 40.0, 80.0]
    learner.learn(0, 1.0, 0.0, 2, False)
    assert learner.most == 0.2, "nothing was paid yet"
    for number, cost in enumerate([0.5, 0.25, 2.0, 1.0]):
        learner.learn(1, 1.0, cost, 3 + number, False)
    assert learner.most == 2.0
    assert learner.arms["cost"].tolist() == [0.0, 1.875, 0.0]
    assert learner.game["spent"][0] == 1.875
    assert learner.arms["cost_m2"][1] == pytest.approx(sum(
        (one / 2.0 - 1.875 / 4.0) ** 2 for one in (0.5, 0.25, 2.0, 1.0)
    ))  # fmt: skip
    assert learner.game["budget"][0] == 100.0
    assert learner.arms["cap"].tolist() == learner.seen["cap"].tolist() == [1.0, 4.0, 8.0]
    learner.learn(0, 1.0, 10.0, 7, False)
    assert learner.most == 10.0, "an overrun is not clipped"
    learner.forget(0, 1.0, 10.0, 7)
    learner.reset_arm(1)
    learner.add_arms([1000.0])
    assert learner.most == 10.0, "what was seen was seen"
    assert learner.arms["cap"].tolist() == learner.seen["cap"].tolist() == [0.2, 0.8, 1.6, 100.0]


def test_untried_arms_with_open_decisions_look_alike() -> None:
    learner = CampaignLearner(bursar.policy("bts"), (0.0, 1.0), seed=1)
    learner.add_arms([1.0, 1000.0])
    learner.set_context(1e6, None)
    learner.add_waiting(0)
    learner.add_waiting(1)
    assert learner.seen["cost"].tolist() == [0.5, 0.5]
    learner.add_arms([4.0])
    learner.set_context(1e6, None)
    learner.learn(2, 1.0, 4.0, 3, False)
    assert learner.seen["cost"].tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize("policy", ["bts", "omega-star-ucb:rho=0.25", "pooled-gittins"])
@pytest.mark.parametrize("until", [3, 40, 400])
def test_a_snapshot_and_the_log_lead_to_the_same_learner(policy: str, until: int) -> None:
    _, campaign = story(policy, ARMS)
    live = live_state(campaign)
    for event in campaign.events():
        if event.seq == 1:
            state: Any = bursar.campaign.state.State(event)
        else:
            state.apply(event)
        if event.seq == until:
            state = decode_snapshot(encode_snapshot(state))
    for one in (state, folded(campaign)):
        assert encode_snapshot(one) == encode_snapshot(live)
        assert one.learner.seen.tobytes() == live.learner.seen.tobytes()
        assert one.learner.game.tobytes() == live.learner.game.tobytes()
        assert one.learner._kernel_params == live.learner._kernel_params


def test_an_overrun_is_shown_and_learned_in_full() -> None:
    campaign = Campaign("c", "1000", {"a": "1"}, "omega-ucb:rho=0.25", overruns=0)
    for cost in ("0.5", "4", "0.5", "3") * 10:
        campaign.tell(campaign.ask(), cost=cost, reward=1.0)
    (arm,) = campaign.arms()
    assert arm.cost.value == pytest.approx(2.0)
    assert 2.0 < arm.cost.high < 4.0
    assert campaign.forecast().plays.value == pytest.approx(460, rel=0.1)
    why = campaign.explain(campaign.ask())
    assert 0.5 < why.option("a").cost_bound < 2.0


def declared(store: MemoryStore, policy: str = "omega-ucb:rho=0.25") -> None:
    """Write the first event as earlier versions did."""
    create_campaign(
        store, "c", Config(policy, Coin()), budget="400",
        arms={key: f"{most:f}" for key, most in ARMS.items()}, caps={}, now=1,
    )  # fmt: skip


def test_the_first_event_has_the_rule() -> None:
    _, campaign = story("bts", ARMS)
    first = next(iter(campaign.events()))
    assert first.body["config"]["scale"] == campaign.config.scale == "seen"
    declared(store := MemoryStore())
    old = Campaign("c", storage=store)
    assert "scale" not in next(iter(old.events())).body["config"]
    assert old.config.scale == "declared"
    with pytest.raises(InvalidInput, match="scale must be 'declared' or 'seen', got 'mine'"):
        Config("bts", scale="mine")
    with pytest.raises(InvalidInput, match="a campaign has no rule 'scale'"):
        Campaign("c", "1", {"a": "1"}, scale="declared")


def test_a_log_without_the_rule_keeps_its_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    choices, _ = story("omega-ucb:rho=0.25", ARMS)
    monkeypatch.setattr("bursar.campaign.config.NEW_SCALE", "declared")
    then, old = story("omega-ucb:rho=0.25", ARMS)
    padded, _ = story("omega-ucb:rho=0.25", {key: 3 * most for key, most in ARMS.items()})
    assert choices != then != padded
    monkeypatch.undo()
    old.verify(choices=True)
    assert live_state(old).learner.most == 5.0
    again = decode_snapshot(encode_snapshot(live_state(old)))
    assert again is not None
    assert again.learner.declared


def test_creating_a_campaign_again_opens_the_one_of_an_older_version() -> None:
    declared(store := MemoryStore())
    again = Campaign(
        "c", "400", {key: f"{most:f}" for key, most in ARMS.items()}, "omega-ucb:rho=0.25",
        storage=store,
    )  # fmt: skip
    assert again.config.scale == "declared"


def test_creating_one_again_by_default_keeps_the_default_of_an_older_version() -> None:
    arms = {key: f"{most:f}" for key, most in ARMS.items()}
    declared(store := MemoryStore(), "omega-star-ucb:rho=0.25")
    assert Campaign("c", "400", arms, storage=store).config.policy == "omega-star-ucb:rho=0.25"
    with pytest.raises(CampaignExists, match="different config"):
        Campaign("c", "400", arms, "bts", storage=store)
    Campaign("new", "400", arms, "omega-star-ucb:rho=0.25", storage=store)
    with pytest.raises(CampaignExists, match="different config"):
        Campaign("new", "400", arms, storage=store)
