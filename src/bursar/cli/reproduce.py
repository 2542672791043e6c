"""The commands that run experiments: ``bursar reproduce``, ``bursar run`` and ``bursar compare``."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from bursar.cli.output import console, new_table, print_json
from bursar.cli.progress import ProgressDisplay, interruptible, show_activity
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.experiments import (
    Experiment,
    ExperimentRun,
    experiment,
    families_experiment,
    full_experiment,
    less_regret_experiment,
    nonstationary_experiment,
    quick_experiment,
    run,
)
from bursar.experiments.cells import CellStore
from bursar.experiments.dask import make_dask_engine
from bursar.experiments.runner import (
    Engine,
    RunPlan,
    estimate_seconds,
    make_thread_engine,
    plan_run,
)
from bursar.experiments.toml import load_policies, read_experiment
from bursar.extras import import_extra
from bursar.files import make_folder
from bursar.formatting import format_elapsed
from bursar.paper.analysis.ad_advice import advise
from bursar.settings import SETTINGS, ad_export
from bursar.settings.facebook import find_file, find_kept_file
from bursar.simulation.result import Result

__all__ = [
    "ColumnOptions",
    "ExperimentOverrides",
    "RunOptions",
    "compare_command",
    "paper_experiment",
    "reproduce_changing",
    "reproduce_families",
    "reproduce_less_regret",
    "run_ads",
    "run_experiment",
    "run_file",
]

_NO_ADS = "FB-Br and FB-Bt are left out: give the Facebook ads with --data"


@dataclass(frozen=True)
class ExperimentOverrides:
    """What the command line changes in an experiment."""

    policies: list[str] | None
    repetitions: int | None
    seed: int | None
    budget: float | None

    def apply(self, what: Experiment) -> Experiment:
        """Return the experiment with the changes."""
        fields = {"repetitions": self.repetitions, "seed": self.seed, "budget": self.budget}
        changed: dict[str, Any] = {k: value for k, value in fields.items() if value is not None}
        if self.policies:
            changed["policies"] = load_policies(self.policies, what.code)
        return what.but(**changed)


def paper_experiment(
    want_quick: bool,
    want_full: bool,
    all_policies: bool,
    data: str | None,
    repetitions: int | None,
    seed: int,
) -> Experiment:
    """Return the paper's experiment in the size that is asked for."""
    if want_quick and want_full:
        raise InvalidInput("give --quick or --full, not both")
    if all_policies and not want_full:
        raise InvalidInput("--all-policies goes with --full; --quick has the main ones")
    data = _ads(data)
    if want_full:
        return full_experiment(data, repetitions or 100, seed, all_policies)
    return quick_experiment(data, repetitions or 30, seed)


def reproduce_changing(
    want_quick: bool, repetitions: int | None, seed: int, options: Callable[[str], RunOptions]
) -> None:
    """Run the experiment on worlds that change; the page begins with what came out."""
    what = nonstationary_experiment(repetitions, seed, want_quick)
    said = import_extra("bursar.paper.report.summary").describe_nonstationary
    run_experiment(
        what, options(what.name), about_paper=False, advise=lambda outcome: said(outcome.result)
    )


def reproduce_less_regret(
    want_quick: bool,
    data: str | None,
    repetitions: int | None,
    seed: int,
    options: Callable[[str], RunOptions],
) -> None:
    """Run bursar's policy and the paper's best on the paper's settings."""
    ads = _ads(data)
    notes = [] if ads else [_NO_ADS]
    for note in notes:
        typer.echo(note, err=True)
    what = less_regret_experiment(ads, repetitions, seed, want_quick)
    notes = [f"{note}." for note in notes]
    run_experiment(what, options(what.name), about_paper=False, advise=_ratios, notes=notes)


def reproduce_families(
    want_quick: bool, repetitions: int | None, seed: int, options: Callable[[str], RunOptions]
) -> None:
    """Run both on families that are not the paper's."""
    what = families_experiment(repetitions, seed, want_quick)
    run_experiment(what, options(what.name), about_paper=False, advise=_ratios)


