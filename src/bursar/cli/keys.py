"""The commands ``bursar keys …``: who may call the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from bursar.cli.output import AsJSON, console, new_table, print_json
from bursar.cli.storage import By, Storage, open_store_option
from bursar.errors import InvalidInput
from bursar.extras import import_extra

__all__ = ["app"]

app = typer.Typer(
    help="Keys of the service: who may ask, tell, read, and change budgets.", no_args_is_help=True
)
Id = Annotated[str, typer.Argument(metavar="KEY", help="The key's id, as list prints it.")]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@app.command()
def create(
    scope: Annotated[
        list[str],
        typer.Option(help="ask, tell, read, admin, adjust, keys, or all; may be given many times."),
    ],
    campaign: Annotated[
        list[str] | None,
        typer.Option(help="Only in this campaign; may be given many times. All if not given."),
    ] = None,
    note: Annotated[str, typer.Option(help="A word for people, as in 'nightly job'.")] = "",
    expires: Annotated[
        str | None, typer.Option(help="When it ends: after 90d, 12h, 30m, or never if not given.")
    ] = None,
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Make a key and print its token, this once: only a hash of it is kept."""
    scopes = import_extra("bursar.service.keys", "service").SCOPES if scope == ["all"] else scope
    end = None if expires is None else _end(expires)
    with open_store_option(storage, create=True) as store:
        key, token = _keys(store).create(
            scopes, campaigns=campaign or None, note=note, expires=end, by=by
        )
    _show_token(key, token, as_json)


@app.command("list")
def list_(storage: Storage = None, as_json: AsJSON = False) -> None:
    """List the keys there are or were, without their secrets."""
    with open_store_option(storage) as store:
        rows = [key.as_dict() for key in _keys(store).list_all()]
    if as_json:
        print_json(rows)
        return
    columns = ("id", "state", "scopes", "campaigns", "expires", "created", "note")
    table = new_table(*columns, left=columns)
    for row in rows:
        where = "all" if row["campaigns"] is None else " ".join(row["campaigns"])
        times = (_time(row[name]) for name in ("expires", "created"))
        table.add_row(row["id"], row["state"], " ".join(row["scopes"]), where, *times, row["note"])
    console().print(table, highlight=False, markup=False)


@app.command()
def revoke(id: Id, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """End a key; a service that runs elsewhere believes it for a minute at most."""
    with open_store_option(storage) as store:
        key = _keys(store).revoke(id, by)
    if as_json:
        print_json(key.as_dict())
    else:
        typer.echo(f"{key.id} is revoked")


@app.command()
def rotate(
    id: Id,
    grace: Annotated[
        str, typer.Option(help="How long the old token still works: 1d, 2h, 30m, 0s.")
    ] = "1d",
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Make a successor that may do the same; the old one works until its grace is over."""
    seconds = _seconds(grace)
    with open_store_option(storage) as store:
        key, token = _keys(store).rotate(id, seconds, by)
    _show_token(key, token, as_json)


def _keys(store: Any) -> Any:
    return import_extra("bursar.service.keys", "service").Keys(store)


def _show_token(key: Any, token: str, as_json: bool) -> None:
    """Print the token alone to stdout, so that a shell can keep it; what it is, to stderr."""
    if as_json:
        print_json(key.as_dict() | {"token": token})
        return
    where = "all campaigns" if key.campaigns is None else ", ".join(sorted(key.campaigns))
    what = ", ".join(sorted(key.scopes))
    typer.echo(f"key {key.id} may {what} in {where}; shown this once, so keep it:", err=True)
    typer.echo(token)


def _end(text: str) -> datetime:
    try:
        return datetime.now(UTC) + timedelta(seconds=_seconds(text))
    except OverflowError:
        raise InvalidInput(f"expires must be before the year 9000, got {text!r}") from None


def _seconds(text: str) -> float:
    """Return a span such as 90d in seconds.

    >>> _seconds("2h")
    7200.0
    """
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdecimal():
        raise InvalidInput(f"a span is a whole number and s, m, h or d, as in 90d, got {text!r}")
    if len(number) > 8:
        raise InvalidInput(f"a span must be shorter, got {text!r}")
    return float(int(number) * _UNITS[unit])


def _time(iso: str | None) -> str:
    return "never" if iso is None else iso[:16].replace("T", " ") + "Z"
