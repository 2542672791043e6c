"""Progress of long commands on stderr: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich import progress as bars
from rich.console import Console

from bursar.formatting import format_elapsed

if TYPE_CHECKING:
    from bursar.experiments.runner import CellCounts

_LINE_SECONDS = 10.0  # between plain lines


class ProgressDisplay:
    """The progress of a run; call it after each unit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._printed = clock()
        columns = bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TimeElapsedColumn()
        self._bar = bars.Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        )

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        self._task = self._bar.add_task("compiling (first run only)", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, counts: CellCounts, unit: str) -> None:
        """Show the counts; ``unit`` is the setting of the finished unit, empty at the start."""
        if not unit:
            if self._bar.disable and counts.left:
                typer.echo(
                    f"{counts.left} units to compute, {counts.cached} cached, {counts.failed}"
                    " failed earlier; compiling (first run only)",
                    err=True,
                )
            return
        if counts.done + counts.failed == 1:  # the time before it was spent compiling
            first = sum(sum(units) for units in counts.took.values())
            self._began = max(self._began, self._clock() - first)
        line = self.format_line(counts)
        ended = counts.total - counts.left
        self._bar.update(self._task, description=line, total=counts.total, completed=ended)
        late = self._clock() - self._printed >= _LINE_SECONDS or not counts.left
        if self._bar.disable and late:
            self._printed = self._clock()
            typer.echo(line, err=True)

    def format_line(self, counts: CellCounts) -> str:
        """Return the units done, cached and failed, plays per second, and the time left."""
        passed = max(self._clock() - self._began, 1e-9)
        more = counts.share_left * passed
        left = f", {format_elapsed(more)} left" if counts.left and more else ""
        return (
            f"{counts.total - counts.left}/{counts.total} units"
            f" ({counts.done} done, {counts.cached} cached, {counts.failed} failed),"
            f" {counts.plays / passed / 1e6:,.1f} million plays per second{left}"
        )


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that is true after Ctrl-C; a second Ctrl-C ends the process at once."""
    interrupts = 0

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            with suppress(OSError):
                os.write(2, b"\nstopped; finished units are stored\n")
            os._exit(130)  # compiled loops in threads cannot be interrupted
        with suppress(OSError):
            os.write(2, b"\nfinishing running units; press Ctrl-C again to stop at once\n")

    before = signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: interrupts > 0
    finally:
        signal.signal(signal.SIGINT, before)


def progress_bar() -> bars.Progress:
    """Return a progress bar with the time elapsed and the time left."""
    times = bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), bars.TimeRemainingColumn()
    columns = bars.TextColumn("{task.description:<26}"), bars.BarColumn(), *times
    return bars.Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current activity: a spinner, or lines without a terminal."""
    err = Console(stderr=True)
    if err.is_terminal:
        with err.status("writing") as status:
            yield status.update
    else:
        yield lambda activity: typer.echo(activity, err=True)
