"""Which campaign a call is about, and who makes it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.requests import Request

from bursar.errors import UnknownDecision
from bursar.service.auth import require
from bursar.service.body import header
from bursar.service.key import Key
from bursar.service.query import seconds
from bursar.service.refused import Refused

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["author", "campaign_of", "deadline_of", "readable", "sole", "version_of", "whose"]


def campaign_of(request: Request, scope: str) -> str:
    """Return the campaign that the address names, if the key may do this there."""
    name: str = request.path_params["campaign"]
    require(request, scope, name)
    return name


async def whose(service: Service, request: Request, scope: str) -> tuple[str, str]:
    """Return campaign and id of the decision that an address names, with the campaign or without.

    Without it, all campaigns that the key sees are searched; several are refused, since the money
    would be booked in one of them by chance.
    """
    params = request.path_params
    decision = readable(params["id"])
    name: str | None = params.get("campaign") or service.recent.get(decision)
    if name is None:
        key = require(request, scope)  # before anything is told of what there is
        name = sole(key, decision, await service.look(service.store.campaigns_of, decision))
    require(request, scope, name)
    return name, decision


def readable(decision: str) -> str:
    """Return an id as it is; no decision has one that people cannot read.

    PostgreSQL cannot even look for some of them, and would fail all calls of the same commit.
    """
    if not decision.isprintable():
        raise UnknownDecision(f"no campaign made a decision {decision!r}")
    return decision


def sole(key: Key, decision: str, campaigns: list[str]) -> str:
    """Return the one campaign of those a key sees that made a decision."""
    seen = [name for name in campaigns if key.sees(name)]
    if not seen:
        raise UnknownDecision(
            f"no campaign made a decision {decision!r}; pass the id that an ask returned"
        )
    if len(seen) > 1:
        raise Refused(
            "ambiguous-decision",
            f"{len(seen)} campaigns made a decision {decision!r}; use"
            " /v1/campaigns/NAME/decisions/ID",
            campaigns=seen,
        )
    return seen[0]


def author(key: Key, by: str = "") -> str:
    """Return who makes a change, for the log: the key, and whom it says it is for."""
    return f"{key.id}/{by}" if by else key.id


def deadline_of(request: Request) -> float | None:
    """Return when a call is of no use any more, from its header ``Request-Timeout``."""
    text = header(request, b"request-timeout")
    if text is None:
        return None
    return time.monotonic() + (seconds("Request-Timeout", text) or 0.0)


def version_of(request: Request, required: bool = False) -> int | None:
    """Return the version that ``If-Match`` names; None for any."""
    text = header(request, b"if-match")
    if text is None and required:
        raise Refused(
            "precondition-required",
            "a change must say what it is a change of: send If-Match with the ETag of the"
            " campaign, or * for whatever it is now",
        )
    if text is None or text.strip() == "*":
        return None
    version = text.strip().removeprefix("W/").strip('"')
    if not (version.isascii() and version.isdigit() and len(version) <= 18):
        return -1  # no campaign ever has it
    return int(version)
