from __future__ import annotations

import dataclasses
from urllib.parse import quote

import msgspec
import pytest
from service_app import ARMS, Api, api, service

from bursar.campaign import Campaign, Config
from bursar.errors import InvalidInput
from bursar.service.operation import CAMPAIGN, OPERATIONS
from bursar.service.schemas import NewCampaignRequest

__all__ = ["api", "service"]

NEW = {"name": "llm", "budget": "25.00", "arms": ARMS, "policy": "omega-ucb:rho=0.25"}


def test_a_campaign_is_made_once(api: Api) -> None:
    rules = {"caps": {"day": "5.00"}, "currency": "EUR", "exponent": 4, "hold_ttl": 60, "seed": 7}
    made = api.post("/v1/campaigns", NEW | rules)
    assert made.status_code == 201
    assert (made.headers["location"], made.headers["etag"]) == ("/v1/campaigns/llm", '"1"')
    facts = made.json()
    assert (facts["budget"], facts["available"], facts["currency"]) == ("25.0000",) * 2 + ("EUR",)
    assert (facts["day_cap"], facts["arms"], facts["state"]) == ("5.0000", 2, "active")
    assert (facts["config"]["hold_ttl"], facts["config"]["seed"]) == (60, 7)
    before = api.ledger()
    again = api.post("/v1/campaigns", NEW | rules)
    assert (again.status_code, again.json()) == (200, facts)
    other = api.post("/v1/campaigns", NEW | rules | {"budget": "26.00"})
    assert (other.status_code, other.json()["code"]) == (409, "campaign-exists")
    assert "with a different budget" in other.json()["detail"]
    assert api.ledger() == before


def test_every_rule_of_a_campaign_can_be_told() -> None:
    known = {field.name for field in msgspec.structs.fields(NewCampaignRequest)}
    rules = {field.name for field in dataclasses.fields(Config)} - {"coin", "scale"}
    assert known == rules | {"name", "budget", "arms", "caps", "currency", "exponent", "by"}


def test_campaigns_are_listed_in_pages_and_as_the_key_sees_them(api: Api) -> None:
    for name in ("c", "a", "b"):
        api.make(name)
    first = api.get("/v1/campaigns?limit=2").json()
    rest = api.get(f"/v1/campaigns?limit=2&after={first['next']}").json()
    assert [one["name"] for one in first["campaigns"] + rest["campaigns"]] == ["a", "b", "c"]
    assert rest["next"] is None
    few = api.with_key("read", campaigns=["b"])
    assert [one["name"] for one in few.get("/v1/campaigns").json()["campaigns"]] == ["b"]


def test_a_change_names_the_version_it_is_a_change_of(api: Api) -> None:
    api.make()
    etag = api.get("/v1/campaigns/llm").headers["etag"]
    missing = api.patch("/v1/campaigns/llm", {"budget": "2.00"})
    assert (missing.status_code, missing.json()["code"]) == (428, "precondition-required")
    changed = api.patch("/v1/campaigns/llm", {"budget": "2.00", "by": "ada"}, if_match=etag)
    assert (changed.status_code, changed.json()["budget"]) == (200, "2.000000")
    before = api.ledger()
    for version in (etag, '"nonsense"'):
        stale = api.patch("/v1/campaigns/llm", {"budget": "3.00"}, if_match=version)
        assert (stale.status_code, stale.json()["code"]) == (412, "stale-version")
    assert api.ledger() == before
    newest = changed.headers["etag"]
    assert api.patch("/v1/campaigns/llm", {"budget": "3.00"}, if_match=newest).status_code == 200
    assert api.patch("/v1/campaigns/llm", {"budget": "4.00"}, if_match="*").status_code == 200
    budgets = api.get("/v1/campaigns/llm/audit").json()["events"][1:]
    assert [one["body"]["budget"] for one in budgets] == [2_000_000, 3_000_000, 4_000_000]
    assert budgets[0]["body"]["by"].endswith("/ada")


