"""The commands ``bursar reproduce`` and ``bursar run``."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bursar.cli.output import console, new_table, print_json
from bursar.errors import InvalidInput
from bursar.experiments import Experiment, ExperimentRun, run
from bursar.experiments.cells import CellStore
from bursar.experiments.dask import run_on_cluster
from bursar.experiments.runner import (
    CellCounts,
    Engine,
    RunPlan,
    estimate_seconds,
    plan_run,
    threads,
)
from bursar.extras import import_extra
from bursar.files import new_folder
from bursar.formatting import format_elapsed

__all__ = ["ProgressDisplay", "RunOptions", "interruptible", "run_experiment"]

# ==== cli.watch
# Seeing a run: a live bar on a terminal, a plain line every ten seconds elsewhere; Ctrl-C.

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


Advise = Callable[[ExperimentRun], Sequence[str]]


@dataclass(frozen=True)
class RunOptions:
    """How to run an experiment, whatever it is."""

    out: Path
    jobs: int | None = None
    dask: str | None = None
    dry_run: bool = False
    rerun_failed: bool = False
    force: bool = False
    as_json: bool = False

    def engine(self) -> Engine:
        """Return where units are computed."""
        if self.dask is None:
            return threads(self.jobs)
        if self.jobs is not None:
            raise InvalidInput("give --jobs or --dask, not both: a cluster has its own workers")
        return run_on_cluster(self.dask)

    @property
    def workers(self) -> int:
        """How many cores of this machine are used."""
        return self.jobs or os.cpu_count() or 1


def run_experiment(
    what: Experiment,
    options: RunOptions,
    *,
    about_paper: bool = True,
    advise: Advise = lambda outcome: (),
    notes: Sequence[str] = (),
) -> None:
    """Run an experiment, write its folder, and print where the report is."""
    engine = options.engine()
    store = CellStore(options.out)
    work = plan_run(what, store, options.rerun_failed, options.force)
    if options.dry_run:
        _tell(what, work, options)
        return
    folder = import_extra("bursar.paper.report.build")  # before hours of play
    new_folder(options.out)
    started, clock = datetime.now(UTC), time.monotonic()
    with interruptible() as stop, ProgressDisplay() as watch:
        outcome = run(what, options.out, engine=engine, work=work, stop=stop, progress=watch)
        if stop() and not outcome.whole:
            _stopped(outcome)
    making = folder.ReportBuilder(_command(), started, clock, _engine_words(options))
    with _doing() as progress:
        facts = folder.build_report(
            what, outcome, options.out, making, about_paper=about_paper,
            advice=tuple(advise(outcome)), notes=notes, progress=progress,
        )  # fmt: skip
    _end(outcome, facts, options, time.monotonic() - clock)


def _tell(what: Experiment, work: RunPlan, options: RunOptions) -> None:
    """Print what would run and how long it would take, and run nothing."""
    core = estimate_seconds(what, work)
    wall = core / options.workers
    cached = len(work.every) - len(work.missing) - len(work.failed)
    facts = {
        "experiment": what.name,
        "units": len(work.every),
        "to_compute": len(work.missing),
        "cached": cached,
        "failed_earlier": len(work.failed),
        "core_seconds": round(core, 1),
        "seconds": round(wall, 1),
        "cores": options.workers,
        "out": str(options.out),
    }
    if options.as_json:
        print_json(facts)
        return
    todo = what.plan
    out = console()
    out.print(
        f"{what.name}: {len(todo.settings)} settings x {len(todo.policies)} policies x"
        f" {todo.repetitions} repetitions, in {len(work.every)} units",
        highlight=False,
    )
    out.print(
        f"to compute: {len(work.missing)}, cached: {cached}, failed earlier: {len(work.failed)}",
        highlight=False,
    )
    out.print(
        f"takes about {format_elapsed(wall)} on {options.workers} cores; nothing was run",
        highlight=False,
    )


def _stopped(outcome: ExperimentRun) -> None:
    counts = outcome.counts
    typer.echo(
        f"stopped: {counts.total - counts.left} of {counts.total} units are kept;"
        " the same command goes on from there",
        err=True,
    )
    raise typer.Exit(130)


def _end(outcome: ExperimentRun, facts: Any, options: RunOptions, seconds: float) -> None:
    """Print what came out, and where; failed units are an exit code of their own."""
    counts = outcome.counts
    report = options.out / "report.html"
    if options.as_json:
        names = ("total", "done", "cached", "failed")
        units = {name: getattr(counts, name) for name in names}
        print_json({"report": str(report), "seconds": round(seconds, 1), "units": units,
                    "claims": _tally(facts.claims)})  # fmt: skip
    else:
        _show(facts)
        out = console()
        for line in facts.advice:
            out.print(line, highlight=False, markup=False)
        if facts.claims:
            verdicts = ", ".join(f"{n} {name}" for name, n in _tally(facts.claims).items())
            out.print(f"\nThe paper's claims: {verdicts}.", highlight=False)
        words = f"{counts.done} computed, {counts.cached} cached, {counts.failed} failed"
        out.print(f"{counts.total} units ({words}) in {format_elapsed(seconds)}.", highlight=False)
        out.print(f"\nThe report: {report}", highlight=False, soft_wrap=True)
    if counts.failed:
        for failure in outcome.failures[:5]:
            where = f"{failure.policy} on {failure.setting}, repetition {failure.repetition}"
            typer.echo(f"failed: {where}: {failure.error}", err=True)
        typer.echo(f"{counts.failed} units failed; repeat them with --rerun-failed", err=True)
        raise typer.Exit(1)


def _show(facts: Any) -> None:
    """Print who lost least: a row a policy, over all settings that all of them played."""
    found = import_extra("bursar.paper.analysis.shares").regret_shares(
        facts.result, list(facts.result.policies)
    )
    if found is None:
        return
    table = new_table("policy", "lost of what was possible", left=("policy",))
    for slug, share in zip(found.policies, found.shares, strict=True):
        table.add_row(slug, f"{share:.2%}")
    console().print(table)


@contextmanager
def _doing() -> Iterator[Callable[[str], None]]:
    """Show what is being written: a spinner on a terminal, lines elsewhere."""
    err = Console(stderr=True)
    if err.is_terminal:
        with err.status("writing") as status:
            yield lambda doing: status.update(doing)
    else:
        yield lambda doing: typer.echo(doing, err=True)


def _tally(claims: Sequence[Any]) -> dict[str, int]:
    verdicts = [claim["verdict"] for claim in claims]
    return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}


def _command() -> str:
    return shlex.join(["bursar", *sys.argv[1:]])


def _engine_words(options: RunOptions) -> str:
    return f"Dask at {options.dask}" if options.dask else f"{options.workers} threads"
