from __future__ import annotations

from datetime import UTC, datetime, timedelta

from service_app import Api, api, service

__all__ = ["api", "service"]


def other(api: Api, token: str) -> Api:
    return Api(api.client, api.service, token)


def test_a_key_is_made_used_and_revoked(api: Api) -> None:
    api.make()
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"scopes": ["ask", "tell"], "campaigns": ["llm"], "note": "job", "expires": soon}
    made = api.post("/v1/keys", body)
    assert made.status_code == 201
    key = made.json()
    assert (key["scopes"], key["campaigns"], key["note"]) == (["ask", "tell"], ["llm"], "job")
    assert key["token"].startswith(f"bursar_{key['id']}_")
    user = other(api, key["token"])
    assert user.post("/v1/campaigns/llm/decisions").status_code == 201
    listed = api.get("/v1/keys")
    assert key["id"] in [one["id"] for one in listed.json()["keys"]]
    assert key["token"] not in listed.text
    assert api.delete(f"/v1/keys/{key['id']}").json()["state"] == "revoked"
    assert user.post("/v1/campaigns/llm/decisions").status_code == 401


def test_a_key_is_rotated_with_some_grace_or_none(api: Api) -> None:
    first = api.post("/v1/keys", {"scopes": ["read"]}).json()
    second = api.post(f"/v1/keys/{first['id']}:rotate", {"grace": 3600}).json()
    for token in (first["token"], second["token"]):
        assert other(api, token).get("/v1/campaigns").status_code == 200
    assert second["replaces"] == first["id"]
    third = api.post(f"/v1/keys/{second['id']}:rotate").json()
    assert other(api, second["token"]).get("/v1/campaigns").status_code == 401
    assert other(api, third["token"]).get("/v1/campaigns").status_code == 200


def test_a_key_manages_only_keys_with_no_more_rights(api: Api) -> None:
    few = api.with_key("keys", "read", campaigns=["llm"])
    strong = api.post("/v1/keys", {"scopes": ["admin"]}).json()
    calls = [
        ("POST", "/v1/keys", {"scopes": ["admin"], "campaigns": ["llm"]}),
        ("POST", "/v1/keys", {"scopes": ["read"]}),
        ("POST", f"/v1/keys/{strong['id']}:rotate", {}),
        ("DELETE", f"/v1/keys/{strong['id']}", None),
    ]
    for method, path, body in calls:
        refused = few.call(method, path, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert few.post("/v1/keys", {"scopes": ["read"], "campaigns": ["llm"]}).status_code == 201
    seen = [one["id"] for one in few.get("/v1/keys").json()["keys"]]
    assert strong["id"] not in seen
    assert other(api, strong["token"]).get("/v1/campaigns").status_code == 200


def test_a_key_that_is_not_there(api: Api) -> None:
    for method, path in (("DELETE", "/v1/keys/nobody"), ("POST", "/v1/keys/nobody:rotate")):
        missing = api.call(method, path)
        assert (missing.status_code, missing.json()["code"]) == (404, "unknown-key")
    past = api.post("/v1/keys", {"scopes": ["read"], "expires": "2020-01-01T00:00:00Z"})
    assert past.status_code == 422