def test_budget_and_caps_change_together_or_not_at_all(api: Api) -> None:
    api.make()
    before = api.ledger()
    refused = [
        ({"budget": "2.00", "caps": {"arm:nobody": "1.00"}}, 404),
        ({"budget": "2.00", "caps": {"week": "1.00"}}, 422),
        ({"budget": "2.00", "caps": {"day": "-1"}}, 422),
        ({}, 422),
    ]
    for body, status in refused:
        assert api.patch("/v1/campaigns/llm", body, if_match="*").status_code == status
    assert api.ledger() == before
    body = {"budget": "2.00", "caps": {"day": "0.50", "arm:large": "0.10"}}
    assert api.patch("/v1/campaigns/llm", body, if_match="*").json()["day_cap"] == "0.500000"
    free = api.patch("/v1/campaigns/llm", {"caps": {"day": None}}, if_match="*").json()
    assert (free["budget"], free["day_cap"]) == ("2.000000", None)


def test_pause_resume_and_close(api: Api) -> None:
    api.make()
    etag = api.get("/v1/campaigns/llm").headers["etag"]
    assert api.post("/v1/campaigns/llm:pause", {"by": "ada"}).json()["state"] == "paused"
    stale = api.post("/v1/campaigns/llm:resume", {}, if_match=etag)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale-version")
    assert api.post("/v1/campaigns/llm:resume").json()["state"] == "active"
    gap = api.post("/v1/campaigns/llm:reconcile", {"gap": "0.10"})
    assert (gap.status_code, gap.json()["code"]) == (409, "not-active")
    assert api.post("/v1/campaigns/llm:close").json()["state"] == "closed"
    assert api.post("/v1/campaigns/llm:resume").status_code == 409
    kinds = [one["kind"] for one in api.get("/v1/campaigns/llm/audit").json()["events"]]
    assert kinds == ["created", "paused", "resumed", "closed"]


def test_arms_are_added_paused_resumed_and_retired(api: Api) -> None:
    api.make()
    added = api.post("/v1/campaigns/llm/arms", {"key": "medium", "max_cost": "0.01"})
    assert (added.status_code, added.json()["max_cost"]) == (201, "0.010000")
    path = "/v1/campaigns/llm/arms/medium"
    paused = api.patch(path, {"state": "paused", "reason": "slow", "by": "ada"})
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    assert api.patch(path, {"state": "active"}).json()["state"] == "active"
    assert api.delete(f"{path}?by=ada").json()["state"] == "retired"
    before = api.ledger()
    assert api.patch(path, {"state": "active"}).status_code == 422
    assert api.post("/v1/campaigns/llm/arms", {"key": "medium", "max_cost": "1"}).status_code == 422
    unknown = api.delete("/v1/campaigns/llm/arms/smal")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown-arm")
    assert "did you mean 'small'?" in unknown.json()["detail"]
    assert api.ledger() == before
    arms = api.get("/v1/campaigns/llm/arms").json()["arms"]
    assert [(one["key"], one["state"]) for one in arms] == [
        ("small", "active"), ("large", "active"), ("medium", "retired"),
    ]  # fmt: skip


def test_forecast_and_series(api: Api) -> None:
    api.make()
    for _ in range(3):
        api.post(f"/v1/decisions/{api.ask()['id']}/outcome", {"cost": "0.001", "reward": 1})
    assert api.get("/v1/campaigns/llm/forecast?days=7").json()["sentences"]
    series = api.get("/v1/campaigns/llm/series?points=10").json()
    assert (series["spent"][-1], series["asks"][-1]) == ("0.003000", 3)
    assert len(series["t"]) <= 10


