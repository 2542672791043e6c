"""The command ``bursar serve``: campaigns behind HTTP, and the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bursar.cli.storage import Storage
from bursar.extras import import_extra

__all__ = ["ServeOptions", "serve_command"]


@dataclass(frozen=True)
class ServeOptions:
    """What was said on the command line."""

    host: str
    port: int
    storage: str | None
    allow_host: tuple[str, ...]
    log_level: str
    reports: Path | None
    rate: float
    secure_cookies: bool
    demo: bool


def serve_command(
    host: Annotated[
        str, typer.Option(envvar="BURSAR_HOST", help="The address; only this machine if not given.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="BURSAR_PORT", min=0, max=65535, help="0: any that is free.")
    ] = 8321,
    storage: Storage = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            envvar="BURSAR_ALLOW_HOST",
            help="A name that requests may be for, as in bursar.example; may be given many times.",
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(envvar="BURSAR_LOG_LEVEL", help="debug, info, warning or error.")
    ] = "info",
    reports: Annotated[
        Path | None, typer.Option(help="A folder with reports of bursar reproduce, to show them.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests a second that a key may make; 0: any number.")
    ] = 0.0,
    secure_cookies: Annotated[
        bool, typer.Option("--secure-cookies", help="Log in over HTTPS only: behind a proxy.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Simulated campaigns, so that there is much to see.")
    ] = False,
) -> None:
    """Serve campaigns over HTTP with a dashboard; Ctrl-C or SIGTERM finishes what is in line."""
    hosts = tuple(allow_host or ())
    options = ServeOptions(
        host, port, storage, hosts, log_level, reports, rate, secure_cookies, demo
    )  # fmt: skip
    import_extra("bursar.cli.server", "service").run_server(options)
