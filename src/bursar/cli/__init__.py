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
from bursar.cli.options import Storage
from bursar.errors import BursarError
from bursar.extras import import_extra
from bursar.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="bursar: make the best use of a budget.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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
    host: Annotated[
        str, Option(envvar="BURSAR_HOST", help="The address; by default only this machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int, Option(envvar="BURSAR_PORT", min=0, max=65535, help="The port; 0 for any free one.")
    ] = 8321,
    storage: Storage = None,
    allow_host: Annotated[
        list[str] | None,
        Option(
            envvar="BURSAR_ALLOW_HOST",
            help="A host name that requests may use, as in bursar.example; repeat for more.",
        ),
    ] = None,
    log_level: Annotated[
        str, Option(envvar="BURSAR_LOG_LEVEL", help="debug, info, warning or error.")
    ] = "info",
    reports: Annotated[
        Path | None, Option(help="A folder with reports of bursar reproduce to show.")
    ] = None,
    rate: Annotated[
        float, Option(min=0, help="Requests per second and key; 0 for no limit.")
    ] = 0.0,
    secure_cookies: Annotated[
        bool, Option("--secure-cookies", help="Send cookies over HTTPS only, as behind a proxy.")
    ] = False,
    demo: Annotated[
        bool, Option("--demo", help="Serve simulated campaigns, to try the dashboard.")
    ] = False,
) -> None:
    """Serve campaigns over HTTP; Ctrl-C or SIGTERM completes pending requests, then stops."""
    import_extra("bursar.cli.server", "service").run_server(
        storage, log_level, demo, host=host, port=port, allowed_hosts=tuple(allow_host or ()),
        reports=reports, rate=rate, secure_cookies=secure_cookies,
    )  # fmt: skip


for command in (
    policies.policies, policies.policy, simulate.settings, simulate.simulate, simulate.demo,
    reproduce.reproduce, reproduce.run, replay.replay, reproduce.compare, serve,
):  # fmt: skip
    app.command()(command)
data.command("facebook-ads")(simulate.facebook_ads)
