"""A service from its start to its end, as ``bursar serve`` runs it."""

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
from pathlib import Path
from types import FrameType
from typing import Any, cast

import typer
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bursar.campaign.creation import open_store
from bursar.cli.demo import WORLDS, DemoSimulation
from bursar.cli.serve import ServeOptions
from bursar.cli.storage import storage_url
from bursar.dashboard import make_pages
from bursar.errors import InvalidInput
from bursar.ledger.locks import LedgerClaim, ledger_path
from bursar.service.app import create_app
from bursar.service.config import ServiceConfig
from bursar.service.keys import Keys
from bursar.service.maintenance import run_maintenance
from bursar.service.middleware import is_loopback
from bursar.service.service import Service
from bursar.service.telemetry import configure_logging

__all__ = [
    "GracefulServer",
    "LimitedConnection",
    "bound",
    "close_idle_connections",
    "install_signals",
    "run_server",
    "shown_address",
]

# ==== cli.stopping
# How a service stops: a signal lets it finish what is in line, a second one ends it at once.

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GracefulServer(uvicorn.Server):
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
def install_signals(server: GracefulServer) -> Iterator[None]:
    """Have a server stop by signals, until everything is closed."""
    before = {number: signal.signal(number, server.handle_exit) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ==== cli.connection
# A connection that does not wait for ever: heads of requests are short, and whole requests quick.
#
# uvicorn limits neither, so anybody who reaches the port could fill the memory with headers, or hold
# connections by sending a byte now and then.

_HEAD = 65_536  # bytes before the body
_WHOLE = 2 * 1024 * 1024  # bytes of a request; no body may be as long
_READING = 30.0  # seconds for a whole request
_SWEEP = 5.0  # seconds between looks


class LimitedConnection(HttpToolsProtocol):
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


async def close_idle_connections(connections: set[Any]) -> None:
    """Close connections whose request is not whole after a while; runs until it is cancelled."""
    while True:
        await asyncio.sleep(_SWEEP)
        before = time.monotonic() - _READING
        for one in cast("list[LimitedConnection]", list(connections)):
            if one.reading_since is not None and one.reading_since < before:
                one.transport.close()


# ==== cli.address
# The address of a service: taken before anything is promised, shown as people can click it.

_WAITING = 2048  # connections that may wait to be accepted


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidInput(f"there is no address {host!r}; give one of this machine") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise InvalidInput(_why(host, port, error)) from None
    return listener


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; stop who has it, or give another --port"
    if error.errno == errno.EACCES:
        return f"port {port} needs special rights; give a --port above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; give one that is"
    return f"cannot listen at {host} port {port}: {error.strerror}"


def shown_address(host: str, listener: socket.socket) -> str:
    """Return the URL of a service, with the port that it really has."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_LOG = logging.getLogger("bursar.serve")
_PATIENCE = 30  # seconds that requests in flight get after a signal
_KEEP_ALIVE = 75  # seconds: longer than proxies keep a connection for later, so that they close it


def run_server(options: ServeOptions) -> None:
    """Serve until a signal comes, then finish what is in line."""
    configure_logging(options.log_level)
    with ExitStack() as stack:
        url = _storage(options, stack)
        if url.startswith("sqlite:"):
            stack.enter_context(LedgerClaim(ledger_path(url)))
            _warn_of_readers(ledger_path(url))
        settings = ServiceConfig(
            host=options.host, port=options.port, allowed_hosts=options.allow_host,
            require_keys=not (options.demo and is_loopback(options.host)), rate=options.rate,
            reports=options.reports, secure_cookies=options.secure_cookies,
        )  # fmt: skip
        if options.demo:
            _check_demo(url)
        simulation = DemoSimulation(url) if options.demo else None
        service = Service(open_store(url), settings)
        stack.callback(service.close)
        _check_public(service)
        listener = stack.enter_context(bound(options.host, options.port))
        server = GracefulServer(_config(service), service)
        stack.enter_context(install_signals(server))
        _announce(service, listener, options)
        _spare_the_living()
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server, service, listener, simulation))
    _LOG.info("stopped")


def _spare_the_living() -> None:
    """Let the garbage collector look at what requests leave behind, seldom, and not at all else.

    Looking at every module and every compiled function again and again keeps all answers waiting
    meanwhile, and so makes the slowest ones what they are.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _storage(options: ServeOptions, stack: ExitStack) -> str:
    if options.demo and options.storage is None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bursar-demo-"))
        return f"sqlite:///{Path(folder) / 'demo.db'}"
    return storage_url(options.storage, create=True)


def _warn_of_readers(path: Path) -> None:
    """Say so if others on this machine can read the ledger: it has the secrets of sessions."""
    if path.exists() and path.stat().st_mode & 0o077:
        _LOG.warning("others may read %s, which has secrets in it; chmod 600 it", path)


def _check_demo(url: str) -> None:
    """Refuse to let everybody into a ledger that is not a demo's."""
    store = open_store(url)
    try:
        others = set(store.names()) - {world.name for world in WORLDS}
        if others or not Keys(store).is_empty():
            raise InvalidInput(
                "a demo lets everybody in, so it needs a ledger of its own, got one with"
                f" {', '.join(sorted(others)[:3]) or 'keys'} in it; leave --storage and"
                " BURSAR_STORAGE out, or name a new file"
            )
    finally:
        store.close()


def _check_public(service: Service) -> None:
    host = service.config.host
    if not is_loopback(host) and service.keys.is_empty():
        raise InvalidInput(
            f"{host} can be reached from other machines, and there are no keys yet;"
            " make one first: bursar keys create --scope all"
        )


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(service, make_pages(service)), log_config=None, access_log=False, ws="none",
        http=LimitedConnection, server_header=False, proxy_headers=False, timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip


def _announce(service: Service, listener: socket.socket, options: ServeOptions) -> None:
    address = shown_address(options.host, listener)
    typer.echo(f"bursar serves {address} from {service.store.url}")
    if not service.config.require_keys:
        typer.echo("a demo: anybody on this machine may do anything, no key needed")
    elif (made := service.keys.create_first()) is not None:
        typer.echo("first key, which may do everything; it is shown this once, so keep it:")
        typer.echo(made[1])
    for stream in (typer.get_text_stream("stdout"), typer.get_text_stream("stderr")):
        stream.flush()  # a pipe would keep the key back


async def _serve(
    server: GracefulServer,
    service: Service,
    listener: socket.socket,
    simulation: DemoSimulation | None,
) -> None:
    tasks = [
        _kept_going(run_maintenance(service)),
        _kept_going(close_idle_connections(server.server_state.connections)),
    ]
    if simulation is not None:
        tasks.append(_kept_going(simulation.run(service)))
    try:
        await server.serve(sockets=[listener])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _kept_going(chore: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(chore)
    task.add_done_callback(_report)
    return task


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("a chore of the service ended", exc_info=error)
