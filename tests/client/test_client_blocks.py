"""Blocks and the spool: whatever happens to a program, what it spent is told, or kept."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from contextlib import contextmanager

import apsw
import httpx2
import pytest
from client_wire import Wire, decision, ok, problem

from bursar import errors
from bursar.campaign import Campaign
from bursar.client import Client

LOST = httpx2.ReadError("gone")
RULES = Campaign("llm", budget="1.00", arms={"small": "0.004"}).config.to_body()


class Service:
    """Just enough of a service: it asks and tells, unless it is down or was told otherwise."""

    def __init__(self) -> None:
        self.down = False
        self.said: dict[str, httpx2.Response] = {}
        self.taken: list[tuple[str, dict]] = []
        self.before = lambda request: None

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.before(request)
        verb = request.url.path.rpartition("/")[2]
        if self.down:
            raise httpx2.ConnectError("refused")
        if verb in self.said:
            return self.said[verb]
        if request.method == "GET":
            return ok({"config": RULES, "alarms": []})
        body = json.loads(request.content)
        self.taken.append((verb, body))
        if verb == "outcomes:batch":
            done = [{"status": 200, "decision": decision(o["decision"])} for o in body["outcomes"]]
            return ok({"results": done})
        return ok(decision(body.get("id", "d1")))

    def fail(self) -> None:
        self.down = True

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.taken]


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def wire(service):
    return Wire(service)


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "outcomes.spool"


def kept(spool):
    rows = apsw.Connection(str(spool)).execute("SELECT path, body FROM calls ORDER BY id")
    return [{"path": path, "body": json.loads(body)} for path, body in rows]


def block(client, *settled, then=None):
    """Play a block that says something and then, perhaps, raises."""
    with client.decide("llm") as one:
        for said in settled:
            one.settle(**said) if isinstance(said, dict) else said()
        if then is not None:
            raise then


# blocks


def test_a_block_tells_its_outcome_when_it_ends(wire, service):
    with wire.client().decide("llm") as one:
        assert (one.arm, one.decision.id) == ("small", one.id)
        one.settle(cost="0.001")
        one.settle(cost="0.002", reward=0.5)  # the last word counts
    assert service.verbs == ["decisions", "outcome"]
    assert (service.taken[1][1]["cost"], service.taken[1][1]["reward"]) == ("0.002000", 0.5)


def test_a_block_that_raises_tells_what_it_spent_so_far(wire, service):
    with pytest.raises(KeyError):
        block(wire.client(), {"cost": "0.001"}, then=KeyError("model"))
    assert service.verbs == ["decisions", "outcome"]
    assert service.taken[1][1]["cost"] == "0.001000"
    assert "reward" not in service.taken[1][1]


def test_a_block_that_raises_before_it_spent_gives_the_hold_back(wire, service):
    with pytest.raises(KeyboardInterrupt):
        block(wire.client(), then=KeyboardInterrupt())
    assert service.verbs == ["decisions", "void"]
    assert service.taken[1][1]["reason"].startswith("KeyboardInterrupt")


def test_a_block_that_says_no_cost_is_told_so(wire, service):
    with pytest.raises(errors.InvalidInput, match="ended without settle"):
        block(wire.client(), {"reward": 1})
    assert service.verbs == ["decisions"]


@pytest.mark.parametrize("wrong", [{"cost": 0.1}, {"reward": 2}, {"reward": float("nan")}])
def test_what_is_wrong_is_refused_where_it_is_said(wire, service, wrong):
    with pytest.raises(errors.InvalidInput):
        block(wire.client(), {"cost": "0.001"}, wrong)
    assert service.verbs == ["decisions", "outcome"]  # with what was right


def test_a_key_that_may_not_read_can_still_play(wire, service):
    service.said["llm"] = problem(403, "forbidden")
    campaign = wire.client().campaign("llm")
    assert campaign.run(lambda arm: ("0.001", 0.5), most=2) == 2
    assert service.verbs == ["decisions", "outcome"] * 2
    assert wire.calls.count(("GET", "/v1/campaigns/llm")) == 1


def test_the_error_of_the_block_is_the_one_to_see(wire, service):
    with pytest.raises(KeyError) as caught:
        block(wire.client(timeout=1), {"cost": "0.001"}, service.fail, then=KeyError("model"))
    assert "was not delivered: no answer" in caught.value.__notes__[0]


def test_running_ends_when_nothing_fits(wire, service):
    def answer(request):
        if len(service.taken) == 6:
            service.said["decisions"] = problem(409, "budget-exhausted", retryable=False)

    service.before = answer
    assert wire.client().campaign("llm").run(lambda arm: ("0.001", 1)) == 3


# asyncio: cancelled


def test_a_cancelled_block_is_settled(wire, service):
    async def main(said):
        client = wire.async_client()
        ready = asyncio.Event()

        async def work():
            async with client.decide("llm") as one:
                one.settle(**said)
                ready.set()
                await asyncio.sleep(3600)

        task = asyncio.create_task(work())
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()

    asyncio.run(main({"cost": "0.001"}))
    asyncio.run(main({}))
    assert service.verbs == ["decisions", "outcome", "decisions", "void"]


def test_a_block_cancelled_again_and_again_is_still_settled(service):
    async def main():
        arrived, go = asyncio.Event(), asyncio.Event()

        async def slowly(request):
            if request.url.path.endswith("outcome"):
                arrived.set()
                await go.wait()
            return service(request)

        client = Wire(slowly).async_client()

        async def work():
            async with client.decide("llm") as one:
                one.settle(cost="0.001")

        task = asyncio.create_task(work())
        await arrived.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert service.verbs == ["decisions"]
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.close()  # waits for what is on its way
        assert service.verbs == ["decisions", "outcome"]

    asyncio.run(main())


def test_an_ask_cancelled_on_its_way_holds_nothing(service):
    async def main():
        arrived = asyncio.Event()

        async def slowly(request):
            answer = service(request)  # it is granted, but nobody is told
            if not arrived.is_set():
                arrived.set()
                await asyncio.sleep(3600)
            return answer

        campaign = Wire(slowly).async_client().campaign("llm")
        task = asyncio.create_task(campaign.ask())
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (_, first), (_, again), (verb, _) = service.taken
    assert first["id"] == again["id"]
    assert verb == "void"


# the spool


def test_what_cannot_be_delivered_is_kept_and_delivered_by_the_next_client(wire, service, spool):
    campaign = wire.client(spool=spool).campaign("llm")
    asked = campaign.ask()
    service.down = True
    with pytest.raises(errors.StorageUnavailable) as caught:
        campaign.tell(asked, "0.003", 1)
    assert "is kept in" in caught.value.__notes__[0]
    (line,) = kept(spool)
    service.down = False
    with wire.client(spool=spool) as later:
        assert later.flush() == 1
        assert later.flush() == 0
    assert service.taken[-1] == ("outcome", line["body"])
    assert line["body"]["report_id"] in {body.get("report_id") for body in wire.bodies("outcome")}
    assert kept(spool) == []


def test_a_block_whose_outcome_is_kept_is_done(wire, service, spool, caplog):
    client = wire.client(spool=spool)
    with caplog.at_level(logging.WARNING, "bursar.client"), client.decide("llm") as one:
        one.settle(cost="0.001", reward=1)
        service.down = True
    assert "is kept for later" in caplog.text
    service.down = False
    client.campaign("llm").ask()  # the service answers again: what was kept goes after it
    assert service.verbs == ["decisions", "decisions", "outcome"]
    assert kept(spool) == []


def test_many_outcomes_are_kept_one_by_one(wire, service, spool):
    client = wire.client(spool=spool, timeout=1)
    service.down = True
    told = client.campaign("llm").tell_many([{"decision": str(n), "cost": 1} for n in range(1500)])
    assert {type(one) for one in told} == {errors.StorageUnavailable}
    assert len(kept(spool)) == 1500
    service.down = False
    assert client.flush() == 1500
    assert len({body["report_id"] for _, body in service.taken}) == 1500


def test_a_hold_to_give_back_is_kept_too(wire, service, spool):
    with pytest.raises(KeyError):
        block(wire.client(spool=spool, timeout=1), service.fail, then=KeyError())
    (line,) = kept(spool)
    assert line["path"].endswith("/void")


def test_an_ask_whose_answer_was_lost_is_given_back_later(service, spool):
    heard = []

    def deaf(request):
        heard.append(json.loads(request.content)["id"])
        raise LOST

    wire = Wire(deaf)
    with pytest.raises(errors.StorageUnavailable):
        wire.client(spool=spool, timeout=1).campaign("llm").ask()
    (line,) = kept(spool)
    assert line["path"] == f"/v1/campaigns/llm/decisions/{heard[0]}/void"
    with pytest.raises(errors.StorageUnavailable):
        wire.client(spool=spool, timeout=1).campaign("llm").ask(id="mine")
    assert len(kept(spool)) == 1  # whoever has the id can ask again with it


def test_a_hold_that_never_was_is_nothing_to_give_back(service, spool):
    def deaf(request):
        raise LOST

    with pytest.raises(errors.StorageUnavailable):
        Wire(deaf).client(spool=spool, timeout=1).campaign("llm").ask()
    service.said["void"] = problem(404, "decision-unknown")
    assert Wire(service).client(spool=spool).flush() == 1
    assert not spool.with_name("outcomes.spool.refused").exists()


def test_what_the_service_refuses_for_good_is_put_aside_with_the_reason(wire, service, spool):
    client = wire.client(spool=spool, timeout=1)
    service.down = True
    for key in ("a", "b"):
        with pytest.raises(errors.StorageUnavailable):
            client.campaign("llm").tell(key, 1)
    service.down = False
    service.said["outcome"] = problem(409, "outcome-conflict", "did cost 2, now 1")
    assert client.flush() == 0
    refused = spool.with_name("outcomes.spool.refused").read_text()
    aside = [json.loads(line) for line in refused.splitlines()]
    assert [one["refused"] for one in aside] == ["did cost 2, now 1"] * 2
    assert kept(spool) == []


@pytest.mark.parametrize("answer", [problem(401, "unauthenticated"), problem(403, "forbidden")])
def test_a_revoked_key_loses_no_outcome(wire, service, spool, answer):
    service.said["outcome"] = answer
    client = wire.client(spool=spool)
    with pytest.raises(PermissionError):
        client.campaign("llm").tell("a", 1)
    with pytest.raises(PermissionError):
        client.flush()
    assert len(kept(spool)) == 1


def test_refused_outcomes_are_not_kept(wire, service, spool):
    service.said["outcome"] = problem(409, "outcome-conflict")
    with pytest.raises(errors.OutcomeConflict):
        wire.client(spool=spool).campaign("llm").tell("a", 1)
    assert not spool.exists()


def test_a_file_that_is_no_spool_is_refused_and_kept(wire, spool):
    spool.write_text("notes of mine")
    with pytest.raises(errors.InvalidInput, match="is not a spool; give another file"):
        wire.client(spool=spool)
    assert spool.read_text() == "notes of mine"


def test_nobody_else_can_read_the_spool(wire, service, spool):
    service.down = True
    client = wire.client(spool=spool, timeout=1)
    for key in ("a", "b"):
        with pytest.raises(errors.StorageUnavailable):
            client.campaign("llm").tell(key, 1)
    assert spool.stat().st_mode & 0o077 == 0
    service.down = False
    service.before = lambda request: None if "/a/" in request.url.path else service.fail()
    with pytest.raises(errors.StorageUnavailable):
        client.flush()
    assert [line["path"].split("/")[5] for line in kept(spool)] == ["b"]
    assert spool.stat().st_mode & 0o077 == 0


def test_a_cancelled_tell_is_kept(service, spool):
    async def main():
        arrived = asyncio.Event()

        async def never(request):
            arrived.set()
            await asyncio.sleep(3600)

        campaign = Wire(never).async_client(spool=spool).campaign("llm")
        task = asyncio.create_task(campaign.tell("a", 1))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(kept(spool)) == 1


def test_real_connections_that_are_refused_end_in_time(tmp_path):
    """No mock: nobody listens on this port."""
    client = Client("http://127.0.0.1:9", timeout=0.5, spool=tmp_path / "s")
    with client, pytest.raises(errors.StorageUnavailable, match="ConnectError"):
        client.campaign("llm").tell("a", 1)
    assert len(kept(tmp_path / "s")) == 1


# refusals that concern one outcome or one campaign, and disks that are full


class Refusals:
    """A service that answers some paths with a problem and takes the rest."""

    def __init__(self, **answers: httpx2.Response) -> None:
        self.answers = answers
        self.taken: list[str] = []
        self.down = True

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if self.down:
            raise httpx2.ConnectError("refused")
        parts = request.url.path.split("/")
        for part in parts:
            if part in self.answers:
                return self.answers[part]
        self.taken.append(parts[5])
        return ok(decision(parts[5]))


def keep(wire, spool, *outcomes):
    """Return a client whose spool has these outcomes, given as campaign/decision."""
    client = wire.client(spool=spool, timeout=1)
    for one in outcomes:
        campaign, key = one.split("/")
        with pytest.raises(errors.StorageUnavailable):
            client.campaign(campaign).tell(key, 1)
    wire.handler.down = False
    return client


@contextmanager
def full_disk(size=0):
    """Let no file of this process grow beyond a size: the kernel writes less than was asked."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_13_10_one_forbidden_outcome_does_not_keep_the_others(spool):
    wire = Wire(Refusals(a=problem(403, "forbidden", "not yours"), ads=problem(403, "forbidden")))
    client = keep(wire, spool, "llm/a", "llm/b", "ads/c", "llm/d")
    with pytest.raises(errors.Forbidden, match="not yours") as caught:
        client.flush()
    assert caught.value.__notes__[0].startswith("2 delivered; 2 still kept in")
    assert wire.handler.taken == ["b", "d"]
    waiting = client.undelivered()
    assert [(one.path.split("/")[5], one.code) for one in waiting] == [
        ("a", "forbidden"), ("c", "forbidden"),
    ]  # fmt: skip
    assert (waiting[0].reason, waiting[0].refused) == ("not yours", False)
    wire.handler.answers.clear()
    assert wire.client(spool=spool).flush() == 2  # with a key that may
    assert client.undelivered() == []


