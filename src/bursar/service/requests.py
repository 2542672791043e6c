"""What a request says: its body, its query, its headers, and the decision that it is about."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from starlette.requests import Request

from bursar.errors import UnknownDecision
from bursar.service.auth import require
from bursar.service.keys import Key
from bursar.service.responses import HTTPProblem

if TYPE_CHECKING:
    from bursar.service.service import Service

T = TypeVar("T")

_ANYTHING = msgspec.json.Decoder()
_FORM = "application/x-www-form-urlencoded"


async def read_body(request: Request, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the decoded body; refuse other media types, broken JSON and unknown members."""
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
        raise HTTPProblem("malformed", "the body ended before it was complete")
    if data:
        _check_media_type(request)
    return decode_body(decoder, data or b"{}")


def decode_body(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Return the value of a JSON text; refuse one in which an object has a member twice."""
    try:
        found = decoder.decode(data)
    except msgspec.ValidationError as error:
        _check_json(data)  # what follows the first invalid value may not be JSON at all
        raise HTTPProblem("invalid", f"the body is not valid: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None
    _check_members(data)
    return found


def _check_members(data: bytes) -> None:
    """Refuse valid JSON in which an object has a member twice, such as two costs.

    msgspec takes the last one. What it decodes is encoded again and its quotes are counted: a
    member that was lost has lost two of them. With backslashes, quotes are not only delimiters, so
    the slower parser of Python looks at such a body. It also finds the name.
    """
    if b"\\" not in data:
        try:
            if data.count(b'"') == msgspec.json.encode(_ANYTHING.decode(data)).count(b'"'):
                return
        except (msgspec.MsgspecError, RecursionError):
            pass  # such as an integer that only a decimal can hold
    try:
        # numbers stay texts: their values do not matter here, and some take long to convert
        json.loads(data.decode(), object_pairs_hook=_check_pairs, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise _malformed(error) from None


def _check_pairs(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise HTTPProblem("malformed", f"the body has the member {name!r} twice; send it once")
        seen.add(name)


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
        "malformed", f"the body is not JSON: {'nested too deeply' if deep else error}"
    )


def _check_media_type(request: Request) -> None:
    media = header(request, b"content-type")
    if media is None or media == "application/json":
        return
    media = media.partition(";")[0].strip().lower()
    if media == "application/json":
        return
    if media == _FORM and header(request, b"authorization") is not None:
        return  # `curl -d` calls everything a form; browsers do not send keys by themselves
    raise HTTPProblem("unsupported-media-type", f"the body must be application/json, got {media!r}")


def read_query(request: Request, kind: type[T]) -> T:
    """Return the query as a struct; fields with a capitalized name are headers.

    If a parameter is repeated, the last one counts, unless the field is a list.
    """
    params = request.query_params
    given: dict[str, Any] = {}
    members = msgspec.structs.fields(kind)  # type: ignore[arg-type]  # T is always a struct
    fields = {one.encode_name: one for one in members}
    for name, field in fields.items():
        if name[0].isupper():
            if (text := header(request, name.lower().encode())) is not None:
                given[name] = text
        elif name in params:
            given[name] = params.getlist(name) if field.default_factory is list else params[name]
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        name = path.partition("`")[0].partition("[")[0]
        expected = _describe_expected(fields[name].type, reason)
        raise HTTPProblem("invalid", f"{name} must be {expected}, got {given[name]!r}") from None


def _describe_expected(kind: Any, reason: str) -> str:
    """Return what a parameter should be, from its type and the reason that msgspec gives."""
    schema = msgspec.json.schema(kind)
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    expected = reason.removeprefix("Expected ").partition(", got")[0] if "xpected" in reason else ""
    words = {"`int`": "a whole number", "`float`": "a number", "`str`": "a text"}
    for name, word in words.items():
        expected = expected.replace(name, word)
    return expected or f"valid ({reason})"


def header(request: Request, name: bytes) -> str | None:
    """Return a header or None; reading the scope is faster than building a mapping of all."""
    for key, value in request.scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None


def request_deadline(request: Request) -> float | None:
    """Return the time (of ``time.monotonic``) at which the header ``Request-Timeout`` ends."""
    text = header(request, b"request-timeout")
    if text is None:
        return None
    try:
        seconds = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < 1e9:
        raise HTTPProblem("invalid", f"Request-Timeout must be a number above 0, got {text!r}")
    return time.monotonic() + seconds


def request_version(request: Request, required: bool = False) -> int | None:
    """Return the version that ``If-Match`` names; None for any."""
    text = header(request, b"if-match")
    if text is None and required:
        raise HTTPProblem(
            "precondition-required",
            "send If-Match with the ETag of the campaign that you have seen, or * to change the"
            " campaign regardless of its version",
        )
    if text is None or text.strip() == "*":
        return None
    version = text.strip().removeprefix("W/").strip('"')
    if not (version.isascii() and version.isdigit() and len(version) <= 18):
        return -1  # no campaign ever has it
    return int(version)


async def resolve_decision(service: Service, request: Request, scope: str) -> tuple[str, str]:
    """Return campaign and id of the decision in an address that may leave the campaign out.

    Without it, all campaigns that the key may see are searched. If several made the decision, the
    call is refused, since the cost would be booked in an arbitrary one of them.
    """
    params = request.path_params
    decision = check_id(params["id"])
    name: str | None = params.get("campaign") or service.recent.get(decision)
    if name is None:
        key = require(request, scope)  # before the response depends on what there is
        owners = await service.run_in_thread(service.store.find_campaigns, decision)
        name = only_campaign(key, decision, owners)
    return name, decision


def check_id(decision: str) -> str:
    """Return an id that a decision may have; none has unprintable characters.

    PostgreSQL rejects some of them, which would fail all calls of the same commit.
    """
    if not decision.isprintable():
        raise UnknownDecision(f"no campaign made a decision {decision!r}")
    return decision


def only_campaign(key: Key, decision: str, campaigns: list[str]) -> str:
    """Return the one campaign that made a decision, of those that a key may see."""
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
