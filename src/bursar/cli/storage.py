"""The ledger of the commands, and the options that they share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bursar.errors import InvalidInput, StorageUnavailable, UnknownCampaign, suggest
from bursar.files import data_folder

if TYPE_CHECKING:
    from bursar.campaign import Campaign
    from bursar.ledger import Store

Storage = Annotated[
    str | None,
    typer.Option(
        envvar="BURSAR_STORAGE",
        help="sqlite:///file.db or postgresql://…; by default a file in your data folder.",
        show_default=False,
    ),
]

Name = Annotated[str, typer.Argument(help="The name of the campaign.")]
Id = Annotated[str, typer.Argument(metavar="DECISION", help="The id that ask printed.")]
Key = Annotated[str, typer.Argument(metavar="ARM", help="The arm.")]
Cost = Annotated[str | None, typer.Option(help="The cost, as in 0.0031.")]
Reward = Annotated[float | None, typer.Option(help="The reward; it may be reported later.")]
Reason = Annotated[str, typer.Option(help="The reason, for the log.")]
By = Annotated[str, typer.Option(envvar="USER", help="The author of the change, for the log.")]
IfVersion = Annotated[
    int | None, typer.Option(help="Refuse the change if the campaign is no longer at this version.")
]


_INTERPRETED_CALLS = 2000  # take about as long as loading Numba and machine code


@contextmanager
def open_store_option(storage: str | None, *, create: bool = False) -> Iterator[Store]:
    """Open the storage of a command and close it afterwards.

    Only ``create`` makes a file: elsewhere a mistyped name is an error, not a new ledger.
    """
    url = storage_url(storage, create=create)
    if url == "memory":
        raise InvalidInput(
            "--storage memory would be lost when the command ends; use sqlite:///file.db or"
            " postgresql://…"
        )
    path = _path(url)
    if path is not None and not create and not path.exists():
        raise StorageUnavailable(
            f"no ledger at {str(path)!r}; create a campaign first, or name a ledger with --storage"
        )
    store: Store = import_module("bursar.campaign.creation").open_store(url)
    try:
        yield store
    finally:
        store.close()
        if "bursar.jit.compile" in sys.modules:  # what runs after the command is compiled again
            sys.modules["bursar.jit.compile"].delay_compilation(0)


@contextmanager
def open_campaign(name: str, storage: str | None) -> Iterator[Campaign]:
    """Open a campaign for a command."""
    with open_store_option(storage) as store:
        names = store.names()
        if name not in names:
            hint = suggest(name, names) or "; it has none yet: bursar campaign create"
            raise UnknownCampaign(f"no campaign named {name!r} in {store.url}{hint}")
        yield load_campaign(name, store)


def load_campaign(name: str, store: Store, **new: Any) -> Campaign:
    """Open or create a campaign for a command.

    Its modules are imported here because they are the heavy part of a command. The policy is
    interpreted at first, because a command makes too few calls for machine code to pay off.
    """
    import_module("bursar.jit.compile").delay_compilation(_INTERPRETED_CALLS)
    campaign: Campaign = import_module("bursar.campaign").Campaign(name, storage=store, **new)
    return campaign


def parse_range(option: str, text: str) -> tuple[float, float]:
    """Return the two numbers of an option such as ``--reward-range 0,1``."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"{option} must be two numbers as in 0,1, got {text!r}") from None
    return low, high


def make_backup(storage: str | None, target: Path) -> int:
    """Copy the ledger to a new file, even while it is in use; return its number of events."""
    if _path(_url(storage)) is None:
        raise InvalidInput(_ELSEWHERE)
    with open_store_option(storage) as store:
        copy: Any = store
        return int(copy.backup(target))


def restore_backup(source: Path, storage: str | None, replace: bool) -> tuple[int, list[str]]:
    """Replace the ledger by a backup; return its epoch and the names of its campaigns."""
    target = _path(_url(storage))
    if target is None:
        raise InvalidInput(_ELSEWHERE)
    if storage is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    epoch = import_module("bursar.ledger.backup").restore(source, target, replace=replace)
    with open_store_option(storage) as store:
        return int(epoch), store.names()


def storage_url(storage: str | None, *, create: bool = False) -> str:
    """Return the URL of the storage; ``create`` makes the data folder if it is used."""
    if storage is None and create:
        data_folder().mkdir(parents=True, exist_ok=True)
    return _url(storage)


_ELSEWHERE = (
    "backup and restore work on SQLite files; for PostgreSQL use pg_dump and pg_restore, and pause"
    " the campaigns until the spending since the backup is known"
)


def _url(storage: str | None) -> str:
    return storage or f"sqlite:///{data_folder() / 'campaigns.db'}"


def _path(url: str) -> Path | None:
    """Return the file of a SQLite URL; None for other storage."""
    if not url.startswith("sqlite:"):
        return None
    path: Path = import_module("bursar.ledger.locks").ledger_path(url)
    return path
