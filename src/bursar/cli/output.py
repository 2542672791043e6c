"""What commands print: tables and JSON to stdout, progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

__all__ = ["AsJSON", "console", "new_table", "print_json", "progress_bar"]

from typing import Annotated

AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")]


def console() -> Console:
    """Return the console of stdout; a pipe has no width, so wide enough that no table is cut."""
    return Console() if sys.stdout.isatty() else Console(width=160)


def new_table(*columns: str, left: tuple[str, ...] = ()) -> Table:
    """Make a plain table; numbers to the right, the columns named in ``left`` to the left."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        justify: Any = "left" if column in left else "right"
        table.add_column(column, justify=justify, overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print valid JSON: infinities as text, because JSON has no number for them."""
    typer.echo(json.dumps(_valid(data), indent=2, ensure_ascii=False, allow_nan=False))


def progress_bar() -> Progress:
    """Return a bar on stderr with what is done and when it will be over."""
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _valid(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _valid(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_valid(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