def test_13_10_what_must_wait_is_not_sent_with_every_call(spool, caplog):
    wire = Wire(Refusals(a=problem(403, "forbidden"), ads=problem(503, "storage-unavailable")))
    client = keep(wire, spool, "ads/x", "ads/y", "llm/a", "llm/b")
    wire.requests.clear()
    for number in range(3):
        client.campaign("llm").tell(f"new{number}", 1)
    assert wire.handler.taken == ["new0", "b", "new1", "new2"]
    assert sum("/a/outcome" in path for _, path in wire.calls) == 1
    assert caplog.text.count("a call stays in") == 2
    seen = sum("/ads/" in path for _, path in wire.calls)
    del wire.handler.answers["ads"]
    wire.time.now += 61
    client.campaign("llm").tell("new3", 1)
    assert wire.handler.taken[-3:] == ["new3", "x", "y"]
    assert sum("/ads/" in path for _, path in wire.calls) == seen + 2
    assert len(kept(spool)) == 1


@pytest.mark.parametrize(
    "answer", [problem(500, "error"), httpx2.Response(404), problem(503, "corrupt-ledger")]
)
def test_13_10_a_decision_that_fails_does_not_keep_other_campaigns(spool, answer):
    wire = Wire(Refusals(a=answer))
    client = keep(wire, spool, "llm/a", "ads/b")
    with pytest.raises(errors.BursarError):
        client.flush()
    assert wire.handler.taken == ["b"]
    assert len(kept(spool)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        problem(401, "unauthenticated"),
        httpx2.Response(200, text="<html>Log in to this network</html>"),
        problem(429, "rate-limited", headers={"retry-after": "100"}),
    ],
)
def test_13_10_what_concerns_every_call_stops_at_the_first(spool, answer):
    wire = Wire(Refusals(campaigns=answer))
    client = keep(wire, spool, "llm/a", "ads/b")
    before = len(wire.calls)
    with pytest.raises(errors.BursarError):
        client.flush()
    assert len(wire.calls) == before + 1
    assert len(kept(spool)) == 2
    assert not spool.with_name("outcomes.spool.refused").exists()


