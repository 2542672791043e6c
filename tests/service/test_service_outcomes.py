from __future__ import annotations

import pytest
from service_app import Api, api, service
from starlette.testclient import TestClient

from bursar import Campaign
from bursar.campaign.decision import TokenSigner
from bursar.ledger import MemoryStore
from bursar.service import Service, create_app

__all__ = ["api", "service"]


def places(id: str) -> list[str]:
    return [f"/v1/decisions/{id}", f"/v1/campaigns/llm/decisions/{id}"]


@pytest.mark.parametrize("place", [0, 1])
def test_an_outcome_is_booked_once(api: Api, place: int) -> None:
    api.make()
    path = places(api.ask()["id"])[place]
    told = api.post(f"{path}/outcome", {"cost": "0.0031", "reward": 0.8})
    assert told.status_code == 200
    assert (told.json()["cost"], told.json()["reward"]) == ("0.003100", 0.8)
    assert (told.json()["money"], told.json()["reward_state"]) == ("settled", "observed")
    before = api.ledger()
    again = api.post(f"{path}/outcome", {"cost": "0.0031", "reward": 0.8})
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    other = api.post(f"{path}/outcome", {"cost": "0.0032"})
    assert (other.status_code, other.json()["code"]) == (409, "outcome-conflict")
    assert api.ledger() == before
    assert api.get("/v1/campaigns/llm/state").json()["spent"] == "0.003100"


def test_cost_now_and_reward_later(api: Api) -> None:
    api.make()
    path = places(api.ask()["id"])[0]
    assert api.post(f"{path}/outcome", {"cost": "0.001"}).json()["reward_state"] == "pending"
    assert api.post(f"{path}/outcome", {"reward": 1}).json()["reward_state"] == "observed"


def test_a_report_is_told_from_another_by_its_id(api: Api) -> None:
    api.make()
    path = places(api.ask()["id"])[0]
    body = {"cost": "0.001", "report_id": "r1"}
    assert "idempotency-replayed" not in api.post(f"{path}/outcome", body).headers
    assert "idempotency-replayed" in api.post(f"{path}/outcome", body).headers
    other = api.post(f"{path}/outcome", {"reward": 0.5, "report_id": "r1"})
    assert (other.status_code, other.json()["code"]) == (409, "outcome-conflict")


def test_a_cost_with_too_many_digits_may_be_rounded(api: Api) -> None:
    api.make()
    path = places(api.ask()["id"])[0]
    exact = "0.00100000000000000055511151231257827"
    assert api.post(f"{path}/outcome", {"cost": exact}).status_code == 422
    told = api.post(f"{path}/outcome", {"cost": exact, "rounding": "up"})
    assert told.json()["cost"] == "0.001001"


def test_void_confirm_and_correct(api: Api) -> None:
    api.make(ask_ttl=60)
    path = places(api.ask()["id"])[0]
    assert api.post(f"{path}/confirm").json()["money"] == "confirmed"
    assert "idempotency-replayed" in api.post(f"{path}/confirm").headers
    api.post(f"{path}/outcome", {"cost": "0.002", "reward": 1})
    body = {"cost": "0.003", "reason": "read the wrong bill", "by": "ada"}
    assert api.post(f"{path}/correct", body).json()["cost"] == "0.003000"
    assert api.get("/v1/campaigns/llm/state").json()["spent"] == "0.003000"
    other = places(api.ask()["id"])[1]
    assert api.post(f"{other}/void", {"reason": "not sent"}).json()["money"] == "voided"
    assert "idempotency-replayed" in api.post(f"{other}/void").headers
    assert api.get("/v1/campaigns/llm/state").json()["held"] == "0.000000"
    audited = api.get("/v1/campaigns/llm/audit").json()["events"]
    corrected = next(one for one in audited if one["kind"] == "corrected")
    assert corrected["body"]["reason"] == "read the wrong bill"
    assert corrected["body"]["by"].endswith("/ada")


def test_an_id_of_several_campaigns_is_ambiguous_without_its_campaign(api: Api) -> None:
    for name in ("llm", "ads"):
        api.make(name)
        api.ask(name, id="shared")
    before = api.ledger()
    calls = [("GET", ""), ("POST", "/outcome"), ("POST", "/void"), ("POST", "/confirm")]
    for method, verb in calls:
        refused = api.call(method, f"/v1/decisions/shared{verb}")
        assert (refused.status_code, refused.json()["code"]) == (409, "ambiguous-decision")
        assert refused.json()["campaigns"] == ["ads", "llm"]
    assert api.ledger() == before
    path = "/v1/campaigns/ads/decisions/shared/outcome"
    assert api.post(path, {"cost": "0.001"}).json()["campaign"] == "ads"
    seen = api.with_key("tell", campaigns=["llm"]).post("/v1/decisions/shared/void")
    assert (seen.status_code, seen.json()["campaign"]) == (200, "llm")


