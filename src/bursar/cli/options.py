"""The options that commands share, and the ledger that they open."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

from typer import Argument, Option, Typer

import bursar
from bursar.errors import InvalidInput, StorageUnavailable, UnknownCampaign, suggest
from bursar.files import data_folder

if TYPE_CHECKING:
    from bursar.ledger import Store

_HELP = tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))
_INTERPRETED_CALLS = 2000  # take about as long as loading Numba and machine code


def command(
    group: Typer, name: str | None = None, more: Iterable[inspect.Parameter] = ()
) -> Callable[[Any], Any]:
    """Register a function as a command of a group; see :func:`add_options`."""
    return lambda function: group.command(name)(add_options(more)(function))


def add_options(more: Iterable[inspect.Parameter] = ()) -> Callable[[Any], Any]:
    """Declare the parameters of a command for typer, with their help from ``help.toml``.

    Keyword-only parameters are options, the others are arguments. ``more`` are those that the
    command gets as ``**keywords``; they are listed before ``--storage``, or else at the end.
    """

    def declare(function: Any) -> Any:
        own = list(inspect.signature(function, eval_str=True).parameters.values())
        end = next((i for i, one in enumerate(own) if one.name == "storage"), len(own))
        every = sorted([*own[:end], *more, *own[end:]], key=lambda one: one.kind)
        module = function.__module__.rpartition(".")[2]
        texts = _HELP["shared"] | _HELP.get(module, {}).get(function.__name__, {})
        function.__signature__ = inspect.Signature(
            [_declare(one, texts) for one in every if one.kind is not one.VAR_KEYWORD]
        )
        return function

    return declare


def _declare(parameter: inspect.Parameter, texts: dict[str, Any]) -> inspect.Parameter:
    name, of_type = parameter.name, parameter.annotation
    if get_origin(of_type) is Annotated:  # it is declared already
        return parameter
    text = texts[name]
    given = {"help": text} if isinstance(text, str) else dict(text)
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return parameter.replace(annotation=Annotated[of_type, Argument(**given)])
    # typer would give every switch a --no- form as well
    flag = given.pop("flag", f"--{name.replace('_', '-')}")
    return parameter.replace(annotation=Annotated[of_type, Option(flag, **given)])


def parse_range(option: str, text: str) -> tuple[float, float]:
    """Return the two numbers of an option such as ``--reward-range 0,1``."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"{option} must be two numbers as in 0,1, got {text!r}") from None
    return low, high


def parse_columns(given: Iterable[str]) -> dict[str, str]:
    """Return the names of columns by what they are, from options such as ``arm=variant``."""
    found = {}
    for text in given:
        key, mark, name = text.partition("=")
        if not mark:
            raise InvalidInput(f"--column must be of the form arm=variant, got {text!r}")
        found[key.strip()] = name.strip()
    return found


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
