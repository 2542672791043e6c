"""The command line: a function a command. Data go to stdout, progress and errors to stderr."""

from __future__ import annotations

import io
import json
import math
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bursar.card import card_of, facts_of
from bursar.demo import POLICIES_SHOWN, compare
from bursar.errors import BursarError
from bursar.policies import POLICIES
from bursar.policies import policy as policy_of
from bursar.problems import Bernoulli
from bursar.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="bursar: spend a budget well.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")]


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
    rows = [facts_of(cls) for cls in POLICIES.values()]
    if as_json:
        _print_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("slug", "name", "year", "parameters and defaults", "needs to know", "source"):
        table.add_column(column, overflow="fold")
    for row in rows:
        defaults = ", ".join(f"{k}={'-' if v is None else v}" for k, v in row["parameters"].items())
        needs = ", ".join(row["needs"]) or "nothing"
        table.add_row(
            row["slug"], row["name"], str(row["year"] or "-"), defaults, needs, row["source"]
        )
    _console().print(table)


@app.command()
def policy(
    slug: Annotated[str, typer.Argument(help="For example omega-star-ucb:rho=0.25")],
    as_json: AsJSON = False,
) -> None:
    """Show one policy: its formula, what it needs, and its index on an example of three arms."""
    card = card_of(policy_of(slug))
    if as_json:
        _print_json(card)
        return
    out = _console()
    out.print(f"[bold]{card['name']}[/bold]  {card['slug']}", highlight=False)
    out.print(f"{card['source']}\n", highlight=False, markup=False)
    out.print(f"{card['about']}\n", highlight=False, markup=False)
    formula = card["formula"].replace("\n", "\n         ")
    out.print(f"Formula  {formula}", highlight=False, markup=False)
    out.print(f"Knows    {', '.join(card['needs']) or 'nothing in advance'}", highlight=False)
    out.print(f"\nExample, after {card['example']['plays']} plays:", highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in card["example"]["arms"][0]:
        table.add_column(column.replace("_", " "), justify="right")
    for arm in card["example"]["arms"]:
        table.add_row(*(_short(value) for value in arm.values()))
    out.print(table)
    out.print(f"\n{card['example']['verdict']}", highlight=False)


@app.command()
def demo(
    arms: Annotated[int, typer.Option(min=1, help="Number of arms.")] = 10,
    plays: Annotated[
        int, typer.Option(min=1, help="Budget, in plays of the cheapest arm.")
    ] = 10000,
    repetitions: Annotated[int, typer.Option(min=2, help="Games of each policy.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same output.")] = 0,
    as_json: AsJSON = False,
) -> None:
    """Compare a few policies on one random problem."""
    problem = Bernoulli.random(arms, seed, cost_low=0.01)
    budget = plays * problem.min_cost
    with _progress() as progress:
        task = progress.add_task(
            "compiling (first run only)", total=len(POLICIES_SHOWN) * repetitions
        )
        rows = compare(
            problem,
            budget,
            repetitions,
            seed,
            on_game=lambda run: progress.update(task, advance=1, description=run.policy),
        )
    if as_json:
        _print_json(
            {"arms": arms, "budget": budget, "seed": seed, "rows": [asdict(r) for r in rows]}
        )
        return
    out = _console()
    out.print(
        f"{arms} arms, rewards and costs 0 or 1, a budget of {budget:,.0f},"
        f" {repetitions} games each.\nRegret: reward lost against always playing the best arm.\n",
        highlight=False,
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("policy", "regret", "±", "reward", "best arm"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    for row in rows:
        table.add_row(
            row.policy,
            f"{row.regret:,.1f}",
            f"{row.regret_error:,.1f}",
            f"{row.reward:,.0f}",
            f"{row.best_share:.0%}",
        )
    out.print(table)


def _console() -> Console:
    # a pipe has no width; wide enough that no table is cut
    return Console() if sys.stdout.isatty() else Console(width=160)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(_valid(data), indent=2, ensure_ascii=False, allow_nan=False))


def _valid(data: Any) -> Any:
    """Write infinities as text, because JSON has no number for them."""
    if isinstance(data, dict):
        return {key: _valid(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_valid(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