def _ratios(outcome: ExperimentRun) -> list[str]:
    said: list[str] = import_extra("bursar.paper.report.summary").describe_ratios(outcome.result)
    return said


def _ads(data: str | None) -> str | None:
    """Return where the ads are: as given, or the kept copy if there is one."""
    return str(find_file(data)) if data is not None or find_kept_file() is not None else None


def run_file(
    file: Path, changes: ExperimentOverrides, options: Callable[[str], RunOptions]
) -> None:
    """Run the experiment of a TOML file; the paper's claims are checked if it has its settings."""
    what = changes.apply(read_experiment(file))
    names = [getattr(place, "name", "") for place in what.plan.settings]
    run_experiment(what, options(what.name), about_paper=any(name in SETTINGS for name in names))


_PLAYERS = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "bts", "ucb-sc-plus", "m-ucb", "b-greedy",
    "eps-first", "uniform",
)  # fmt: skip


@dataclass(frozen=True)
class ColumnOptions:
    """How the export is to be read, as typed on the command line."""

    group: str
    arm: str
    clicks: str
    cost: str
    reward: str
    decimal: str | None
    money: bool
    blank_is_zero: bool
    prize: str | None
    model: str

    def options(self) -> dict[str, Any]:
        """Return the given options by their names in :class:`AdExportOptions`."""
        given = asdict(self)
        given["group"], given["arm"] = _names(self.group), _names(self.arm)
        given["money"] = self.money or None
        if self.prize is not None and self.prize != "largest":
            try:
                given["prize"] = float(self.prize)
            except ValueError:
                raise InvalidInput(
                    f"--prize must be a number or 'largest', got {self.prize!r}"
                ) from None
        return {key: value for key, value in given.items() if value not in (None, [], False)}


def run_ads(
    path: str,
    columns: ColumnOptions,
    changes: ExperimentOverrides,
    options: Callable[[str], RunOptions],
) -> None:
    """Read the export, compare policies on its arms, and say what that means for the money."""
    if changes.budget is None:
        raise InvalidInput("give --budget: the money for each campaign, as in --budget 500")
    read = columns.options()
    export = ad_export.read_ad_export(path, **read)
    what = experiment(
        "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(path).stem),
        f"Your ads: {Path(path).name}",
        ads={"file": str(Path(path).resolve()), **read},
        policies=load_policies(changes.policies or _PLAYERS, ()),
        settings=export.settings,
        repetitions=changes.repetitions or 100,
        seed=changes.seed or 0,
        budget=changes.budget,
    )
    for line in export.describe():
        typer.echo(line, err=True)
    spend = changes.budget
    run_experiment(
        what, options(what.name), about_paper=False, notes=export.describe(),
        advise=lambda outcome: advise(
            export.settings, outcome.result, spend, export.currency
        ),
    )  # fmt: skip


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def compare_command(one: Path, other: Path, as_json: bool) -> None:
    """Print final regret of both, paired where both played the same games; then what changed."""
    compare_results = import_extra("bursar.paper.analysis.compare").compare_results
    first, second = _result(one), _result(other)
    rows = list(compare_results(first, second))
    claims = _changed(_read(one, "claims.json", []), _read(other, "claims.json", []))
    made = [_read(folder, "run.json", {}).get("run", {}) for folder in (one, other)]
    if as_json:
        print_json({"folders": [str(one), str(other)], "rows": rows, "claims": claims,
                    "runs": made})  # fmt: skip
        return
    out = console()
    out.print(f"A  {one}\nB  {other}\n", highlight=False, markup=False)
    left = ("setting", "policy", "verdict")
    columns = ("setting", "policy", "A", "B", "B - A", "95%", "failed A", "failed B", "verdict")
    table = new_table(*columns, left=left)
    for row in rows:
        table.add_row(
            row["setting"], row["policy"], f"{row['mean_a']:,.1f}", f"{row['mean_b']:,.1f}",
            f"{row['difference']:+,.1f}", f"{row['low']:+,.1f} … {row['high']:+,.1f}",
            f"{row['failed_a']:.1%}", f"{row['failed_b']:.1%}", row["verdict"],
        )  # fmt: skip
    out.print(table)
    _only(out, first, second)
    for claim in claims:
        out.print(f"claim {claim['id']}: {claim['a']} in A, {claim['b']} in B", highlight=False)
    for key in ("bursar", "digest", "seconds", "machine"):
        values = [run.get(key, "?") for run in made]
        if values[0] != values[1]:
            out.print(f"{key}: {values[0]} in A, {values[1]} in B", highlight=False)


