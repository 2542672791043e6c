"""The command line. Data go to stdout, progress and errors to stderr.

Each command is declared by the function that implements it. These functions import compiled code,
databases and web servers when they run, so that ``bursar --help`` starts fast.
"""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from bursar.cli import campaign, keys, policies, replay, reproduce, simulate
from bursar.cli.options import command
from bursar.errors import BursarError
from bursar.extras import import_extra
from bursar.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
data = typer.Typer(help="Check and store downloaded data sets.", no_args_is_help=True)
app.add_typer(data, name="data")
app.add_typer(campaign.app, name="campaign")
app.add_typer(keys.app, name="keys")


def main() -> None:
    """Run the command line; a BursarError becomes one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ω shows ?
    try:
        app()
    except BursarError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bursar {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """bursar: make the best use of a budget."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    storage: str | None = None,
    allow_host: list[str] | None = None,
    log_level: str = "info",
    reports: Path | None = None,
    rate: float = 0.0,
    secure_cookies: bool = False,
    demo: bool = False,
) -> None:
    """Serve campaigns over HTTP; Ctrl-C or SIGTERM completes pending requests, then stops."""
    import_extra("bursar.cli.server", "service").run_server(
        storage, log_level, demo, host=host, port=port, allowed_hosts=tuple(allow_host or ()),
        reports=reports, rate=rate, secure_cookies=secure_cookies,
    )  # fmt: skip


for function in (
    policies.policies, policies.policy, simulate.settings, simulate.simulate, simulate.demo,
    reproduce.reproduce, reproduce.run, replay.replay, reproduce.compare, serve,
):  # fmt: skip
    command(app)(function)
command(data, "facebook-ads")(simulate.facebook_ads)
