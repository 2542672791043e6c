"""What the pages contain, computed from campaigns without rendering a page."""

from __future__ import annotations

import hashlib
import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from dashboard_site import make_campaign
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

import bursar
from bursar.campaign import Campaign, Estimate
from bursar.campaign.projection import count_worlds
from bursar.dashboard import forms
from bursar.dashboard.campaign import COLUMNS, filter_holds, select_options
from bursar.dashboard.events import EventDescriber, load_arm_keys, read_backwards
from bursar.dashboard.ledger import compare_bill, parse_bill
from bursar.dashboard.overview import summarize
from bursar.dashboard.render import bar_widths, format_date, make_axis
from bursar.errors import InvalidInput
from bursar.formatting import format_money
from bursar.ledger import MemoryStore
from bursar.money import Coin
from bursar.service.series import Series

STATIC = Path(bursar.__file__).parent / "dashboard" / "static"


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=6, min_value=-(10**11), max_value=10**11
    )
)
def test_money_is_written_exactly(amount):
    text = format_money(amount).replace(",", "").replace("−", "-")
    assert Decimal(text) == amount
    assert len(text.partition(".")[2]) >= 2


def test_13_pages_of_many_arms_show_the_chosen_one_and_its_rivals():
    arms = {f"arm{number}": f"0.{number + 100:06}" for number in range(3000)}
    campaign = Campaign("c", budget="9", arms=arms)
    for _ in range(3):
        decision = campaign.ask()
        campaign.tell(decision, cost="0.0001", reward=1.0)
    explanation = campaign.explain(decision)
    shown = select_options(explanation)
    assert (len(explanation.options), len(shown)) == (3000, 100)
    assert shown[0].key == decision.arm
    forecast = campaign.forecast()
    assert forecast.plays.low <= forecast.plays.value <= forecast.plays.high
    policy = bursar.policy(campaign.config.policy)
    assert count_worlds(policy, 3000) < count_worlds(policy, 100) < count_worlds(policy, 2)


def test_13_12_a_bill_may_have_the_ids_of_an_export():
    assert parse_bill("id,amount\n'=1+1,0.10\n'tis,0.20", Coin(2)) == {"=1+1": 10, "'tis": 20}


def test_a_running_campaign_at_a_glance():
    campaign = make_campaign(MemoryStore())
    series = Series()
    series.advance(campaign.store, "llm")
    found = summarize(campaign, series)
    assert (found.badge, found.alerts) == (("good", "Running"), [])
    assert [one.id for one in found.holds] == ["llm-open"]
    assert found.performance.best.key == "small"
    missed = found.performance.missed
    assert 0.0 <= missed.low <= missed.value <= missed.high


def test_what_is_wrong_is_found_the_worst_first():
    good = make_campaign(MemoryStore())
    bad = Campaign("over", "1.00", {"call": "0.50"}, currency="USD")
    bad.tell(bad.ask(), cost="1.30", reward=1)
    assert summarize(bad).alerts == [("bad", "overdrawn"), ("warning", "overruns")]
    assert (summarize(bad).worst_alert, summarize(good).worst_alert) == ("bad", "")


def test_a_worse_arm_shows_in_the_performance():
    campaign = Campaign("llm", "100", {"good": "0.10", "bad": "0.10"}, policy="uniform")
    campaign.run(lambda arm: ("0.10", 0.9 if arm == "good" else 0.0), most=400)
    found = summarize(campaign).performance
    assert found.best.key == "good"
    assert found.tone in ("warning", "bad")


def test_nothing_spent_is_no_reason_to_worry():
    found = summarize(Campaign("llm", "1", {"a": "0.1"})).performance
    assert (found.ratio, found.tone) == (None, "neutral")


def test_holds_are_stuck_after_half_of_their_time():
    clock = HandClock(int(datetime.now(UTC).timestamp()) - 1000)
    campaign = Campaign("llm", "1", {"a": "0.1"}, clock=clock, hold_ttl=1200.0)
    campaign.ask(id="old")
    clock.go(900)
    campaign.ask(id="new")
    found = summarize(campaign)
    assert [one.id for one in found.stuck_holds] == ["old"]
    assert [one.id for one in filter_holds(found, 600)] == ["old"]
    assert [one.id for one in filter_holds(found, 0)] == ["old", "new"]


def test_arms_are_sorted_by_any_column_both_ways():
    arms = summarize(make_campaign(MemoryStore())).arms
    for name, column in COLUMNS.items():
        keys = [arm.key for arm in sorted(arms, key=column.sort_key)]
        assert sorted(keys) == ["large", "small"]
        if name == "asks":
            assert keys == ["large", "small"]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6), st.floats(0, 1e6), st.one_of(st.floats(0, 1e6), st.just(math.inf))
        ),
        max_size=8,
    )
)
def test_intervals_stay_on_their_scale(triples):
    column = [Estimate(b, a, c) for a, b, c in (sorted(three) for three in triples)]
    axis = make_axis([None, *column])
    for one in column:
        low, mean, high = (axis.position(end) for end in (one.low, one.value, one.high))
        assert 0.0 <= low <= mean <= high <= 100.0


def test_bars_are_in_proportion_and_unbounded_ones_are_full():
    assert bar_widths([1.0, -2.0, None, math.inf]) == [50.0, 100.0, 0.0, 100.0]
    assert bar_widths([0.0, None]) == [0.0, 0.0]


