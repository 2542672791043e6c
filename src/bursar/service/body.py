"""Bodies of requests: read whole, checked for what they are, decoded strictly."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import Request

from bursar.service.refused import Refused

__all__ = ["body_of", "decoded", "header"]

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


async def body_of(request: Request, decoder: msgspec.json.Decoder[T]) -> T:
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
        raise Refused("malformed", "the body ended before it was whole")
    if data:
        _check_type(request)
    return decoded(decoder, data or b"{}")


def decoded(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Return what JSON stands for."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        _check_json(data)  # the rest of it may be no JSON at all
        raise Refused("invalid", f"the body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None


def _check_json(data: bytes) -> None:
    try:
        _ANYTHING.decode(data)
    except msgspec.ValidationError:
        return  # JSON with a number that is too large
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> Refused:
    deep = isinstance(error, RecursionError)
    return Refused("malformed", f"the body is no JSON: {'nested too deeply' if deep else error}")


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
    raise Refused(
        "unsupported-media-type",
        f"the body must be application/json, got {media.decode('latin-1')!r}",
    )
