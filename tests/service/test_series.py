"""The thinned-out history of a campaign tells the same money as the campaign itself."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

import bursar
from bursar.errors import BursarError, InvalidInput
from bursar.service.series import MOST, Series, SeriesCache

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "cost", "reward", "both", "void", "correct", "budget", "arm", "wait"]
        ),
        st.integers(0, 9),
        st.integers(0, 60),
    ),
    max_size=60,
)  # fmt: skip


def lived(steps):
    """A campaign to which all kinds of things happened."""
    clock = HandClock()
    campaign = bursar.Campaign(
        "llm", budget="2.00", arms={"a": "0.10", "b": "0.30"}, exponent=2, clock=clock,
        hold_ttl=3600.0, reward_ttl=7200.0, default_reward=0.25, overruns=0,
    )  # fmt: skip
    known = []
    for what, number, amount in steps:
        one = known[number % len(known)] if known else ""
        clock.go(1.0)
        try:
            if what == "ask":
                known.append(campaign.ask().id)
            elif what == "cost":
                campaign.tell(one, cost=Decimal(amount) / 100)
            elif what == "reward":
                campaign.tell(one, reward=amount / 60)
            elif what == "both":
                campaign.tell(one, cost=Decimal(amount) / 100, reward=amount / 60)
            elif what == "void":
                campaign.void(one)
            elif what == "correct":
                campaign.correct(one, cost=Decimal(amount) / 100, reward=amount / 60, reason="x")
            elif what == "budget":
                campaign.set_budget(Decimal(amount))
            elif what == "arm":
                campaign.add_arm(f"arm{number}", "0.05")
            else:
                clock.go(1000.0 * number)
                campaign.expire()
        except BursarError:
            pass  # refused: nothing happened
    return campaign


@given(STEPS, st.sampled_from([2, 3, 7, 2000]))
def test_totals_are_those_of_the_campaign(steps, most):
    campaign = lived(steps)
    series = Series(most)
    for event in campaign.events():
        series.follow(event)
    assert len(series.buckets) <= most
    told = series.as_dict()
    assert Decimal(told["spent"][-1]) == campaign.spent
    assert Decimal(told["held"][-1]) == campaign.held
    assert Decimal(told["budget"][-1]) == campaign.budget
    views = {arm.key: arm.asks for arm in campaign.arms()}
    assert {key: sum(column) for key, column in told["arms"].items()} == views
    assert told["asks"][-1] == sum(views.values())
    assert told["reward"][-1] == campaign.status().reward


@given(STEPS, st.integers(2, 30), st.integers(2, 12))
def test_whatever_is_merged_keeps_least_and_most(steps, most, points):
    campaign = lived(steps)
    thin, full = Series(most), Series()
    for event in campaign.events():
        thin.follow(event)
        full.follow(event)
    everything = full.thin()
    few = thin.thin(points)
    assert len(few) <= points
    assert min(one.low for one in few) == min(one.low for one in everything)
    assert max(one.high for one in few) == max(one.high for one in everything)
    assert sum((one.arms for one in few), start=type(few[0].arms)()) == sum(
        (one.arms for one in everything), start=type(few[0].arms)()
    )
    assert few[0].start == everything[0].start
    assert few[-1].end == everything[-1].end
    assert [one.end for one in few] == sorted(one.end for one in few)


def test_a_cache_reads_in_pieces_and_then_only_what_is_new():
    campaign = bursar.Campaign("llm", budget="9", arms={"a": "0.01"})
    campaign.run(lambda arm: ("0.005", 1.0), most=40)
    series = Series()
    assert not series.advance(campaign.store, "llm", piece=30)
    assert series.totals.seq == 30
    while not series.advance(campaign.store, "llm", piece=30):
        pass
    assert series.as_dict()["spent"][-1] == "0.200000"
    cache = SeriesCache(campaign.store)
    first = cache.get("llm")
    campaign.run(lambda arm: ("0.005", 1.0), most=1)
    assert cache.get("llm") is first
    assert first.as_dict()["spent"][-1] == "0.205000"
    assert first.complete


def test_a_long_log_stays_within_its_buckets():
    campaign = bursar.Campaign("llm", budget="99", arms={"a": "0.01"}, clock=HandClock())
    series = Series(50)
    for _ in range(300):
        campaign.clock.go(2.0)
        campaign.tell(campaign.ask(), cost="0.01", reward=1.0)
    series.advance(campaign.store, "llm")
    assert 25 <= len(series.buckets) <= 50
    assert series.as_dict()["asks"][-1] == 300


def test_many_arms_do_not_make_many_columns():
    arms = {f"arm{number}": "0.01" for number in range(100)}
    campaign = bursar.Campaign("llm", budget="99", arms=arms, policy="uniform")
    campaign.run(lambda arm: ("0.01", 1.0), most=300)
    series = SeriesCache(campaign.store).get("llm")
    told = series.as_dict()
    assert len(told["arms"]) == 30
    assert sum(map(sum, told["arms"].values())) + sum(told["others"]) == 300
    assert min(map(sum, told["arms"].values())) >= sorted(a.asks for a in campaign.arms())[69]


@pytest.mark.parametrize("points", [1, 0, MOST + 1])
def test_points_that_cannot_be_drawn_are_refused(points):
    with pytest.raises(InvalidInput, match=r"points must be from 2 to 2,000"):
        Series().as_dict(points)
