"""Every reader of a log knows every kind of event, and says so when there is a newer one."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any, TypedDict

import msgspec
import pytest
from hand_clock import HandClock, live_state
from hypothesis import given
from hypothesis.strategies import text

from bursar.campaign import Campaign, events
from bursar.campaign.activity import RecentActivity
from bursar.campaign.audit import Audit
from bursar.campaign.decision import TokenSigner
from bursar.campaign.export import decision_rows, export_decisions, export_events
from bursar.campaign.records import load_decision
from bursar.campaign.state import State
from bursar.client.decode import decode_sent_event
from bursar.dashboard.events import GROUPS, EventDescriber
from bursar.errors import NewerSchema, PolicyFailed
from bursar.formatting import from_csv_cell, to_csv_cell
from bursar.ledger import Event
from bursar.replay.log import read_log
from bursar.service.maintenance import _excess as explained_excess
from bursar.service.series import RunningTotals, Series


def everything_happens() -> Campaign:
    """Return a campaign whose log has every kind of event, written by its own commands."""
    clock = HandClock()
    campaign = Campaign(
        "all", budget="100", arms={"a": "1", "b": "2"}, exponent=2, clock=clock, by="me",
        ask_ttl=60.0, hold_ttl=3600.0, reward_ttl=7200.0, patience=1e-9, on_failure="refuse",
        caps={"day": "90"},
    )  # fmt: skip
    campaign.add_arm("c", "3")
    campaign.pause_arm("c", reason="dear")
    campaign.resume_arm("c")
    campaign.retire_arm("c")
    campaign.set_budget("90", by="me")
    campaign.set_cap("day", None)
    campaign.pause()
    campaign.resume()
    told, voided, lapsed, released = campaign.ask(4, context={"page": 1})
    campaign.tell(told, cost="0.50", reward=1.0, report="first")
    campaign.correct(told, cost="0.60", reason="typo", by="me")
    campaign.void(voided, by="me")
    campaign.confirm(lapsed)
    clock.go(61.0)
    campaign.expire()
    assert campaign.decision(released.id).money == "released"
    clock.go(7200.0)
    campaign.expire()
    campaign.tell(lapsed, cost="0.10", reward=0.5)  # late
    lost = msgspec.structs.replace(told, id="lost")
    campaign.tell("lost", cost="0.20", token=TokenSigner(campaign.store).sign("all", lost))
    fail_once(campaign)
    restore(campaign)
    campaign.reconcile("1.50", by="me")
    campaign.execute(
        lambda transaction: transaction.append_event(
            events.CHANGED,
            {"key": "a", "what": "cost", "before": 0.5, "after": 0.7, "older": 9, "newer": 5,
             "reset": True},
        )
    )  # fmt: skip
    campaign.learn_from({"arm": ["b"], "reward": [1], "cost": [0.5]}, source="evals", by="me")
    campaign.end(by="me")
    return campaign


def fail_once(campaign: Campaign) -> None:
    def choose(*_: Any) -> int:
        raise ValueError("no")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_state(campaign).learner, "choose", choose)
        with pytest.raises(PolicyFailed):
            campaign.ask()


def restore(campaign: Campaign) -> None:
    with campaign.store.open_writer("all") as log:
        event = Event(log.seq + 1, log.head.ts + 1, events.RESTORED, "", {"epoch": 1})
        log.append([event], live_state(campaign).summary(granted=False))


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return everything_happens()


@pytest.fixture(scope="module")
def log(campaign: Campaign) -> list[Event]:
    return list(campaign.events())


def test_all_kinds_are_in_the_log_with_the_body_that_is_declared(log: list[Event]) -> None:
    assert {event.kind for event in log} == set(events.BODIES)
    for event in log:
        keys = events.BODIES[event.kind]
        assert set(event.body) <= set(keys), event
        msgspec.convert(event.body, TypedDict("Body", keys))


def test_constants_bodies_and_groups_have_the_same_kinds() -> None:
    constants = [
        value
        for name, value in vars(events).items()
        if name.isupper() and isinstance(value, str)
    ]  # fmt: skip
    assert sorted(constants) == sorted(events.BODIES)
    assert sorted((*events.DECISIONS, *events.RULES, *events.NOTICES)) == sorted(events.BODIES)
    assert {kind for group in GROUPS.values() for kind in group} == set(events.BODIES)
    assert all(EventDescriber.find_group(kind) in GROUPS for kind in events.BODIES)


def fold(log: list[Event]) -> None:
    state = State(log[0])
    for event in log[1:]:
        state.apply(event)


def audit(log: list[Event]) -> None:
    books = Audit(log[0])
    assert [books.follow(event) for event in log[1:]] == [None] * (len(log) - 1)


def follow_totals(log: list[Event]) -> None:
    totals, series = RunningTotals(), Series()
    for event in log:
        totals.follow(event)
        series.follow(event)


def load_decisions(log: list[Event]) -> None:
    for decision in {event.decision for event in log if event.decision}:
        assert load_decision([event for event in log if event.decision == decision])


def describe(log: list[Event]) -> None:
    describer = EventDescriber(State(log[0]).config.coin, [])
    assert all(describer.describe(event) not in ("", event.kind) for event in log)


def decode(log: list[Event]) -> None:
    assert [decode_sent_event(msgspec.to_builtins(event)) for event in log] == log


READERS: list[Callable[[list[Event]], None]] = [
    fold, audit, follow_totals, load_decisions, describe, decode,
]  # fmt: skip


@pytest.mark.parametrize("read", READERS)
def test_every_reader_knows_every_kind(read: Callable[..., None], log: list[Event]) -> None:
    read(log)


@pytest.mark.parametrize("read", READERS)
def test_a_newer_kind_is_named_by_every_reader(read: Callable[..., None], log: list[Event]) -> None:
    first = next(event for event in log if event.decision)
    newer = Event(log[-1].seq + 1, log[-1].ts + 1, "teleported", first.decision, {})
    with pytest.raises(NewerSchema, match="'teleported', which this version of bursar"):
        read([*log, newer])


def test_exports_forecasts_and_invariants_read_the_events_of_the_campaign(
    campaign: Campaign, log: list[Event], tmp_path: Any
) -> None:
    assert len(decision_rows(campaign)) == sum(event.kind in events.GRANTS for event in log)
    assert export_events(campaign, tmp_path / "log.csv") == len(log)
    assert sum(explained_excess(event, set()) for event in log) > 0
    assert RecentActivity(log, log[-1].ts, 30.0, 0.01).cost.size


CELLS = ("=1+1", "+1", "-1", "@sum", "'=1", "plain", "'tis", "＝1")


def test_13_12_no_cell_is_a_formula_and_replay_reads_the_arms_as_they_were(tmp_path: Any) -> None:
    campaign = Campaign("c", budget="9", arms=dict.fromkeys(CELLS, "0.1"), reward_range=(-1, 1))
    for arm in CELLS:
        campaign.tell(campaign.ask(among=[arm], id=arm), cost="0.1", reward=-0.5)
    path = tmp_path / "decisions.csv"
    assert export_decisions(campaign, path) == len(CELLS)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert row["reward"] == "-0.5"  # a number stays a number
        for name in ("arm", "decision", "available"):
            assert row[name].strip()[0] not in "=+-@＝"
    log = read_log(path)
    assert set(log.arms) == set(CELLS)
    assert log.earned == -0.5 * len(CELLS)
    assert export_events(campaign, tmp_path / "log.csv") == 1 + 2 * len(CELLS)
    with (tmp_path / "log.csv").open(newline="", encoding="utf-8") as file:
        found = [from_csv_cell(row["decision"]) for row in csv.DictReader(file)]
    assert found == ["", *(arm for arm in CELLS for _ in range(2))]


@given(text())
def test_13_12_every_text_comes_back_and_none_is_a_formula(value: str) -> None:
    cell = to_csv_cell(value)
    assert from_csv_cell(cell) == value
    assert not cell.strip().startswith(tuple("=+-@"))
    assert not cell.startswith(("\t", "\r", "\n"))


def test_a_campaign_with_a_newer_kind_neither_opens_nor_lists_it() -> None:
    campaign = everything_happens()
    with campaign.store.open_writer("all") as writer:
        event = Event(writer.seq + 1, writer.head.ts + 1, "teleported", "", {})
        writer.append([event], live_state(campaign).summary(granted=False))
    with pytest.raises(NewerSchema):
        campaign.status()
    with pytest.raises(NewerSchema):
        list(campaign.events())
    with pytest.raises(NewerSchema):
        Campaign("all", storage=campaign.store)
