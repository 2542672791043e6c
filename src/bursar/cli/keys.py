"""The commands ``bursar keys …``: the API keys of a service."""

from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from bursar.cli.options import command, open_store_option
from bursar.cli.output import print_json, print_result, print_rows
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.formatting import join_words

app = typer.Typer(help="API keys of a service, and what each may do.", no_args_is_help=True)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@command(app)
def create(
    *,
    scope: list[str],
    campaign: list[str] | None = None,
    note: str = "",
    expires: str | None = None,
    by: str = "",
    storage: str | None = None,
    as_json: bool = False,
) -> None:
    """Create a key and print its token; only a hash is stored, so it is shown only once."""
    scopes = import_extra("bursar.service.keys", "service").SCOPES if scope == ["all"] else scope
    end = None if expires is None else _parse_end(expires)
    with open_store_option(storage, create=True) as store:
        key, token = _keys(store).create(
            scopes, campaigns=campaign or None, note=note, expires=end, by=by
        )
    _show_token(key, token, as_json)


@command(app, "list")
def list_(*, storage: str | None = None, as_json: bool = False) -> None:
    """List all keys, including expired and revoked ones, without their tokens."""
    with open_store_option(storage) as store:
        rows = [key.as_dict() for key in _keys(store).list_all()]
    columns = ("id", "state", "scopes", "campaigns", "expires", "created", "note")
    print_rows(rows, as_json, columns, _cells, left=columns)


def _cells(row: dict[str, Any]) -> list[str]:
    where = "all" if row["campaigns"] is None else " ".join(row["campaigns"])
    times = (
        "never" if row[name] is None else row[name][:16].replace("T", " ") + "Z"
        for name in ("expires", "created")
    )
    return [row["id"], row["state"], " ".join(row["scopes"]), where, *times, row["note"]]


@command(app)
def revoke(
    id: str, *, only: bool = False, by: str = "", storage: str | None = None, as_json: bool = False
) -> None:
    """Revoke a key, with the keys that were rotated from it or created by it.

    Other running servers may accept them for up to a minute.
    """
    with open_store_option(storage) as store:
        key, *others = _keys(store).revoke_family(id, by, only=only)
    ids = [one.id for one in others]
    text = f"{key.id} is revoked" + (f", and with it {join_words(ids)}" if ids else "")
    print_result((key.as_dict() | {"also_revoked": ids}, text), as_json)


@command(app)
def rotate(
    id: str, *, grace: str = "1d", by: str = "", storage: str | None = None, as_json: bool = False
) -> None:
    """Create a successor with the same rights; the old key expires after the grace period."""
    seconds = _parse_span(grace)
    with open_store_option(storage) as store:
        key, token = _keys(store).rotate(id, seconds, by)
    _show_token(key, token, as_json)


def _keys(store: Any) -> Any:
    return import_extra("bursar.service.keys", "service").Keys(store)


def _show_token(key: Any, token: str, as_json: bool) -> None:
    """Print the token alone to stdout, so that a shell can store it, and its rights to stderr."""
    if as_json:
        print_json(key.as_dict() | {"token": token})
        return
    where = "all campaigns" if key.campaigns is None else ", ".join(sorted(key.campaigns))
    what = ", ".join(sorted(key.scopes))
    typer.echo(f"key {key.id} may {what} in {where}; it is shown only once, so store it:", err=True)
    typer.echo(token)


def _parse_end(text: str) -> datetime:
    try:
        return datetime.now(UTC) + timedelta(seconds=_parse_span(text))
    except OverflowError:
        raise InvalidInput(f"--expires must be before the year 9000, got {text!r}") from None


def _parse_span(text: str) -> float:
    """Return a time span such as 90d in seconds.

    >>> _parse_span("2h")
    7200.0
    """
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdecimal():
        raise InvalidInput(
            f"a time span must be a number and s, m, h or d, as in 90d, got {text!r}"
        )
    if len(number) > 8:
        raise InvalidInput(f"a time span may have up to 8 digits, got {text!r}")
    return float(int(number) * _UNITS[unit])
