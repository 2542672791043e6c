"""The commands ``bursar simulate`` and ``bursar demo``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from bursar.cli.output import console, new_table, print_json, progress_bar
from bursar.errors import InvalidInput
from bursar.plan import Plan, plan
from bursar.result import Result, Unit, extra
from bursar.simulate import units

__all__ = ["DEMO", "demo_command", "simulate_command"]

DEMO = (
    "omega-star-ucb:rho=0.25",
    "omega-ucb:rho=1",
    "bts",
    "ucb-sc-plus",
    "m-ucb",
    "b-greedy",
    "budget-ucb",
    "uniform",
)


def simulate_command(
    todo: Plan, jobs: int | None, out: Path | None, as_json: bool, by_problem: bool
) -> None:
    """Play a plan, print its summary, and write its table if asked to."""
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists, got {out}; make {out.parent}")
    arrow = extra("bursar.arrow", "pyarrow") if out is not None else None  # before hours of play
    result, whole = play(todo, jobs)
    if arrow is not None:
        arrow.write(result, out)
        typer.echo(f"wrote {out}", err=True)
    if as_json:
        rows = result.summary(by_problem)
        names = result.settings[0] if len(result.settings) == 1 else list(result.settings)
        print_json({"setting": names, "repetitions": todo.repetitions, "rows": rows})
    else:
        show(result, by_problem)
    if not whole:
        raise typer.Exit(130)


def demo_command(repetitions: int, seed: int, picture: Path, as_json: bool) -> None:
    """Compare a few policies on the paper's smallest setting, in a table and a picture."""
    extra("bursar.figures.curves", "matplotlib")
    if not picture.parent.is_dir():
        raise InvalidInput(f"--picture must be in a folder that exists, got {picture}")
    todo = plan(DEMO, "S-Br-10", repetitions, seed=seed)
    result, whole = play(todo, None)
    if as_json:
        print_json({"setting": "S-Br-10", "repetitions": repetitions, "rows": result.summary()})
    else:
        console().print(
            f"S-Br-10: ten arms with random rewards and costs of 0 or 1, {repetitions} problems,\n"
            "a budget of 150,000 plays of the cheapest arm each.\n"
            "Regret: reward lost against always playing the best arm.\n",
            highlight=False,
        )
        show(result, by_problem=False)
    result.plot(intervals=False).savefig(picture, dpi=120)
    typer.echo(f"\nThe curves are in {picture}", err=as_json)
    if not whole:
        raise typer.Exit(130)


def play(todo: Plan, jobs: int | None) -> tuple[Result, bool]:
    """Play a plan behind a progress bar; Ctrl-C keeps the repetitions that are done."""
    done: list[Unit] = []
    whole = True
    with progress_bar() as bar:
        total = len(todo.settings) * todo.repetitions
        task = bar.add_task("compiling (first run only)", total=total)
        try:
            for unit in units(todo, jobs):
                done.append(unit)
                bar.update(task, advance=1, description=", ".join(unit.problems[:1]))
        except KeyboardInterrupt:
            whole = False
    if not whole:
        typer.echo(f"stopped: {len(done)} of {todo.repetitions} repetitions are done", err=True)
        if not done:
            sys.exit(130)
    return Result.of(todo, done), whole


def show(result: Result, by_problem: bool) -> None:
    """Print a row a policy, at the end of the budget, the least regret first."""
    last = float(result.shares[-1])
    rows = [row for row in result.summary(by_problem) if row["budget_share"] == last]
    left = ("setting", "problem", "policy")
    columns = ["setting", *(["problem"] if by_problem else []), "policy", "regret", "± 95%"]
    table = new_table(*columns, "median", "plays", "games", left=left)
    order = {name: i for i, name in enumerate(result.settings)}
    for row in sorted(
        rows, key=lambda r: (order[r["setting"]], r.get("problem", ""), r["regret_mean"])
    ):
        table.add_row(
            row["setting"],
            *([row.get("problem", "all")] if by_problem else []),
            row["policy"],
            f"{row['regret_mean']:,.1f}",
            f"{row['regret_high'] - row['regret_mean']:,.1f}",
            f"{row['regret_median']:,.1f}",
            f"{row['plays_mean']:,.0f}",
            str(row["games"]),
        )
    console().print(table)