def test_many_outcomes_of_several_campaigns_each_get_their_answer(api: Api) -> None:
    api.make("llm")
    api.make("ads")
    one, two = api.ask("llm"), api.ask("ads", id="mine")
    api.ask("ads", id="other")
    outcomes = [
        {"decision": one["id"], "cost": "0.001", "reward": 1},
        {"decision": "nobody", "cost": "0.001"},
        {"decision": "mine", "cost": "0.002", "reward": 0},
        {"decision": "other", "cost": "NaN"},
        {"decision": "other", "campaign": "ads", "reward": 7},
        {"decision": one["id"], "campaign": "llm", "cost": "0.001"},
        {"decision": "mine", "campaign": "nowhere", "cost": "0.001"},
    ]
    answer = api.post("/v1/outcomes:batch", {"outcomes": outcomes})
    results = answer.json()["results"]
    assert answer.status_code == 200
    assert [one["status"] for one in results] == [200, 404, 200, 422, 422, 200, 404]
    codes = [one["problem"]["code"] for one in results if "problem" in one]
    assert codes == ["decision-unknown", "invalid", "invalid", "unknown-campaign"]
    assert results[0]["decision"]["cost"] == "0.001000"
    assert results[5]["decision"]["replayed"] is True
    assert two["id"] == results[2]["decision"]["id"]
    before = api.ledger()
    again = api.post("/v1/outcomes:batch", {"outcomes": outcomes}).json()["results"]
    assert [one["status"] for one in again] == [200, 404, 200, 422, 422, 200, 404]
    assert api.ledger() == before


def test_many_outcomes_share_a_commit(api: Api) -> None:
    api.make()
    ids = [
        one["id"] for one in api.post("/v1/campaigns/llm/decisions", {"n": 20}).json()["decisions"]
    ]
    before = _commits(api)
    body = {"outcomes": [{"decision": one, "cost": "0.001", "reward": 1} for one in ids]}
    assert {one["status"] for one in api.post("/v1/outcomes:batch", body).json()["results"]} == {
        200
    }
    assert _commits(api) == before + 1


def _commits(api: Api) -> int:
    line = next(
        line
        for line in api.get("/metrics").text.splitlines()
        if line.startswith("bursar_commit_seconds_count")
    )
    return int(float(line.split()[1]))


def test_old_holds_are_voided_together(api: Api) -> None:
    api.make()
    ids = [api.ask()["id"] for _ in range(3)]
    told = {"cost": "0.001", "reward": 1}
    api.post(f"/v1/decisions/{ids[0]}/outcome", told)
    path = "/v1/campaigns/llm/decisions:void"
    none = api.post(path, {"older_than": 3600, "reason": "stuck"})
    assert none.json() == {"results": []}
    some = api.post(path, {"ids": [ids[0], ids[1], "nobody"], "reason": "stuck"}).json()["results"]
    assert [one["status"] for one in some] == [409, 200, 404]
    rest = api.post(path, {"older_than": 0, "reason": "stuck"}).json()["results"]
    assert [one["decision"]["id"] for one in rest] == [ids[2]]
    assert api.get("/v1/campaigns/llm/state").json()["held"] == "0.000000"


def test_a_decision_that_a_restored_backup_forgot_is_booked_by_its_token(api: Api) -> None:
    api.make("llm")
    forgotten = api.service.store  # what was granted before the backup is known by its token only
    granted = api.ask()
    other = Service(MemoryStore(), api.service.config)
    for kind in ("secret", "key"):
        for id, body in forgotten.records(kind).items():
            other.store.put_record(kind, id, body)
    Campaign("llm", "1.00", {"small": "0.004", "large": "0.05"}, storage=other.store)
    other.signer = TokenSigner(other.store)
    with TestClient(create_app(other), raise_server_exceptions=False) as client:
        restored = Api(client, other, api.token)
        path = f"/v1/campaigns/llm/decisions/{granted['id']}/outcome"
        outcome = {"cost": "0.003", "reward": 1}
        assert restored.post(path, outcome).status_code == 404
        forged = restored.post(path, outcome | {"token": granted["token"][::-1]})
        assert (forged.status_code, forged.json()["code"]) == (422, "invalid")
        booked = restored.post(path, outcome | {"token": granted["token"]})
        assert (booked.status_code, booked.json()["money"]) == (200, "settled")
        assert restored.get("/v1/campaigns/llm/state").json()["spent"] == "0.003000"
    other.close()
