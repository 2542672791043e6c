"""The server of ``bursar serve``: it listens, limits connections, and stops without losing work."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import resource
import signal
import socket
import tempfile
import time
from collections.abc import Coroutine, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, cast

import typer
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bursar.campaign.creation import open_store
from bursar.cli.options import sqlite_path, storage_url
from bursar.dashboard import make_pages
from bursar.errors import InvalidInput
from bursar.ledger.locks import claim_ledger
from bursar.service.app import create_app
from bursar.service.maintenance import run_maintenance
from bursar.service.middleware import is_loopback
from bursar.service.service import Service, ServiceConfig
from bursar.service.telemetry import configure_logging

_LOG = logging.getLogger("bursar.serve")
_SHUTDOWN_SECONDS = 30  # for requests in flight after a signal
# longer than proxies keep idle connections, so that the proxy closes them
_KEEP_ALIVE = 75  # seconds
_BACKLOG = 2048  # connections that may wait to be accepted


def run_server(storage: str | None, log_level: str, demo: bool, **config: Any) -> None:
    """Serve until a signal arrives, then complete pending requests.

    ``config`` are fields of :class:`ServiceConfig`.
    """
    configure_logging(log_level)
    with ExitStack() as stack:
        if demo and storage is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bursar-demo-"))
            storage = f"sqlite:///{Path(folder) / 'demo.db'}"
        url = storage_url(storage, create=True)
        if (path := sqlite_path(url)) is not None:
            stack.enter_context(claim_ledger(path))
            if path.exists() and path.stat().st_mode & 0o077:  # it has the secrets of sessions
                _LOG.warning(
                    "other users can read %s, which contains secrets; run chmod 600 on it", path
                )
        require_keys = not (demo and is_loopback(config["host"]))
        settings = ServiceConfig(require_keys=require_keys, **config)
        simulation = import_module("bursar.cli.demo").DemoSimulation(url) if demo else None
        service = Service(open_store(url), settings)
        stack.callback(service.close)
        if not is_loopback(settings.host) and service.keys.is_empty():
            raise InvalidInput(
                f"{settings.host} can be reached from other machines, but there is no key yet;"
                " create one first: bursar keys create --scope all"
            )
        listener = stack.enter_context(open_listener(settings.host, settings.port))
        server = GracefulServer(service)
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, server.handle_exit))
        _announce(service, listener)
        # exclude modules and compiled functions from collections, and collect less often:
        # scanning them again and again delays all responses, and so determines the slowest ones
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, service, listener, simulation))
    _LOG.info("stopped")


def _announce(service: Service, listener: socket.socket) -> None:
    address = format_address(service.config.host, listener)
    typer.echo(f"bursar serves {address} from {service.store.url}")
    if not service.config.require_keys:
        typer.echo("demo: no key needed; anyone on this machine may change everything")
    elif (made := service.keys.create_first()) is not None:
        typer.echo("first key, with all scopes; it is shown only once, so store it:")
        typer.echo(made[1])
    for stream in (typer.get_text_stream("stdout"), typer.get_text_stream("stderr")):
        stream.flush()  # a pipe would hold the key back


async def _serve(
    server: GracefulServer, service: Service, listener: socket.socket, simulation: Any
) -> None:
    jobs = [
        run_maintenance(service),
        close_slow_connections(server.server_state.connections),
        *([] if simulation is None else [simulation.run(service)]),
    ]
    tasks = [asyncio.create_task(_log_failure(job)) for job in jobs]
    try:
        await server.serve(sockets=[listener])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _log_failure(job: Coroutine[Any, Any, None]) -> None:
    try:
        await job
    except Exception:
        _LOG.exception("a background task of the service failed")


# address


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise InvalidInput if the address cannot be used."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidInput(
            f"there is no address {host!r}; choose one of this machine with --host"
        ) from None
    both = family == socket.AF_INET6  # :: serves IPv4 as well
    try:
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        text = _LISTEN_ERRORS.get(error.errno or 0, "cannot listen on {host} port {port}: {reason}")
        raise InvalidInput(text.format(host=host, port=port, reason=reason)) from None


_LISTEN_ERRORS = {
    errno.EADDRINUSE: "Port {port} is in use. Stop that process or choose another with --port.",
    errno.EACCES: "port {port} requires special rights; choose a --port above 1023",
    errno.EADDRNOTAVAIL: "{host} is not an address of this machine; choose one that is with --host",
}


def format_address(host: str, listener: socket.socket) -> str:
    """Return the URL of a server, with the port of its socket."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class GracefulServer(uvicorn.Server):
    """uvicorn's server, but event streams end when it stops, and stopping is not a failure."""

    def __init__(self, service: Service) -> None:
        config = uvicorn.Config(
            create_app(service, make_pages(service)), log_config=None, access_log=False, ws="none",
            http=LimitedConnection, server_header=False, proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )  # fmt: skip
        super().__init__(config)
        self._service = service
        LimitedConnection.limit = connection_limit()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Do nothing: :func:`run_server` handles signals until everything is closed."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop accepting connections and complete pending requests; the second time, exit."""
        if self.should_exit:
            os._exit(128 + sig)  # everything that was acknowledged is durable
        self.should_exit = True
        self._service.stop()


