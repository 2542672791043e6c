"""A service from its start to its end, as ``bursar serve`` runs it."""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from socket import socket
from typing import Any

import typer
import uvicorn

from bursar.campaign.opening import opened
from bursar.cli.address import bound, shown_address
from bursar.cli.connection import Connection, sweep
from bursar.cli.ledger import url_of
from bursar.cli.serve import Options
from bursar.cli.simulated import Simulation
from bursar.cli.stopping import Server, signals
from bursar.cli.world import WORLDS
from bursar.dashboard import pages
from bursar.errors import InvalidInput
from bursar.ledger.place import path_of
from bursar.service.app import application
from bursar.service.chores import chores
from bursar.service.claim import Claim
from bursar.service.hosts import is_loopback
from bursar.service.keys import Keys
from bursar.service.logs import set_up
from bursar.service.service import Service
from bursar.service.settings import Settings

__all__ = ["run"]

_LOG = logging.getLogger("bursar.serve")
_PATIENCE = 30  # seconds that requests in flight get after a signal
_KEEP_ALIVE = 75  # seconds: longer than proxies keep a connection for later, so that they close it


def run(options: Options) -> None:
    """Serve until a signal comes, then finish what is in line."""
    set_up(options.log_level)
    with ExitStack() as stack:
        url = _storage(options, stack)
        if url.startswith("sqlite:"):
            stack.enter_context(Claim(path_of(url)))
            _warn_of_readers(path_of(url))
        settings = Settings(
            host=options.host, port=options.port, allowed_hosts=options.allow_host,
            open=options.demo and is_loopback(options.host), rate=options.rate,
            reports=options.reports, secure_cookies=options.secure_cookies,
        )  # fmt: skip
        if options.demo:
            _check_demo(url)
        simulation = Simulation(url) if options.demo else None
        service = Service(opened(url), settings)
        stack.callback(service.close)
        _check_public(service)
        listener = stack.enter_context(bound(options.host, options.port))
        server = Server(_config(service), service)
        stack.enter_context(signals(server))
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


def _storage(options: Options, stack: ExitStack) -> str:
    if options.demo and options.storage is None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bursar-demo-"))
        return f"sqlite:///{Path(folder) / 'demo.db'}"
    return url_of(options.storage, create=True)


def _warn_of_readers(path: Path) -> None:
    """Say so if others on this machine can read the ledger: it has the secrets of sessions."""
    if path.exists() and path.stat().st_mode & 0o077:
        _LOG.warning("others may read %s, which has secrets in it; chmod 600 it", path)


def _check_demo(url: str) -> None:
    """Refuse to let everybody into a ledger that is not a demo's."""
    store = opened(url)
    try:
        others = set(store.names()) - {world.name for world in WORLDS}
        if others or not Keys(store).empty():
            raise InvalidInput(
                "a demo lets everybody in, so it needs a ledger of its own, got one with"
                f" {', '.join(sorted(others)[:3]) or 'keys'} in it; leave --storage and"
                " BURSAR_STORAGE out, or name a new file"
            )
    finally:
        store.close()


def _check_public(service: Service) -> None:
    host = service.settings.host
    if not is_loopback(host) and service.keys.empty():
        raise InvalidInput(
            f"{host} can be reached from other machines, and there are no keys yet;"
            " make one first: bursar keys create --scope all"
        )


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        application(service, pages(service)), log_config=None, access_log=False, ws="none",
        http=Connection, server_header=False, proxy_headers=False, timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip


def _announce(service: Service, listener: socket, options: Options) -> None:
    address = shown_address(options.host, listener)
    typer.echo(f"bursar serves {address} from {service.store.url}")
    if service.settings.open:
        typer.echo("a demo: anybody on this machine may do anything, no key needed")
    elif (made := service.keys.first()) is not None:
        typer.echo("first key, which may do everything; it is shown this once, so keep it:")
        typer.echo(made[1])
    for stream in (typer.get_text_stream("stdout"), typer.get_text_stream("stderr")):
        stream.flush()  # a pipe would keep the key back


async def _serve(
    server: Server, service: Service, listener: socket, simulation: Simulation | None
) -> None:
    tasks = [_kept_going(chores(service)), _kept_going(sweep(server.server_state.connections))]
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
