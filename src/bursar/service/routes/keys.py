"""Keys over HTTP: create, list, rotate, revoke. A key manages only keys with no more rights."""

import msgspec

from bursar.service import schemas
from bursar.service.keys import Key
from bursar.service.operation import Call, operation
from bursar.service.responses import BytesResponse, json_response


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
    await run(keys.get, id, call.key)  # or else refused
    return _new_key_response(*await run(keys.rotate, id, call.given.grace, call.key.id))


@operation("DELETE", "/v1/keys/{key}", "keys", schemas.RevokedKeyBody, codes=("unknown-key",))
async def revoke_key(call: Call[schemas.RevocationQuery]) -> BytesResponse:
    """Revoke a key now, with the keys that were rotated from it or created by it."""
    keys, user, id = call.service.keys, call.key, call.request.path_params["key"]
    only = call.given.only == "true"

    def revoke() -> list[Key]:
        keys.get(id, user)  # or else refused
        return keys.revoke_family(id, user.id, only=only, user=user)

    key, *others = await call.service.run_in_thread(revoke)
    return json_response(key.as_dict() | {"also_revoked": [one.id for one in others]})


def _new_key_response(key: Key, token: str) -> BytesResponse:
    return json_response(key.as_dict() | {"token": token}, 201)
