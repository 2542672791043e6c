# ruff: noqa: F811  (fixtures are imported by the names that tests take them by)
"""The same code on an embedded campaign and on a service: the same verbs, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from service_app import Live, live  # noqa: F401

from bursar.campaign import Campaign, Decision
from bursar.client import AsyncCampaign, AsyncClient, Client, RemoteCampaign
from bursar.client.transport import Request
from bursar.errors import (
    BursarError,
    IdempotencyMismatch,
    InvalidInput,
    UnknownArm,
    UnknownDecision,
)
from bursar.ledger.sqlite_file import restore

# what only whoever keeps the ledger can do
HERE_ONLY = {
    "store", "clock", "verify", "expire", "trust_clock", "execute", "execute_batch", "submit",
    "waiting",
}  # fmt: skip
ARMS = {"small": "0.004", "large": "0.05"}
OPTIONS: dict[str, Any] = {"currency": "USD", "caps": {"day": "0.9"}, "seed": 7, "explore": 0.1}


def public(kind: type) -> dict[str, Any]:
    found = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return found | dict.fromkeys(["name", "config", "coin", "store", "clock"])  # made by __init__


@pytest.mark.parametrize("kind", [RemoteCampaign, AsyncCampaign])
def test_every_verb_of_a_campaign_is_there_with_its_parameters(kind):
    handle = Client("http://x").campaign("llm") if kind is RemoteCampaign else None
    handle = handle or AsyncClient("http://x").campaign("llm")
    for name, here in public(Campaign).items():
        if name in HERE_ONLY:
            assert not hasattr(kind, name), f"{name} is no exception any more"
            continue
        there = inspect.getattr_static(handle, name)
        if not callable(here):
            assert not inspect.isfunction(there)
            continue
        mine = inspect.signature(here).parameters
        other = inspect.signature(getattr(handle, name)).parameters
        own = list(mine.values())[1:]
        assert [(one.name, one.kind, one.default) for one in own] == [
            (one.name, one.kind, one.default) for one in other.values()
        ], name


def test_a_campaign_is_made_with_the_same_words():
    mine = dict(inspect.signature(Campaign).parameters)
    other = inspect.signature(Client.create).parameters
    for name in ("name", "budget", "arms", "policy"):
        assert list(other).index(name) == list(mine).index(name) + 1  # after self


class Awaited:
    """An asynchronous campaign with every verb awaited, so that the same story can be played."""

    def __init__(self, campaign: AsyncCampaign, runner: asyncio.Runner) -> None:
        self._campaign, self._runner = campaign, runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._campaign, name)
        if inspect.isawaitable(found):
            return self._wait(found)
        if not callable(found):
            return found
        return lambda *args, **options: self._wait(found(*args, **options))

    def _wait(self, found: Any) -> Any:
        if hasattr(found, "__aiter__"):
            return self._runner.run(_all(found))
        return self._runner.run(_value(found)) if inspect.isawaitable(found) else found

    @contextmanager
    def decide(self, **options: Any) -> Iterator[Any]:
        block = self._campaign.decide(**options)
        one = self._runner.run(_value(block.__aenter__()))
        try:
            yield one
        except BaseException as error:
            self._runner.run(_value(block.__aexit__(type(error), error, None)))
            raise
        self._runner.run(_value(block.__aexit__(None, None, None)))

    def run(self, play: Any, most: int | None = None) -> int:
        async def awaited(arm: str) -> Any:
            return play(arm)

        return self._runner.run(self._campaign.run(awaited, most))


async def _value(found: Any) -> Any:
    return await found


async def _all(found: Any) -> list[Any]:
    return [one async for one in found]


def seen(value: Any) -> Any:
    """Return what can be compared between two campaigns: no ids that were made, no times."""
    if isinstance(value, Decision):
        return (
            value.arm, value.seq, str(value.hold), value.money, value.reward_state,
            None if value.cost is None else str(value.cost), value.reward, value.propensity,
            value.constrained, value.replayed, value.context,
        )  # fmt: skip
    if isinstance(value, BursarError):
        return type(value).__name__, str(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [seen(one) for one in value]
    if hasattr(value, "as_dict"):
        return timeless(value.as_dict())
    return value


def timeless(data: Any) -> Any:
    clocks = {
        "at", "last", "decision", "oldest_hold", "exhausted", "exhausted_early", "exhausted_late",
        "rate", "sentences",
    }  # fmt: skip
    if isinstance(data, dict):
        return {key: timeless(one) for key, one in data.items() if key not in clocks}
    return [timeless(one) for one in data] if isinstance(data, list) else data


def story(c: Any) -> Iterator[Any]:
    """Do a bit of everything; yield what was answered."""

    def tried(work: Any) -> Any:
        try:
            return work()
        except BursarError as error:
            return error

    def play(arm: str) -> tuple[str, float]:
        return ("0.003", 0.5) if arm == "small" else ("0.04", 0.9)

    yield c.name, c.coin, c.config, c.budget, c.state, c.version
    yield c.ask(id="one"), c.ask(id="one"), c.tell("one", cost="0.001")
    yield c.tell("one", reward=0.25), c.tell("one", reward=0.25), c.decision("one")
    yield tried(lambda: c.tell("one", cost="0.002")), tried(lambda: c.void("one"))
    yield tried(lambda: c.ask(id="one", among=["small"])), tried(lambda: c.tell("none", cost="1"))
    yield tried(lambda: c.tell("one", cost=0.1)), tried(lambda: c.ask(among=["tiny"]))
    yield tried(lambda: c.tell("one", reward=2.0)), tried(lambda: c.tell("one"))
    yield c.correct("one", cost="0.0015", reason="the bill"), c.spent, c.held, c.available
    yield c.ask(id="own", hold="0.0020"), c.ask(id="own", hold=Decimal("0.002"))
    yield tried(lambda: c.ask(id="own", hold="0.003")), tried(lambda: c.ask(hold="0"))
    yield tried(lambda: c.ask(hold=-0.1)), c.ask(id="most", hold=1, among=["small"])
    yield c.tell("own", cost="0.0025", reward=True), c.overrun, c.void("most"), c.alarms
    some = c.ask(5, exclude=["large"], context={"task": "qa"})
    yield some, c.open, c.holds()
    yield c.tell_many(
        [
            {"decision": some[0], "cost": 0.00123456789, "rounding": "up", "reward": 1},
            {"decision": some[1].id, "cost": "0.002", "report": "r"},
            {"decision": "none", "reward": 1},
        ]
    )
    yield c.void(some[2], reason="not shown"), c.void_many([some[3], "none"]), c.confirm(some[4])
    with c.decide(among=["large"]) as one:
        one.settle(cost="0.06", reward=0.5)  # above its hold
    yield c.overrun, c.arms()
    try:
        with c.decide() as one:
            one.settle(cost="0.002")
            raise KeyError(one.arm)
    except KeyError as error:
        yield error.args, c.spent
    yield c.run(play, most=10), c.status(), c.explain("one"), c.forecast(), c.forecast(days=2.0)
    c.add_arm("medium", "0.01", by="ada")
    c.pause_arm("large", by="ada", reason="slow")
    yield c.ask(among=["large", "medium"]), tried(lambda: c.add_arm("medium", "0.01"))
    past = {"arm": ["small", "large", "small"], "reward": [1, 0, 0.5], "cost": [0.001, 0.02, 0.003]}
    yield c.learn_from(past, weight=0.5, source="evals"), c.learn_from(past, weight=0.5), c.arms()
    yield tried(lambda: c.learn_from(past)), tried(lambda: c.learn_from(past, weight=2))
    yield tried(lambda: c.learn_from({"arm": ["tiny"], "reward": [1], "cost": [1]}))
    yield tried(lambda: c.learn_from({"arm": ["small"], "reward": [2], "cost": [1]}))
    rows = [*({"arm": arm, "reward": 1, "cost": 0.01} for arm in ("tiny", "large")), {"arm": "x"}]
    yield c.learn_from(rows, unknown="skip", missing="skip", by="ada"), c.spent, c.version
    c.resume_arm("large")
    c.retire_arm("medium")
    yield tried(lambda: c.resume_arm("medium")), tried(lambda: c.pause_arm("none"))
    c.set_budget("0.5", by="ada", if_version=c.version)
    yield tried(lambda: c.set_budget("9", if_version=1)), c.budget, c.version
    c.set_cap("arm:large", "0.2")
    c.set_cap("day", None)
    c.change(budget="0.6", caps={"arm:small": "0.3", "arm:large": "0.25"})
    yield c.budget, tried(lambda: c.change(budget="9", caps={"arm:none": "1"})), c.budget
    yield tried(lambda: c.set_cap("week", "1")), [arm.cap for arm in c.arms()]
    many = c.ask(1200)
    yield many.asked, many.granted, many.reason, c.state, len(c.void_many(many))
    c.pause()
    yield c.state, tried(c.ask), tried(lambda: c.reconcile("1"))
    c.resume()
    yield c.run(play), c.state, tried(c.ask), c.available, c.alarms
    c.end()
    yield c.state, tried(c.ask), tried(c.resume)
    events = list(c.events())
    yield [event.kind for event in events], [event.seq for event in c.events(after=40)]


def test_one_story_is_the_same_embedded_and_over_the_wire(live: Live):
    here = Campaign("llm", budget="1.00", arms=ARMS, **OPTIONS)
    with Client(live.url, key=live.token) as client, asyncio.Runner() as runner:
        there = client.create("llm", budget="1.00", arms=ARMS, **OPTIONS)
        awaited = AsyncClient(live.url, key=live.token)
        runner.run(awaited.create("zzz", budget="1.00", arms=ARMS, **OPTIONS))
        third = Awaited(awaited.campaign("zzz"), runner)
        for mine, theirs, others in zip(story(here), story(there), story(third), strict=True):
            assert seen(theirs) == seen(mine)
            assert str(seen(others)).replace("zzz", "llm") == str(seen(mine))
        runner.run(awaited.close())


def test_costs_are_rounded_as_the_campaign_says_whatever_the_key_may_read(live: Live):
    def told(c: Any) -> Iterator[Any]:
        decision = c.ask()
        yield c.tell(decision, cost=0.0012345678), c.correct(decision, cost="0.00200000001")
        first, second = c.ask(2)
        yield c.tell_many([{"decision": first, "cost": np.float64(0.0012345678), "reward": True}])
        with c.decide() as one:
            one.settle(cost="0.0012345678", reward=np.int64(1))
        yield c.run(lambda arm: (0.0012345678, False), most=1)
        yield c.tell(second, cost="0.0019999999", rounding="down")

    here = Campaign("llm", "1.00", ARMS, rounding="up")
    mine = list(told(here))
    assert str(here.spent) == "0.007705"
    with Client(live.url, key=live.token) as client:
        client.create("blind", "1.00", ARMS, rounding="up")
        token = client.create_key(["ask", "tell"], campaigns=["blind"]).token
        assert seen(list(told(client.create("llm", "1.00", ARMS, rounding="up")))) == seen(mine)
        strict = client.create("strict", "1.00", ARMS)
        with pytest.raises(InvalidInput, match="is a float with no exact decimal value"):
            strict.tell(strict.ask(), cost=0.1)
        with Client(live.url, key=token) as other:
            blind = other.campaign("blind")
            assert blind.tell(blind.ask(), cost=0.0012345678).cost == Decimal("0.001235")
        tiny = client.create("tiny", "0.000001", {"a": "0.000000001"})
        assert tiny.ask().hold == Decimal("0.000000001")


def test_what_is_returned_is_of_the_same_kind(live: Live):
    here = Campaign("llm", budget="1.00", arms=ARMS)
    with Client(live.url, key=live.token) as client:
        there = client.create("llm", budget="1.00", arms=ARMS)
        for one in (here, there):
            one.run(lambda arm: ("0.003", 0.5), most=3)
        key = [event.decision for event in there.events() if event.kind == "asked"][-1]
        mine = [event.decision for event in here.events() if event.kind == "asked"][-1]
        pairs = [
            (here.status(), there.status()),
            (here.arms()[0], there.arms()[0]),
            (here.arms()[0].ratio, there.arms()[0].ratio),
            (here.forecast(), there.forecast()),
            (here.explain(mine), there.explain(key)),
            (here.ask(), there.ask()),
            (next(here.events()), next(iter(there.events()))),
            (here.config, there.config),
        ]
        for own, other in pairs:
            assert type(own) is type(other)
        assert str(here.explain(mine)) == str(there.explain(key))


def test_campaigns_and_keys_are_managed(live: Live):
    with Client(live.url, key=live.token) as client:
        client.create("b", "1", ARMS)
        client.create("a", "2", ARMS)
        assert client.create("a", "2", ARMS).name == "a"  # the same once more
        with pytest.raises(BursarError, match="different budget"):
            client.create("a", "3", ARMS)
        assert [(one.name, str(one.budget)) for one in client.campaigns()] == [
            ("a", "2.000000"), ("b", "1.000000"),
        ]  # fmt: skip
        made = client.create_key(["ask", "tell"], campaigns=["a"], note="worker")
        assert made.token not in repr(made)
        with Client(live.url, key=made.token) as worker:
            assert worker.campaign("a").run(lambda arm: ("0.001", 1), most=2) == 2
            for forbidden in (
                lambda: worker.campaign("b").ask(),
                lambda: worker.campaign("a").set_budget("9"),
                lambda: worker.campaign("a").status(),
                worker.keys,
            ):
                with pytest.raises(PermissionError):
                    forbidden()
        new = client.rotate_key(made.id)
        with Client(live.url, key=new.token) as worker:
            worker.campaign("a").ask()
        last = client.rotate_key(new.id, grace=600)
        client.revoke_key(new.id, only=True)
        listed = client.keys()
        states = {one.id: one.revoked is not None for one in listed}
        assert (states[new.id], states[last.id]) == (True, False)
        client.revoke_key(new.id)  # and what came from it
        found = client.keys()
        assert next(one for one in found if one.id == last.id).revoked is not None
        assert {one.id for one in found} >= {made.id, new.id}
        assert next(one for one in found if one.id == new.id).revoked is not None


def test_a_campaign_is_created_with_a_history_of_any_length(live: Live):
    rows = {"arm": ["small", "large"] * 50_000, "reward": [1, 0] * 50_000, "cost": [0.001] * 10**5}
    with Client(live.url, key=live.token) as client:
        with pytest.raises(UnknownArm, match="'large'"):
            client.create("few", "1", {"small": "0.1"}, history=rows)
        assert client.campaigns() == []
        for _ in range(2):
            campaign = client.create("llm", "1", ARMS, history=rows)
            assert campaign.arms()[0].history.outcomes == 50_000
        worker = client.create_key(["ask", "tell"])
        with Client(live.url, key=worker.token) as other, pytest.raises(PermissionError):
            other.campaign("llm").learn_from(rows)


def test_names_of_any_kind_arrive(live: Live):
    with Client(live.url, key=live.token) as client:
        arm = "größe/м?#1"
        campaign = client.create("a/b c:x", "1", {arm: "0.1"})
        assert campaign.ask(id="x/y?z").arm == arm
        assert campaign.tell("x/y?z", cost="0.1", reward=1).money == "settled"
        campaign.pause_arm(arm)
        assert campaign.arms()[0].state == "paused"


def test_an_outcome_finds_its_way_after_an_older_backup_was_restored(tmp_path: Path):
    """The money was spent although the ledger has forgotten the decision: its token vouches."""
    before = Live(tmp_path / "spend.db")
    with Client(before.url, key=before.token) as client:
        campaign = client.create("llm", "1.00", ARMS)
        before.service.store.backup(tmp_path / "old.db")
        asked = campaign.ask()
        token = campaign.token(asked)
    before.stop()
    restore(tmp_path / "old.db", tmp_path / "spend.db", replace=True)
    after = Live(tmp_path / "spend.db")
    try:
        with Client(after.url, key=after.token) as client:
            fresh = client.campaign("llm")
            with pytest.raises(UnknownDecision):
                fresh.tell(asked, cost="0.003")
            done = fresh.tell(asked, cost="0.003", reward=1, token=token)
            assert done.money == "settled"
            assert str(fresh.spent) == "0.003000"
    finally:
        after.stop()


def test_13_ids_of_a_batch_that_were_used_otherwise_are_a_mismatch(live: Live):
    with Client(live.url, key=live.token) as client:
        campaign = client.create("batch", "1", ARMS)
        campaign.ask(id="c", among=["small"])
        body = {"ids": ["a", "b", "c"]}
        request = Request("POST", campaign._path("decisions"), campaign._read_decisions, body)
        with pytest.raises(IdempotencyMismatch):
            client.runner.run_script(campaign._send_ask(request, []))
        assert campaign.open == 1
