"""What pages say, made from campaigns without any page."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from dashboard_site import lived
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

import bursar
from bursar.campaign import Campaign, Estimate
from bursar.dashboard import campaign as arm_row
from bursar.dashboard import create
from bursar.dashboard.bars import intervals, split
from bursar.dashboard.campaign import holds
from bursar.dashboard.card import card, earning, look
from bursar.dashboard.decision import why
from bursar.dashboard.edit import preview
from bursar.dashboard.events import Story, older
from bursar.dashboard.ledger import compare_bill, parse_bill
from bursar.dashboard.overview import answer, totals
from bursar.errors import InvalidInput
from bursar.formatting import format_money
from bursar.ledger import MemoryStore
from bursar.money import Coin
from bursar.service.series import Series

STATIC = Path(bursar.__file__).parent / "dashboard" / "static"


def seen(campaign, series=None):
    return look(campaign, series)


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=6, min_value=-(10**11), max_value=10**11
    )
)
def test_money_is_written_exactly(amount):
    text = format_money(amount).replace(",", "").replace("−", "-")
    assert Decimal(text) == amount
    assert len(text.partition(".")[2]) >= 2


def test_a_running_campaign_at_a_glance():
    campaign = lived(MemoryStore())
    series = Series()
    series.advance(campaign.store, "llm")
    found = card(seen(campaign, series))
    assert (found.state, found.tone, found.troubles) == ("Running", "yes", ())
    assert found.spent == f"{campaign.spent:.2f} USD"
    assert found.budget == "10.00 USD"
    assert found.open == "1"
    assert found.earning.arm == "small"
    assert "estimated" in found.earning.words
    assert "best arm seen so far" in found.earning.lost


def test_the_bar_has_all_the_money():
    bar = split(Decimal(10), Decimal("2.5"), Decimal("1"))
    assert (bar.spent, bar.held_at, bar.held, bar.budget) == (25.0, 25.0, 10.0, 100.0)
    assert split(Decimal(1), Decimal(3), Decimal(1)).budget == 25.0


def test_what_is_wrong_is_said_and_decides_the_answer():
    good = lived(MemoryStore())
    bad = Campaign("over", "1.00", {"call": "0.50"}, currency="USD")
    bad.tell(bad.ask(), cost="1.30", reward=1)
    cards = [card(seen(good)), card(seen(bad))]
    assert [one.text for one in cards[1].troubles] == [
        "Overdrawn by 0.30 USD; nothing more is granted.",
        "Costs exceeded their holds by 0.80 USD in all.",
    ]
    assert answer(cards, []) == ("no", "Look now: over needs attention.")
    assert answer(cards[:1], [])[0] == "yes"
    assert answer([], [])[0] == "open"
    assert answer(cards[:1], ["x"]) == ("no", "Look now: the ledger of x cannot be read.")


def test_totals_keep_currencies_apart():
    ours = [
        seen(Campaign("a", "10", {"x": "1"}, currency="EUR")),
        seen(Campaign("b", "5.50", {"x": "1"}, currency="EUR")),
        seen(Campaign("c", "7", {"x": "1"}, currency="USD")),
    ]
    assert [(one.currency, one.budget, one.campaigns) for one in totals(ours)] == [
        ("EUR", "15.50 EUR", 2),
        ("USD", "7.00 USD", 1),
    ]


def test_a_worse_arm_shows_in_what_money_brings():
    campaign = Campaign("llm", "100", {"good": "0.10", "bad": "0.10"}, policy="uniform")
    campaign.run(lambda arm: ("0.10", 0.9 if arm == "good" else 0.0), most=400)
    found = earning(seen(campaign))
    assert found.arm == "good"
    assert found.tone in ("part", "no")
    assert "of the best arm seen (estimated)" in found.words


def test_nothing_spent_is_no_reason_to_worry():
    found = earning(seen(Campaign("llm", "1", {"a": "0.1"})))
    assert (found.now, found.tone) == ("–", "open")


def test_holds_are_stuck_after_half_of_their_time():
    clock = HandClock(int(datetime.now(UTC).timestamp()) - 1000)
    campaign = Campaign("llm", "1", {"a": "0.1"}, clock=clock, hold_ttl=1200.0)
    campaign.ask(id="old")
    clock.go(900)
    campaign.ask(id="new")
    now = seen(campaign)
    assert [one.id for one in now.stuck] == ["old"]
    table = holds(now, "600")
    assert [row["id"] for row in table["rows"]] == ["old"]
    assert table["words"] == "2 decisions wait for an outcome and hold 0.20; 1 stuck."


def test_arms_are_sorted_by_any_column_both_ways():
    now = seen(lived(MemoryStore()))
    for column in arm_row.COLUMNS:
        up, _ = arm_row.rows(now, column, down=False)
        down, _ = arm_row.rows(now, column, down=True)
        assert {row["key"] for row in up} == {"small", "large"}
        if column == "asks":
            assert [row["key"] for row in down] == ["small", "large"]
            assert [row["key"] for row in up] == ["large", "small"]
    heads = {one.name: one for one in arm_row.heads("/campaigns/llm", "asks", True, False)}
    assert heads["asks"].sorted == "descending"
    assert heads["asks"].address.endswith("sort=asks&down=0")


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
    for one in intervals(column).rows:
        assert 0.0 <= one.low <= one.value <= one.high <= 100.0
        assert one.mark + 1.6 <= 100.0 + 1e-9


def test_the_log_is_paged_newest_first_without_gaps():
    campaign = lived(MemoryStore(), plays=40)
    newest = [event.seq for event in campaign.events()]
    found, before = [], newest[-1] + 1
    while before is not None:
        page, before = older(campaign.store, "llm", before, 7, lambda event: True)
        found += [event.seq for event in page]
    assert found == newest[::-1]
    asked, _ = older(campaign.store, "llm", newest[-1] + 1, 5, lambda event: event.kind == "asked")
    assert [event.kind for event in asked] == ["asked"] * 5


def test_every_kind_of_event_has_words():
    campaign = lived(MemoryStore(), ask_ttl=60.0)
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
    story = Story(campaign.coin, [arm.key for arm in campaign.arms()])
    lines = {event.kind: story.line(event) for event in campaign.events()}
    assert {kind: line.text for kind, line in lines.items() if kind not in ("asked", "told")} == {
        "created": "Created with 10.00 USD for small, large",
        "arm-added": "Arm medium added, 0.20 USD at most",
        "arm-paused": "Arm large paused (slow)",
        "arm-resumed": "Arm large resumed",
        "arm-retired": "Arm medium retired for good",
        "budget-set": "Budget set from 10.00 USD to 12.00 USD",
        "cap-set": "Cap of a day: 5.00 USD",
        "confirmed": "Confirmed: about to be spent",
        "corrected": "Corrected: cost 0.03 USD (typo)",
        "voided": "Hold given back (never sent)",
        "paused": "Campaign paused",
        "resumed": "Campaign resumed",
        "closed": "Campaign closed for good",
    }
    assert lines["told"].text == "cost 0.02 USD, brought 0.25"
    assert lines["budget-set"].by == "ada"


def test_a_budget_is_previewed():
    campaign = lived(MemoryStore())
    now = seen(campaign)
    left = Decimal("20") - campaign.spent - campaign.held
    found = preview(now, Decimal("20"))
    assert (
        found.words
        == f"Available becomes {left:.2f} USD; {int(left // Decimal('0.10'))} asks possible."
    )
    assert found.warning == ""
    assert "less than what is spent and held" in preview(now, Decimal("0.10")).warning
    assert "ten times" in preview(now, Decimal("100")).warning


def test_a_bill_is_held_against_the_books():
    campaign = lived(MemoryStore(), plays=3)
    ids = [event.decision for event in campaign.events() if event.kind == "asked"]
    bill = parse_bill(
        f"Decision;Amount\n{ids[0]};0.05\n{ids[1]};0.07\nstranger;1\n\n", campaign.coin
    )
    found = compare_bill(bill, campaign.events(), campaign.coin)
    booked = {one: campaign.decision(one).cost for one in ids[:3]}
    assert booked[ids[0]] == Decimal("0.05")
    assert [(row.id, row.what) for row in found.rows][-1] == (
        "stranger",
        "not a decision of this campaign",
    )
    assert ids[0] not in {row.id for row in found.rows}
    assert found.theirs == "1.12 USD"
    assert found.tone == "no"
    assert compare_bill({ids[0]: 50_000}, campaign.events(), campaign.coin).tone == "yes"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have lines"),
        ("a", "line 1 must have a decision and an amount"),
        ("id,amount\na,NaN", "the amount in line 2 must be finite"),
        ("a,-1", "the amount in line 1 must be 0 or more"),
    ],
)
def test_a_bill_that_cannot_be_read_says_where(text, words):
    with pytest.raises(InvalidInput, match=words):
        parse_bill(text, Coin(6))


def test_why_is_told_in_words_bars_and_numbers():
    campaign = lived(MemoryStore())
    found = why(campaign.explain("llm-open"), campaign.decision("llm-open"), "USD")
    assert found.verified
    assert found.arm in found.words
    assert found.open
    assert found.has_parts
    assert {one["key"] for one in found.options} == {"small", "large"}
    assert max(one["index"].width for one in found.options) == 100.0
    assert dict(found.facts)["Decision"] == "llm-open"


def test_a_form_says_what_is_wrong_beside_the_field_and_loses_nothing():
    typed = {
        "name": "", "budget": "ten", "rows": "3", "arm-0-key": "a", "arm-0-cost": "0.1",
        "arm-1-key": "a", "arm-1-cost": "x", "arm-2-key": "", "arm-2-cost": "1",
        "explore": "2", "max_open": "many", "exponent": "6", "reward_low": "1", "reward_high": "0",
    }  # fmt: skip
    form, _ = create.filled(typed)
    assert set(form.errors) >= {
        "name", "budget", "arm-1-key", "arm-1-cost", "arm-2-key", "explore", "max_open",
    }  # fmt: skip
    assert "ten" in form.errors["budget"]
    assert form.advanced_wrong
    assert form.values == typed


def test_a_form_makes_a_campaign():
    typed = create.DEFAULTS | {
        "name": "llm", "budget": "25.00", "currency": "USD", "rows": "3", "day_cap": "5",
        "arm-0-key": "small", "arm-0-cost": "0.004", "arm-2-key": "large", "arm-2-cost": "0.05",
    }  # fmt: skip
    form, made = create.filled(typed)
    assert form.errors == {}
    campaign = Campaign(**made)
    assert campaign.budget == Decimal("25.00")
    assert [arm.key for arm in campaign.arms()] == ["small", "large"]
    assert campaign.status().day_cap == Decimal(5)
    assert create.policies()[0] == campaign.config.policy


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
    campaign = lived(MemoryStore())
    found = card(seen(campaign))
    assert found.end.endswith("UTC") or found.end.count("-") == 2
    assert found.last == "just now"
    assert timedelta(0) <= datetime.now(UTC) - campaign.status().at
