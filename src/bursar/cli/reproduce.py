"""The commands ``bursar reproduce``, ``bursar run`` and ``bursar compare``: experiments."""

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

from bursar.cli.output import console, print_json, print_table
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

_NO_ADS = "FB-Br and FB-Bt are left out; to include them, give the Facebook ads with --data"
_AD_POLICIES = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "bts", "ucb-sc-plus", "m-ucb", "b-greedy",
    "eps-first", "uniform",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options that ``bursar reproduce`` and ``bursar run`` share."""

    out: Path | None
    jobs: int | None
    dask: str | None
    dry_run: bool
    rerun_failed: bool
    force: bool
    as_json: bool

    def make_engine(self) -> Engine:
        """Return the engine that computes units."""
        if self.dask is None:
            return make_thread_engine(self.jobs)
        if self.jobs is not None:
            raise InvalidInput("give --jobs or --dask, not both: a cluster has its own workers")
        return make_dask_engine(self.dask)

    def folder(self, what: Experiment) -> Path:
        """Return the folder for the results."""
        return self.out or Path("bursar-results") / what.name

    @property
    def workers(self) -> int:
        """The number of cores of this machine that are used."""
        return self.jobs or os.cpu_count() or 1


def reproduce_command(
    options: RunOptions,
    *,
    quick: bool,
    full: bool,
    all_policies: bool,
    variants: dict[str, bool],
    data: str | None,
    repetitions: int | None,
    seed: int,
) -> None:
    """Run the paper's evaluation, or the variant of it whose option is given."""
    chosen = [option for option, given in variants.items() if given]
    if len(chosen) > 1:
        raise InvalidInput(f"{' and '.join(chosen)} exclude each other; give one of them")
    if not chosen:
        what = _paper_experiment(quick, full, all_policies, data, repetitions, seed)
        run_experiment(what, options)
        return
    [variant] = chosen
    others = {"--full": full, "--all-policies": all_policies}
    if variant != "--less-regret":
        others["--data"] = data is not None
    if any(others.values()):
        *most, last = others
        raise InvalidInput(
            f"{variant} cannot be combined with {', '.join(most)} or {last}; only with --quick"
        )
    if variant == "--changing":
        what = nonstationary_experiment(repetitions, seed, quick)
        run_experiment(what, options, about_paper=False, advise=_describe_nonstationary)
    elif variant == "--families":
        what = families_experiment(repetitions, seed, quick)
        run_experiment(what, options, about_paper=False, advise=_describe_ratios)
    else:
        ads = _find_ads(data)
        if ads is None:
            typer.echo(_NO_ADS, err=True)
        what = less_regret_experiment(ads, repetitions, seed, quick)
        notes = [] if ads else [f"{_NO_ADS}."]
        run_experiment(what, options, about_paper=False, advise=_describe_ratios, notes=notes)


def _paper_experiment(
    quick: bool,
    full: bool,
    all_policies: bool,
    data: str | None,
    repetitions: int | None,
    seed: int,
) -> Experiment:
    if quick and full:
        raise InvalidInput("give --quick or --full, not both")
    if all_policies and not full:
        raise InvalidInput("--all-policies requires --full; --quick plays the main policies only")
    data = _find_ads(data)
    if full:
        return full_experiment(data, repetitions or 100, seed, all_policies)
    return quick_experiment(data, repetitions or 30, seed)


def _find_ads(data: str | None) -> str | None:
    """Return the path of the ads: as given, or the stored copy if there is one."""
    return str(find_file(data)) if data is not None or find_kept_file() is not None else None


def _describe_nonstationary(outcome: ExperimentRun) -> Sequence[str]:
    summary = import_extra("bursar.paper.report.summary")
    lines: Sequence[str] = summary.describe_nonstationary(outcome.result)
    return lines


def _describe_ratios(outcome: ExperimentRun) -> Sequence[str]:
    summary = import_extra("bursar.paper.report.summary")
    lines: Sequence[str] = summary.describe_ratios(outcome.result)
    return lines


# experiments of the user


@dataclass(frozen=True)
class ExperimentOverrides:
    """The options of ``bursar run`` that change an experiment."""

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


