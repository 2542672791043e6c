"""The command line: a function a command. Data go to stdout, progress and errors to stderr."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bursar.cli.campaign import app as campaign_app
from bursar.cli.keys import app as keys_app
from bursar.cli.output import AsJSON, console, new_table, print_json
from bursar.cli.policies import policy_card, policy_facts
from bursar.cli.replay import replay_command
from bursar.cli.serve import serve_command
from bursar.cli.simulate import data_facebook_ads, demo_command, settings_command, simulate_command
from bursar.errors import BursarError, InvalidInput
from bursar.extras import import_extra
from bursar.policies import POLICIES
from bursar.policies import policy as policy_of
from bursar.simulation.result import BUDGET_PLAYS, plan
from bursar.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="bursar: spend a budget well.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Data that you get yourself, checked and kept.", no_args_is_help=True)
app.add_typer(data, name="data")
app.add_typer(campaign_app, name="campaign")
app.add_typer(keys_app, name="keys")
app.command("serve")(serve_command)
app.command("replay")(replay_command)


def main() -> None:
    """Run the command line; input that cannot be used is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no ω shows a ?
    try:
        app()
    except BursarError as error:
        Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(f"error: {error}")
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bursar {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """bursar: spend a budget well."""


@app.command()
def policies(as_json: AsJSON = False) -> None:
    """List every policy: slug, name, year, source, parameters and what it needs to know."""
    rows = [policy_facts(cls) for cls in POLICIES.values()]
    if as_json:
        print_json(rows)
        return
    columns = ("slug", "name", "year", "parameters and defaults", "needs to know", "source")
    table = new_table(*columns, left=columns)
    for row in rows:
        defaults = ", ".join(f"{k}={'-' if v is None else v}" for k, v in row["parameters"].items())
        needs = ", ".join(row["needs"]) or "nothing"
        year = str(row["year"] or "-")
        table.add_row(row["slug"], row["name"], year, defaults, needs, row["source"])
    console().print(table)


@app.command()
def policy(
    slug: Annotated[str, typer.Argument(help="For example omega-star-ucb:rho=0.25")],
    as_json: AsJSON = False,
) -> None:
    """Show one policy: its formula, what it needs, and its index on an example of three arms."""
    card = policy_card(policy_of(slug))
    if as_json:
        print_json(card)
        return
    out = console()
    out.print(f"[bold]{card['name']}[/bold]  {card['slug']}", highlight=False)
    out.print(f"{card['source']}\n", highlight=False, markup=False)
    out.print(f"{card['about']}\n", highlight=False, markup=False)
    formula = card["formula"].replace("\n", "\n         ")
    out.print(f"Formula  {formula}", highlight=False, markup=False)
    out.print(f"Knows    {', '.join(card['needs']) or 'nothing in advance'}", highlight=False)
    out.print(f"\nExample, after {card['example']['plays']} plays:", highlight=False)
    table = new_table(*(name.replace("_", " ") for name in card["example"]["arms"][0]))
    for arm in card["example"]["arms"]:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in arm.values()))
    out.print(table)
    out.print(f"\n{card['example']['verdict']}", highlight=False)


@app.command()
def settings(as_json: AsJSON = False) -> None:
    """List all settings: distribution, arms, problems a repetition, needed data, source."""
    settings_command(as_json)


@data.command("facebook-ads")
def facebook_ads(
    source: Annotated[str, typer.Option("--from", help="The CSV file, or a ZIP that holds it.")],
) -> None:
    """Check your copy of the Facebook ads and keep it where FB-Br and FB-Bt find it."""
    data_facebook_ads(source)


Repetitions = Annotated[int, typer.Option(min=1, help="Games of each policy.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same output.")]


