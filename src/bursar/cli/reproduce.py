"""The commands ``bursar reproduce``, ``bursar run`` and ``bursar compare``: experiments."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from bursar.cli import output
from bursar.cli.options import add_options
from bursar.cli.output import console, print_json, print_result, print_table
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.extras import import_extra
from bursar.files import explain_full_disk, make_folder
from bursar.formatting import format_elapsed

if TYPE_CHECKING:
    from bursar.experiments import Experiment, ExperimentRun
    from bursar.experiments.runner import Engine, RunPlan
    from bursar.simulation.result import Result

_NO_ADS = "FB-Br and FB-Bt are left out; to include them, give the Facebook ads with --data"
_AD_POLICIES = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "bts", "ucb-sc-plus", "m-ucb", "b-greedy",
    "eps-first", "uniform",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options that ``bursar reproduce`` and ``bursar run`` share."""

    jobs: int | None = None
    dask: str | None = None
    out: Path | None = None
    dry_run: bool = False
    rerun_failed: bool = False
    force: bool = False
    as_json: bool = False

    def make_engine(self) -> Engine:
        """Return the engine that computes units."""
        from bursar.experiments.dask import make_dask_engine
        from bursar.experiments.runner import make_thread_engine

        if self.dask is None:
            return make_thread_engine(self.jobs)
        if self.jobs is not None:
            raise InvalidInput("give --jobs or --dask, not both: a cluster has its own workers")
        return make_dask_engine(self.dask)

    @property
    def workers(self) -> int:
        """The number of cores of this machine that are used."""
        return self.jobs or os.cpu_count() or 1


_add_run_options = add_options(inspect.signature(RunOptions, eval_str=True).parameters.values())


@_add_run_options
def reproduce(
    *,
    quick: bool = False,
    full: bool = False,
    all_policies: bool = False,
    changing: bool = False,
    less_regret: bool = False,
    families: bool = False,
    real: bool = False,
    data: str | None = None,
    repetitions: int | None = None,
    seed: int = 0,
    **options: Any,
) -> None:
    """Run the paper's evaluation, draw its figures, check its claims, and write a report."""
    if real:
        _reproduce_real(data, repetitions, seed, quick=quick, full=full, **options)
        return
    variants = {"--changing": changing, "--less-regret": less_regret, "--families": families}
    chosen = [name for name, given in variants.items() if given]
    _check_choice(chosen, quick, full, all_policies, data)
    report = import_extra("bursar.paper.report.data")
    from bursar.experiments import load_experiment
    from bursar.settings.facebook import find_file, find_kept_file

    name = chosen[0].removeprefix("--") if chosen else "full" if full else "quick"
    ads = None
    if not (changing or families):
        ads = find_kept_file() if data is None else find_file(data)
    what = load_experiment(
        name, ads and str(ads), repetitions, seed=seed, quick=quick, all_policies=all_policies
    )
    notes = []
    if less_regret and ads is None:
        typer.echo(_NO_ADS, err=True)
        notes = [f"{_NO_ADS}."]
    if not chosen:
        _run_experiment(what, RunOptions(**options))
    else:
        describe = report.describe_nonstationary if changing else report.describe_ratios
        _run_experiment(what, RunOptions(**options), describe, notes, about_paper=False)


