"""What is refused, with which words, and that the ledger is as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service_app import ARMS, Api, api, service

from bursar.errors import StorageUnavailable
from bursar.service import Service, requests
from bursar.service.responses import HTTPProblem

__all__ = ["api", "service"]

ASK = "/v1/campaigns/llm/decisions"
TELL = "/v1/campaigns/llm/decisions/d1/outcome"
NEW = {"name": "new", "budget": "1.00", "arms": ARMS}


@pytest.fixture
def made(api: Api) -> Api:
    api.make()
    api.ask(id="d1")
    return api


def raw(api: Api, path: str, content: bytes, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("authorization", f"Bearer {api.token}")
    return api.client.post(path, content=content, headers=named)


def check_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert set(problem) >= {"type", "title", "status", "detail", "instance", "code", "retryable"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"].endswith(code)
    assert problem["detail"]
    return problem


MALFORMED = [
    b"{", b"[1,2", b'{"cost": NaN}', b'{"cost": Infinity}', b"\xff\xfe", b'{"cost": "\xff"}',
    b'{"cost": "0.1",}', b"nonsense", b'{"cost": "0.1"} trailing', b"[" * 20_000,
    b'{"context":' * 5_000, b'{"report_id": "\\ud800"}',
]  # fmt: skip


TWICE = [
    (TELL, b'{"cost": "0.1", "reward": 1, "cost": "0.001"}', "cost"),
    (TELL, b'{"cost":"0.001","\\u0063ost":"0.002"}', "cost"),
    (TELL, b'{"cost": 0, "cost": 0}', "cost"),
    (ASK, b'{"id": "d2", "context": {"a": 1, "b": {"c": "x", "c": "x"}}}', "c"),
    (ASK, b'{"context": {"a\\"": 1, "b": [{"d": 1}, {"d": 1, "d": []}]}}', "d"),
    (ASK, b'{"context": {"n": 1, "m": "\\u0022:\\u0022"}, "context": {}}', "context"),
    ("/v1/outcomes:batch", b'{"outcomes": [{"decision": "d1", "cost": "0", "cost": "1"}]}', "cost"),
    (
        "/v1/campaigns",
        b'{"budget": "1", "name": "x", "budget": "9", "arms": [{"key": "a", "max_cost": "1"}]}',
        "budget",
    ),
    ("/v1/keys", b'{"scopes": ["read"], "scopes": ["keys"]}', "scopes"),
]


@pytest.mark.parametrize(("path", "content", "name"), TWICE, ids=lambda one: repr(one)[:24])
def test_13_low_a_member_that_comes_twice_is_refused(
    made: Api, path: str, content: bytes, name: str
) -> None:
    before = made.ledger()
    answer = raw(made, path, content, content_type="application/json")
    assert f"the member {name!r} twice" in check_problem(answer, 400, "malformed")["detail"]
    assert made.ledger() == before


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_13_low_what_has_no_member_twice_is_accepted(value: Any) -> None:
    for ascii in (True, False):
        text = json.dumps(value, ensure_ascii=ascii)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            continue
        requests._check_members(data)
        again = b'{"a":' + data + b', "b": 1, "a":1}'
        with pytest.raises(HTTPProblem, match="the member 'a' twice"):
            requests._check_members(again)


@pytest.mark.parametrize("content", MALFORMED, ids=lambda one: repr(one[:18]))
@pytest.mark.parametrize("path", [TELL, ASK])
def test_malformed_json(made: Api, content: bytes, path: str) -> None:
    before = made.ledger()
    check_problem(raw(made, path, content, content_type="application/json"), 400, "malformed")
    assert made.ledger() == before


INVALID: list[tuple[str, Any, str]] = [
    (TELL, {"cost": "NaN"}, "cost must be finite, got 'NaN'"),
    (TELL, {"cost": "Infinity"}, "cost must be finite"),
    (TELL, {"cost": "-1"}, "cost must be 0 or more"),
    (TELL, {"cost": "1e30"}, "cost must be below 10^12"),
    (TELL, {"cost": "1_000"}, "cost must be an amount"),
    (TELL, {"cost": "0.0000001"}, "cost has more than 6 decimals"),
    (TELL, {"cost": 0.1}, "got `float`"),
    (TELL, {"cost": True}, "got `bool`"),
    (TELL, {"cost": -1}, "$.cost"),
    (TELL, {"reward": "1"}, "got `str`"),
    (TELL, {"reward": 1.5}, "reward must be in the campaign's reward_range [0, 1]"),
    (TELL, {"costs": "0.1"}, "unknown field `costs`"),
    (TELL, {}, "an outcome needs a cost, a reward or both"),
    (TELL, {"cost": "0.001", "rounding": "sideways"}, "$.rounding"),
    (TELL, {"cost": "0.001", "report_id": "x" * 129}, "$.report_id"),
    (TELL, [], "Expected `object`"),
    (ASK, {"n": 0}, "$.n"),
    (ASK, {"n": 1001}, "$.n"),
    (ASK, {"n": 2, "ids": ["a"]}, "ids must be 2 different ids"),
    (ASK, {"ids": ["a", "a"]}, "ids must be 2 different ids"),
    (ASK, {"ids": ["a"], "id": "b"}, "give ids or id, not both"),
    (ASK, {"id": "\x00"}, "printable"),
    (ASK, {"id": ""}, "$.id"),
    (ASK, {"among": []}, "among must name at least one arm"),
    (ASK, {"context": {"x": "y" * 16_400}}, "context must be at most 16,384 bytes"),
    (ASK, {"wait": True}, "unknown field `wait`"),
    ("/v1/campaigns", NEW | {"budget": "NaN"}, "budget must be finite"),
    ("/v1/campaigns", NEW | {"budget": "0"}, "budget must be above 0"),
    ("/v1/campaigns", NEW | {"arms": []}, "$.arms"),
    ("/v1/campaigns", NEW | {"arms": ARMS + ARMS}, "arms must have different keys"),
    ("/v1/campaigns", NEW | {"policy": "omgea-ucb"}, "did you mean"),
    ("/v1/campaigns", NEW | {"exponent": 13}, "$.exponent"),
    ("/v1/campaigns", NEW | {"reward_range": [1, 0]}, "range"),
    ("/v1/campaigns", NEW | {"caps": {"week": "1"}}, "a cap is for 'day' or 'arm:KEY'"),
    ("/v1/campaigns", NEW | {"name": ""}, "$.name"),
    ("/v1/campaigns", {"name": "new"}, "missing required field `budget`"),
    ("/v1/campaigns/llm/decisions:void", {}, "give ids or older_than"),
    ("/v1/outcomes:batch", {"outcomes": []}, "$.outcomes"),
    ("/v1/keys", {"scopes": ["fly"]}, "no scope 'fly'"),
]


@pytest.mark.parametrize(("path", "body", "words"), INVALID, ids=lambda one: repr(one)[:50])
def test_invalid_values(made: Api, path: str, body: Any, words: str) -> None:
    before = made.ledger()
    assert words in check_problem(made.post(path, body), 422, "invalid")["detail"]
    assert made.ledger() == before


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/nothing", "not-found"),
        ("/nothing", "not-found"),
        ("/v1/campaigns/lm", "unknown-campaign"),
        ("/v1/campaigns/lm/state", "unknown-campaign"),
        ("/v1/campaigns/lm/events/stream", "unknown-campaign"),
        ("/v1/campaigns/lm/export", "unknown-campaign"),
        ("/v1/decisions/nobody", "decision-unknown"),
        ("/v1/campaigns/llm/decisions/nobody", "decision-unknown"),
        ("/v1/campaigns/llm/decisions/nobody?why=true", "decision-unknown"),
    ],
)
def test_what_is_not_there(made: Api, path: str, code: str) -> None:
    check_problem(made.get(path), 404, code)


def test_methods_that_an_address_does_not_take(made: Api) -> None:
    answer = made.delete("/v1/campaigns/llm")
    check_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "GET, HEAD, PATCH"


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data"])
def test_bodies_that_are_no_json(made: Api, kind: str) -> None:
    before = made.ledger()
    answer = raw(made, TELL, b'{"cost": "0.001"}', content_type=kind)
    check_problem(answer, 415, "unsupported-media-type")
    assert made.ledger() == before


def test_bodies_that_are_too_large(made: Api) -> None:
    before = made.ledger()
    large = b'{"context": {"x": "' + b"y" * 70_000 + b'"}}'
    kind = {"content_type": "application/json"}
    check_problem(raw(made, ASK, large, **kind), 413, "too-large")

    def pieces() -> Any:
        for _ in range(100):
            yield b" " * 1000

    headers = {"authorization": f"Bearer {made.token}", "content-type": "application/json"}
    check_problem(made.client.post(ASK, content=pieces(), headers=headers), 413, "too-large")
    check_problem(raw(made, "/v1/outcomes:batch", b" " * 1_048_577, **kind), 413, "too-large")
    assert made.ledger() == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (f"{ASK}?limit=0", "limit must be a whole number >= 1, got '0'"),
        (f"{ASK}?limit=many", "got 'many'"),
        (f"{ASK}?open=maybe", "open must be one of false, true, got 'maybe'"),
        ("/v1/campaigns/llm/events?after=-1", "after must be a whole number >= 0"),
        ("/v1/campaigns/llm/forecast?days=nan", "days must be a number > 0.0, got 'nan'"),
        ("/v1/campaigns/llm/series?points=1", "points must be a whole number >= 2"),
        (
            "/v1/campaigns/llm/export?format=xls",
            "format must be one of csv, jsonl, parquet, got 'xls'",
        ),
    ],
)
def test_queries(made: Api, path: str, words: str) -> None:
    assert words in check_problem(made.get(path), 422, "invalid")["detail"]


CALLS = {
    "ask": ("POST", ASK, {}),
    "tell": ("POST", TELL, {"cost": "0.001"}),
    "confirm": ("POST", "/v1/decisions/d1/confirm", {}),
    "void": ("POST", "/v1/decisions/d1/void", {}),
    "batch": ("POST", "/v1/outcomes:batch", {"outcomes": [{"decision": "d1", "cost": "0.001"}]}),
    "correct": ("POST", "/v1/decisions/d1/correct", {"cost": "0.001"}),
    "budget": ("PATCH", "/v1/campaigns/llm", {"budget": "99.00"}),
    "create": ("POST", "/v1/campaigns", NEW),
    "arm": ("POST", "/v1/campaigns/llm/arms", {"key": "x", "max_cost": "1"}),
    "retire": ("DELETE", "/v1/campaigns/llm/arms/small", None),
    "pause": ("POST", "/v1/campaigns/llm:pause", {}),
    "void-many": ("POST", "/v1/campaigns/llm/decisions:void", {"older_than": 0}),
    "show": ("GET", "/v1/campaigns/llm", None),
    "events": ("GET", "/v1/campaigns/llm/events", None),
    "stream": ("GET", "/v1/campaigns/llm/events/stream", None),
    "export": ("GET", "/v1/campaigns/llm/export", None),
    "audit": ("GET", "/v1/campaigns/llm/audit", None),
    "decision": ("GET", "/v1/decisions/d1", None),
    "keys": ("GET", "/v1/keys", None),
    "new-key": ("POST", "/v1/keys", {"scopes": ["read"]}),
}
MAY = {
    "ask": {"ask"},
    "tell": {"tell", "confirm", "void", "batch"},
    "read": {"show", "events", "stream", "export", "decision"},
    "adjust": {"correct"},
    "keys": {"keys", "new-key"},
}


@pytest.mark.parametrize("scope", MAY)
def test_a_key_does_only_what_it_is_for(made: Api, scope: str) -> None:
    key = made.with_key(scope)
    before = made.ledger()
    for name, (method, path, body) in CALLS.items():
        if name not in MAY[scope]:
            answer = key.call(method, path, body, if_match="*")
            detail = check_problem(answer, 403, "forbidden")["detail"]
            assert f"may not {'admin' if name in ('budget', 'create') else ''}" in detail
    assert made.ledger() == before


def test_a_key_of_another_campaign_gets_nothing_here(made: Api) -> None:
    key = made.with_key("admin", "adjust", campaigns=["ads"])
    before = made.ledger()
    for name, (method, path, body) in CALLS.items():
        if name == "batch":
            one = key.call(method, path, body).json()["results"][0]
            assert (one["status"], one["problem"]["code"]) == (404, "decision-unknown")
        elif "/decisions/d1" in path and "llm" not in path:
            check_problem(key.call(method, path, body), 404, "decision-unknown")
        else:
            check_problem(key.call(method, path, body, if_match="*"), 403, "forbidden")
    assert made.ledger() == before


@pytest.mark.parametrize("token", ["", "Bearer nonsense", "Bearer bursar_x_y", "Basic YTpi"])
def test_without_a_key_nothing_is_done_or_told(made: Api, token: str) -> None:
    before = made.ledger()
    for method, path, body in CALLS.values():
        answer = made.call(method, path, body, authorization=token)
        check_problem(answer, 401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert made.ledger() == before


def test_a_surprise_is_logged_and_not_told(
    made: Api, service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def surprise() -> Callable[[], None]:
        raise KeyError("the secret of the house")

    monkeypatch.setattr(service.store, "names", surprise)
    answer = made.get("/v1/campaigns")
    problem = check_problem(answer, 500, "internal")
    assert "secret" not in answer.text
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert "the secret of the house" in caplog.text


def test_a_ledger_that_fails_is_told_without_its_address(
    made: Api, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> None:
        raise StorageUnavailable("'/home/ada/secret.db' could not be written: disk full")

    monkeypatch.setattr(service.store, "open_writer", broken)
    for path, body in ((ASK, {}), (TELL, {"cost": "0.001"})):
        answer = made.post(path, body)
        problem = check_problem(answer, 503, "storage-unavailable")
        assert "ada" not in problem["detail"]
        assert problem["retryable"] is True
        assert "retry-after" not in answer.headers
    monkeypatch.undo()
    assert made.post(TELL, {"cost": "0.001"}).status_code == 200


def test_a_call_that_waited_too_long_is_dropped(made: Api) -> None:
    before = made.ledger()
    late = made.post(ASK, {}, request_timeout="0.0000001")
    check_problem(late, 503, "deadline-passed")
    check_problem(made.post(ASK, {}, request_timeout="soon"), 422, "invalid")
    assert made.ledger() == before
    assert made.post(ASK, {}, request_timeout="60").status_code == 201


def test_a_full_line_is_told_with_when_to_come_back(
    made: Api, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made.ledger()
    monkeypatch.setattr(service, "config", replace(service.config, queue=0))
    full = made.post(ASK, {})
    check_problem(full, 503, "overloaded")
    assert full.headers["retry-after"] == "1"
    assert made.ledger() == before
