"""The server of ``bursar serve``: it listens, limits connections, and stops without losing work."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import tempfile
import time
from collections.abc import Coroutine, Generator, Iterator
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
            _warn_if_readable(path)
        require_keys = not (demo and is_loopback(config["host"]))
        settings = ServiceConfig(require_keys=require_keys, **config)
        simulation = import_module("bursar.cli.demo").DemoSimulation(url) if demo else None
        service = Service(open_store(url), settings)
        stack.callback(service.close)
        _check_public(service)
        listener = stack.enter_context(open_listener(settings.host, settings.port))
        server = GracefulServer(_server_config(service), service)
        stack.enter_context(install_signals(server))
        _announce(service, listener)
        _tune_garbage_collector()
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, service, listener, simulation))
    _LOG.info("stopped")


def _warn_if_readable(path: Path) -> None:
    """Log a warning if other users can read the ledger, which holds the secrets of sessions."""
    if path.exists() and path.stat().st_mode & 0o077:
        _LOG.warning("other users can read %s, which contains secrets; run chmod 600 on it", path)


def _check_public(service: Service) -> None:
    host = service.config.host
    if not is_loopback(host) and service.keys.is_empty():
        raise InvalidInput(
            f"{host} can be reached from other machines, but there is no key yet;"
            " create one first: bursar keys create --scope all"
        )


def _server_config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(service, make_pages(service)), log_config=None, access_log=False, ws="none",
        http=LimitedConnection, server_header=False, proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )  # fmt: skip


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


def _tune_garbage_collector() -> None:
    """Exclude modules and compiled functions from collections, and collect less often.

    Scanning them again and again delays all responses, and so determines the slowest ones.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


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


# stopping

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GracefulServer(uvicorn.Server):
    """uvicorn's server, but event streams end when it stops, and stopping is not a failure."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Do nothing: :func:`install_signals` handles signals until everything is closed."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop accepting connections and complete pending requests; the second time, exit."""
        if self.should_exit:
            os._exit(128 + sig)  # everything that was acknowledged is durable
        self.should_exit = True
        self._service.stop()


@contextmanager
def install_signals(server: GracefulServer) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop a server while the context is open."""
    before = {number: signal.signal(number, server.handle_exit) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# connections
#
# uvicorn limits neither the size of headers nor the time of a request, so that a client could fill
# the memory with headers, or hold connections by sending a byte now and then.

_HEAD_LIMIT = 65_536  # bytes before the body
_REQUEST_LIMIT = 2 * 1024 * 1024  # bytes of a request; bodies are limited to less
_REQUEST_SECONDS = 30.0  # for receiving a whole request
_SWEEP_SECONDS = 5.0  # between two checks


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's protocol with a limit on the head and the size of a request."""

    reading_since: float | None = None
    _head_bytes = 0  # of a head that is not complete yet
    _in_head = True
    _request_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.reading_since = time.monotonic()

    def data_received(self, data: bytes) -> None:
        """Process bytes; refuse a head or a request that is too long."""
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


async def close_slow_connections(connections: set[Any]) -> None:
    """Close connections whose request takes too long to arrive; runs until it is cancelled."""
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        before = time.monotonic() - _REQUEST_SECONDS
        for one in cast("list[LimitedConnection]", list(connections)):
            if one.reading_since is not None and one.reading_since < before:
                one.transport.close()
