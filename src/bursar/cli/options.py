"""The options that commands share, and the ledger that they open."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import bursar
from bursar.errors import InvalidInput, StorageUnavailable, UnknownCampaign, suggest
from bursar.files import data_folder

if TYPE_CHECKING:
    from bursar.ledger import Store

AsJSON = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, Option(min=0, help="Same seed, same output.")]
Jobs = Annotated[int | None, Option(min=1, help="Number of threads; all cores by default.")]
Ads = Annotated[str | None, Option("--data", help="The Facebook ads, for FB-Br and FB-Bt.")]
By = Annotated[str, Option(envvar="USER", help="The author of the change, for the log.")]
Storage = Annotated[
    str | None,
    Option(
        envvar="BURSAR_STORAGE",
        help="sqlite:///file.db or postgresql://…; by default a file in your data folder.",
        show_default=False,
    ),
]

_INTERPRETED_CALLS = 2000  # take about as long as loading Numba and machine code


def add_options(more: Iterable[inspect.Parameter]) -> Callable[[Any], Any]:
    """Declare the options that a command gets as ``**keywords``, before its keyword-only ones."""

    def declare(command: Any) -> Any:
        own = inspect.signature(command, eval_str=True).parameters.values()
        command.__signature__ = inspect.Signature(
            [
                *(one for one in own if one.kind is one.POSITIONAL_OR_KEYWORD),
                *(one.replace(kind=one.KEYWORD_ONLY) for one in more),
                *(one for one in own if one.kind is one.KEYWORD_ONLY),
            ]
        )
        return command

    return declare


def parse_range(option: str, text: str) -> tuple[float, float]:
    """Return the two numbers of an option such as ``--reward-range 0,1``."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"{option} must be two numbers as in 0,1, got {text!r}") from None
    return low, high


@contextmanager
def open_store_option(storage: str | None, *, create: bool = False) -> Iterator[Store]:
    """Open the storage of a command and close it afterwards.

    Only ``create`` makes a file: elsewhere a mistyped name is an error, not a new ledger.
    """
    from bursar.campaign.creation import open_store

    url = storage_url(storage, create=create)
    if url == "memory":
        raise InvalidInput(
            "--storage memory would be lost when the command ends; use sqlite:///file.db or"
            " postgresql://…"
        )
    path = sqlite_path(url)
    if path is not None and not create and not path.exists():
        raise StorageUnavailable(
            f"no ledger at {str(path)!r}; create a campaign first, or name a ledger with --storage"
        )
    with interpret_kernels(), closing(open_store(url)) as store:
        yield store


@contextmanager
def interpret_kernels() -> Iterator[None]:
    """Run the kernels of a block as plain Python: a few calls do not repay their compilation."""
    from bursar.jit.compile import delay_compilation

    delay_compilation(_INTERPRETED_CALLS)
    try:
        yield
    finally:
        delay_compilation(0)


@contextmanager
def open_campaign(name: str, storage: str | None) -> Iterator[bursar.Campaign]:
    """Open a campaign for a command."""
    with open_store_option(storage) as store:
        names = store.names()
        if name not in names:
            hint = suggest(name, names) or "; it has none yet: bursar campaign create"
            raise UnknownCampaign(f"no campaign named {name!r} in {store.url}{hint}")
        yield bursar.Campaign(name, storage=store)


def storage_url(storage: str | None, *, create: bool = False) -> str:
    """Return the URL of the storage; ``create`` makes the data folder if it is used."""
    if storage:
        return storage
    if create:
        data_folder().mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{data_folder() / 'campaigns.db'}"


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite URL; None for other storage."""
    from bursar.ledger.locks import ledger_path

    return ledger_path(url) if url.startswith("sqlite:") else None