VERBS = sorted({
    one.path.removeprefix(f"{CAMPAIGN}:")
    for one in OPERATIONS
    if one.path.startswith(f"{CAMPAIGN}:")
})  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_13_low_a_name_that_ends_with_a_command_is_refused(api: Api, verb: str) -> None:
    body = {"name": f"x:{verb}", "budget": "1.00", "arms": ARMS}
    refused = api.post("/v1/campaigns", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert f"must not end with ':{verb}', got 'x:{verb}'" in refused.json()["detail"]
    with pytest.raises(InvalidInput, match="choose another name"):
        Campaign(f"x:{verb}", "1.00", {"a": "0.1"})
    assert api.ledger() == {}
    for name in (f"x:{verb}s", f"{verb}", f"{verb}:x", f"x:{verb}:", "a:b"):
        api.make(name)
        for path in (name, quote(name, safe="")):
            assert api.get(f"/v1/campaigns/{path}").json()["name"] == name
            assert api.post(f"/v1/campaigns/{path}/decisions", {}).status_code == 201


def test_13_low_a_campaign_of_an_older_version_can_still_be_reached(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("bursar.campaign.creation._VERBS", ())
        api.make("x:pause")
        api.make("x")
    for colon in ("%3A", "%3a"):
        path = f"/v1/campaigns/x{colon}pause"
        assert api.get(path).json()["name"] == "x:pause"
        assert api.get(f"{path}/arms").status_code == 200
        asked = api.post(f"{path}/decisions", {"id": f"d{colon}"})
        assert asked.status_code == 201
        told = api.post(f"{path}/decisions/d%25{colon[1:]}/outcome", {"cost": "0", "reward": 1})
        assert told.status_code == 200, told.text
        assert api.patch(path, {"budget": "2.00"}, if_match="*").status_code == 200
        assert api.post(f"{path}:pause").json()["state"] == "paused"
        assert api.get("/v1/campaigns/x").json()["state"] == "active"
        assert api.post(f"{path}:resume").json()["state"] == "active"
    created = {"name": "x:pause", "budget": "1.00", "arms": ARMS, "currency": "USD"}
    assert api.post("/v1/campaigns", created).status_code == 200, "to repeat it is no mistake"
    assert api.post("/v1/campaigns/x:pause").json()["name"] == "x"
    assert Campaign("x:pause", storage=api.service.store).name == "x:pause"


def test_past_outcomes_are_learned_once_and_cost_nothing(api: Api) -> None:
    api.make()
    sums = {"plays": 4, "reward": 3, "cost": 0.008, "reward_m2": 0.75, "cost_m2": 2e-6}
    arm = {"arm": "small", "largest_cost": 0.003} | sums
    body = {"arms": [arm], "source": "evals", "weight": 0.5, "by": "ada"}
    learned = api.post("/v1/campaigns/llm/history", body)
    assert (learned.status_code, learned.json()["outcomes"]) == (200, 4)
    again = api.post("/v1/campaigns/llm/history", body)
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    other = api.post("/v1/campaigns/llm/history", body | {"weight": 1})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")
    unknown = api.post("/v1/campaigns/llm/history", body | {"arms": [arm | {"arm": "tiny"}]})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown-arm")
    events = api.get("/v1/campaigns/llm/audit").json()["events"]
    [audited] = [one for one in events if one["kind"] == "learned"]
    assert audited["body"]["by"].endswith("/ada")
    shown = api.get("/v1/campaigns/llm/arms").json()["arms"][0]
    assert shown["history"] == {"outcomes": 4, "plays": 2.0, "sources": ["evals"]}
    assert (shown["plays"], shown["spent"], shown["reward"]["value"]) == (0, "0.000000", 0.75)
    assert api.with_key("ask", "tell").post("/v1/campaigns/llm/history", body).status_code == 403


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"reward": 5}, "the mean reward must be in the reward_range [0, 1], got 1.25"),
        ({"reward_m2": 1.1}, "reward_m2, the sum of squared deviations, must be from 0 to"),
        ({"cost": 0.02}, "the mean cost must be in 0 to largest_cost [0, 0.003], got 0.005"),
        ({"cost_m2": 1.0}, "cost_m2, the sum of squared deviations, must be from 0 to"),
        ({"plays": 0}, "`int` >= 1 - at `$.arms[0].plays`"),
        ({"cost": -1}, "`float` >= 0.0 - at `$.arms[0].cost`"),
    ],
)
def test_sums_that_no_outcomes_have_are_refused(api: Api, change: dict, detail: str) -> None:
    api.make()
    arm = {
        "arm": "small", "plays": 4, "reward": 3, "cost": 0.008, "reward_m2": 0.75, "cost_m2": 2e-6,
        "largest_cost": 0.003,
    }  # fmt: skip
    body = {"arms": [arm | change], "source": "evals"}
    refused = api.post("/v1/campaigns/llm/history", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert detail in refused.json()["detail"]
