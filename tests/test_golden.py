"""Whatever is durable is as it was: held against files that the code of commit fd0e415 wrote.

Logs, snapshots, tokens, keys, HTTP fields, commands, choices and numbers. The files are made by
``golden/make.py`` and never again: if a test fails here, the code has changed a format or a number.
"""

from __future__ import annotations

import base64
import gzip
import json
import lzma
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden import look, story

import bursar
from bursar.campaign import commands
from bursar.campaign.config import DEFAULT_POLICY
from bursar.ledger import MemoryStore

GOLDEN = Path(__file__).with_name("golden")
KINDS = {
    "created", "asked", "adopted", "confirmed", "told", "defaulted", "corrected", "voided",
    "released", "lapsed", "arm-added", "arm-paused", "arm-resumed", "arm-retired", "budget-set",
    "cap-set", "paused", "resumed", "closed", "restored", "reconciled", "policy-error",
    "policy-slow", "changed",
}  # fmt: skip
# members and addresses that answers, prints and the document have had since then
ADDED = {"history", "/v1/campaigns/{campaign}/history", "waits"}
NAMES = ("restored", *(one.__name__ for one in story.STORIES))


@cache
def golden(name: str) -> Any:
    plain = GOLDEN / f"{name}.json"
    if plain.exists():
        return json.loads(plain.read_text())
    return json.loads(gzip.decompress((GOLDEN / f"{name}.json.gz").read_bytes()))


def differences(now: Any, then: Any, where: str = "") -> Iterator[str]:
    """Yield where data differ; floats may differ in their last digits, on another machine."""
    if isinstance(now, dict) and isinstance(then, dict):
        for key in sorted({*now, *then}):
            if key in ADDED and key not in then:
                continue
            if key not in now or key not in then:
                yield f"{where}/{key}: {'is new' if key in now else 'is missing'}"
            else:
                yield from differences(now[key], then[key], f"{where}/{key}")
    elif where.endswith("/required") and now != then:
        assert set(then) < set(now), where
        yield from (f"{where}: {one} is new" for one in set(now) - set(then) - ADDED)
    elif isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        for number, pair in enumerate(zip(now, then, strict=True)):
            yield from differences(*pair, f"{where}/{number}")
    elif isinstance(now, float) and isinstance(then, float):
        if now != pytest.approx(then, rel=1e-9, abs=1e-12):
            yield f"{where}: {now!r}, was {then!r}"
    elif isinstance(now, str) and str(then).replace("+00:00", "Z") == now:
        return  # a time in UTC may be written either way
    elif now != then or type(now) is not type(then):
        yield f"{where}: {now!r:.200}, was {then!r:.200}"


def same(now: Any, then: Any) -> None:
    found = list(differences(json.loads(json.dumps(now)), then))
    assert not found, "\n".join(found[:20])


# what was added since; each addition is named here, so that no other one passes

LATER_ALARMS = re.compile(r"costs exceeded their holds by |arm '\w+' is paused after ")


def without_later(found: Any) -> Any:
    """Return data without alarms of overruns and without the number of overruns in a status."""
    if isinstance(found, list):
        return [without_later(one) for one in found]
    if not isinstance(found, dict):
        return found
    kept = {key: without_later(one) for key, one in found.items()}
    if "alarms" in kept:
        kept["alarms"] = [one for one in kept["alarms"] if not LATER_ALARMS.match(one)]
    if "overrun" in kept:
        kept.pop("overruns", None)
    return kept


def former_pause_reason(state: Any, record: Any, cost: int) -> str | None:
    """Pause an arm after some costs above a quantile of its costs, as the first versions did."""
    arm, most = state.arms[record.arm], state.config.overruns
    pauses = most and arm.overruns >= most and arm.state == "active"
    return f"{arm.overruns} costs above their hold" if pauses else None


LATER_FIELDS = {
    "StatusBody": ("overruns",),
    "CampaignBody": ("overruns",),
    "NewCampaignRequest": ("rounding",),
    "AskRequest": ("hold",),
    "DecisionBatch": ("asked", "granted", "reason"),
}


