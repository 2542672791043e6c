"""A body that is too long is not read to its end: refused by its length, or on the way."""

from __future__ import annotations

from starlette.types import Message, Receive

from bursar.errors import TooLarge

__all__ = ["limited"]


def limited(receive: Receive, headers: dict[bytes, bytes], most: int) -> Receive:
    """Return a receive that refuses more than so many bytes.

    The server below holds senders to the length that they announced, so only a body without one is
    counted.
    """
    length = headers.get(b"content-length")
    if length is not None:
        if not length.isdigit() or int(length) > most:
            raise _too_large(most)
        return receive
    if b"transfer-encoding" not in headers:
        return receive
    got = 0

    async def counted() -> Message:
        nonlocal got
        message = await receive()
        if message["type"] == "http.request":
            got += len(message.get("body", b""))
            if got > most:
                raise _too_large(most)
        return message

    return counted


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is longer than {most:,} bytes; send less, or in several requests")
