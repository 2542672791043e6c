"""Management of a service: whether a process is alive and ready, its metrics, and keys.

``/healthz`` and ``/readyz`` need no key, since load balancers have none, and reveal nothing.
Metrics contain amounts of money, so they need a key that may read all campaigns. A key manages only
keys with no more rights.
"""

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from bursar.errors import Forbidden
from bursar.service import schemas
from bursar.service.keys import Key
from bursar.service.operation import Call, operation
from bursar.service.responses import BytesResponse, HTTPProblem, json_response

_PERSISTENT = 3  # commits of a campaign that fail in a row
_TEXT = (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode())


@operation("GET", "/healthz", None, dict[str, str])
async def healthz(call: Call[None]) -> BytesResponse:
    """Return that the process is alive."""
    return json_response({"status": "ok"})


@operation(
    "GET", "/readyz", None, dict[str, str],
    codes=("stopping", "storage-unavailable", "storage-in-use"),
)  # fmt: skip
async def readyz(call: Call[None]) -> BytesResponse:
    """Return whether the store can be written."""
    service = call.service
    if service.stopping:
        raise HTTPProblem("stopping", "the service is stopping; use another one")
    await service.check_writable()
    failing = sum(one.failed_commits >= _PERSISTENT for one in service.committers().values())
    if failing:
        # one campaign must not take all others out of a load balancer; metrics have its name
        return json_response({"status": "degraded", "failing": str(failing)})
    return json_response({"status": "ready"})


@operation("GET", "/metrics", "read", "text/plain")
async def metrics(call: Call[None]) -> BytesResponse:
    """Return all metrics in Prometheus' text format."""
    service, key = call.service, call.key
    if key.campaigns is not None:
        raise Forbidden(f"key {key.id!r} is for some campaigns only; metrics are of all")
    return BytesResponse(200, await service.run_in_thread(service.metrics.to_text), (_TEXT,))


@operation("GET", "/v1/keys", "keys", schemas.KeyPage)
async def list_keys(call: Call[None]) -> BytesResponse:
    """Return all keys that the caller may manage, expired and revoked ones too."""
    found = await call.service.run_in_thread(call.service.keys.list_all)
    return json_response({"keys": [one.as_dict() for one in found if call.key.covers(one)]})


@operation("POST", "/v1/keys", "keys", {201: schemas.NewKeyBody})
async def create_key(call: Call[schemas.NewKeyRequest]) -> BytesResponse:
    """Create a key; its token cannot be shown again."""
    fields, keys = msgspec.structs.asdict(call.given), call.service.keys
    created = await call.service.run_in_thread(keys.create, user=call.key, **fields)
    return _new_key_response(*created)


@operation(
    "POST", "/v1/keys/{key}:rotate", "keys", {201: schemas.NewKeyBody}, codes=("unknown-key",)
)
async def rotate_key(call: Call[schemas.RotationRequest]) -> BytesResponse:
    """Create a successor of a key; the old one expires after the grace period."""
    keys, run, id = call.service.keys, call.service.run_in_thread, call.request.path_params["key"]
    await run(keys.get, id, call.key)  # refuses a key with more rights than the caller's
    return _new_key_response(*await run(keys.rotate, id, call.given.grace, call.key.id))


@operation("DELETE", "/v1/keys/{key}", "keys", schemas.RevokedKeyBody, codes=("unknown-key",))
async def revoke_key(call: Call[schemas.RevocationQuery]) -> BytesResponse:
    """Revoke a key now, with the keys that were rotated from it or created by it."""
    keys, user, id = call.service.keys, call.key, call.request.path_params["key"]
    only = call.given.only == "true"

    def revoke() -> list[Key]:
        keys.get(id, user)  # refuses a key with more rights than the caller's
        return keys.revoke_family(id, user.id, only=only, user=user)

    key, *others = await call.service.run_in_thread(revoke)
    return json_response(key.as_dict() | {"also_revoked": [one.id for one in others]})


def _new_key_response(key: Key, token: str) -> BytesResponse:
    return json_response(key.as_dict() | {"token": token}, 201)