def without_later_fields(document: Any) -> Any:
    """Return an OpenAPI document without fields that were added to bodies."""
    document = json.loads(json.dumps(document))
    schemas = document["components"]["schemas"]
    for name, fields in LATER_FIELDS.items():
        for field in fields:
            del schemas[name]["properties"][field]
            if field in schemas[name].get("required", ()):
                schemas[name]["required"].remove(field)
    batch = schemas["DecisionBatch"]  # was described as a page
    batch |= {word: schemas["DecisionPage"][word] for word in ("description", "title")}
    exponent = schemas["NewCampaignRequest"]["properties"]["exponent"]
    assert "default" not in exponent  # it is 6, or more if the amounts need more
    exponent["default"] = 6
    policy = schemas["NewCampaignRequest"]["properties"]["policy"]
    assert policy["default"] == DEFAULT_POLICY
    policy["default"] = story.DEFAULT_POLICY
    for name in ("OutcomeRequest", "OutcomeReport", "CorrectionRequest"):
        kinds = schemas[name]["properties"]["reward"]["anyOf"]
        kinds.remove({"type": "boolean"})
    return document


# the ledger


@cache
def unpacked_ledger() -> bytes:
    return lzma.decompress((GOLDEN / "ledger.db.xz").read_bytes())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A copy of the file, to read or to write to."""
    path = tmp_path / "spend.db"
    path.write_bytes(unpacked_ledger())
    return path


@pytest.fixture
def storage(ledger: Path) -> Iterator[str]:
    """The same as an address; the policy that fails is known while it is in use."""
    with story.failing_policy():
        yield f"sqlite:///{ledger}"


def opened(name: str, storage: Any) -> bursar.Campaign:
    return bursar.Campaign(name, storage=storage, clock=story.Clock(story.LATER))


def rows(ledger: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_the_ledger_has_every_kind_of_event(ledger: Path) -> None:
    assert {kind for (kind,) in rows(ledger, "SELECT DISTINCT kind FROM event")} == KINDS
    bodies = [json.loads(body) for (body,) in rows(ledger, "SELECT body FROM event")]
    assert sum("was" in body and "late" in body for body in bodies) >= 3
    assert {name for (name,) in rows(ledger, "SELECT name FROM campaign")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_is_opened_and_verified(name: str, storage: str) -> None:
    campaign, then = opened(name, storage), golden("ledger")["campaigns"][name]
    same(story.money(campaign), then["money"])
    found = campaign.verify(choices=name != "long")  # the choices of that one are made below
    campaign.close()
    then = then["printed"]["verify"][name]
    assert (found.events, found.hash) == (then["events"], then["hash"])
    assert found.snapshot == then["snapshot"]
    assert (found.snapshot is not None) == (name == "long")


def unpacked(snapshot: bytes) -> Any:
    """Return what a snapshot holds, for a message that tells what differs."""
    return json.loads(json.dumps(msgspec.to_builtins(msgspec.msgpack.decode(snapshot))))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_the_same_bytes(name: str, storage: str) -> None:
    campaign = opened(name, storage)
    now = look.snapshot(campaign)
    campaign.close()
    then = base64.b64decode(golden("ledger")["campaigns"][name]["snapshot"])
    same(unpacked(now), unpacked(then))
    assert now == then


def test_the_snapshot_in_the_ledger_has_the_same_bytes(ledger: Path, storage: str) -> None:
    ((name, seq, then),) = rows(
        ledger, "SELECT name, s.seq, body FROM snapshot s JOIN campaign ON id = campaign"
    )
    kept = unpacked(then)
    choices = kept["choices"]
    assert kept["plain"]["flags"]
    assert any(one["reports"] for one in choices)
    assert any(one["context"] for one in choices)
    campaign = opened(name, storage)
    now = look.snapshot(campaign, seq)
    campaign.close()
    same(unpacked(now), kept)
    assert now == then


@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_goes_on(name: str, storage: str) -> None:
    """What is overdue ends, a lost decision is adopted, asks and tells go on: the same log."""
    tokens = golden("ledger")["tokens"]
    found, then = story.go_on(name, storage, tokens), golden("ledger")["campaigns"][name]["on"]
    if name == "slow":  # how slow is another number every time
        found = found | {"hash": then["hash"]}
    same(found, then)
    campaign = opened(name, storage)
    assert campaign.verify(choices=name != "long").hash
    campaign.close()


def test_a_clock_that_was_set_since_is_noticed(storage: str) -> None:
    clock = story.Clock()
    clock.wall = lambda: round((story.START + story.LATER) * 1e6)
    campaign = bursar.Campaign("late", storage=storage, clock=clock)
    assert without_later({"alarms": campaign.alarms}) == {"alarms": []}
    assert campaign.expire() == 0
    assert "the clock was set" in campaign.alarms[0]
    campaign.close()


@pytest.mark.parametrize("name", NAMES)
def test_commands_print_the_same(name: str, storage: str, tmp_path: Path) -> None:
    now = without_later(look.printed(name, storage, tmp_path))
    assert now["export types"].pop("context") == "string"
    same(now, golden("ledger")["campaigns"][name]["printed"])


def log(events: Any) -> list[Any]:
    """Return events without what differs every time: the time of a restore, how slow a choice."""
    found = []
    for one in events:
        body = {key: value for key, value in one.body.items() if key != "seconds"}
        body |= {key: body[key] - one.ts for key in ("expires", "due") if one.kind == "asked"}
        found.append([one.seq, one.kind, one.decision, body])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_same_calls_write_the_same_log(
    name: str, storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do under the rules of then: new campaigns scale costs by another one, and say so."""
    monkeypatch.setattr("bursar.campaign.config.NEW_SCALE", "declared")
    new: Any = MemoryStore()
    if name == "defaults":
        monkeypatch.setattr(commands, "find_pause_reason", former_pause_reason)
    if name == "restored":
        new = f"sqlite:///{tmp_path / 'new.db'}"
        story.restored(tmp_path / "new.db", look.cli)
    else:
        getattr(story, name)(new)
    now, then = opened(name, new), opened(name, storage)
    same(log(now.events()), json.loads(json.dumps(log(then.events()))))
    if name not in ("restored", "slow"):  # the others are the same to the last bit
        assert now.verify().hash == then.verify().hash
    now.close()
    then.close()


