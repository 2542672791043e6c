"""How a service stops: a signal lets it finish what is in line, a second one ends it at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from bursar.service.service import Service

__all__ = ["Server", "signals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """uvicorn's server, but streams end when it stops, and stopping is no failure."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone: they are looked after for longer than this server runs."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: take no new connections, end streams, finish the rest; the second time, at once."""
        if self.should_exit:
            os._exit(128 + sig)  # whatever was acknowledged is on the disk
        self.should_exit = True
        self._service.stop()


@contextmanager
def signals(server: Server) -> Iterator[None]:
    """Have a server stop by signals, until everything is closed."""
    before = {number: signal.signal(number, server.handle_exit) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