def run_file(file: Path, changes: ExperimentOverrides, options: RunOptions) -> None:
    """Run the experiment of a TOML file; check the paper's claims if it uses its settings."""
    what = changes.apply(read_experiment(file))
    names = [getattr(setting, "name", "") for setting in what.plan.settings]
    run_experiment(what, options, about_paper=any(name in SETTINGS for name in names))


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The options of ``bursar run --ads`` that say how to read the export."""

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

    def to_keywords(self) -> dict[str, Any]:
        """Return the given options by their names in :class:`AdExportOptions`."""
        given = asdict(self)
        given["group"], given["arm"] = _parse_names(self.group), _parse_names(self.arm)
        given["money"] = self.money or None
        if self.prize is not None and self.prize != "largest":
            try:
                given["prize"] = float(self.prize)
            except ValueError:
                raise InvalidInput(
                    f"--prize must be a number or 'largest', got {self.prize!r}"
                ) from None
        return {key: value for key, value in given.items() if value not in (None, [], False)}


def _parse_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def run_ads(
    path: str, columns: ColumnOptions, changes: ExperimentOverrides, options: RunOptions
) -> None:
    """Read an ad export, compare policies on its arms, and write advice on the budget."""
    budget = changes.budget
    if budget is None:
        raise InvalidInput("give the budget of each campaign, as in --budget 500")
    keywords = columns.to_keywords()
    export = ad_export.read_ad_export(path, **keywords)
    what = experiment(
        "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(path).stem),
        f"Your ads: {Path(path).name}",
        ads={"file": str(Path(path).resolve()), **keywords},
        policies=load_policies(changes.policies or _AD_POLICIES, ()),
        settings=export.settings,
        repetitions=changes.repetitions or 100,
        seed=changes.seed or 0,
        budget=budget,
    )
    for line in export.describe():
        typer.echo(line, err=True)
    run_experiment(
        what, options, about_paper=False, notes=export.describe(),
        advise=lambda outcome: advise(export.settings, outcome.result, budget, export.currency),
    )  # fmt: skip


# running


def run_experiment(
    what: Experiment,
    options: RunOptions,
    *,
    about_paper: bool = True,
    advise: Callable[[ExperimentRun], Sequence[str]] = lambda outcome: (),
    notes: Sequence[str] = (),
) -> None:
    """Run an experiment, write its folder, and print the path of the report."""
    engine, folder = options.make_engine(), options.folder(what)
    plan = plan_run(what, CellStore(folder), options.rerun_failed, options.force)
    if options.dry_run:
        _show_plan(what, plan, options)
        return
    # a missing library is reported before hours of play
    report = import_extra("bursar.paper.report.build")
    make_folder(folder)
    started, clock = datetime.now(UTC), time.monotonic()
    with interruptible() as stop, ProgressDisplay() as watch:
        outcome = run(what, folder, engine=engine, plan=plan, stop=stop, progress=watch)
        if stop() and not outcome.is_complete:
            _exit_interrupted(outcome)
    command = shlex.join(["bursar", *sys.argv[1:]])
    workers = f"Dask at {options.dask}" if options.dask else f"{options.workers} threads"
    record = report.RunRecord(command, started, clock, workers)
    with show_activity() as progress:
        facts = report.write_results(
            what, outcome, folder, record, about_paper=about_paper,
            advice=tuple(advise(outcome)), notes=notes, progress=progress,
        )  # fmt: skip
    _show_results(outcome, facts, folder, time.monotonic() - clock, options.as_json)


def _show_plan(what: Experiment, plan: RunPlan, options: RunOptions) -> None:
    """Print what would run and how long it would take."""
    core = estimate_seconds(what, plan)
    wall = core / options.workers
    units, missing, failed = len(plan.every), len(plan.missing), len(plan.failed)
    cached = units - missing - failed
    if options.as_json:
        print_json(
            {
                "experiment": what.name, "units": units, "to_compute": missing, "cached": cached,
                "failed_earlier": failed, "core_seconds": round(core, 1),
                "seconds": round(wall, 1), "cores": options.workers,
                "out": str(options.folder(what)),
            }
        )  # fmt: skip
        return
    todo, out = what.plan, console()
    out.print(
        f"{what.name}: {len(todo.settings)} settings x {len(todo.policies)} policies x"
        f" {todo.repetitions} repetitions, in {units} units"
    )
    out.print(f"to compute: {missing}, cached: {cached}, failed earlier: {failed}")
    time_needed = f"{format_elapsed(wall)} on {options.workers} cores"
    out.print(f"takes about {time_needed}; nothing was run")


def _exit_interrupted(outcome: ExperimentRun) -> None:
    counts = outcome.counts
    typer.echo(
        f"stopped: {counts.total - counts.left} of {counts.total} units are stored;"
        " run the same command again to continue",
        err=True,
    )
    raise typer.Exit(130)


def _show_results(
    outcome: ExperimentRun, facts: Any, folder: Path, seconds: float, as_json: bool
) -> None:
    """Print the results and the path of the report; exit with code 1 if units failed."""
    counts = outcome.counts
    report = folder / "report.html"
    verdicts = [claim["verdict"] for claim in facts.claims]
    tally = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    if as_json:
        names = ("total", "done", "cached", "failed")
        units = {name: getattr(counts, name) for name in names}
        print_json({"report": str(report), "seconds": round(seconds, 1), "units": units,
                    "claims": tally})  # fmt: skip
    else:
        _show_shares(facts.result)
        out = console()
        for line in facts.advice:
            out.print(line)
        if facts.claims:
            words = ", ".join(f"{count} {verdict}" for verdict, count in tally.items())
            out.print(f"\nThe paper's claims: {words}.")
        words = f"{counts.done} computed, {counts.cached} cached, {counts.failed} failed"
        out.print(f"{counts.total} units ({words}) in {format_elapsed(seconds)}.")
        out.print(f"\nThe report: {report}", soft_wrap=True)
    if counts.failed:
        for failure in outcome.failures[:5]:
            where = f"{failure.policy} on {failure.setting}, repetition {failure.repetition}"
            typer.echo(f"failed: {where}: {failure.error}", err=True)
        typer.echo(f"{counts.failed} units failed; repeat them with --rerun-failed", err=True)
        raise typer.Exit(1)


def _show_shares(result: Result) -> None:
    """Print a row per policy with its regret over the settings that all of them played."""
    found = import_extra("bursar.paper.analysis.shares").regret_shares(
        result, list(result.policies)
    )
    if found is not None:
        rows = zip(found.policies, (f"{share:.2%}" for share in found.shares), strict=True)
        print_table(("policy", "regret, share of the best reward"), rows, left=("policy",))


# comparison


def compare_command(one: Path, other: Path, as_json: bool) -> None:
    """Print the final regret in both folders, paired where the games are the same, and changes."""
    compare_results = import_extra("bursar.paper.analysis.compare").compare_results
    first, second = _read_result(one), _read_result(other)
    rows = list(compare_results(first, second))
    claims = _compare_claims(
        _read_json(one, "claims.json", []), _read_json(other, "claims.json", [])
    )
    made = [_read_json(folder, "run.json", {}).get("run", {}) for folder in (one, other)]
    if as_json:
        print_json({"folders": [str(one), str(other)], "rows": rows, "claims": claims,
                    "runs": made})  # fmt: skip
        return
    out = console()
    out.print(f"A  {one}\nB  {other}\n")
    columns = ("setting", "policy", "A", "B", "B - A", "95%", "failed A", "failed B", "verdict")
    print_table(columns, map(_comparison_cells, rows), left=("setting", "policy", "verdict"))
    _show_unshared(out, first, second)
    for claim in claims:
        out.print(f"claim {claim['id']}: {claim['a']} in A, {claim['b']} in B")
    for key in ("bursar", "digest", "seconds", "machine"):
        values = [run.get(key, "?") for run in made]
        if values[0] != values[1]:
            out.print(f"{key}: {values[0]} in A, {values[1]} in B")


def _comparison_cells(row: dict[str, Any]) -> list[str]:
    return [
        row["setting"], row["policy"], f"{row['mean_a']:,.1f}", f"{row['mean_b']:,.1f}",
        f"{row['difference']:+,.1f}", f"{row['low']:+,.1f} … {row['high']:+,.1f}",
        f"{row['failed_a']:.1%}", f"{row['failed_b']:.1%}", row["verdict"],
    ]  # fmt: skip


def _show_unshared(out: Any, first: Result, second: Result) -> None:
    for words, here, there in (("A", first, second), ("B", second, first)):
        for kind in ("settings", "policies"):
            more = [name for name in getattr(here, kind) if name not in getattr(there, kind)]
            if more:
                out.print(f"{kind} only in {words}: {', '.join(more)}")


def _compare_claims(one: list[Any], other: list[Any]) -> list[dict[str, str]]:
    before = {claim["id"]: claim["verdict"] for claim in one}
    after = {claim["id"]: claim["verdict"] for claim in other}
    return [
        {"id": key, "a": before.get(key, "not there"), "b": after.get(key, "not there")}
        for key in before | after
        if before.get(key) != after.get(key)
    ]


def _read_result(folder: Path) -> Result:
    path = folder / "results.parquet"
    if not path.is_file():
        raise MissingData(
            f"no results.parquet in {str(folder)!r}; give a folder that bursar reproduce or"
            " bursar run wrote"
        )
    result: Result = import_extra("bursar.simulation.arrow").read(path)
    return result


def _read_json(folder: Path, name: str, otherwise: Any) -> Any:
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else otherwise
    except ValueError as error:
        raise InvalidData(f"{path} is not JSON ({error}); run the experiment again") from error