def test_the_first_event_of_a_new_campaign_has_one_key_more(storage: str) -> None:
    story.default(new := MemoryStore())
    now, then = opened("default", new), opened("default", storage)
    first, old = next(now.events()).body, next(then.events()).body
    assert first["config"].pop("scale") == "seen"
    same(first, json.loads(json.dumps(old)))
    now.close()
    then.close()


# the service


# of a forecast, since the golden files were written
FORECAST_ADDED = {"reward_80", "rate_since", "rate_before"}


def test_answers_are_the_same(storage: str) -> None:
    token = golden("ledger")["keys"]["all"]["token"]
    found = look.answers(storage, token)
    fields = found["forecast"]["fields"]
    assert set(fields) >= FORECAST_ADDED
    found["forecast"]["fields"] = [
        one for one in fields if one.partition(".")[0] not in FORECAST_ADDED
    ]
    same(without_later(found), golden("answers")["answers"])


def test_keys_are_known(storage: str) -> None:
    tokens = {name: key["token"] for name, key in golden("ledger")["keys"].items()}
    late, default = "/v1/campaigns/late", "/v1/campaigns/default"
    with look.Site(storage) as site:
        found = {name: site.get(late, token).status_code for name, token in tokens.items()}
        assert found == {"all": 200, "read": 401, "rotated": 200, "ask": 401}
        assert site.get(default, tokens["rotated"]).status_code == 403
        assert site.get(default, tokens["all"]).status_code == 200


def test_metrics_have_the_same_names(storage: str) -> None:
    with look.Site(storage) as site:
        found = site.metrics(golden("ledger")["keys"]["all"]["token"])
    assert set(golden("answers")["metrics"]) <= set(found)


_CODES = re.compile(r"[a-z]+(-[a-z]+)*(, [a-z]+(-[a-z]+)*)*")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORDS = ("title", "description", "summary")


def meaning(node: Any, document: Any, inside: tuple[str, ...] = ()) -> Any:
    """Return a part of an OpenAPI document with all references followed, without its prose.

    Codes of problems and scopes of keys stay, wherever they are in a description.
    """
    if isinstance(node, list):
        parts = [meaning(one, document, inside) for one in node]
        return sorted(parts, key=lambda one: json.dumps(one, sort_keys=True))
    if not isinstance(node, dict):
        return node
    if isinstance(ref := node.get("$ref"), str):
        if ref in inside:
            return {"again": len(inside) - inside.index(ref)}
        found: Any = document
        for step in ref.removeprefix("#/").split("/"):
            found = found[step]
        beside = {key: one for key, one in node.items() if key != "$ref"}
        return meaning(found | beside, document, (*inside, ref))
    kept: dict[str, Any] = {}
    for key, one in node.items():
        if key in ("properties", "paths", "headers", "links", "responses", "content"):
            kept[key] = {name: meaning(part, document, inside) for name, part in one.items()}
        elif key == "description" and _CODES.fullmatch(one):
            kept["codes"] = sorted(one.split(", "))
        elif key in _WORDS:
            kept["marked"] = kept.get("marked", []) + re.findall(r"`(\w+)`", str(one))
        elif key == "examples":
            kept[key] = [example for example in one if not _TIME.match(str(example))]
        elif key in ("default", "const"):
            kept[key] = one
        else:
            kept[key] = meaning(one, document, inside)
    return {key: one for key, one in kept.items() if one or key not in ("marked", "examples")}


