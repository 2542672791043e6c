"""What a campaign accepts can be kept and read; what it cannot keep is refused at the door."""

from __future__ import annotations

import json
import threading
from enum import StrEnum

import msgspec
import numpy as np
import pytest
from dashboard_site import site
from hand_clock import HandClock, live_state
from typer.testing import CliRunner

from bursar import Campaign, Client
from bursar.campaign import committer
from bursar.campaign.ask_options import make_ask_options
from bursar.campaign.export import decision_rows, stream_events
from bursar.campaign.state import decode_snapshot, encode_snapshot
from bursar.cli.campaign import app
from bursar.errors import CorruptLedger, InvalidInput, UnknownCampaign, UnknownDecision
from bursar.ledger import Event
from bursar.ledger.store import CampaignTotals

DEEP = 971  # levels that earlier versions accepted


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request, tmp_path):
    """Every kind of store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return request.getfixturevalue("database") if request.param == "postgres" else "memory"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request, tmp_path):
    """Every kind of store that outlives a process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return request.getfixturevalue("database")


def make(storage="memory", **rules):
    return Campaign("llm", "10.00", {"small": "0.10"}, storage=storage, **rules)


def nested(levels, kind=list):
    value = 1
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


def log_ask(campaign, decision, context):
    """Write an ask to the log by hand, as a version without the check would have done."""
    first = campaign.ask()
    body = next(one for one in campaign.events() if one.decision == first.id).body
    state = live_state(campaign)
    fingerprint = '{"among":null,"context":"by hand","exclude":null}'
    body = {**body, "context": context, "print": fingerprint}
    body |= {name: body[name] + 1 for name in ("expires", "due")}
    event = Event(state.seq + 1, state.ts + 1, "asked", decision, body)
    held = state.held + first.hold_units
    totals = CampaignTotals("active", state.budget, state.spent, held, granted=True)

    def write():
        with campaign.store.open_writer("llm") as writer:
            writer.append([event], totals)

    thread = threading.Thread(target=write)  # with a stack of its own, so that depth fits
    thread.start()
    thread.join()
    campaign.store.close()


BAD_CONTEXTS = {
    "an integer of 65 bits": {"n": 2**64},
    "a negative integer of 65 bits": {"n": [-(2**63) - 1]},
    "a very long integer": {"n": 10**4000},
    "33 levels": {"a": nested(32)},
    "33 levels of mappings": nested(33, dict),
    "971 levels": {"a": nested(DEEP)},
    "more than 16 KiB": {"a": "x" * 16_384},
    "NaN": {"a": float("nan")},
    "infinity": {"a": [float("inf")]},
    "half of a surrogate pair": {"a": "\ud800"},
    "half of a surrogate pair in a key": {"\udfff": 1},
    "NUL": {"a": "x\0y"},
    "NUL in a key": {"a\0": 1},
    "a key that is a number": {"a": {1: 2}},
    "a key that is None": {None: 2},
    "a tuple": {"a": (1, 2)},
    "bytes": {"a": b"x"},
    "a number of NumPy": {"a": np.float64(1.0)},
    "a list": [1],
    "a text": "a",
}


@pytest.mark.parametrize("context", BAD_CONTEXTS.values(), ids=BAD_CONTEXTS)
def test_13_1_a_context_that_cannot_be_kept_is_refused(context):
    campaign = make()
    with pytest.raises(InvalidInput, match="context"):
        campaign.ask(context=context)
    with pytest.raises(InvalidInput, match="context"):
        campaign.ask(2, context=context)
    assert campaign.status().seq == 1


@pytest.mark.parametrize(
    "context",
    [
        {"n": 2**64 - 1, "m": -(2**63)},
        {"a": nested(31)},
        {"a": "\U0001f600 \\u0000 \t\n\x1b", "": None, "b": [True, -0.0, 5e-324, 1.7e308]},
    ],
)
def test_13_1_a_context_at_the_limits_is_kept(context, storage, monkeypatch):
    monkeypatch.setattr(committer, "SNAPSHOT_EVERY", 1)
    campaign = make(storage)
    assert campaign.ask(id="p", context=context).context == context
    campaign.ask()
    assert campaign.verify(choices=True).snapshot == 3
    assert Campaign("llm", storage=campaign.store).decision("p").context == context
    assert campaign.alarms == []


