"""A connection that does not wait for ever: heads of requests are short, and whole requests quick.

uvicorn limits neither, so anybody who reaches the port could fill the memory with headers, or hold
connections by sending a byte now and then.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Connection", "sweep"]

_HEAD = 65_536  # bytes before the body
_WHOLE = 2 * 1024 * 1024  # bytes of a request; no body may be as long
_READING = 30.0  # seconds for a whole request
_SWEEP = 5.0  # seconds between looks


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with an eye on what comes in."""

    reading_since: float | None = None
    _head = 0  # bytes of a head that is not whole yet
    _heads = 0  # whole ones
    _in_head = True
    _taken = 0  # bytes of this request

    def connection_made(self, transport: Any) -> None:
        """Begin; a first request is expected soon."""
        super().connection_made(transport)
        self.reading_since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the head of a request is too long."""
        before = self._in_head, self._heads
        super().data_received(data)
        if before == (True, self._heads):  # all of it was head, and there is more to come
            self._head += len(data)
            if self._head > _HEAD and not self.transport.is_closing():
                self.send_400_response(f"The head of a request must be below {_HEAD:,} bytes.")
        self._taken += len(data)
        if self._taken > _WHOLE:  # it was answered long ago, or never ends
            self.transport.close()

    def on_message_begin(self) -> None:
        """Note when a request began."""
        super().on_message_begin()
        self.reading_since = self.reading_since or time.monotonic()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; those that come after the body are nobody's."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that its head is whole."""
        super().on_headers_complete()
        self._head, self._in_head = 0, False
        self._heads += 1

    def on_message_complete(self) -> None:
        """Note that all of it is there; the next may take its time to begin."""
        super().on_message_complete()
        self.reading_since = None
        self._in_head, self._taken = True, 0


async def sweep(connections: set[Any]) -> None:
    """Close connections whose request is not whole after a while; runs until it is cancelled."""
    while True:
        await asyncio.sleep(_SWEEP)
        before = time.monotonic() - _READING
        for one in cast("list[Connection]", list(connections)):
            if one.reading_since is not None and one.reading_since < before:
                one.transport.close()