# connections
#
# uvicorn limits neither the size of headers, nor the time of a request, nor the number of
# connections, so that a client could fill the memory with headers, hold connections by sending a
# byte now and then, or use up the file descriptors, which libuv does not report: it closes what it
# cannot accept, in silence.

_HEAD_LIMIT = 65_536  # bytes before the body
_REQUEST_LIMIT = 2 * 1024 * 1024  # bytes of a request; bodies are limited to less
_HEAD_SECONDS = 10.0  # for receiving the head of a request, or the first bytes of a connection
_REQUEST_SECONDS = 30.0  # for receiving a whole request
_SWEEP_SECONDS = 1.0  # between two checks
_PATIENCE = 1.0  # seconds for a request to arrive while there are too many connections
_CONNECTIONS = 10_000  # at most
_RESERVE = 64  # file descriptors for the ledger, the database and the rest of the process
_WARNING_SECONDS = 10.0  # between two warnings
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\r\n"


def connection_limit() -> int:
    """Return the number of connections for which there are file descriptors."""
    available = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if available == resource.RLIM_INFINITY:
        return _CONNECTIONS
    return max(1, min(_CONNECTIONS, available - min(_RESERVE, available // 2)))


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head, the size and the time of a request.

    When there are too many connections, those whose request is incomplete are closed first, then
    those that were idle longest, so that clients which hold connections do not lock out others.
    """

    limit = _CONNECTIONS  # connections of the server
    reading_since: float | None = None  # that the rest of a request is waited for
    _head_bytes = 0  # of a head that is not complete yet
    _in_head = True
    _request_bytes = 0
    _warned = -_WARNING_SECONDS  # time of the last warning of the server

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.reading_since = time.monotonic()
        if len(self.connections) > self.limit:
            self._make_room()

    def _make_room(self) -> None:
        """Close connections that wait for a request, or else refuse this one."""
        others = cast("set[LimitedConnection]", self.connections) - {self}
        closed = _choose_closable(others, time.monotonic())
        for one in closed:
            one.transport.abort()
            self.connections.discard(one)
        if not closed:
            self.transport.write(_BUSY)
            self.transport.close()
            self.connections.discard(self)
        LimitedConnection.warn(
            "%d connections are open, as many as the limit of file descriptors allows; %s",
            self.limit,
            f"closed {len(closed)} that waited for a request" if closed else "refused a new one",
        )

    @classmethod
    def warn(cls, message: str, *values: Any) -> None:
        """Log a warning, unless there was one just before."""
        now = time.monotonic()
        if now - cls._warned >= _WARNING_SECONDS:
            cls._warned = now
            _LOG.warning(message, *values)

    @property
    def is_late(self) -> bool:
        """Whether its request takes too long to arrive."""
        if self.reading_since is None:
            return False
        seconds = _HEAD_SECONDS if self._in_head else _REQUEST_SECONDS
        return time.monotonic() - self.reading_since > seconds

    @property
    def idle_until(self) -> float | None:
        """The time at which it is closed for being idle; None while it is in use."""
        timer = self.timeout_keep_alive_task
        return None if timer is None else timer.when()

    def data_received(self, data: bytes) -> None:
        """Process bytes; refuse a head or a request that is too long."""
        if self.timeout_keep_alive_task is not None:  # even if only white space comes
            self.reading_since = time.monotonic()
        if self._in_head:
            self._head_bytes += len(data)  # 0 again if these bytes complete the head
        super().data_received(data)
        if self._head_bytes > _HEAD_LIMIT and not self.transport.is_closing():
            self.send_400_response(f"The head of a request must be below {_HEAD_LIMIT:,} bytes.")
        self._request_bytes += len(data)
        if self._request_bytes > _REQUEST_LIMIT:  # already answered, or endless
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.reading_since = self.reading_since or time.monotonic()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; those after the body (trailers) are ignored."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head_bytes, self._in_head = 0, False

    def on_message_complete(self) -> None:
        """Record that the request is complete; the next may begin at any time."""
        super().on_message_complete()
        self.reading_since = None
        self._in_head, self._request_bytes = True, 0


def _choose_closable(connections: set[LimitedConnection], now: float) -> list[LimitedConnection]:
    """Return connections to close: several, so that the next ones need no search."""
    reading = [one for one in connections if one.reading_since is not None]
    slow = [one for one in reading if now - (one.reading_since or now) > _PATIENCE]
    if slow:
        return slow
    idle = [one for one in connections if one.idle_until is not None]
    idle.sort(key=lambda one: one.idle_until or 0.0)
    reading.sort(key=lambda one: one.reading_since or 0.0)
    return [*idle, *reading][: 1 + len(connections) // 16]


async def close_slow_connections(connections: set[Any]) -> None:
    """Close connections whose request takes too long to arrive, and warn if no more can be opened.

    It runs until it is cancelled.
    """
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        for one in cast("list[LimitedConnection]", list(connections)):
            if one.is_late:
                one.transport.close()
        try:  # whether a file descriptor is left
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            LimitedConnection.warn(
                "new connections cannot be accepted: %s; raise the limit of files (ulimit -n)",
                error.strerror,
            )
