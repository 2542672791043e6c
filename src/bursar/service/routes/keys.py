"""Keys over HTTP: made, listed, rotated, revoked; nobody gives out more than they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request

from bursar.service.auth import check_grant, require
from bursar.service.keys import Key, new_key
from bursar.service.requests import read_body
from bursar.service.responses import BytesResponse, json_response
from bursar.service.schemas import NewKeyRequest, RotationRequest

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["create_key", "list_keys", "revoke_key", "rotate_key"]

_NEW = msgspec.json.Decoder(NewKeyRequest)
_ROTATION = msgspec.json.Decoder(RotationRequest)


async def list_keys(service: Service, request: Request) -> BytesResponse:
    """Return every key there is or was, without secrets."""
    mine = require(request, "keys")
    found = await service.run_in_thread(service.keys.list_all)
    return json_response({"keys": [one.as_dict() for one in found if mine.covers(one)]})


async def create_key(service: Service, request: Request) -> BytesResponse:
    """Make a key; its token is told this once."""
    mine = require(request, "keys")
    given = await read_body(request, _NEW)

    def make() -> tuple[Key, str]:
        check_grant(
            mine,
            new_key(
                given.scopes, campaigns=given.campaigns, note=given.note, expires=given.expires
            ),
        )
        return service.keys.create(
            given.scopes, campaigns=given.campaigns, note=given.note, expires=given.expires,
            by=mine.id,
        )  # fmt: skip

    key, token = await service.run_in_thread(make)
    return json_response(key.as_dict() | {"token": token}, 201)


async def rotate_key(service: Service, request: Request) -> BytesResponse:
    """Make a successor of a key; the old one ends when its grace is over."""
    mine = require(request, "keys")
    given = await read_body(request, _ROTATION)
    id: str = request.path_params["key"]
    await _mine(service, mine, id)
    key, token = await service.run_in_thread(service.keys.rotate, id, given.grace, mine.id)
    return json_response(key.as_dict() | {"token": token}, 201)


async def revoke_key(service: Service, request: Request) -> BytesResponse:
    """End a key now."""
    mine = require(request, "keys")
    id: str = request.path_params["key"]
    await _mine(service, mine, id)
    return json_response((await service.run_in_thread(service.keys.revoke, id, mine.id)).as_dict())


async def _mine(service: Service, mine: Key, id: str) -> None:
    check_grant(mine, await service.run_in_thread(service.keys.get, id))