def test_13_10_forbidden_outcomes_of_a_batch_are_kept(wire, service, spool):
    refused = {"status": 403, "problem": {"code": "forbidden", "detail": "no", "status": 403}}
    late = {"status": 409, "problem": {"code": "outcome-conflict", "detail": "2", "status": 409}}
    done = {"status": 200, "decision": decision("b")}
    service.said["outcomes:batch"] = ok({"results": [refused, done, late]})
    client = wire.client(spool=spool)
    told = client.campaign("llm").tell_many([{"decision": key, "cost": 1} for key in "abc"])
    assert "it is kept in" in told[0].__notes__[0]
    assert [one["path"].split("/")[5] for one in kept(spool)] == ["a"]


@pytest.mark.parametrize("size", [0, 1000, 4096, 5000, 9000])
def test_13_10_a_short_write_on_a_full_disk_is_not_reported_as_kept(wire, service, spool, size):
    client = wire.client(spool=spool, timeout=1)
    service.down = True
    with full_disk(size), pytest.raises(errors.StorageUnavailable) as caught:
        client.campaign("llm").tell("a", 1)
    assert caught.value.__notes__[0].startswith("it is not kept, report it again: the spool")
    with full_disk(size):
        (told,) = client.campaign("llm").tell_many([{"decision": "b", "cost": 1}])
    assert told.__notes__[0].startswith("it is not kept")
    with pytest.raises(errors.StorageUnavailable) as caught:
        client.campaign("llm").tell("c", 1)
    assert "it is kept in" in caught.value.__notes__[0]
    assert [one["path"].split("/")[5] for one in kept(spool)] == ["c"]