def _reproduce_real(
    data: str | None, repetitions: int | None, seed: int, *, quick: bool, full: bool, **options: Any
) -> None:
    """Play the policies on tables of evaluations; print what share of the best arm they earn."""
    from bursar.experiments import real_costs

    given = RunOptions(**options)
    others = {"--full": full, "--dask": given.dask is not None, "--dry-run": given.dry_run}
    if any(others.values()):
        name = next(one for one, used in others.items() if used)
        raise InvalidInput(f"--real cannot be combined with {name}; leave it out")
    if data is None:
        raise MissingData("--real needs tables of evaluations; give their folder with --data")
    tables = real_costs.read_tables(Path(data))
    for table in tables:
        note = f", {table.left_out} rows without a reward or cost left out" * (table.left_out > 0)
        typer.echo(f"{table.name}: {len(table.arms)} arms{note}", err=True)
    budgets = (6,) if quick else real_costs.BUDGETS
    cells: list[real_costs.WorldShares] = []
    with output.progress_bar() as bar, suppress(KeyboardInterrupt):
        task = bar.add_task("playing", total=None)
        for cell in real_costs.play_tables(
            tables, real_costs.POLICIES, repetitions or (10 if quick else 60), seed, budgets,
            given.workers, lambda done, of: bar.update(task, completed=done, total=of),
        ):  # fmt: skip
            cells.append(cell)
    rows = [
        {
            "table": one.table, "world": one.variant, "budget": one.tries, "policy": one.policy,
            "games": one.shares.size, "mean": round(float(one.shares.mean()), 4),
            "half_width": round(one.half_width, 4), "worst": round(float(one.shares.min()), 4),
        }
        for one in cells
    ]  # fmt: skip
    if given.out is not None:
        make_folder(given.out)
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        (given.out / "real-costs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if given.as_json:
        print_json(rows)
        return
    print_table(
        ("table", "world", "budget", "policy", "games", "share", "95%", "worst"),
        [[str(row[key]) for key in ("table", "world", "budget", "policy", "games")]
         + [f"{row['mean']:.3f}", f"± {row['half_width']:.3f}", f"{row['worst']:.3f}"]
         for row in rows],
    )  # fmt: skip
    typer.echo("\nOver all worlds; 'below' counts those more than 0.03 below greedy:")
    print_table(
        ("tables", "policy", "worlds", "share", "below", "lowest gap"),
        [
            (one.part, one.policy, str(one.worlds), f"{one.mean:.3f}", str(one.below_greedy),
             f"{one.largest_gap:+.3f}")
            for one in real_costs.summarize(cells)
        ],
    )  # fmt: skip


def _check_choice(
    variants: list[str], quick: bool, full: bool, all_policies: bool, data: str | None
) -> None:
    """Raise InvalidInput if options of ``bursar reproduce`` exclude each other."""
    if len(variants) > 1:
        raise InvalidInput(f"{' and '.join(variants)} exclude each other; give one of them")
    for variant in variants:
        others = {"--full": full, "--all-policies": all_policies}
        if variant != "--less-regret":
            others["--data"] = data is not None
        if any(others.values()):
            *most, last = others
            raise InvalidInput(
                f"{variant} cannot be combined with {', '.join(most)} or {last}; only with --quick"
            )
    if quick and full:
        raise InvalidInput("give --quick or --full, not both")
    if all_policies and not full:
        raise InvalidInput("--all-policies requires --full; --quick plays the main policies only")


@_add_run_options
def run(
    file: Path | None = None,
    *,
    ads: str | None = None,
    group: str = "",
    arm: str = "",
    clicks: str = "clicks",
    cost: str = "cost",
    reward: str = "reward",
    budget: float | None = None,
    decimal: str | None = None,
    money: bool = False,
    blank_is_zero: bool = False,
    prize: str | None = None,
    model: str = "bernoulli",
    policy: list[str] | None = None,
    repetitions: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> None:
    """Run an experiment of your own: a TOML file, or your ad export with --ads."""
    import_extra("bursar.experiments")
    given = {"repetitions": repetitions, "seed": seed, "budget": budget}
    changes = {name: value for name, value in given.items() if value is not None}
    if file is not None and ads is None:
        _run_file(file, policy, changes, RunOptions(**options))
    elif ads is not None and file is None:
        if budget is None:
            raise InvalidInput("give the budget of each campaign, as in --budget 500")
        columns = {
            "group": _parse_names(group), "arm": _parse_names(arm), "clicks": clicks, "cost": cost,
            "reward": reward, "decimal": decimal, "money": money, "blank_is_zero": blank_is_zero,
            "prize": _parse_prize(prize), "model": model,
        }  # fmt: skip
        _run_ads(ads, columns, policy or _AD_POLICIES, changes, RunOptions(**options))
    else:
        raise InvalidInput(
            "give either an experiment as a TOML file or an ad export with --ads FILE"
        )


def _parse_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse_prize(text: str | None) -> float | str | None:
    if text is None or text == "largest":
        return text
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"--prize must be a number or 'largest', got {text!r}") from None


def _run_file(
    file: Path, policies: list[str] | None, changes: dict[str, Any], options: RunOptions
) -> None:
    """Run the experiment of a TOML file; check the paper's claims if it uses its settings."""
    from bursar.experiments.toml import load_policies, read_experiment
    from bursar.settings import SETTINGS

    what = read_experiment(file)
    if policies:
        changes["policies"] = load_policies(policies, what.code)
    what = what.but(**changes)
    names = [getattr(setting, "name", "") for setting in what.plan.settings]
    _run_experiment(what, options, about_paper=any(name in SETTINGS for name in names))


def _run_ads(
    path: str,
    columns: dict[str, Any],
    policies: Sequence[str],
    changes: dict[str, Any],
    options: RunOptions,
) -> None:
    """Read an ad export, compare policies on its arms, and write advice on the budget."""
    from bursar.experiments import experiment
    from bursar.experiments.toml import load_policies
    from bursar.paper.analysis.ad_advice import advise
    from bursar.settings.ad_export import read_ad_export

    given = {key: value for key, value in columns.items() if value not in (None, [], False)}
    export = read_ad_export(path, **given)
    what = experiment(
        "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(path).stem),
        f"Your ads: {Path(path).name}",
        ads={"file": str(Path(path).resolve()), **given},
        policies=load_policies(policies, ()),
        settings=export.settings,
        **{"repetitions": 100, "seed": 0, **changes},
    )
    for line in export.describe():
        typer.echo(line, err=True)
    budget, currency = changes["budget"], export.currency
    advice = partial(advise, export.settings, budget=budget, currency=currency)
    _run_experiment(what, options, advice, export.describe(), about_paper=False)


# running


def _run_experiment(
    what: Experiment,
    options: RunOptions,
    advise: Callable[[Result], Sequence[str]] = lambda result: (),
    notes: Sequence[str] = (),
    *,
    about_paper: bool = True,
) -> None:
    """Run an experiment, write its folder, and print the path of the report."""
    from bursar.experiments import run
    from bursar.experiments.cells import CellStore
    from bursar.experiments.runner import plan_run

    engine, folder = options.make_engine(), options.out or Path("bursar-results") / what.name
    plan = plan_run(what, CellStore(folder), options.rerun_failed, options.force)
    if options.dry_run:
        _show_plan(what, plan, folder, options)
        return
    # a missing library is reported before hours of play
    report = import_extra("bursar.paper.report.build")
    make_folder(folder)
    started, clock = datetime.now(UTC), time.monotonic()
    with _interruptible() as stop, output.ProgressDisplay() as watch:
        outcome = run(what, folder, engine=engine, plan=plan, stop=stop, progress=watch)
        if stop() and not outcome.is_complete:
            stored, total = outcome.counts.total - outcome.counts.left, outcome.counts.total
            typer.echo(
                f"stopped: {stored} of {total} units are stored;"
                " run the same command again to continue",
                err=True,
            )
            raise typer.Exit(130)
    command = shlex.join(["bursar", *sys.argv[1:]])
    workers = f"Dask at {options.dask}" if options.dask else f"{options.workers} threads"
    record = report.RunRecord(command, started, clock, workers)
    with output.show_activity() as progress, explain_full_disk(folder):
        facts = report.write_results(
            what, outcome, folder, record, about_paper=about_paper,
            advice=tuple(advise(outcome.result)), notes=notes, progress=progress,
        )  # fmt: skip
    _show_results(outcome, facts, folder, time.monotonic() - clock, options.as_json)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
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


def _show_plan(what: Experiment, plan: RunPlan, folder: Path, options: RunOptions) -> None:
    """Print what would run and how long it would take."""
    from bursar.experiments.runner import estimate_seconds

    todo, counts, cores = what.plan, plan.count(), options.workers
    seconds = estimate_seconds(what, plan)
    facts = {
        "experiment": what.name, "units": counts.total, "to_compute": counts.left,
        "cached": counts.cached, "failed_earlier": counts.failed,
        "core_seconds": round(seconds, 1), "seconds": round(seconds / cores, 1), "cores": cores,
        "out": str(folder),
    }  # fmt: skip
    text = (
        f"{what.name}: {len(todo.settings)} settings x {len(todo.policies)} policies x"
        f" {todo.repetitions} repetitions, in {counts.total} units\n"
        f"to compute: {counts.left}, cached: {counts.cached}, failed earlier: {counts.failed}\n"
        f"takes about {format_elapsed(seconds / cores)} on {cores} cores; nothing was run"
    )
    print_result((facts, text), options.as_json)


def _show_results(
    outcome: ExperimentRun, facts: Any, folder: Path, seconds: float, as_json: bool
) -> None:
    """Print the results and the path of the report; exit with code 1 if units failed."""
    counts = outcome.counts
    report = folder / "report.html"
    tally = Counter(claim["verdict"] for claim in facts.claims)
    if as_json:
        names = ("total", "done", "cached", "failed")
        units = {name: getattr(counts, name) for name in names}
        print_json({"report": str(report), "seconds": round(seconds, 1), "units": units,
                    "claims": tally})  # fmt: skip
    else:
        # over the settings that all policies played
        shares = import_extra("bursar.paper.analysis.shares").regret_shares(
            facts.result, list(facts.result.policies)
        )
        if shares is not None:
            rows = zip(shares.policies, (f"{share:.2%}" for share in shares.shares), strict=True)
            print_table(("policy", "regret, share of the best reward"), rows, left=("policy",))
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


# comparison


def compare(one: Path, other: Path, *, as_json: bool = False) -> None:
    """Show two results folders side by side: regret, failures, claims, and how they were made."""
    compare_results = import_extra("bursar.paper.analysis.compare").compare_results
    first, second = _read_result(one), _read_result(other)
    rows = list(compare_results(first, second))
    claims = _compare_claims(one, other)
    made = [_read_json(folder, "run.json", {}).get("run", {}) for folder in (one, other)]
    if as_json:
        print_json({"folders": [str(one), str(other)], "rows": rows, "claims": claims,
                    "runs": made})  # fmt: skip
        return
    out = console()
    out.print(f"A  {one}\nB  {other}\n")
    columns = ("setting", "policy", "A", "B", "B - A", "95%", "failed A", "failed B", "verdict")
    print_table(columns, map(_comparison_cells, rows), left=("setting", "policy", "verdict"))
    for words, here, there in (("A", first, second), ("B", second, first)):
        for kind in ("settings", "policies"):
            more = [name for name in getattr(here, kind) if name not in getattr(there, kind)]
            if more:
                out.print(f"{kind} only in {words}: {', '.join(more)}")
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


def _compare_claims(one: Path, other: Path) -> list[dict[str, str]]:
    before, after = (
        {claim["id"]: claim["verdict"] for claim in _read_json(folder, "claims.json", [])}
        for folder in (one, other)
    )
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
