from __future__ import annotations

import pytest
from service_app import Api, api, service

__all__ = ["api", "service"]

DECISIONS = "/v1/campaigns/llm/decisions"


def test_an_ask_is_granted_with_its_money_held(api: Api) -> None:
    api.make()
    asked = api.post(DECISIONS, {"context": {"task": "qa"}})
    assert asked.status_code == 201
    decision = asked.json()
    assert (decision["campaign"], decision["arm"], decision["hold"]) == ("llm", "small", "0.004000")
    assert (decision["money"], decision["reward_state"]) == ("held", "pending")
    assert decision["context"] == {"task": "qa"}
    assert (decision["cost"], decision["reward"], decision["replayed"]) == (None, None, False)
    state = api.get("/v1/campaigns/llm/state").json()
    assert (state["held"], state["available"], state["open"]) == ("0.004000", "0.996000", 1)


def test_an_ask_needs_no_body(api: Api) -> None:
    api.make()
    assert api.post(DECISIONS).status_code == 201


def test_what_curl_sends_is_understood(api: Api) -> None:
    api.make()
    headers = {
        "authorization": f"Bearer {api.token}",
        "content-type": "application/x-www-form-urlencoded",
    }
    asked = api.client.post(DECISIONS, headers=headers, content=b'{"context": {"task": "qa"}}')
    assert asked.status_code == 201


def test_the_same_id_gets_the_same_decision_and_no_second_hold(api: Api) -> None:
    api.make()
    first = api.post(DECISIONS, {"id": "request-17"})
    before = api.ledger()
    again = api.post(DECISIONS, {"id": "request-17"})
    by_header = api.post(DECISIONS, {}, idempotency_key="request-17")
    assert (first.status_code, again.status_code, by_header.status_code) == (201, 200, 200)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == by_header.json() == first.json() | {"replayed": True}
    assert first.json()["token"]
    assert api.ledger() == before


def test_an_id_with_another_wish_is_a_mismatch(api: Api) -> None:
    api.make()
    api.ask(id="a", among=["small"])
    before = api.ledger()
    for other in ({"among": ["large"]}, {}, {"among": ["small"], "context": {"x": 1}}):
        refused = api.post(DECISIONS, {"id": "a"} | other)
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-mismatch")
    assert api.ledger() == before


def test_id_and_header_must_agree(api: Api) -> None:
    api.make()
    before = api.ledger()
    refused = api.post(DECISIONS, {"id": "a"}, idempotency_key="b")
    assert refused.status_code == 422
    assert refused.json()["detail"] == "id and Idempotency-Key must be the same, got 'a' and 'b'"
    assert api.ledger() == before


def test_an_ask_may_be_among_some_arms_or_without_some(api: Api) -> None:
    api.make()
    assert api.ask(among=["large"])["arm"] == "large"
    assert api.ask(exclude=["small"])["arm"] == "large"


def test_a_batch_ends_with_the_budget(api: Api) -> None:
    api.make(budget="0.011", arms=[{"key": "call", "max_cost": "0.004"}])
    asked = api.post(DECISIONS, {"n": 5})
    assert asked.status_code == 201
    assert [one["hold"] for one in asked.json()["decisions"]] == ["0.004000", "0.004000"]
    none = api.post(DECISIONS, {"n": 5})
    assert (none.status_code, none.json()["code"]) == (409, "budget-exhausted")
    assert "retry-after" not in none.headers
    assert (none.json()["available"], none.json()["held"]) == ("0.003000", "0.008000")
    assert api.get("/v1/campaigns/llm/state").json()["held"] == "0.008000"


