"""The middleware: who gets in, how much and how often, and what no log may contain."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import time

import pytest
from hand_clock import live_state
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, Router
from starlette.testclient import TestClient

from bursar.campaign import Campaign
from bursar.campaign.audit import save_verification
from bursar.campaign.commands import ask_command, tell_command
from bursar.errors import RateLimited, StorageUnavailable
from bursar.service import maintenance, telemetry
from bursar.service.auth import COOKIE, require, require_form
from bursar.service.maintenance import find_violations
from bursar.service.middleware import Guard, Hosts, RateLimit
from bursar.service.operation import Endpoint, Operation
from bursar.service.routes import OPERATIONS
from bursar.service.service import Service, ServiceConfig

HERE = "http://127.0.0.1:8321"


class Site:
    """A guarded service with a few routes that ask for rights."""

    def __init__(self, settings=None, storage="memory"):
        self.service = Service(storage, settings or ServiceConfig())
        self.done = []

        async def act(service, request):
            scope = request.path_params["scope"]
            key = require(request, scope, request.path_params.get("campaign"))
            body = await request.body()
            self.done.append((scope, key.id, len(body)))
            request.scope["bursar.decision"] = request.query_params.get("decision")
            return PlainTextResponse(key.id)

        async def fill(service, request):
            key, fields = await require_form(request, "admin")
            self.done.append(("form", key.id, fields))
            return PlainTextResponse("filled")

        async def fail(service, request):
            raise RuntimeError(f"lost {request.headers.get('authorization')}")

        async def half(service, request):
            async def parts():
                yield b"half"
                raise ConnectionError("gone")

            return StreamingResponse(parts())

        async def own(service, request):
            headers = {"content-security-policy": "sandbox", "cache-control": "max-age=60"}
            return PlainTextResponse("own", headers=headers)

        def both(path, run):
            async def handle(call):
                return await run(call.service, call.request)

            ways = [
                Operation(
                    name="x", method=way, path=path, run=handle, summary="", scope=None, gives={}
                )
                for way in ("GET", "POST")
            ]
            return Route(path, Endpoint(self.service, ways))

        health = [one for one in OPERATIONS if not one.path.startswith("/v1/")]

        routes = [
            both("/v1/do/{scope}:batch", act), both("/v1/do/{scope}", act),
            both("/v1/in/{campaign}/{scope}", act), both("/form", fill), both("/v1/fail", fail),
            both("/half", half), both("/own", own),
            *(Route(one.path, Endpoint(self.service, [one])) for one in health),
        ]  # fmt: skip
        self.app = Guard(Router(routes), self.service)
        self.client = TestClient(self.app, base_url=HERE, raise_server_exceptions=False)

    def key(self, *scopes, **more):
        return self.service.keys.create(scopes, **more)

    def bearer(self, *scopes, **more):
        return {"authorization": f"Bearer {self.key(*scopes, **more)[1]}"}

    def login(self, *scopes):
        """Return the headers of a browser with a session, and its CSRF token."""
        key, _ = self.key(*scopes)
        value = self.service.sessions.start(key).partition(";")[0].partition("=")[2]
        return {"cookie": f"{COOKIE}={value}"}, self.service.sessions.find(value).csrf


@pytest.fixture
def site():
    found = Site()
    yield found
    found.service.close()


@pytest.fixture
def lines():
    """What is logged, as it would go to stderr."""
    before = {name: logging.getLogger(name).level for name in ("bursar", "uvicorn")}
    stream = io.StringIO()
    telemetry.configure_logging("debug", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for name, level in before.items():
        log = logging.getLogger(name)
        log.handlers.clear()
        log.setLevel(level)
        log.propagate = True
    logging.getLogger("uvicorn.access").disabled = False


def problem(response, status, code):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["code"]) == (status, code)
    return body["detail"]


# keys

RIGHTS = {
    "ask": {"ask"},
    "tell": {"tell"},
    "read": {"read"},
    "admin": {"ask", "tell", "read", "admin"},
    "adjust": {"adjust"},
    "keys": {"keys"},
}


@pytest.mark.parametrize("mine", RIGHTS)
def test_a_key_opens_what_its_scope_says_and_nothing_else(site, mine):
    headers = site.bearer(mine)
    for wanted in RIGHTS:
        answer = site.client.post(f"/v1/do/{wanted}", headers=headers)
        if wanted in RIGHTS[mine]:
            assert answer.status_code == 200
        else:
            assert f"may not {wanted}" in problem(answer, 403, "forbidden")
    assert {scope for scope, _, _ in site.done} == RIGHTS[mine], "the refused did nothing"


def test_a_key_for_one_campaign_stops_at_the_next(site):
    headers = site.bearer("ask", campaigns=["llm"])
    assert site.client.post("/v1/in/llm/ask", headers=headers).status_code == 200
    said = problem(site.client.post("/v1/in/ads/ask", headers=headers), 403, "forbidden")
    assert said.endswith("may not ask in campaign 'ads'; it has ask in llm")


def test_without_a_key_there_is_a_hint_and_nothing_else(site):
    answer = site.client.post("/v1/do/ask")
    assert "bursar keys create" in problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert site.done == []


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer ", "Basic cm9vdDpyb290", "bursar_x", "Bearer bursar_x_y", "Bearer \xff\xfe"],
)
def test_what_is_no_key_is_refused(site, value):
    answer = site.client.post("/v1/do/ask", headers={"authorization": value.encode("latin-1")})
    problem(answer, 401, "unauthenticated")
    assert site.done == []


def test_a_tampered_or_revoked_key_is_refused(site):
    key, token = site.key("ask")
    other = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in (other, token.upper(), token[:-1], f"{token}x"):
        answer = site.client.post("/v1/do/ask", headers={"authorization": f"Bearer {wrong}"})
        assert "unknown, expired or revoked" in problem(answer, 401, "unauthenticated")
    good = {"authorization": f"bearer  {token}"}
    assert site.client.post("/v1/do/ask", headers=good).text == key.id
    site.service.keys.revoke_family(key.id)
    problem(site.client.post("/v1/do/ask", headers=good), 401, "unauthenticated")


def test_a_store_that_is_away_refuses_and_says_so(site, monkeypatch):
    def away(kind):
        raise StorageUnavailable("the store is away")

    headers = site.bearer("ask")
    monkeypatch.setattr(site.service.store, "records", away)
    site.service.keys._read -= 61
    problem(site.client.post("/v1/do/ask", headers=headers), 503, "storage-unavailable")


def test_an_open_service_needs_no_key():
    site = Site(ServiceConfig(require_keys=False))
    assert site.client.post("/v1/do/admin").text == "open"
    wrong = {"authorization": "Bearer bursar_x_y"}
    assert site.client.post("/v1/do/admin", headers=wrong).status_code == 200
    site.service.close()


# browsers


def test_a_session_reads_but_changes_only_with_its_token(site):
    headers, csrf = site.login("admin")
    assert site.client.get("/v1/do/read", headers=headers).status_code == 200
    for token in ({}, {"x-csrf-token": "wrong"}, {"x-csrf-token": csrf[:-1]}):
        answer = site.client.post("/v1/do/ask", headers=headers | token)
        assert "CSRF" in problem(answer, 403, "forbidden")
    _, others = site.login("admin")
    answer = site.client.post("/v1/do/ask", headers=headers | {"x-csrf-token": others})
    problem(answer, 403, "forbidden")
    assert [scope for scope, _, _ in site.done] == ["read"]
    good = headers | {"x-csrf-token": csrf}
    assert site.client.post("/v1/do/ask", headers=good).status_code == 200
    said = site.client.post("/v1/do/keys", headers=good)
    assert "may not keys" in problem(said, 403, "forbidden"), "a session has its key's scopes"


def test_a_form_carries_its_token_in_a_field(site):
    headers, csrf = site.login("admin")
    for data in ({"budget": "9"}, {"budget": "9", "csrf": ""}, {"budget": "9", "csrf": "x"}):
        problem(site.client.post("/form", data=data, headers=headers), 403, "forbidden")
    data = {"budget": "9", "csrf": csrf}
    assert site.client.post("/form", data=data, headers=headers).text == "filled"
    assert [what[2] for what in site.done] == [{"budget": "9"}]
    answer = site.client.post("/form", json={"csrf": csrf}, headers=headers)
    assert "application/x-www-form-urlencoded" in problem(answer, 422, "invalid")


def test_a_tampered_cookie_is_no_session(site):
    headers, _ = site.login("admin")
    value = headers["cookie"]
    for wrong in (value[:-1] + ("0" if value[-1] != "0" else "1"), f"{COOKIE}=", f"{COOKIE}=a.b"):
        answer = site.client.get("/v1/do/read", headers={"cookie": wrong})
        assert "log in again" in problem(answer, 401, "unauthenticated")
    beside = {"cookie": f"theme=dark; {value}; other=1"}
    assert site.client.get("/v1/do/read", headers=beside).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:3000"])
@pytest.mark.parametrize("open", [True, False])
def test_a_page_from_elsewhere_changes_nothing(origin, open):
    site = Site(ServiceConfig(require_keys=not open))
    headers, csrf = site.login("admin")
    headers |= {"x-csrf-token": csrf, "origin": origin}
    said = problem(site.client.post("/v1/do/ask", headers=headers), 403, "forbidden")
    assert origin in said
    assert site.done == []
    headers["origin"] = HERE
    assert site.client.post("/v1/do/ask", headers=headers).status_code == 200
    site.service.close()


# hosts


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "localhost.evil.example"])
def test_a_foreign_name_is_refused_whatever_the_key(site, host):
    headers = site.bearer("ask") | {"host": host}
    said = problem(site.client.post("/v1/do/ask", headers=headers), 421, "bad-host")
    assert host in said
    assert "--allow-host" in said
    assert site.done == []


ALLOWED = [
    ("localhost", True),
    ("LOCALHOST:8321", True),
    ("127.0.0.1", True),
    ("10.1.2.3:80", True),
    ("[::1]:8321", True),
    ("bursar.example", True),
    ("Bursar.Example.:443", True),
    ("www.bursar.example", False),
    ("bursar.example.evil.example", False),
    ("", False),
    ("a b", False),
    ("bursar.example:x", False),
    ("bursar.example@evil", False),
    ("[bursar.example]", False),
]


@pytest.mark.parametrize(("host", "fine"), ALLOWED)
def test_names_of_a_service(host, fine):
    hosts = Hosts(["bursar.example", "127.0.0.1"])
    assert hosts.allow(host.encode()) is fine
    assert hosts.allow(host.encode()) is fine, "asked again, the same"
    assert Hosts(["*"]).allow(b"anything.example")


# size


def sent(app, parts, headers=()):
    """Send a body in parts without telling its length; return status and how much was taken."""
    taken, answer = [], []
    waiting = list(parts)

    async def receive():
        taken.append(waiting[0])
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message):
        answer.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/v1/do/ask", "raw_path": b"/v1/do/ask",
        "query_string": b"", "client": ("127.0.0.1", 1), "http_version": "1.1",
        "headers": [(b"host", b"localhost"), (b"transfer-encoding", b"chunked"), *headers],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return answer[0]["status"], len(taken)


def test_a_body_is_cut_off_while_it_streams():
    site = Site(ServiceConfig(require_keys=False, body_limit=1000))
    assert sent(site.app, [b"x" * 500, b"x" * 500]) == (200, 2)
    status, taken = sent(site.app, [b"x" * 400] * 100)
    assert status == 413
    assert taken == 3, "the rest is not even read"
    assert len(site.done) == 1
    site.service.close()


def test_an_announced_body_is_refused_before_it_is_read():
    site = Site(ServiceConfig(require_keys=False, body_limit=1000, batch_limit=5000))
    assert site.client.post("/v1/do/ask", content=b"x" * 1000).status_code == 200
    answer = site.client.post("/v1/do/ask", content=b"x" * 1001)
    assert "longer than 1,000 bytes" in problem(answer, 413, "too-large")
    assert answer.headers["connection"] == "close"
    assert site.client.post("/v1/do/ask:batch", content=b"x" * 5000).status_code == 200
    problem(site.client.post("/v1/do/ask:batch", content=b"x" * 5001), 413, "too-large")
    assert [size for _, _, size in site.done] == [1000, 5000]
    site.service.close()


# rate


def test_a_bucket_empties_and_fills():
    rate = RateLimit(10.0)
    for _ in range(20):
        rate.take("ada", now=100.0)
    with pytest.raises(RateLimited) as error:
        rate.take("ada", now=100.0)
    assert error.value.retry_after == pytest.approx(0.1)
    rate.take("bob", now=100.0)
    rate.take("ada", now=100.125)
    with pytest.raises(RateLimited):
        rate.take("ada", now=100.125)
    for _ in range(20):
        rate.take("ada", now=1000.0)


def test_callers_are_forgotten_not_gathered():
    rate = RateLimit(1.0)
    for number in range(25_000):
        rate.take(f"caller {number}", now=1.0)
    assert len(rate._buckets) <= 10_000


def test_too_many_requests_of_a_key_are_refused_and_others_go_on():
    site = Site(ServiceConfig(rate=1.0))
    busy, quiet = site.bearer("ask"), site.bearer("ask")
    answers = [site.client.post("/v1/do/ask", headers=busy) for _ in range(30)]
    refused = [one for one in answers if one.status_code != 200]
    assert refused, "30 requests in much less than 28 s"
    problem(refused[-1], 429, "rate-limited")
    assert int(refused[-1].headers["retry-after"]) >= 1
    assert site.client.post("/v1/do/ask", headers=quiet).status_code == 200
    site.service.close()


def test_13_9_the_rate_does_not_throttle_health_checks():
    site = Site(ServiceConfig(rate=1.0))
    wrong = {"authorization": "Bearer bursar_x_" + "y" * 43}
    for headers in ({}, wrong):
        for path in ("/healthz", "/readyz"):
            answers = [site.client.get(path, headers=headers).status_code for _ in range(20)]
            assert answers == [200] * 20
    answers = [site.client.get("/v1/do/read").status_code for _ in range(20)]
    assert 429 in answers, "other requests of strangers are"
    assert site.client.get("/healthz").status_code == 200
    site.service.close()


def test_13_9_wrong_keys_are_limited_apart_from_everything_else():
    site = Site(ServiceConfig(rate=1.0))
    right, wrong = site.bearer("ask"), {"authorization": "Bearer bursar_x_" + "y" * 43}
    answers = [site.client.post("/v1/do/ask", headers=wrong) for _ in range(20)]
    assert {one.status_code for one in answers} == {401, 429}
    refused = next(one for one in answers if one.status_code == 429)
    assert "requests with a wrong key" in problem(refused, 429, "rate-limited")
    assert int(refused.headers["retry-after"]) >= 1
    assert site.client.post("/v1/do/ask", headers=right).status_code == 200
    assert site.client.get("/v1/do/read").status_code == 401, "strangers have their own rate"
    site.service.close()


def test_13_low_a_stream_ends_with_its_session(site):
    key, _ = site.key("read")
    sessions = site.service.sessions
    value = sessions.start(key).partition(";")[0].partition("=")[2]
    session = sessions.find(value).id

    async def look():
        Campaign("llm", "1.00", {"a": "0.1"}, storage=site.service.store)
        stream = site.service.watch("llm", key, session)
        assert await anext(stream) == 1
        sessions.end(session)
        site.service.campaign("llm").ask()
        site.service._notify("llm")
        assert [one async for one in stream] == [], "the key is still live, but not the session"
        assert await site.service.is_admitted(key)
        assert not await site.service.is_admitted(key, session)

    asyncio.run(asyncio.wait_for(look(), 20))


def test_13_9_wrong_keys_are_limited_without_a_rate_too(monkeypatch):
    monkeypatch.setattr("bursar.service.middleware._FAILURES_AT_ONCE", 50.0)
    site = Site()
    wrong = {"authorization": "Bearer bursar_x_" + "y" * 43}
    answers = {site.client.get("/v1/do/read", headers=wrong).status_code for _ in range(150)}
    assert answers == {401, 429}
    assert site.client.get("/v1/do/read", headers=site.bearer("read")).status_code == 200
    site.service.close()


# answers


def test_every_answer_makes_browsers_careful(site):
    for answer in (
        site.client.get("/healthz"),
        site.client.get("/v1/do/read"),
        site.client.get("/v1/fail"),
        site.client.get("/healthz", headers={"host": "evil.example"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-request-id"]
    own = site.client.get("/own").headers
    assert own.get_list("content-security-policy") == ["sandbox"]
    assert own.get_list("cache-control") == ["max-age=60"]


def test_the_callers_id_is_kept_if_it_is_a_word(site):
    ours = site.client.get("/healthz", headers={"x-request-id": "job-17.a_b"})
    assert ours.headers["x-request-id"] == "job-17.a_b"
    for wrong in ("a b", "x" * 65, 'a"b', ""):
        answer = site.client.get("/healthz", headers={"x-request-id": wrong})
        assert answer.headers["x-request-id"] not in ("", wrong)


# logs


def test_a_request_is_a_line_with_its_decision(site, lines):
    key, token = site.key("ask")
    site.client.post(
        "/v1/in/llm/ask?decision=d17&secret=hush",
        headers={"authorization": f"Bearer {token}", "x-request-id": "r1"},
    )
    [line] = [one for one in lines() if one["logger"] == "bursar.access"]
    expected = {
        "request_id": "r1", "method": "POST", "path": "/v1/in/llm/ask", "status": 200,
        "key": key.id, "campaign": "llm", "decision": "d17",
    }  # fmt: skip
    assert {name: line[name] for name in expected} == expected
    assert "hush" not in json.dumps(line), "what comes after the ? stays out"


def test_no_secret_is_ever_logged(site, lines):
    _, token = site.key("admin", "keys")
    headers, csrf = site.login("admin")
    bearer = {"authorization": f"Bearer {token}"}
    site.client.get("/v1/fail", headers=bearer)  # its error repeats the header
    site.client.get(f"/v1/do/{token}", headers=bearer)
    site.client.post(f"/nowhere/{token}", headers=headers | {"x-csrf-token": csrf})
    log = logging.getLogger("bursar.service")
    log.info("token %s and cookie %s", token, headers["cookie"])
    log.warning("postgresql://ada:hush@db.example/spend is away", extra={"decision": "d1"})
    try:
        raise StorageUnavailable(f"postgres://ada:hush@db/x said no to {token}")
    except StorageUnavailable:
        log.exception("failed")
    text = json.dumps(lines())
    assert len(lines()) >= 7
    assert "Traceback" in text
    for secret in (token[-43:], headers["cookie"].partition("=")[2], "hush", csrf):
        assert secret not in text
    assert "postgresql://ada:…@db.example/spend" in json.dumps(lines(), ensure_ascii=False)


def test_errors_are_logged_with_their_request_and_told_without_details(site, lines):
    answer = site.client.get("/v1/fail", headers={"x-request-id": "r9"})
    assert "lost" not in problem(answer, 500, "internal")
    [line] = [one for one in lines() if one["level"] == "error"]
    assert line["request_id"] == "r9"
    assert "RuntimeError: lost" in line["exception"]


def test_half_an_answer_is_not_followed_by_another(site):
    loud = TestClient(site.app, base_url=HERE)
    with pytest.raises(ConnectionError, match="gone"):
        loud.get("/half")


# health and metrics


def metrics(text):
    return {
        (one.name, *sorted(one.labels.values())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_metrics_need_a_key_for_all_campaigns(site):
    problem(site.client.get("/metrics"), 401, "unauthenticated")
    problem(site.client.get("/metrics", headers=site.bearer("ask")), 403, "forbidden")
    some = site.bearer("read", campaigns=["llm"])
    assert "of all" in problem(site.client.get("/metrics", headers=some), 403, "forbidden")
    answer = site.client.get("/metrics", headers=site.bearer("read"))
    assert answer.headers["content-type"].startswith("text/plain")


def test_metrics_have_the_money_as_it_is_now():
    site = Site(ServiceConfig(require_keys=False))
    service = site.service
    made = Campaign(
        "llm", "1.00", {"small": "0.10"}, storage=service.store, currency="EUR", exponent=4
    )
    Campaign("old", "1.00", {"x": "1"}, storage=service.store).end()

    async def play():
        kept = await service.submit("llm", ask_command())
        spent = await service.submit("llm", ask_command())
        config = service.campaign("llm").config
        await service.submit("llm", tell_command(config, spent, "0.15", 1.0), urgent=True)
        service.metrics.asks["granted"].inc(2)
        service.metrics.asks["rate-limited"].inc()
        service.metrics.outcomes["settled"].inc()
        return kept

    asyncio.run(play())
    assert site.client.get("/readyz").json() == {"status": "ready"}
    found = metrics(site.client.get("/metrics").text)
    assert found["bursar_budget_units", "llm"] == 10_000
    assert found["bursar_spent_units", "llm"] == 1_500
    assert found["bursar_held_units", "llm"] == 1_000
    assert found["bursar_available_units", "llm"] == 7_500
    assert found["bursar_overrun_units_total", "llm"] == 500
    assert found["bursar_unit_size", "EUR", "llm"] == 0.0001
    assert found["bursar_open_holds", "llm"] == 1
    assert 0 <= found["bursar_oldest_hold_seconds", "llm"] < 3600
    assert found["bursar_budget_units", "old"] == 1_000_000
    assert found["bursar_asks_total", "granted"] == 2
    assert found["bursar_asks_total", "rate-limited"] == 1
    assert found["bursar_outcomes_total", "settled"] == 1
    assert found["bursar_commit_seconds_count",] == 3
    assert found["bursar_batch_size_sum",] == 3
    assert found["bursar_fsync_seconds_count",] == 1
    assert found["bursar_queue_depth",] == 0
    assert found["bursar_replay_mismatch_total",] == 0
    assert found["bursar_invariant_violations_total",] == 0
    made.set_budget("2.00")  # by another process, say
    assert metrics(site.client.get("/metrics").text)["bursar_budget_units", "llm"] == 20_000
    service.close()


def test_ready_means_that_a_row_can_be_written(site, monkeypatch):
    pings = []
    monkeypatch.setattr(site.service.store, "ping", lambda: pings.append(1))
    for _ in range(20):
        assert site.client.get("/readyz").status_code == 200
    assert 1 <= len(pings) < 20, "strangers cannot make the disk work"

    def full():
        raise StorageUnavailable("the disk is full")

    monkeypatch.setattr(site.service.store, "ping", full)
    deadline = time.monotonic() + 30
    while (answer := site.client.get("/readyz")).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    problem(answer, 503, "storage-unavailable")
    assert site.client.get("/healthz").status_code == 200, "alive, but of no use"
    site.service.stop()
    problem(site.client.get("/readyz"), 503, "stopping")


# what a service does by itself


@pytest.fixture
def service():
    found = Service("memory", ServiceConfig(require_keys=False))
    Campaign(
        "llm", "1.00", {"small": "0.10"}, storage=found.store, hold_ttl=1000.0, reward_ttl=1000.0
    )
    yield found
    found.close()


def violations(service):
    return metrics(service.metrics.to_text().decode())["bursar_invariant_violations_total",]


def test_sums_that_hold_are_no_news(service):
    campaign = service.campaign("llm")
    campaign.tell(campaign.ask(), cost="0.35", reward=1)  # an overrun
    campaign.ask()
    campaign.set_budget("0.05")  # a cut
    assert campaign.state == "overdrawn"
    assert find_violations(campaign) == []
    assert asyncio.run(maintenance.check_all(service)) == 0
    assert violations(service) == 0


def test_a_late_cost_after_the_last_ask_explains_itself(service):
    campaign = service.campaign("llm")
    lost = campaign.ask()
    campaign.void(lost)
    for _ in range(10):
        campaign.tell(campaign.ask(), cost="0.10", reward=0)
    campaign.tell(lost, cost="0.10", reward=0)
    assert campaign.state == "overdrawn"
    assert find_violations(campaign) == []


def test_sums_that_do_not_hold_are_counted_and_logged(service, lines):
    campaign = service.campaign("llm")
    campaign.ask()
    live_state(campaign).held += 7  # as a cosmic ray would
    said = find_violations(campaign)
    assert any("100007 units are held, but open decisions hold 100000" in one for one in said)
    assert asyncio.run(maintenance.check_all(service)) == len(said)
    assert violations(service) == len(said)
    assert any("does not add up" in one["message"] for one in lines() if one["level"] == "error")


def test_money_that_the_log_does_not_explain_is_counted(service):
    campaign = service.campaign("llm")
    live_state(campaign).spent += 2_000_000
    assert any("the log does not say why" in one for one in find_violations(campaign))


def test_overdue_holds_end_without_a_call(service, monkeypatch):
    campaign = service.campaign("llm")
    campaign.ask()
    late = campaign.clock.wall() + 2_000_000_000
    steady = campaign.clock.steady() + 2_000_000_000
    monkeypatch.setattr(campaign.clock, "wall", lambda: late)
    monkeypatch.setattr(campaign.clock, "steady", lambda: steady)
    asyncio.run(maintenance.check_all(service))
    assert campaign.open == 0
    assert str(campaign.spent) == "0.100000"


def test_a_damaged_log_is_found_by_the_daily_look(tmp_path, lines):
    service = Service(f"sqlite:///{tmp_path / 'a.db'}", ServiceConfig(require_keys=False))
    Campaign("llm", "1.00", {"small": "0.10"}, storage=service.store).ask()
    assert maintenance.verify_overdue(service) == 0
    live_state(service.campaign("llm")).held += 1
    save_verification(service.store, "llm", at=0)  # so that it is due again
    assert maintenance.verify_overdue(service) == 1
    assert "bursar_replay_mismatch_total 1.0" in service.metrics.to_text().decode()
    assert any("is damaged" in one["message"] for one in lines())
    service.close()