class Key(StrEnum):
    SMALL = "small"


BAD_TEXTS = ["\0", "a\0b", "\ud800", np.str_("a"), 5, None, "x" * 1001]
BAD_NAMES = [*BAD_TEXTS, "", ".", "..", "a\nb", "\x1b[2J", "x" * 129, "\u202e"]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=repr)
def test_13_1_a_text_that_cannot_be_kept_is_refused(text):
    campaign = make()
    decision = campaign.ask(id="p")
    calls = [
        lambda: campaign.void(decision, text),
        lambda: campaign.void(decision, by=text),
        lambda: campaign.correct(decision, "0.01", reason=text),
        lambda: campaign.correct(decision, "0.01", by=text),
        lambda: campaign.pause(by=text),
        lambda: campaign.pause_arm("small", reason=text),
        lambda: campaign.set_budget("2", by=text),
        lambda: campaign.add_arm("new", "0.1", by=text),
    ]
    if text is not None:
        calls.append(lambda: campaign.tell(decision, "0.01", report=text))
    for call in calls:
        with pytest.raises(InvalidInput):
            call()
    assert campaign.status().seq == 2


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_13_1_a_name_that_cannot_be_kept_is_refused(name, storage):
    campaign = make(storage)
    calls = [
        lambda: campaign.add_arm(name, "0.1"),
        lambda: Campaign(name, "1", {"a": "0.1"}, storage=campaign.store),
        lambda: Campaign("other", "1", {name: "0.1"}, storage=campaign.store),
        lambda: campaign.set_cap(f"arm:{name}" if isinstance(name, str) else name, "1"),
    ]
    if name is not None:
        calls.append(lambda: campaign.ask(id=name))
    for call in calls:
        with pytest.raises((InvalidInput, LookupError)):
            call()
    for call in (campaign.decision, campaign.explain, campaign.void):
        with pytest.raises((InvalidInput, UnknownDecision)):
            call(name)
    with pytest.raises(UnknownCampaign):
        Campaign(name, storage=campaign.store)
    assert campaign.status().seq == 1
    assert campaign.ask().arm  # it goes on


def test_13_1_an_enumeration_of_texts_is_a_text(storage):
    campaign = Campaign("e", "1", {Key.SMALL: "0.1"}, storage=storage)
    campaign.void(campaign.ask(), Key.SMALL)
    assert campaign.verify().events == 3


@pytest.mark.parametrize(
    "rules",
    [
        {"seed": 2**63}, {"max_open": 2**64}, {"overruns": 10**30},
        {"reward_range": (0.0, float("inf"))}, {"reward_range": (float("nan"), 1.0)},
        {"default_reward": float("nan")}, {"hold_ttl": float("inf")}, {"min_cost": "\0"},
    ],
    ids=repr,
)  # fmt: skip
def test_13_1_a_rule_that_cannot_be_kept_is_refused(rules):
    with pytest.raises(InvalidInput, match=next(iter(rules))):
        make(**rules)


def test_13_1_a_rule_is_kept_as_a_plain_number(storage):
    campaign = make(storage, seed=np.int64(3), explore=np.float64(0.25), max_open=True + 9)
    campaign.ask()
    assert campaign.verify(choices=True).events == 2
    assert type(campaign.config.seed) is int


def test_13_1_what_a_caller_does_with_its_context_does_not_reach_the_log(storage):
    campaign = make(storage)
    context = {"a": [1]}
    decision = campaign.ask(id="p", context=context)
    context["a"].append(2)
    decision.context["a"].append(float("nan"))
    campaign.decision("p").context["b"] = object()
    assert campaign.verify().events == 2
    assert campaign.decision("p").context == {"a": [1]}
    assert campaign.ask(id="p", context={"a": [1]}).replayed


