"""Bodies of requests: read whole, checked for what they are, decoded strictly."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request

from bursar.errors import UnknownDecision
from bursar.service.auth import require
from bursar.service.keys import Key
from bursar.service.responses import HTTPProblem

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "check_id",
    "decode_body",
    "header",
    "only_campaign",
    "read_body",
    "read_choice",
    "read_flag",
    "read_int",
    "read_seconds",
    "request_author",
    "request_campaign",
    "request_deadline",
    "request_version",
    "resolve_decision",
]

T = TypeVar("T")

_ANYTHING = msgspec.json.Decoder()
_FORM = b"application/x-www-form-urlencoded"


def header(request: Request, name: bytes) -> str | None:
    """Return a header, or None; straight from the scope, which is quicker than a mapping of all."""
    for key, value in request.scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None


async def read_body(request: Request, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the body as what is expected; refuse another type, broken JSON, unknown members."""
    receive = request.receive
    message = await receive()
    data: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts = [data]
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
        data = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise HTTPProblem("malformed", "the body ended before it was whole")
    if data:
        _check_type(request)
    return decode_body(decoder, data or b"{}")


def decode_body(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Return what JSON stands for."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        _check_json(data)  # the rest of it may be no JSON at all
        raise HTTPProblem("invalid", f"the body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None


def _check_json(data: bytes) -> None:
    try:
        _ANYTHING.decode(data)
    except msgspec.ValidationError:
        return  # JSON with a number that is too large
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> HTTPProblem:
    deep = isinstance(error, RecursionError)
    return HTTPProblem(
        "malformed", f"the body is no JSON: {'nested too deeply' if deep else error}"
    )


def _check_type(request: Request) -> None:
    headers: list[tuple[bytes, bytes]] = request.scope["headers"]
    keyed = False
    media = b"application/json"
    for name, value in headers:
        if name == b"content-type":
            media = value
        elif name == b"authorization":
            keyed = True
    if media == b"application/json":
        return
    media = media.partition(b";")[0].strip().lower()
    if media == b"application/json" or (media == _FORM and keyed):
        return  # a form is what `curl -d` calls everything; browsers send no keys by themselves
    raise HTTPProblem(
        "unsupported-media-type",
        f"the body must be application/json, got {media.decode('latin-1')!r}",
    )


# ==== service.query
# What a query says: whole numbers, yes or no, one of a few words.


def read_int(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else -1
    if not least <= value <= most:
        raise HTTPProblem("invalid", f"{name} must be from {least} to {most}, got {text!r}")
    return value


def read_flag(request: Request, name: str, default: bool = False) -> bool:
    """Return a yes or no of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise HTTPProblem("invalid", f"{name} must be true or false, got {text!r}")
    return text == "true"


def read_choice(request: Request, name: str, default: str, words: tuple[str, ...]) -> str:
    """Return one of a few words of the query."""
    text = request.query_params.get(name, default)
    if text not in words:
        raise HTTPProblem("invalid", f"{name} must be one of {', '.join(words)}, got {text!r}")
    return text


def read_seconds(name: str, text: str | None) -> float | None:
    """Return a time to wait that a header or a query has; None if it is not there."""
    if text is None:
        return None
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not 0.0 < value < 1e9:
        raise HTTPProblem("invalid", f"{name} must be a number above 0, got {text!r}")
    return value


# ==== service.placing
# Which campaign a call is about, and who makes it.


def request_campaign(request: Request, scope: str) -> str:
    """Return the campaign that the address names, if the key may do this there."""
    name: str = request.path_params["campaign"]
    require(request, scope, name)
    return name


async def resolve_decision(service: Service, request: Request, scope: str) -> tuple[str, str]:
    """Return campaign and id of the decision that an address names, with the campaign or without.

    Without it, all campaigns that the key sees are searched; several are refused, since the money
    would be booked in one of them by chance.
    """
    params = request.path_params
    decision = check_id(params["id"])
    name: str | None = params.get("campaign") or service.recent.get(decision)
    if name is None:
        key = require(request, scope)  # before anything is told of what there is
        name = only_campaign(
            key, decision, await service.run_in_thread(service.store.find_campaigns, decision)
        )
    require(request, scope, name)
    return name, decision


def check_id(decision: str) -> str:
    """Return an id as it is; no decision has one that people cannot read.

    PostgreSQL cannot even look for some of them, and would fail all calls of the same commit.
    """
    if not decision.isprintable():
        raise UnknownDecision(f"no campaign made a decision {decision!r}")
    return decision


def only_campaign(key: Key, decision: str, campaigns: list[str]) -> str:
    """Return the one campaign of those a key sees that made a decision."""
    seen = [name for name in campaigns if key.sees(name)]
    if not seen:
        raise UnknownDecision(
            f"no campaign made a decision {decision!r}; pass the id that an ask returned"
        )
    if len(seen) > 1:
        raise HTTPProblem(
            "ambiguous-decision",
            f"{len(seen)} campaigns made a decision {decision!r}; use"
            " /v1/campaigns/NAME/decisions/ID",
            campaigns=seen,
        )
    return seen[0]


def request_author(key: Key, by: str = "") -> str:
    """Return who makes a change, for the log: the key, and whom it says it is for."""
    return f"{key.id}/{by}" if by else key.id


def request_deadline(request: Request) -> float | None:
    """Return when a call is of no use any more, from its header ``Request-Timeout``."""
    text = header(request, b"request-timeout")
    if text is None:
        return None
    return time.monotonic() + (read_seconds("Request-Timeout", text) or 0.0)


def request_version(request: Request, required: bool = False) -> int | None:
    """Return the version that ``If-Match`` names; None for any."""
    text = header(request, b"if-match")
    if text is None and required:
        raise HTTPProblem(
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
