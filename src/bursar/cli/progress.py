"""Progress of long commands: a live bar on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

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

from bursar.formatting import format_elapsed

if TYPE_CHECKING:
    from bursar.experiments.runner import CellCounts

__all__ = ["ProgressDisplay", "interruptible", "progress_bar", "show_activity"]

_EVERY = 10.0  # seconds between plain lines


class ProgressDisplay:
    """Tell how a run stands; call it after each unit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._said = clock()
        self._bar: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> ProgressDisplay:
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("compiling (first run only)", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, counts: CellCounts, unit: str) -> None:
        """Show the counts; ``unit`` is the setting that was just finished."""
        if not unit:
            self._announce(counts)
            return
        if counts.done + counts.failed == 1:  # compiling before it is no part of the rate
            first = sum(sum(units) for units in counts.took.values())
            self._began = max(self._began, self._clock() - first)
        line = self.line(counts)
        if self._bar is not None:
            over = counts.total - counts.left
            self._bar.update(self._task, description=line, total=counts.total, completed=over)
        elif self._clock() - self._said >= _EVERY or not counts.left:
            self._said = self._clock()
            typer.echo(line, err=True)

    def line(self, counts: CellCounts) -> str:
        """Return units done, cached and failed, plays a second, and the time that is left."""
        passed = max(self._clock() - self._began, 1e-9)
        more = counts.share_left * passed
        left = f", {format_elapsed(more)} left" if counts.left and more else ""
        return (
            f"{counts.total - counts.left}/{counts.total} units"
            f" ({counts.done} done, {counts.cached} cached, {counts.failed} failed),"
            f" {counts.plays / passed / 1e6:,.1f} million plays a second{left}"
        )

    def _announce(self, counts: CellCounts) -> None:
        if self._bar is None and counts.left:
            typer.echo(
                f"{counts.left} units to compute, {counts.cached} cached, {counts.failed} failed"
                " earlier; compiling (first run only)",
                err=True,
            )


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Give a question whether to stop: Ctrl-C once finishes what runs, twice stops at once."""
    asked = 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            with suppress(OSError):
                os.write(2, b"\nstopped; what was finished is kept\n")
            os._exit(130)  # compiled loops in threads cannot be told to stop
        with suppress(OSError):
            os.write(2, b"\nfinishing what runs; Ctrl-C again stops at once\n")

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: asked > 0
    finally:
        signal.signal(signal.SIGINT, before)


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


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """Show what is being written: a spinner on a terminal, lines elsewhere."""
    err = Console(stderr=True)
    if err.is_terminal:
        with err.status("writing") as status:
            yield lambda doing: status.update(doing)
    else:
        yield lambda doing: typer.echo(doing, err=True)