def test_13_1_a_campaign_that_was_bricked_opens_snapshots_and_goes_on(database_url, monkeypatch):
    campaign = make(database_url)
    log_ask(campaign, "p", {"n": 2**64, "deep": [{"m": -(10**40)}]})
    monkeypatch.setattr(committer, "SNAPSHOT_EVERY", 1)
    campaign = Campaign("llm", storage=database_url)
    for _ in range(4):
        campaign.tell(campaign.ask(), "0.05", 0.5)
    campaign.pause()
    campaign.resume()
    found = campaign.verify(choices=True)
    assert found.snapshot == found.events
    assert campaign.alarms == []
    with campaign.store.open_writer("llm") as writer:
        kept = decode_snapshot(writer.load_snapshot()[1])
    assert kept.decisions["p"].context == {"n": 2**64, "deep": [{"m": -(10**40)}]}
    assert encode_snapshot(kept) == encode_snapshot(live_state(campaign))
    campaign.store.close()
    campaign = Campaign("llm", storage=database_url)  # from the snapshot
    assert campaign.tell("p", "0.05", 1.0).context["n"] == 2**64
    assert campaign.explain("p").verified
    campaign.store.close()


@pytest.mark.parametrize("where", ["encode", "save"])
def test_13_1_a_snapshot_that_fails_fails_no_commit(where, storage, monkeypatch, caplog):
    monkeypatch.setattr(committer, "SNAPSHOT_EVERY", 3)
    campaign = make(storage)
    writer = type(campaign.store.open_writer("llm"))

    def fail(*_):
        raise (TypeError if where == "encode" else OSError)("cannot keep it")

    with monkeypatch.context() as patched:
        if where == "encode":
            patched.setattr(committer, "encode_snapshot", fail)
        else:
            patched.setattr(writer, "save_snapshot", fail)
        for _ in range(7):
            campaign.ask()
        assert campaign.committer.failed_snapshots == 2
        [alarm] = campaign.alarms
        assert "the snapshot of 'llm' after event 6 failed" in alarm
        assert "cannot keep it" in caplog.text
    assert campaign.verify().events == 8
    campaign.ask(3)
    assert campaign.alarms == []  # it succeeded
    assert campaign.verify().snapshot == 11


def test_13_1_a_snapshot_that_fails_names_the_decision(monkeypatch):
    monkeypatch.setattr(committer, "SNAPSHOT_EVERY", 3)
    campaign = make()
    campaign.ask(id="odd one")
    live_state(campaign).decisions["odd one"].context = {"a": object()}
    campaign.ask()
    campaign.ask()
    assert "in decision 'odd one'" in campaign.alarms[0]


def test_13_1_a_snapshot_that_cannot_be_read_is_not_needed(storage, caplog):
    campaign = make(storage)
    campaign.ask(5)
    with campaign.store.open_writer("llm") as writer:
        writer.save_snapshot(4, b"\xc1")
    again = Campaign("llm", storage=campaign.store)
    assert again.open == 5
    assert "the snapshot of 'llm' after event 4 cannot be read" in caplog.text


def test_13_2_a_log_with_a_deep_context_is_read_by_all(database_url, tmp_path):
    campaign = make(database_url)
    log_ask(campaign, "p", {"a": nested(DEEP), "b": nested(DEEP, dict), "c": [nested(60), "]["]})
    campaign = Campaign("llm", storage=database_url)
    assert campaign.ask(id="q").arm
    found = campaign.verify(choices=True)
    assert found.events == 4
    context = campaign.decision("p").context
    assert context["c"] == [nested(60), "]["]
    text = json.dumps(context)
    assert text.count("[") == text.count("]") > DEEP  # nothing is lost, the deepest is text
    [event] = [one for one in campaign.events() if one.decision == "p"]
    assert msgspec.json.decode(msgspec.json.encode(event))["body"]["context"] == context
    assert campaign.explain("p").verified
    assert campaign.tell("p", "0.05", 0.5).context == context
    assert campaign.correct("p", "0.06", reason="deep").context == context  # with its record
    assert len(decision_rows(campaign)) == 3
    for kind in ("jsonl", "csv", "parquet"):
        assert b"".join(stream_events(campaign, kind))
    assert campaign.verify(choices=True).events == 6
    if database_url.startswith("sqlite"):
        assert campaign.store.backup(tmp_path / "copy.db") == 6
    campaign.store.close()