@pytest.mark.parametrize(
    ("body", "headers", "ids"),
    [
        ({"ids": ["x", "y", "z"]}, {}, ["x", "y", "z"]),
        ({"n": 3, "ids": ["x", "y", "z"]}, {}, ["x", "y", "z"]),
        ({"n": 3, "id": "job"}, {}, ["job.1", "job.2", "job.3"]),
        ({"n": 3}, {"idempotency_key": "job"}, ["job.1", "job.2", "job.3"]),
    ],
)
def test_a_batch_with_ids_is_idempotent(
    api: Api, body: dict[str, object], headers: dict[str, str], ids: list[str]
) -> None:
    api.make()
    first = api.post(DECISIONS, body, **headers)
    assert first.status_code == 201
    assert [one["id"] for one in first.json()["decisions"]] == ids
    before = api.ledger()
    again = api.post(DECISIONS, body, **headers)
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert [one["replayed"] for one in again.json()["decisions"]] == [True] * 3
    assert api.ledger() == before


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ({"n": 3}, {"n": 5}),
        ({"n": 3}, {"n": 1}),
        ({"n": 3}, {}),
        ({}, {"n": 3}),
        ({"n": 3}, {"n": 3, "among": ["small"]}),
        ({"n": 3, "context": {"x": 1}}, {"n": 3, "context": {"x": 2}}),
        ({"n": 3, "exclude": ["small"]}, {"n": 4, "exclude": ["small"]}),
    ],
)
def test_13_an_idempotency_key_with_another_batch_is_refused(
    api: Api, first: dict[str, object], other: dict[str, object]
) -> None:
    api.make()
    assert api.post(DECISIONS, first, idempotency_key="job").status_code == 201
    before = api.ledger()
    refused = api.post(DECISIONS, other, idempotency_key="job")
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency-mismatch")
    assert api.post(DECISIONS, other | {"id": "job"}).status_code == 422
    again = api.post(DECISIONS, first, idempotency_key="job")
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert api.ledger() == before


def test_13_an_idempotency_key_beside_ids_is_refused(api: Api) -> None:
    api.make()
    before = api.ledger()
    refused = api.post(DECISIONS, {"ids": ["a", "b"]}, idempotency_key="job")
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("give ids or Idempotency-Key, not both")
    assert api.ledger() == before


def test_a_decision_is_shown_with_its_reasons(api: Api) -> None:
    api.make()
    decision = api.ask()
    for path in (f"/v1/decisions/{decision['id']}", f"{DECISIONS}/{decision['id']}"):
        assert api.get(path).json() == decision
        why = api.get(f"{path}?why=true").json()["why"]
        assert (why["decision"], why["arm"], why["verified"]) == (decision["id"], "small", True)
        assert why["sentences"]


def test_decisions_are_listed_in_pages(api: Api) -> None:
    api.make()
    ids = [one["id"] for one in api.post(DECISIONS, {"n": 5}).json()["decisions"]]
    api.post(f"/v1/decisions/{ids[0]}/outcome", {"cost": "0.001", "reward": 1})
    first = api.get(f"{DECISIONS}?limit=3").json()
    rest = api.get(f"{DECISIONS}?limit=3&after={first['next']}").json()
    assert [one["id"] for one in first["decisions"] + rest["decisions"]] == ids
    assert rest["next"] is None
    waiting = api.get(f"{DECISIONS}?open=true&limit=2").json()
    more = api.get(f"{DECISIONS}?open=true&after={waiting['next']}").json()
    assert [one["id"] for one in waiting["decisions"] + more["decisions"]] == ids[1:]
    assert {one["money"] for one in waiting["decisions"]} == {"held"}


def test_ids_and_names_may_have_slashes_and_letters_of_any_kind(api: Api) -> None:
    api.make("été/2026")
    asked = api.post("/v1/campaigns/%C3%A9t%C3%A9%2F2026/decisions", {"id": "order/17 ü"})
    assert asked.status_code == 201
    told = api.post("/v1/decisions/order%2F17%20%C3%BC/outcome", {"cost": "0.001"})
    assert (told.status_code, told.json()["money"]) == (200, "settled")
    assert told.json()["campaign"] == "été/2026"


def test_a_paused_campaign_and_too_many_open_decisions_grant_nothing(api: Api) -> None:
    api.make(max_open=1)
    api.ask()
    many = api.post(DECISIONS)
    assert (many.status_code, many.json()["code"]) == (429, "too-many-open")
    assert (many.headers["retry-after"], many.json()["retryable"]) == ("1", True)
    api.post("/v1/campaigns/llm:pause")
    before = api.ledger()
    paused = api.post(DECISIONS)
    assert (paused.status_code, paused.json()["code"]) == (409, "not-active")
    assert paused.json()["detail"] == "llm is paused; resume it first"
    assert api.ledger() == before