@app.command()
def simulate(
    setting: Annotated[str, typer.Argument(help="For example S-Br-10; see bursar settings.")],
    policy: Annotated[list[str], typer.Option(help="A policy's slug; may be given many times.")],
    repetitions: Repetitions = 100,
    budget_plays: Annotated[
        float, typer.Option(help="The budget, in plays of the cheapest arm.")
    ] = BUDGET_PLAYS,
    data: Annotated[str | None, typer.Option(help="The Facebook ads, for FB-Br and FB-Bt.")] = None,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if not given.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write every game to this Parquet file.")] = None,
    by_problem: Annotated[bool, typer.Option(help="A row for each ad campaign, too.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Play policies on a setting of the paper and print their regret."""
    todo = plan(policy, setting, repetitions, budget_plays, data=data, seed=seed)
    simulate_command(todo, jobs, out, as_json, by_problem)


@app.command()
def demo(
    repetitions: Repetitions = 20,
    seed: Seed = 0,
    picture: Annotated[
        Path, typer.Option(help="Where to draw the curves: .png, .svg or .pdf.")
    ] = Path("bursar-demo.png"),
    as_json: AsJSON = False,
) -> None:
    """Compare a few policies on the paper's smallest setting: a table and a picture."""
    demo_command(repetitions, seed, picture, as_json)


Full = Annotated[bool, typer.Option("--full", help="All 24 configurations, 100 repetitions.")]
Quick = Annotated[bool, typer.Option("--quick", help="The main policies, 30 repetitions: default.")]
Ads = Annotated[str | None, typer.Option("--data", help="The Facebook ads, for FB-Br and FB-Bt.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Threads; all cores if not given.")]
Dask = Annotated[str | None, typer.Option(help="Compute on this Dask scheduler's workers.")]
Out = Annotated[Path | None, typer.Option(help="Results folder; bursar-results/NAME if not given.")]
Dry = Annotated[bool, typer.Option("--dry-run", help="Say what would run and how long; stop.")]
Again = Annotated[bool, typer.Option("--rerun-failed", help="Repeat units that failed.")]
Force = Annotated[bool, typer.Option("--force", help="Compute all anew, whatever is cached.")]
Times = Annotated[int | None, typer.Option(min=1, help="Games of each policy on each setting.")]


@app.command()
def reproduce(
    quick: Quick = False,
    full: Full = False,
    all_policies: Annotated[
        bool, typer.Option("--all-policies", help="With --full: the package's other policies, too.")
    ] = False,
    changing: Annotated[
        bool, typer.Option("--changing", help="Worlds that change, in place of the paper's.")
    ] = False,
    less_regret: Annotated[
        bool,
        typer.Option("--less-regret", help="Pooled Gittins against the paper's best policy."),
    ] = False,
    families: Annotated[
        bool, typer.Option("--families", help="The same on problems that are not the paper's.")
    ] = False,
    data: Ads = None,
    repetitions: Times = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = None,
    dry_run: Dry = False,
    rerun_failed: Again = False,
    force: Force = False,
    as_json: AsJSON = False,
) -> None:
    """Run the paper's evaluation, draw its figures, check its claims, and write a report."""
    grids = import_extra("bursar.cli.reproduce")  # only these commands need the extra
    if changing + less_regret + families > 1:
        raise InvalidInput("give one of --changing, --less-regret and --families")
    if (changing or families) and (full or all_policies or data is not None):
        which = "--changing" if changing else "--families"
        raise InvalidInput(f"{which} goes with --quick, not with --full, or data of the paper")
    if less_regret and (full or all_policies):
        raise InvalidInput("--less-regret goes with --quick, not with --full or --all-policies")

    def options(name: str) -> Any:
        folder = out or Path("bursar-results") / name
        return grids.RunOptions(folder, jobs, dask, dry_run, rerun_failed, force, as_json)

    if changing:
        grids.reproduce_changing(quick, repetitions, seed, options)
    elif less_regret:
        grids.reproduce_less_regret(quick, data, repetitions, seed, options)
    elif families:
        grids.reproduce_families(quick, repetitions, seed, options)
    else:
        what = grids.paper_experiment(quick, full, all_policies, data, repetitions, seed)
        grids.run_experiment(what, options(what.name))


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(help="An experiment as TOML.")] = None,
    ads: Annotated[str | None, typer.Option(help="Your own ad export, in place of FILE.")] = None,
    group: Annotated[
        str, typer.Option(help="Columns that make separate campaigns, as in campaign,age.")
    ] = "",
    arm: Annotated[str, typer.Option(help="Columns that name an arm; each row if not given.")] = "",
    clicks: Annotated[str, typer.Option(help="The column of clicks.")] = "clicks",
    cost: Annotated[str, typer.Option(help="The column of what was spent.")] = "cost",
    reward: Annotated[str, typer.Option(help="The column of what it brought.")] = "reward",
    budget: Annotated[float | None, typer.Option(help="Money for each campaign.")] = None,
    decimal: Annotated[
        str | None, typer.Option(help="The export's decimal mark, if it does not tell: . or ,")
    ] = None,
    money: Annotated[
        bool, typer.Option("--money", help="Rewards are amounts, not counts.")
    ] = False,
    blank_is_zero: Annotated[
        bool, typer.Option("--blank-is-zero", help="An empty number in the export means 0.")
    ] = False,
    prize: Annotated[
        str | None, typer.Option(help="What one success brings: a number, or largest.")
    ] = None,
    model: Annotated[str, typer.Option(help="How costs vary: bernoulli or beta.")] = "bernoulli",
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy's slug; may be given many times.")
    ] = None,
    repetitions: Times = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same output.")] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = None,
    dry_run: Dry = False,
    rerun_failed: Again = False,
    force: Force = False,
    as_json: AsJSON = False,
) -> None:
    """Run an experiment of your own: a TOML file, or your ad export with --ads."""
    if (file is None) == (ads is None):
        raise InvalidInput("give an experiment as a TOML file, or an ad export with --ads FILE")
    grids = import_extra("bursar.cli.reproduce")
    changes = grids.ExperimentOverrides(policy, repetitions, seed, budget)

    def options(name: str) -> Any:
        folder = out or Path("bursar-results") / name
        return grids.RunOptions(folder, jobs, dask, dry_run, rerun_failed, force, as_json)

    if file is not None:
        grids.run_file(file, changes, options)
    else:
        own = import_extra("bursar.cli.reproduce")
        columns = own.ColumnOptions(
            group, arm, clicks, cost, reward, decimal, money, blank_is_zero, prize, model
        )
        own.run_ads(ads, columns, changes, options)


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(help="A results folder.")],
    other: Annotated[Path, typer.Argument(help="Another results folder.")],
    as_json: AsJSON = False,
) -> None:
    """Show two results folders side by side: regret, failures, claims, and how they were made."""
    import_extra("bursar.cli.reproduce").compare_command(one, other, as_json)