@pytest.mark.parametrize("context", [{"a": nested(DEEP)}, {"n": 2**64}], ids=["deep", "large"])
def test_13_2_an_odd_log_is_read_over_http_on_the_dashboard_and_by_the_shell(
    context, database_url, tmp_path
):
    log_ask(make(database_url), "p", context)
    with site(database_url) as (_, client):
        path = "/v1/campaigns/llm"
        assert client.get(f"{path}/events").json()["events"][2]["decision"] == "p"
        assert len(client.get(f"{path}/decisions").json()["decisions"]) == 2
        for end in ("", "/audit", "/series", "/export", "/decisions/p?why=true"):
            assert client.get(path + end).status_code == 200, end
        for end in ("", "/events", "/decisions/p", "/ledger"):
            assert client.get(f"/campaigns/llm{end}").status_code == 200, end
        assert client.post(f"{path}/decisions", json={}).status_code == 201
    ids = ("--json", "llm")
    for words in (
        ["show", *ids], ["ask", *ids], ["events", "llm"], ["events", *ids], ["explain", *ids, "p"],
        ["export", "llm", str(tmp_path / "a.csv")], ["verify", "llm"],
        ["export", "--events", "llm", str(tmp_path / "b.csv")], ["tell", *ids, "p", "--cost", "0"],
    ):  # fmt: skip
        done = CliRunner().invoke(app, words, env={"BURSAR_STORAGE": database_url})
        assert done.exit_code == 0, (words, done.exception)


@pytest.mark.parametrize("name", ["an integer of 65 bits", "33 levels", "NUL"])
def test_13_1_every_door_refuses_what_cannot_be_kept(name, tmp_path):
    context = BAD_CONTEXTS[name]
    with site() as (service, client):
        make(service.store)
        bodies = [{"id": "p", "context": context}, {"n": 3, "context": context}, {"id": "a\0"}]
        for body in bodies:
            done = client.post("/v1/campaigns/llm/decisions", json=body)
            assert (done.status_code, done.json()["code"]) == (422, "invalid"), done.text
        deep = f'{{"context": {{"a": {"[" * DEEP}{"]" * DEEP}}}}}'
        done = client.post("/v1/campaigns/llm/decisions", content=deep)
        assert done.json()["code"] in ("invalid", "malformed")
        assert service.campaign("llm").status().seq == 1
    with pytest.raises(InvalidInput, match="context"):
        Client("http://127.0.0.1:9", key=None).campaign("llm").ask(context=context)
    make(url := f"sqlite:///{tmp_path / 'b.db'}").close()
    words = ["ask", "llm", "--id", "a\nb"]
    done = CliRunner().invoke(app, words, env={"BURSAR_STORAGE": url})
    assert isinstance(done.exception, InvalidInput)


def test_13_2_a_deep_context_is_refused_with_its_place():
    with pytest.raises(InvalidInput, match=r"context\.a\[0\].* 32 levels deep; flatten it"):
        make_ask_options(context={"a": nested(DEEP)})


def test_13_8_an_event_that_makes_no_sense_is_named(database_url):
    campaign = make(database_url)
    log_ask(campaign, "p", {})
    campaign = Campaign("llm", storage=database_url)
    state = live_state(campaign)
    event = Event(state.seq + 1, state.ts + 1, "told", "unknown", {"cost": "x"})
    totals = CampaignTotals("active", state.budget, state.spent, state.held, granted=False)
    with campaign.store.open_writer("llm") as writer:
        writer.append([event], totals)
    for call in (campaign.ask, campaign.status, lambda: Campaign("llm", storage=database_url)):
        with pytest.raises(CorruptLedger, match="event 4 of 'llm' makes no sense"):
            call()
    campaign.store.close()


def test_13_8_a_clock_record_that_is_damaged_stops_no_campaign(storage):
    clock = HandClock()
    campaign = make(storage, clock=clock)
    campaign.store.put_record("clock", clock.name, b"\xff")
    assert Campaign("llm", storage=campaign.store, clock=clock).ask().arm