def _only(out: Any, first: Result, second: Result) -> None:
    for words, here, there in (("A", first, second), ("B", second, first)):
        for kind in ("settings", "policies"):
            more = [name for name in getattr(here, kind) if name not in getattr(there, kind)]
            if more:
                out.print(f"{kind} only in {words}: {', '.join(more)}", highlight=False)


def _changed(one: list[Any], other: list[Any]) -> list[dict[str, str]]:
    before = {claim["id"]: claim["verdict"] for claim in one}
    after = {claim["id"]: claim["verdict"] for claim in other}
    return [
        {"id": key, "a": before.get(key, "not there"), "b": after.get(key, "not there")}
        for key in before | after
        if before.get(key) != after.get(key)
    ]


def _result(folder: Path) -> Result:
    path = folder / "results.parquet"
    if not path.is_file():
        raise MissingData(
            f"no results.parquet in {str(folder)!r}; give a folder that bursar reproduce or"
            " bursar run wrote"
        )
    arrow = import_extra("bursar.simulation.arrow")
    found: Result = arrow.read(path)
    return found


def _read(folder: Path, name: str, otherwise: Any) -> Any:
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else otherwise
    except ValueError as error:
        raise InvalidData(f"{path} is not JSON ({error}); run the experiment again") from error


# running

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
            return make_thread_engine(self.jobs)
        if self.jobs is not None:
            raise InvalidInput("give --jobs or --dask, not both: a cluster has its own workers")
        return make_dask_engine(self.dask)

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
    plan = plan_run(what, store, options.rerun_failed, options.force)
    if options.dry_run:
        _tell(what, plan, options)
        return
    folder = import_extra("bursar.paper.report.build")  # before hours of play
    make_folder(options.out)
    started, clock = datetime.now(UTC), time.monotonic()
    with interruptible() as stop, ProgressDisplay() as watch:
        outcome = run(what, options.out, engine=engine, plan=plan, stop=stop, progress=watch)
        if stop() and not outcome.is_complete:
            _stopped(outcome)
    record = folder.RunRecord(_command(), started, clock, _engine_words(options))
    with show_activity() as progress:
        facts = folder.write_results(
            what, outcome, options.out, record, about_paper=about_paper,
            advice=tuple(advise(outcome)), notes=notes, progress=progress,
        )  # fmt: skip
    _end(outcome, facts, options, time.monotonic() - clock)


def _tell(what: Experiment, plan: RunPlan, options: RunOptions) -> None:
    """Print what would run and how long it would take, and run nothing."""
    core = estimate_seconds(what, plan)
    wall = core / options.workers
    cached = len(plan.every) - len(plan.missing) - len(plan.failed)
    facts = {
        "experiment": what.name,
        "units": len(plan.every),
        "to_compute": len(plan.missing),
        "cached": cached,
        "failed_earlier": len(plan.failed),
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
        f" {todo.repetitions} repetitions, in {len(plan.every)} units",
        highlight=False,
    )
    out.print(
        f"to compute: {len(plan.missing)}, cached: {cached}, failed earlier: {len(plan.failed)}",
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


def _tally(claims: Sequence[Any]) -> dict[str, int]:
    verdicts = [claim["verdict"] for claim in claims]
    return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}


def _command() -> str:
    return shlex.join(["bursar", *sys.argv[1:]])


def _engine_words(options: RunOptions) -> str:
    return f"Dask at {options.dask}" if options.dask else f"{options.workers} threads"
