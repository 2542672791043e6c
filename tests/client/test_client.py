"""The client: what it sends, how it reads answers, when it tries again and when it stops."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from decimal import Decimal

import httpx2
import pytest
from client_wire import URL, Wire, decision, in_turn, ok, problem

from bursar import errors
from bursar.campaign import Decision
from bursar.client import AsyncClient, Client, Retry

REFUSED = httpx2.ConnectError("refused")
LOST = httpx2.ReadError("gone")
SLOW = httpx2.ReadTimeout("slow")


# what is sent and read


def test_an_ask_has_an_id_before_it_is_sent_and_gives_the_usual_decision():
    wire = in_turn(ok(decision("x"), 201))
    got = wire.client().campaign("llm").ask(among=["small"], context={"task": "qa"})
    assert wire.calls == [("POST", "/v1/campaigns/llm/decisions")]
    (body,) = wire.bodies()
    assert len(body.pop("id")) == 32
    assert body == {"among": ["small"], "context": {"task": "qa"}}
    (request,) = wire.requests
    assert request.headers["authorization"] == "Bearer bursar_k_s"
    assert 0 < float(request.headers["request-timeout"]) <= 10
    assert isinstance(got, Decision)
    assert (got.id, got.arm, got.hold, got.replayed) == ("x", "small", Decimal("0.004000"), False)
    assert str(got.hold) == "0.004000"
    assert got.at.isoformat() == "2026-01-02T03:04:05.000006+00:00"


def test_names_are_quoted_so_that_no_name_is_an_address():
    wire = in_turn(ok(decision()))
    wire.client().campaign("a/b?c:pause").confirm("../x")
    assert wire.calls == [("POST", "/v1/campaigns/a%2Fb%3Fc%3Apause/decisions/..%2Fx/confirm")]


def test_a_batch_names_every_decision_and_stops_where_the_budget_ends():
    asked = []

    def answer(request):
        ids = json.loads(request.content)["ids"]
        asked.append(len(ids))
        granted = ids if len(asked) == 1 else ids[:7]
        return ok({"decisions": [decision(one) for one in granted]}, 201)

    wire = Wire(answer)
    got = wire.client().campaign("llm").ask(1500)
    assert asked == [1000, 500]
    assert len({one.id for one in got}) == 1007


@pytest.mark.parametrize(
    ("cost", "rounding", "sent"),
    [
        ("0.0031", None, "0.003100"),
        (Decimal("1E-3"), None, "0.001000"),
        (2, None, "2.000000"),
        (0.25, None, "0.250000"),
        (0.00123456789, "up", "0.001235"),
    ],
)
def test_money_is_text_on_the_wire(cost, rounding, sent):
    wire = in_turn(ok(decision(), 201), ok(decision(money="settled", cost=sent)))
    campaign = wire.client().campaign("llm")
    told = campaign.tell(campaign.ask(), cost, 1, rounding=rounding)
    body = wire.bodies("outcome")[0]
    assert (body["cost"], body["reward"]) == (sent, 1.0)
    assert "rounding" not in body  # it was done here
    assert told.cost == Decimal(sent)


def test_money_whose_digits_are_not_known_yet_goes_as_it_is():
    wire = in_turn(ok(decision()))
    campaign = wire.client().campaign("llm")
    campaign.tell("d1", 0.1, rounding="up")
    body = wire.bodies()[0]
    assert body["cost"].startswith("0.1000000000000000055511")  # what the float is
    assert body["rounding"] == "up"


@pytest.mark.parametrize("cost", ["NaN", "-1", math.inf, True, "1_0", "1e30"])
def test_money_that_no_campaign_takes_is_never_sent(cost):
    wire = in_turn(ok(decision(), 201))
    campaign = wire.client().campaign("llm")
    asked = campaign.ask()
    with pytest.raises(errors.InvalidInput, match="cost"):
        campaign.tell(asked, cost)
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c: c.tell("d1"),
        lambda c: c.tell("d1", reward=math.nan),
        lambda c: c.tell(17, "0.1"),
        lambda c: c.tell_many([{"decision": "d1", "price": "0.1"}]),
        lambda c: c.ask(0),
        lambda c: c.ask(2, id="x"),
        lambda c: c.ask(id=""),
        lambda c: c.ask(among=[]),
        lambda c: c.ask(context={"a": math.nan}),
        lambda c: c.correct("d1"),
    ],
)
def test_what_the_embedded_campaign_refuses_is_refused_before_it_is_sent(wrong):
    wire = in_turn(ok(decision()))
    with pytest.raises(errors.InvalidInput):
        wrong(wire.client().campaign("llm"))
    assert wire.requests == []


def test_many_outcomes_come_back_in_their_places():
    results = [
        {"status": 200, "decision": decision("a", money="settled", cost="0.001000")},
        {"status": 409, "problem": {"code": "outcome-conflict", "detail": "told before"}},
    ]
    wire = in_turn(ok({"results": results}))
    told = (
        wire.client()
        .campaign("llm")
        .tell_many([{"decision": "a", "cost": "0.001"}, {"decision": "b", "reward": 1}])
    )
    assert (told[0].id, told[0].money) == ("a", "settled")
    assert isinstance(told[1], errors.OutcomeConflict)
    assert str(told[1]) == "told before"
    sent = wire.bodies()[0]["outcomes"]
    assert [one["campaign"] for one in sent] == ["llm", "llm"]
    assert len({one["report_id"] for one in sent}) == 2


def test_outcomes_carry_the_token_that_the_ask_brought():
    def answer(request):
        if request.method == "GET":
            return ok(decision("old", token="t-old"))
        body = json.loads(request.content)
        if "ids" in body:
            return ok({"decisions": [decision(key, token=f"t-{key}") for key in body["ids"]]}, 201)
        if "outcomes" in body:
            done = [{"status": 200, "decision": decision(o["decision"])} for o in body["outcomes"]]
            return ok({"results": done})
        return ok(decision())

    wire = Wire(answer)
    campaign = wire.client().campaign("llm")
    one, two = campaign.ask(2)
    campaign.tell(one, "0.1")
    campaign.tell_many([{"decision": two, "cost": "0.1"}, {"decision": "x", "reward": 1}])
    campaign.tell("y", "0.1", token="mine")
    assert campaign.token(one) == f"t-{one.id}"
    assert campaign.token("old") == "t-old"
    told, many, given = wire.bodies()[1:4]
    assert told["token"] == f"t-{one.id}"
    assert [item.get("token") for item in many["outcomes"]] == [f"t-{two.id}", None]
    assert given["token"] == "mine"


def test_changes_say_which_version_they_change():
    wire = Wire(lambda request: ok({"config": None, "alarms": []}))
    campaign = wire.client().campaign("llm")
    campaign._exponent = 6  # as after the first ask
    campaign.set_budget("30", by="ada")
    campaign.set_cap("day", None, if_version=4)
    campaign.pause()
    campaign.retire_arm("a b", by="ada")
    seen = [(one.method, one.headers.get("if-match")) for one in wire.requests]
    assert seen == [("PATCH", "*"), ("PATCH", '"4"'), ("POST", None), ("DELETE", None)]
    assert wire.bodies()[:2] == [{"budget": "30.000000", "by": "ada"}, {"caps": {"day": None}}]
    assert wire.calls[3][1] == "/v1/campaigns/llm/arms/a%20b?by=ada"


def test_a_campaign_is_made_with_money_as_text_and_rules_as_they_are():
    wire = in_turn(ok({}, 201))
    wire.client().create(
        "ads", "100.5", {"video": 1, "banner": "0.15"}, currency="EUR", exponent=2,
        caps={"day": "5"}, explore=0.05,
    )  # fmt: skip
    assert wire.bodies() == [
        {
            "name": "ads",
            "budget": "100.50",
            "arms": [{"key": "video", "max_cost": "1.00"}, {"key": "banner", "max_cost": "0.15"}],
            "currency": "EUR",
            "exponent": 2,
            "caps": {"day": "5.00"},
            "explore": 0.05,
        }
    ]
    with pytest.raises(errors.InvalidInput, match="budget has more than 6 decimals"):
        wire.client().create("x", "0.0000001", {"a": 1}, exponent=6)


def test_the_key_is_shown_to_the_service_only():
    client = in_turn(ok({})).client()
    assert repr(client) == "Client('http://bursar.test')"
    assert "bursar_k_s" not in repr(client.campaign("llm"))


@pytest.mark.parametrize(
    "options",
    [{"url": "bursar.test"}, {"timeout": 0}, {"key": "a\nb"}, {"key": ""}, {"spool": "/"}],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_cannot_work_is_refused_at_once(options, kind, monkeypatch):
    opened = []
    monkeypatch.setattr(kind, "_runner_type", lambda *_: opened.append(1))
    with pytest.raises(errors.InvalidInput):
        kind(**({"url": URL} | options))
    assert not opened  # no caller could close its connections


def test_without_its_library_the_client_says_what_to_install():
    program = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from bursar.errors import MissingExtra\n"
        "try:\n    import bursar.client\n"
        "except MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "bursar.Client needs httpx2: pip install 'bursar[client]'\n"


# errors


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "malformed", errors.InvalidInput),
        (401, "unauthenticated", errors.Unauthenticated),
        (403, "forbidden", errors.Forbidden),
        (404, "unknown-campaign", errors.UnknownCampaign),
        (404, "decision-unknown", errors.UnknownDecision),
        (404, "unknown-arm", errors.UnknownArm),
        (409, "budget-exhausted", errors.BudgetExhausted),
        (409, "not-active", errors.NotActive),
        (409, "outcome-conflict", errors.OutcomeConflict),
        (409, "campaign-exists", errors.CampaignExists),
        (412, "stale-version", errors.StaleVersion),
        (413, "too-large", errors.TooLarge),
        (422, "invalid", errors.InvalidInput),
        (422, "idempotency-mismatch", errors.IdempotencyMismatch),
        (428, "precondition-required", errors.InvalidInput),
        (500, "internal", errors.BursarError),
        (503, "corrupt-ledger", errors.CorruptLedger),
    ],
)
def test_problems_are_the_errors_of_the_embedded_campaign_and_final(status, code, kind):
    more = {"retryable": False} if status == 503 else {}  # a 4xx is final even if it says nothing
    wire = in_turn(problem(status, code, "cheapest needs 0.02", **more))
    with pytest.raises(kind) as caught:
        wire.client().campaign("llm").ask()
    assert type(caught.value) is kind
    assert str(caught.value) == "cheapest needs 0.02"
    assert caught.value.code == code
    assert len(wire.requests) == 1


def test_every_code_of_the_service_is_an_error_of_its_own():
    table = pytest.importorskip("bursar.service.responses").PROBLEM_KINDS
    own = {found.code for found in vars(errors).values() if hasattr(found, "code")}
    for code, kind in table.items():
        wire = in_turn(problem(kind.status, code, retryable=kind.retryable))
        with pytest.raises(errors.BursarError) as caught:
            wire.client().campaign("llm").ask()
        assert caught.value.code == code
        if code in own - {"error"}:
            assert type(caught.value) is not errors.BursarError


@pytest.mark.parametrize("status", [200, 301, 404, 418])
def test_an_address_without_a_service_is_told_so(status):
    wire = in_turn(httpx2.Response(status, text="<html>hello</html>"))
    with pytest.raises(errors.BursarError, match="is there a bursar service"):
        wire.client().campaign("llm").ask()


# trying again


@pytest.mark.parametrize(
    "failure",
    [
        REFUSED,
        LOST,
        SLOW,
        httpx2.RemoteProtocolError("closed"),
        problem(503, "overloaded", retryable=True),
        problem(503, "storage-unavailable", retryable=True),
        problem(429, "too-many-open", retryable=True),
        httpx2.Response(502, text="bad gateway"),
    ],
    ids=str,
)
def test_what_may_work_later_is_tried_again_as_the_same_call(failure):
    wire = in_turn(failure, failure, ok(decision("x", replayed=True)))
    got = wire.client().campaign("llm").ask()
    ids = {body["id"] for body in wire.bodies()}
    assert len(wire.requests) == 3
    assert len(ids) == 1
    assert got.replayed


def test_a_tell_that_is_sent_again_is_the_same_report():
    wire = in_turn(LOST, ok(decision()), ok(decision()))
    campaign = wire.client().campaign("llm")
    campaign.tell("d1", "0.1")
    campaign.tell("d1", reward=1)
    first, again, other = (body["report_id"] for body in wire.bodies())
    assert first == again != other


def test_waits_grow_with_full_jitter_and_end_with_the_deadline():
    wire = in_turn(REFUSED)
    with pytest.raises(errors.StorageUnavailable) as caught:
        wire.client(timeout=10).campaign("llm").ask()
    waits = wire.time.slept
    assert waits == pytest.approx([0.999 * 0.1 * 2**n for n in range(len(waits))])
    assert sum(waits) < 10
    assert len(wire.requests) == len(waits) + 1
    assert "no answer from http://bursar.test" in str(caught.value)
    assert isinstance(caught.value.__cause__, httpx2.ConnectError)


def test_jitter_is_full():
    assert Retry(chance=lambda: 0.0).wait(5) == 0.0
    assert Retry(chance=lambda: 1.0).wait(50) == 5.0


def test_no_try_may_take_all_the_time_and_the_service_knows_how_long_we_wait():
    wire = in_turn(SLOW)
    wire.time.chance = 0.5
    with pytest.raises(errors.StorageUnavailable):
        wire.client(timeout=4).campaign("llm").ask()
    told = [float(one.headers["request-timeout"]) for one in wire.requests]
    real = [one.extensions["timeout"]["read"] for one in wire.requests]
    assert told == pytest.approx(real, abs=0.001)
    assert told[0] == 2.0
    assert all(one <= 2.0 for one in told)


def test_the_service_says_how_long_to_wait():
    wire = in_turn(
        problem(429, "rate-limited", retryable=True, headers={"retry-after": "3"}), ok(decision())
    )
    wire.client().campaign("llm").ask()
    assert 3.0 <= wire.time.slept[0] <= 3.1


def test_longer_than_the_deadline_is_not_waited():
    wire = in_turn(problem(429, "rate-limited", retryable=True, headers={"retry-after": "60"}))
    with pytest.raises(errors.RateLimited) as caught:
        wire.client().campaign("llm").ask()
    assert wire.time.slept == []
    assert caught.value.retry_after == 60


def test_what_would_be_done_twice_is_not_sent_again_when_in_doubt():
    wire = in_turn(LOST)
    campaign = wire.client().campaign("llm")
    campaign._exponent = 6
    for change in (
        lambda: campaign.correct("d1", "0.1"),
        lambda: campaign.add_arm("c", "0.1"),
        lambda: campaign.reconcile("0.1"),
        lambda: campaign.set_budget("1", if_version=3),
        lambda: wire.client().create_key(["ask"]),
    ):
        wire.requests.clear()
        with pytest.raises(errors.StorageUnavailable, match="it may have been carried out"):
            change()
        assert len(wire.requests) == 1
    wire = in_turn(REFUSED, ok({}))
    campaign = wire.client().campaign("llm")
    campaign._exponent = 6
    campaign.add_arm("c", "0.1")  # nobody heard the first: no doubt
    assert len(wire.requests) == 2


def test_a_try_that_may_have_been_heard_is_not_forgotten_at_the_end():
    wire = in_turn(LOST, problem(503, "overloaded", retryable=True))
    with pytest.raises(errors.StorageUnavailable, match="carried out, and repeating it is safe"):
        wire.client(timeout=3).campaign("llm").ask()


# asyncio


def test_async_is_the_same_awaited():
    async def main():
        wire = in_turn(LOST, ok(decision("x"), 201), ok(decision("x", cost="0.001000")))
        async with wire.async_client() as client:
            campaign = client.campaign("llm")
            asked = await campaign.ask()
            told = await campaign.tell(asked, "0.001", 1)
        assert (asked.id, told.cost) == ("x", Decimal("0.001"))
        assert len(wire.time.slept) == 1
        assert repr(client) == "AsyncClient('http://bursar.test')"

    asyncio.run(main())


def test_properties_and_verbs_know_their_names():
    campaign = Client(URL).campaign("llm")
    assert campaign.tell.__name__ == "tell"
    assert "cost and reward" in campaign.tell.__doc__
    assert "reported costs" in type(campaign).spent.__doc__.lower()
    assert isinstance(AsyncClient(URL), AsyncClient)