def test_13_10_a_block_whose_outcome_cannot_be_kept_says_so(wire, service, spool):
    with full_disk(), pytest.raises(errors.StorageUnavailable) as caught:
        block(wire.client(spool=spool, timeout=1), {"cost": 1}, service.fail)
    assert caught.value.__notes__[0].startswith("it is not kept, report it again")


def test_13_10_a_full_disk_fails_no_call_that_succeeded_and_repeats_none(spool, caplog):
    wire = Wire(Refusals(a=problem(409, "outcome-conflict", "it was 2")))
    client = keep(wire, spool, "llm/a", "llm/b")
    with full_disk():
        for number in range(3):
            client.campaign("llm").tell(f"new{number}", 1)
    assert wire.handler.taken == ["new0", "b", "new1", "new2"]
    assert "delivered calls stay in the file, and count once" in caplog.text
    assert len(kept(spool)) == 2
    assert client.flush() == 0
    assert kept(spool) == []
    (refused,) = client.undelivered()
    assert (refused.refused, refused.reason) == (True, "it was 2")


def test_13_10_a_line_that_was_cut_off_does_not_take_the_next_with_it(spool):
    wire = Wire(Refusals(a=problem(409, "outcome-conflict"), b=problem(409, "outcome-conflict")))
    client = keep(wire, spool, "llm/a", "llm/b")
    with full_disk(100), pytest.raises(errors.StorageUnavailable, match=r"of .* bytes|too large"):
        client.flush()
    assert len(kept(spool)) == 2
    assert client.flush() == 0
    assert [one.path.split("/")[5] for one in client.undelivered()] == ["a", "b"]


def test_13_10_a_spool_that_was_deleted_or_replaced_loses_nothing(wire, service, spool):
    client, other = (wire.client(spool=spool, timeout=1) for _ in range(2))
    service.down = True
    for one in (client, other):
        with pytest.raises(errors.StorageUnavailable):
            one.campaign("llm").tell("a", 1)
    spool.unlink()
    for one in (client, other):
        with pytest.raises(errors.StorageUnavailable):
            one.campaign("llm").tell("b", 1)
    assert len(kept(spool)) == 2


def test_13_10_a_damaged_spool_fails_no_call_that_succeeded(wire, service, spool, caplog):
    service.down = True
    client = wire.client(spool=spool, timeout=1)
    with pytest.raises(errors.StorageUnavailable):
        client.campaign("llm").tell("a", 1)
    service.down = False
    spool.write_bytes(spool.read_bytes()[:4096] + bytes(8192))
    client = wire.client(spool=spool, timeout=1)
    client.campaign("llm").tell("b", 1)
    assert "must wait: the spool" in caplog.text
    with pytest.raises(errors.StorageUnavailable, match=r"the spool .* failed"):
        client.flush()
