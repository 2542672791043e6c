"""Where the campaigns of the command line are kept: one storage for all commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bursar.campaign import Campaign
from bursar.campaign.opening import opened
from bursar.errors import InvalidInput, StorageUnavailable, UnknownCampaign, nearest
from bursar.ledger import Store
from bursar.ledger.place import path_of
from bursar.settings.store import folder

__all__ = ["Storage", "backup_of", "campaign_of", "restored", "store_of", "url_of"]

Storage = Annotated[
    str | None,
    typer.Option(
        envvar="BURSAR_STORAGE",
        help="sqlite:///file.db or postgresql://…; a file in your data folder if not given.",
        show_default=False,
    ),
]


@contextmanager
def store_of(storage: str | None, *, create: bool = False) -> Iterator[Store]:
    """Open the storage for a command, and give its files back afterwards.

    Only ``create`` makes a file: for all others a name typed wrongly is an error, not a new ledger.
    """
    url = url_of(storage, create=create)
    if url == "memory":
        raise InvalidInput(
            "storage must outlive the command, got 'memory'; give sqlite:///file.db or postgresql://…"
        )
    path = _path(url)
    if path is not None and not create and not path.exists():
        raise StorageUnavailable(
            f"no ledger at {str(path)!r}; make a campaign first, or give its --storage"
        )
    store = opened(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def campaign_of(name: str, storage: str | None) -> Iterator[Campaign]:
    """Open a campaign for a command."""
    with store_of(storage) as store:
        names = store.names()
        if name not in names:
            hint = nearest(name, names) or "; there are none yet, create one"
            raise UnknownCampaign(f"no campaign named {name!r} in {store.url}{hint}")
        yield Campaign(name, storage=store)


def backup_of(storage: str | None, target: Path) -> int:
    """Copy the ledger, in use or not, to a new file; return how many events it has."""
    if _path(_url(storage)) is None:
        raise InvalidInput(_ELSEWHERE)
    with store_of(storage) as store:
        copy: Any = store
        return int(copy.backup(target))


def restored(source: Path, storage: str | None, replace: bool) -> tuple[int, list[str]]:
    """Put a backup in the place of the ledger; return its epoch, and the campaigns in it."""
    target = _path(_url(storage))
    if target is None:
        raise InvalidInput(_ELSEWHERE)
    if storage is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    epoch = import_module("bursar.ledger.backup").restore(source, target, replace=replace)
    with store_of(storage) as store:
        return int(epoch), store.names()


def url_of(storage: str | None, *, create: bool = False) -> str:
    """Return where the storage is, by default in the user's data folder; ``create`` makes that."""
    if storage is None and create:
        folder().mkdir(parents=True, exist_ok=True)
    return _url(storage)


_ELSEWHERE = (
    "backup and restore are for SQLite files; a PostgreSQL database has pg_dump and pg_restore:"
    " pause its campaigns afterwards until what was spent since is known"
)


def _url(storage: str | None) -> str:
    return storage or f"sqlite:///{folder() / 'campaigns.db'}"


def _path(url: str) -> Path | None:
    """Return the file of a SQLite URL; None for other storage."""
    return path_of(url) if url.startswith("sqlite:") else None