def test_the_log_is_paged_newest_first_without_gaps():
    campaign = make_campaign(MemoryStore(), plays=40)
    newest = [event.seq for event in campaign.events()]
    found, before = [], newest[-1] + 1
    while before is not None:
        page, before = read_backwards(campaign.store, "llm", before, 7)
        found += [event.seq for event in page]
    assert found == newest[::-1]
    asked, _ = read_backwards(campaign.store, "llm", newest[-1] + 1, 5, ["asked"])
    assert [event.kind for event in asked] == ["asked"] * 5


def test_every_kind_of_event_has_words():
    campaign = make_campaign(MemoryStore(), ask_ttl=60.0)
    campaign.add_arm("medium", "0.20", by="ada")
    campaign.pause_arm("large", by="ada", reason="slow")
    campaign.resume_arm("large")
    campaign.retire_arm("medium")
    campaign.set_budget("12.00", by="ada")
    campaign.set_cap("day", "5.00")
    campaign.confirm("llm-open")
    campaign.tell("llm-open", cost="0.02", reward=0.25)
    campaign.correct("llm-open", cost="0.03", reason="typo")
    campaign.void(campaign.ask(id="b"), "never sent")
    campaign.pause()
    campaign.resume()
    campaign.end(by="ada")
    describer = EventDescriber(campaign.coin, load_arm_keys(campaign))
    texts = {event.kind: describer.describe(event) for event in campaign.events()}
    assert re.fullmatch(r"(small|large) chosen, 0\.[15]0 USD held", texts.pop("asked"))
    assert texts == {
        "created": "Created with a budget of 10.00 USD for small, large",
        "arm-added": "Arm medium added with a maximum cost of 0.20 USD",
        "arm-paused": "Arm large paused (slow)",
        "arm-resumed": "Arm large resumed",
        "arm-retired": "Arm medium retired permanently",
        "budget-set": "Budget changed from 10.00 USD to 12.00 USD",
        "cap-set": "Daily cap set to 5.00 USD",
        "confirmed": "Confirmed for use",
        "told": "cost 0.02 USD, reward 0.25",
        "corrected": "Corrected to cost 0.03 USD (typo)",
        "voided": "Voided, hold released (never sent)",
        "paused": "Campaign paused",
        "resumed": "Campaign resumed",
        "closed": "Campaign closed permanently",
    }


def test_a_bill_is_compared_with_the_recorded_spend():
    campaign = make_campaign(MemoryStore(), plays=3)
    ids = [event.decision for event in campaign.events() if event.kind == "asked"]
    bill = parse_bill(
        f"Decision;Amount\n{ids[0]};0.05\n{ids[1]};0.07\nstranger;1\n\n", campaign.coin
    )
    found = compare_bill(bill, campaign.events())
    assert campaign.decision(ids[0]).cost == Decimal("0.05")
    last = found.differences[-1]
    assert (last.id, last.recorded) == ("stranger", None)
    assert ids[0] not in {one.id for one in found.differences}
    assert found.billed == 1_120_000
    assert compare_bill({ids[0]: 50_000}, campaign.events()).differences == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The bill is empty"),
        ("a", "Line 1 must have a decision and an amount"),
        ("id,amount\na,NaN", "the amount in line 2 must be finite"),
        ("a,-1", "the amount in line 1 must be 0 or more"),
    ],
)
def test_a_bill_that_cannot_be_read_says_where(text, words):
    with pytest.raises(InvalidInput, match=words):
        parse_bill(text, Coin(6))


def test_a_form_says_what_is_wrong_beside_the_field_and_loses_nothing():
    typed = {
        "name": "", "budget": "ten", "rows": "3", "arm-0-key": "a", "arm-0-cost": "0.1",
        "arm-1-key": "a", "arm-1-cost": "x", "arm-2-key": "", "arm-2-cost": "1",
        "explore": "2", "max_open": "many", "exponent": "6", "reward_low": "1", "reward_high": "0",
    }  # fmt: skip
    form, _ = forms.parse_form(typed)
    assert set(form.errors) >= {
        "name", "budget", "arm-1-key", "arm-1-cost", "arm-2-key", "explore", "max_open",
    }  # fmt: skip
    assert "ten" in form.errors["budget"]
    assert form.values == typed


def test_a_form_makes_a_campaign():
    typed = forms.DEFAULTS | {
        "name": "llm", "budget": "25.00", "currency": "USD", "rows": "3", "day_cap": "5",
        "arm-0-key": "small", "arm-0-cost": "0.004", "arm-2-key": "large", "arm-2-cost": "0.05",
    }  # fmt: skip
    form, arguments = forms.parse_form(typed)
    assert form.errors == {}
    campaign = Campaign(**arguments)
    assert campaign.budget == Decimal("25.00")
    assert [arm.key for arm in campaign.arms()] == ["small", "large"]
    assert campaign.status().day_cap == Decimal(5)
    assert forms.list_policies()[0] == campaign.config.policy


def test_libraries_of_others_are_as_their_authors_made_them():
    told = (STATIC / "vendor" / "VERSIONS.txt").read_text()
    files = {
        line.split()[1]: line.split()[0]
        for line in told.splitlines()
        if line[:1].isalnum() and "  " in line
    }
    there = {path.name for path in (STATIC / "vendor").iterdir()} - {"VERSIONS.txt"}
    assert set(files) == there
    for name, digest in files.items():
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest


def test_what_is_near_is_told_with_the_time_of_day():
    now = datetime(2026, 11, 16, 5, 4, tzinfo=UTC)
    assert format_date(now + timedelta(days=2), now) == "2026-11-18 05:04 UTC"
    assert format_date(now + timedelta(days=4), now) == "2026-11-20"
