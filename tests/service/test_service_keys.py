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


def test_13_3_revoking_over_http_ends_the_descendants(api: Api) -> None:
    first = api.post("/v1/keys", {"scopes": ["keys", "read"]}).json()
    thief = other(api, first["token"])
    made = thief.post("/v1/keys", {"scopes": ["read"]}).json()
    second = thief.post(f"/v1/keys/{first['id']}:rotate", {"grace": 3600}).json()
    ended = api.delete(f"/v1/keys/{first['id']}")
    assert ended.status_code == 200
    assert set(ended.json()["also_revoked"]) == {made["id"], second["id"]}
    for token in (first["token"], made["token"], second["token"]):
        assert other(api, token).get("/v1/campaigns").status_code == 401
    refused = api.post(f"/v1/keys/{second['id']}:rotate")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    states = {one["id"]: one["state"] for one in api.get("/v1/keys").json()["keys"]}
    assert {states[one["id"]] for one in (first, second, made)} == {"revoked"}


def test_13_3_a_key_alone_is_revoked_over_http(api: Api) -> None:
    old = api.post("/v1/keys", {"scopes": ["read"]}).json()
    new = api.post(f"/v1/keys/{old['id']}:rotate", {"grace": 3600}).json()
    ended = api.delete(f"/v1/keys/{old['id']}?only=true").json()
    assert (ended["state"], ended["also_revoked"]) == ("revoked", [])
    assert other(api, old["token"]).get("/v1/campaigns").status_code == 401
    assert other(api, new["token"]).get("/v1/campaigns").status_code == 200
    assert api.delete(f"/v1/keys/{old['id']}?only=maybe").status_code == 422


def test_13_low_an_unknown_key_does_not_reveal_those_of_others(api: Api) -> None:
    few = api.with_key("keys", "read", campaigns=["llm"])
    mine = few.post("/v1/keys", {"scopes": ["read"], "campaigns": ["llm"]}).json()["id"]
    hidden = api.post("/v1/keys", {"scopes": ["admin"]}).json()["id"]
    for method, path in (("DELETE", "/v1/keys/{}"), ("POST", "/v1/keys/{}:rotate")):
        for id, shown in ((f"{hidden[:-1]}_", False), (f"{mine[:-1]}_", True)):
            missing = few.call(method, path.format(id))
            assert (missing.status_code, missing.json()["code"]) == (404, "unknown-key")
            assert hidden not in missing.json()["detail"]
            assert (f"{mine!r}?" in missing.json()["detail"]) == shown
    assert f"{hidden!r}?" in api.delete(f"/v1/keys/{hidden[:-1]}_").json()["detail"]
