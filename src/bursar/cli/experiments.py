"""The commands ``bursar reproduce`` and ``bursar run``."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from bursar.cli.output import console, new_table, print_json
from bursar.cli.watch import Watch, interruptible, span
from bursar.errors import InvalidInput
from bursar.experiments import Experiment, Outcome, run
from bursar.experiments.cluster import cluster
from bursar.experiments.estimate import estimate
from bursar.experiments.runner import Work, survey
from bursar.experiments.store import Store
from bursar.experiments.threads import Engine, threads
from bursar.files import new_folder
from bursar.result import extra

__all__ = ["Options", "go"]

Advise = Callable[[Outcome], Sequence[str]]


@dataclass(frozen=True)
class Options:
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
        return cluster(self.dask)

    @property
    def workers(self) -> int:
        """How many cores of this machine are used."""
        return self.jobs or os.cpu_count() or 1


def go(
    what: Experiment,
    options: Options,
    *,
    about_paper: bool = True,
    advise: Advise = lambda outcome: (),
    notes: Sequence[str] = (),
) -> None:
    """Run an experiment, write its folder, and print where the report is."""
    engine = options.engine()
    store = Store(options.out)
    work = survey(what, store, options.rerun_failed, options.force)
    if options.dry_run:
        _tell(what, work, options)
        return
    folder = extra("bursar.report.folder", "matplotlib")  # before hours of play
    new_folder(options.out)
    started, clock = datetime.now(UTC), time.monotonic()
    with interruptible() as stop, Watch() as watch:
        outcome = run(what, options.out, engine=engine, work=work, stop=stop, progress=watch)
        if stop() and not outcome.whole:
            _stopped(outcome)
    making = folder.Making(_command(), started, clock, _engine_words(options))
    with _doing() as progress:
        facts = folder.finish(
            what, outcome, options.out, making, about_paper=about_paper,
            advice=tuple(advise(outcome)), notes=notes, progress=progress,
        )  # fmt: skip
    _end(outcome, facts, options, time.monotonic() - clock)


def _tell(what: Experiment, work: Work, options: Options) -> None:
    """Print what would run and how long it would take, and run nothing."""
    core = estimate(what, work)
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
        f"takes about {span(wall)} on {options.workers} cores; nothing was run", highlight=False
    )


def _stopped(outcome: Outcome) -> None:
    counts = outcome.counts
    typer.echo(
        f"stopped: {counts.total - counts.left} of {counts.total} units are kept;"
        " the same command goes on from there",
        err=True,
    )
    raise typer.Exit(130)


def _end(outcome: Outcome, facts: Any, options: Options, seconds: float) -> None:
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
        out.print(f"{counts.total} units ({words}) in {span(seconds)}.", highlight=False)
        out.print(f"\nThe report: {report}", highlight=False, soft_wrap=True)
    if counts.failed:
        for failure in outcome.failures[:5]:
            where = f"{failure.policy} on {failure.setting}, repetition {failure.repetition}"
            typer.echo(f"failed: {where}: {failure.error}", err=True)
        typer.echo(f"{counts.failed} units failed; repeat them with --rerun-failed", err=True)
        raise typer.Exit(1)


def _show(facts: Any) -> None:
    """Print who lost least: a row a policy, over all settings that all of them played."""
    found = extra("bursar.analysis.shares", "scipy").lost(facts.result, list(facts.result.policies))
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


def _engine_words(options: Options) -> str:
    return f"Dask at {options.dask}" if options.dask else f"{options.workers} threads"
