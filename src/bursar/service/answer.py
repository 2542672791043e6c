"""What is sent back: a status, headers and bytes, as lean as ASGI allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

__all__ = ["JSON", "Answer", "encode", "json_answer"]

Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
encode = msgspec.json.Encoder(decimal_format="string").encode


class Answer:
    """A whole response; calling it sends it."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Iterable[Any] = (JSON,)) -> None:
        self.status = status
        self.body = body
        self.headers: Headers = [*headers, (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; HEAD gets the headers alone."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


def json_answer(value: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> Answer:
    """Return a value as JSON."""
    return Answer(status, encode(value), (JSON, *headers))