def test_the_openapi_document_means_the_same() -> None:
    now, then = without_later_fields(look.openapi()), golden("openapi")
    forecast = now["components"]["schemas"]["ForecastBody"]
    assert set(forecast["required"]) >= FORECAST_ADDED
    forecast["required"] = [name for name in forecast["required"] if name not in FORECAST_ADDED]
    for name in FORECAST_ADDED:
        del forecast["properties"][name]
    for part in ("paths", "servers", "openapi"):
        same(meaning({part: now[part]}, now), meaning({part: then[part]}, then))
    same(now["components"]["securitySchemes"], then["components"]["securitySchemes"])


# commands


def test_every_command_and_option_is_still_there() -> None:
    now, then = look.commands(), golden("cli")
    assert len(then) > 40
    missing = set(then) - set(now)
    assert not missing
    for words, options in then.items():
        now_here = {name: one for name, one in now[words].items() if name in options}
        if words == "bursar campaign create":  # it is 6, or more if the amounts need more
            now_here["--exponent"]["default"] = now_here["--exponent"]["default"] or 6
            assert now_here["--policy"]["default"] == DEFAULT_POLICY
            now_here["--policy"]["default"] = story.DEFAULT_POLICY
        same({words: now_here}, {words: options})
        order = [name for name, one in now[words].items() if one["kind"] == "argument"]
        assert order == [name for name in order if name in options]


# choices and numbers


LATER_POLICIES = {"sf-omega-ucb"}


def test_every_policy_is_still_there() -> None:
    assert set(golden("choices")) | LATER_POLICIES == set(bursar.POLICIES)


@pytest.mark.parametrize("name", sorted(golden("choices")))
def test_a_policy_makes_the_same_choices(name: str) -> None:
    same(look.games(name), golden("choices")[name])


@pytest.mark.parametrize("words", look.SIMULATIONS, ids=lambda words: words[0])
def test_simulations_print_the_same(words: tuple[str, ...]) -> None:
    same(look.simulation(words), golden("results")["simulate"][" ".join(words)])


# spend, reward and whole of learning policies: rows wait for their arm, unlike in the file
REPLAYED = {
    "uniform": [
        268.04799999999994, 467.825, 434.04685099214134, 501.60314900785863,
        546.8753917075171, 507.13058582503515, 586.6201975899991,
    ],
    "omega-ucb:rho=0.25": [
        82.827, 252.775, 227.8182771827561, 277.7317228172439,
        981.3142561627906, 893.0652744987436, 1069.5632378268374,
    ],
    "bts": [
        84.55900000000004, 248.875, 225.4544232503119, 272.2955767496881,
        973.5075152302602, 886.9360084342994, 1060.079022026221,
    ],
}  # fmt: skip


def test_a_replay_prints_the_same_and_more(tmp_path: Path) -> None:
    now, then = look.replayed(tmp_path), golden("results")["replay"]
    pairs = list(zip(now.pop("estimates"), then["estimates"], strict=True))
    same(now, {key: value for key, value in then.items() if key != "estimates"})
    for one, before in pairs:
        assert {*one} - {*before} == {"difference", "whole", "whole_difference"}
        if one["method"] == "weights":
            same({key: one[key] for key in before}, before)
            continue
        same([one[key] for key in ("policy", "budget", "level")],
             [before[key] for key in ("policy", "budget", "level")])  # fmt: skip
        assert one["reached"] >= before["reached"]
        assert before["ratio"]["low"] < one["ratio"]["mean"] < before["ratio"]["high"]
        ends = [one["spend"], *one["reward"].values(), *one["whole"].values()]
        same(ends, REPLAYED[one["policy"]])


@pytest.mark.slow
def test_the_paper_in_brief_has_the_same_numbers(tmp_path: Path) -> None:
    look.cli("reproduce", "--quick", "--out", str(tmp_path / "quick"), "--json")
    now, then = look.reproduced(tmp_path / "quick"), golden("results")["quick"]
    assert set(then["files"]) <= set(now["files"])
    for part in ("columns", "rows", "claims"):
        same(now[part], then[part])
    same(now["experiment"] | {"title": ""}, then["experiment"] | {"title": ""})
