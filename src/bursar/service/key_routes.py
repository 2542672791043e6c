"""Keys over HTTP: made, listed, rotated, revoked; nobody gives out more than they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request

from bursar.service.answer import Answer, json_answer
from bursar.service.auth import check_grant, require
from bursar.service.body import body_of
from bursar.service.key import Key, new_key
from bursar.service.taken import NewKey, Rotation

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["create", "listing", "revoke", "rotate"]

_NEW = msgspec.json.Decoder(NewKey)
_ROTATION = msgspec.json.Decoder(Rotation)


async def listing(service: Service, request: Request) -> Answer:
    """Return every key there is or was, without secrets."""
    mine = require(request, "keys")
    found = await service.look(service.keys.all)
    return json_answer({"keys": [one.as_dict() for one in found if mine.covers(one)]})


async def create(service: Service, request: Request) -> Answer:
    """Make a key; its token is told this once."""
    mine = require(request, "keys")
    given = await body_of(request, _NEW)

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

    key, token = await service.look(make)
    return json_answer(key.as_dict() | {"token": token}, 201)


async def rotate(service: Service, request: Request) -> Answer:
    """Make a successor of a key; the old one ends when its grace is over."""
    mine = require(request, "keys")
    given = await body_of(request, _ROTATION)
    id: str = request.path_params["key"]
    await _mine(service, mine, id)
    key, token = await service.look(service.keys.rotate, id, given.grace, mine.id)
    return json_answer(key.as_dict() | {"token": token}, 201)


async def revoke(service: Service, request: Request) -> Answer:
    """End a key now."""
    mine = require(request, "keys")
    id: str = request.path_params["key"]
    await _mine(service, mine, id)
    return json_answer((await service.look(service.keys.revoke, id, mine.id)).as_dict())


async def _mine(service: Service, mine: Key, id: str) -> None:
    check_grant(mine, await service.look(service.keys.get, id))
