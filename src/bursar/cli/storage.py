"""Where the campaigns of the command line are kept: one storage for all commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bursar.campaign import Campaign
from bursar.campaign.creation import open_store
from bursar.errors import InvalidInput, StorageUnavailable, UnknownCampaign, nearest
from bursar.jit.compile import delay_compilation
from bursar.ledger import Store
from bursar.ledger.locks import ledger_path
from bursar.settings.facebook import data_folder

__all__ = [
    "By",
    "Cost",
    "Id",
    "IfVersion",
    "Key",
    "Name",
    "Reason",
    "Reward",
    "Storage",
    "make_backup",
    "open_campaign",
    "open_store_option",
    "restore_backup",
    "storage_url",
]

Storage = Annotated[
    str | None,
    typer.Option(
        envvar="BURSAR_STORAGE",
        help="sqlite:///file.db or postgresql://…; a file in your data folder if not given.",
        show_default=False,
    ),
]


_INTERPRETED_CALLS = 2000  # take about as long as loading Numba and the machine code does


@contextmanager
def open_store_option(storage: str | None, *, create: bool = False) -> Iterator[Store]:
    """Open the storage for a command, and give its files back afterwards.

    Only ``create`` makes a file: for all others a name typed wrongly is an error, not a new ledger.
    """
    url = storage_url(storage, create=create)
    if url == "memory":
        raise InvalidInput(
            "storage must outlive the command, got 'memory'; give sqlite:///file.db or postgresql://…"
        )
    path = _path(url)
    if path is not None and not create and not path.exists():
        raise StorageUnavailable(
            f"no ledger at {str(path)!r}; make a campaign first, or give its --storage"
        )
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_campaign(name: str, storage: str | None) -> Iterator[Campaign]:
    """Open a campaign for a command, which makes too few calls for machine code to pay off."""
    delay_compilation(_INTERPRETED_CALLS)
    with open_store_option(storage) as store:
        names = store.names()
        if name not in names:
            hint = nearest(name, names) or "; there are none yet, create one"
            raise UnknownCampaign(f"no campaign named {name!r} in {store.url}{hint}")
        yield Campaign(name, storage=store)


def make_backup(storage: str | None, target: Path) -> int:
    """Copy the ledger, in use or not, to a new file; return how many events it has."""
    if _path(_url(storage)) is None:
        raise InvalidInput(_ELSEWHERE)
    with open_store_option(storage) as store:
        copy: Any = store
        return int(copy.backup(target))


def restore_backup(source: Path, storage: str | None, replace: bool) -> tuple[int, list[str]]:
    """Put a backup in the place of the ledger; return its epoch, and the campaigns in it."""
    target = _path(_url(storage))
    if target is None:
        raise InvalidInput(_ELSEWHERE)
    if storage is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    epoch = import_module("bursar.ledger.backup").restore(source, target, replace=replace)
    with open_store_option(storage) as store:
        return int(epoch), store.names()


def storage_url(storage: str | None, *, create: bool = False) -> str:
    """Return where the storage is, by default in the user's data folder; ``create`` makes that."""
    if storage is None and create:
        data_folder().mkdir(parents=True, exist_ok=True)
    return _url(storage)


_ELSEWHERE = (
    "backup and restore are for SQLite files; a PostgreSQL database has pg_dump and pg_restore:"
    " pause its campaigns afterwards until what was spent since is known"
)


def _url(storage: str | None) -> str:
    return storage or f"sqlite:///{data_folder() / 'campaigns.db'}"


def _path(url: str) -> Path | None:
    """Return the file of a SQLite URL; None for other storage."""
    return ledger_path(url) if url.startswith("sqlite:") else None


# ==== cli.campaign_options
# Arguments and options that commands of campaigns share.

Name = Annotated[str, typer.Argument(help="The campaign.")]
Id = Annotated[str, typer.Argument(metavar="DECISION", help="The id that ask printed.")]
Key = Annotated[str, typer.Argument(metavar="ARM", help="The arm.")]
Cost = Annotated[str | None, typer.Option(help="What it did cost, as in 0.0031.")]
Reward = Annotated[float | None, typer.Option(help="What it brought; may come later.")]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
By = Annotated[str, typer.Option(envvar="USER", help="Who changes it, for the log.")]
IfVersion = Annotated[
    int | None, typer.Option(help="Refuse if the campaign is not at this version any more.")
]
