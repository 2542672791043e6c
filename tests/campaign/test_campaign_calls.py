"""Calls of a campaign: many in one commit, options, blocks, reading, closing."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from bursar.campaign import Campaign, Config
from bursar.campaign.ask_options import ANY, make_ask_options
from bursar.campaign.commands import (
    ask_batch_command,
    ask_command,
    ask_many_command,
    decision_command,
    tell_command,
    void_command,
)
from bursar.campaign.config import RULES
from bursar.campaign.creation import open_store
from bursar.cli.campaign import app as campaign_app
from bursar.dashboard.forms import DEFAULTS, parse_form
from bursar.errors import (
    BudgetExhausted,
    BursarError,
    IdempotencyMismatch,
    InvalidInput,
    OutcomeConflict,
    StaleVersion,
    StorageUnavailable,
    UnknownArm,
    UnknownDecision,
)
from bursar.ledger import MemoryStore
from bursar.service.schemas import NewCampaignRequest


def made(budget: str, arms: dict[str, str], **rules: Any) -> Campaign:
    return Campaign("c", budget, arms, exponent=2, **rules)


ARMS = {"small": "0.10", "large": "0.50", "huge": "2.00"}


def test_many_works_share_a_commit_and_keep_their_own_results() -> None:
    campaign = made("10", ARMS)
    first = campaign.ask(id="one")
    before = campaign.status().seq
    results = campaign.execute_batch(
        [
            tell_command(campaign.config, "one", "0.05", 1.0),
            tell_command(campaign.config, "nobody", "0.05", 1.0),
            ask_command("two", make_ask_options(["large"])),
            ask_command("two", make_ask_options(["small"])),
            ask_many_command(3),
            decision_command("one"),
        ]
    )
    told, unknown, two, mismatch, three, looked = results
    assert (told.id, told.cost, told.reward) == (first.id, Decimal("0.05"), 1.0)
    assert isinstance(unknown, UnknownDecision)
    assert two.arm == "large"
    assert isinstance(mismatch, IdempotencyMismatch)
    assert len(three) == 3
    assert looked == told
    assert campaign.status().seq == before + 1 + 1 + 3  # and nothing of what was refused
    assert campaign.verify().events == before + 5


def test_a_failed_commit_is_told_to_all() -> None:
    class Full(MemoryStore):
        full = False

        def open_writer(self, name: str) -> Any:
            if self.full:
                raise OSError(28, "No space left on device")
            return super().open_writer(name)

    store = Full()
    campaign = made("10", ARMS, storage=store)
    store.full = True
    results = campaign.execute_batch([ask_command("a"), ask_command("b")])
    assert [type(one) for one in results] == [StorageUnavailable] * 2
    store.full = False
    assert campaign.open == 0
    assert campaign.ask(id="a").replayed is False


def test_arms_can_be_left_out() -> None:
    campaign = made("100", ARMS)
    arms = {campaign.ask(exclude=["huge"]).arm for _ in range(10)}
    assert arms == {"small", "large"}
    one = campaign.ask(among=["small", "large"], exclude=["large"], id="x")
    assert one.arm == "small"
    assert campaign.ask(among=["large", "small"], exclude=["large"], id="x").replayed
    with pytest.raises(IdempotencyMismatch, match="'x'"):
        campaign.ask(id="x")
    with pytest.raises(UnknownArm, match="'hug'"):
        campaign.ask(exclude=["hug"])
    with pytest.raises(InvalidInput, match="leaves no arm"):
        campaign.ask(exclude=list(ARMS))
    with pytest.raises(InvalidInput, match="list of arms"):
        campaign.ask(exclude="huge")
    assert "small" in str(campaign.explain("x"))
    assert campaign.verify(choices=True).choices == campaign.status().asks


def test_a_context_is_noted_and_belongs_to_the_ask() -> None:
    campaign = made("100", ARMS)
    context = {"task": "qa", "user": {"tier": 2, "tags": ["a", None, 1.5]}}
    decision = campaign.ask(id="x", context=context)
    assert decision.context == context
    assert campaign.ask(id="x", context=dict(reversed(context.items()))).replayed
    with pytest.raises(IdempotencyMismatch):
        campaign.ask(id="x", context={"task": "other"})
    campaign.tell(decision, cost="0.01", reward=1.0)
    assert campaign.decision("x").context == context  # brought back from the log
    assert campaign.explain("x").verified
    asked = next(event for event in campaign.events() if event.kind == "asked")
    assert asked.body["context"] == context


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"x": float("nan")}, "context.x must be finite"),
        ({"x": object()}, "plain data"),
        ({1: 2}, "keys of context must be texts"),
        (["x"], "mapping"),
        ({"x": "y" * 20_000}, "at most 16,384 bytes, got 20,0"),
    ],
)
def test_a_context_that_no_log_can_keep_is_refused(context: Any, said: str) -> None:
    campaign = made("100", ARMS)
    with pytest.raises(InvalidInput, match=said):
        campaign.ask(context=context)
    assert campaign.status().seq == 1


def test_ids_of_a_batch_are_given_or_made() -> None:
    campaign = made("0.35", {"x": "0.10"})
    granted = campaign.execute_batch([ask_many_command(5, ids=list("abcde"))])[0]
    assert [one.id for one in granted] == ["a", "b", "c"]  # what the budget allows
    again = campaign.execute_batch([ask_many_command(3, ids=list("abc"))])[0]
    assert [one.replayed for one in again] == [True] * 3
    with pytest.raises(InvalidInput, match="2 different ids"):
        ask_many_command(2, ids=["a", "a"])
    with pytest.raises(BudgetExhausted) as told:
        campaign.ask()
    assert told.value.extra == {"available": "0.05", "held": "0.30"}
    assert told.value.code == "budget-exhausted"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_13_a_batch_is_repeated_with_the_same_n_and_options_or_refused(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    urls = {"memory": "memory", "sqlite": f"sqlite:///{tmp_path / 'l.db'}"}
    url = urls[kind] if kind in urls else request.getfixturevalue("database")
    store = open_store(url)
    campaign = made("10", {"x": "0.10", "y": "0.10"}, storage=store)
    some, few = make_ask_options(context={"a": 1}), make_ask_options(["x"])
    for id, options in (("any", ANY), ("some", some), ("few", few)):
        first = campaign.execute(ask_batch_command(3, options, id=id))
        assert [one.id for one in first] == [f"{id}.1", f"{id}.2", f"{id}.3"]
        campaign.tell(first[0], "0.01", 1.0)  # complete, so that it is looked up in the log
        campaign.tell(first[1], "0.01", 1.0)
        before = campaign.status()
        for n, other in ((5, options), (2, options), (1, options), (3, make_ask_options(["y"]))):
            with pytest.raises(IdempotencyMismatch, match=f"'{id}.1' was asked for with"):
                campaign.execute(ask_batch_command(n, other, id=id))
        with pytest.raises(IdempotencyMismatch, match=f"'{id}' was used for a batch"):
            campaign.ask(id=id)
        again = campaign.execute(ask_batch_command(3, options, id=id))
        assert [(one.id, one.arm) for one in again] == [(one.id, one.arm) for one in first]
        assert all(one.replayed for one in again)
        assert campaign.status() == before
        assert campaign.explain(f"{id}.1").verified
    campaign.ask(id="single")
    with pytest.raises(IdempotencyMismatch, match="'single' was used for a single decision"):
        campaign.execute(ask_batch_command(3, id="single"))
    campaign.verify(choices=True)
    store.close()


def test_13_a_repeated_batch_gets_what_it_was_granted_and_no_more() -> None:
    campaign = made("0.35", {"x": "0.10"})
    first = campaign.execute(ask_batch_command(5, id="k"))
    assert len(first) == 3
    campaign.set_budget("10")
    assert len(campaign.execute(ask_batch_command(5, id="k"))) == 3
    for key in ("old.1", "old.2"):  # as a version before wrote them
        campaign.ask(id=key)
    assert [one.id for one in campaign.execute(ask_batch_command(5, id="old"))] == [
        "old.1",
        "old.2",
    ]
    assert campaign.status().open == 5


def test_13_a_batch_with_an_id_of_another_ask_holds_nothing() -> None:
    campaign = made("10", ARMS)
    campaign.ask(id="c", among=["small"])
    with pytest.raises(IdempotencyMismatch, match="'c' was asked for with"):
        campaign.execute(ask_many_command(3, ids=list("abc")))
    assert campaign.status().open == 1


def test_the_whole_stands_in_one_look() -> None:
    campaign = made("10", ARMS, caps={"day": "5"})
    first = campaign.ask(among=["large"])
    second = campaign.ask(among=["huge"])
    campaign.tell(first, cost="0.40", reward=0.5)
    status = campaign.status()
    assert (status.spent, status.held) == (Decimal("0.40"), Decimal("2.00"))
    assert status.available == Decimal("7.60")
    assert (status.day_cap, status.day_spent) == (Decimal(5), Decimal("0.40"))
    assert (status.asks, status.open, status.arms) == (2, 1, 3)
    assert status.max_asks == 76
    assert status.oldest_hold == second.at == campaign.holds()[0].at
    assert status.as_dict()["available"] == "7.60"
    campaign.retire_arm("huge")
    assert campaign.status().arms == 2


def test_stuck_holds_are_given_back_together() -> None:
    campaign = made("10", ARMS)
    decisions = campaign.ask(4)
    campaign.tell(decisions[1], cost="0.01")
    results = campaign.void_many([*decisions, "nobody"], reason="the worker died")
    kinds = [getattr(one, "money", None) or type(one) for one in results]
    assert kinds == ["voided", OutcomeConflict, "voided", "voided", UnknownDecision]
    assert campaign.holds() == []
    assert campaign.held == 0
    assert void_command(decisions[0])  # may be said again: it is done once
    assert campaign.void(decisions[0]).replayed


def test_budget_and_caps_change_together_or_not_at_all() -> None:
    campaign = made("10", ARMS)
    version = campaign.version
    with pytest.raises(UnknownArm):
        campaign.change(budget="20", caps={"day": "3", "arm:none": "1"})
    with pytest.raises(InvalidInput, match="'day' or 'arm:KEY'"):
        campaign.change(budget="20", caps={"week": "3"})
    assert (campaign.budget, campaign.version) == (10, version)
    campaign.change(budget="20", caps={"day": "3", "arm:huge": None}, by="ann", if_version=version)
    assert (campaign.budget, campaign.status().day_cap) == (20, 3)
    for change in (
        lambda: campaign.change(budget="30", if_version=version),
        lambda: campaign.pause(if_version=version),
        lambda: campaign.add_arm("new", "1", if_version=version),
        lambda: campaign.pause_arm("huge", if_version=version),
        lambda: campaign.retire_arm("huge", if_version=version),
        lambda: campaign.end(if_version=version),
    ):
        with pytest.raises(StaleVersion):
            change()
    assert campaign.state == "active"


def test_a_sum_that_no_database_can_keep_is_refused() -> None:
    campaign = made("1", {"x": "0.01"}, overruns=0)
    last = campaign.ask(12)
    for one in last[:9]:
        campaign.tell(one, cost="9999999999999999.99")  # overruns are booked as they are
    with pytest.raises(InvalidInput, match="more than a ledger with 2 decimals can store"):
        campaign.tell(last[9], cost="9999999999999999.99")
    with pytest.raises(InvalidInput, match="can store"):
        campaign.correct(last[0], cost="9999999999999999.98")
    assert campaign.decision(last[9].id).money == "held"
    campaign.tell(last[9], cost="0.01")
    assert campaign.verify().events == 1 + 12 + 10


# blocks, texts and closing


def test_the_error_of_a_block_is_kept_when_its_outcome_cannot_be_recorded() -> None:
    campaign = made("1.00", {"x": "0.50"})

    def fail() -> None:
        with campaign.decide(id="mine") as block:
            campaign.tell(block.decision, cost="0.10")
            block.settle(cost="0.20")  # differs from what is recorded
            raise ZeroDivisionError("of the body")

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    (note,) = caught.value.__notes__
    assert note.startswith("the outcome of decision 'mine' was not delivered: the cost of 'mine'")
    assert campaign.decision("mine").cost == Decimal("0.10")


def test_a_block_is_for_one_decision() -> None:
    campaign = made("1.00", {"x": "0.50"})
    with pytest.raises(InvalidInput, match="a block is for one decision"), campaign.decide(n=2):
        pass
    assert campaign.open == 0


def test_campaigns_and_decisions_have_short_texts_and_escaped_html() -> None:
    campaign = Campaign("<b>", "1.00", {"a&b": "0.10"}, "uniform", currency="EUR", exponent=2)
    assert repr(campaign) == "Campaign('<b>', spent 0.00 EUR of 1.00 EUR, 1 arm, uniform, active)"
    decision = campaign.ask(id="<i>")
    assert repr(decision) == "Decision('<i>', arm='a&b', hold=0.10, held)"
    for shown in (campaign, decision):
        html = shown._repr_html_()
        assert html.startswith("<table><tr><th>")
        assert "a&amp;b" in html
        assert "<b>" not in html
        assert "<i>" not in html


def test_closing_a_campaign_closes_only_a_store_that_it_opened(tmp_path: Path) -> None:
    own = made("1.00", {"x": "0.50"}, storage=f"sqlite:///{tmp_path}/own.db")
    guest = Campaign("guest", "1.00", {"x": "0.10"}, storage=own.store)
    guest.close()
    assert own.ask().arm == "x"
    own.close()
    with pytest.raises(BursarError):
        own.ask()


def test_every_rule_is_in_the_config_the_schema_the_shell_and_the_form() -> None:
    rules = {one.name for one in fields(Config)} - {"policy", "coin", "reward_range", "scale"}
    assert rules == set(RULES)
    assert rules <= set(NewCampaignRequest.__struct_fields__)
    assert rules <= {one.name for one in get_command(campaign_app).commands["create"].params}
    form, arguments = parse_form(
        DEFAULTS
        | {
            name: rule.choices[0] if rule.choices else "0.5"
            for name, rule in RULES.items()
            if rule.default is None
        }
    )
    assert rules <= set(arguments)
    assert not rules & set(form.errors)
    assert all(rule.help.endswith(".") and rule.label for rule in RULES.values())
