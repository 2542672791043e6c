"""The commands ``simulate``, ``demo``, ``settings`` and ``data facebook-ads``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import bursar
from bursar.cli.output import console, print_json, print_rows, print_table, progress_bar
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.simulation import BUDGET_PLAYS

if TYPE_CHECKING:
    from bursar.simulation.result import Plan

_DEMO_POLICIES = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=1", "bts", "ucb-sc-plus", "m-ucb", "b-greedy",
    "budget-ucb", "uniform",
)  # fmt: skip
_PAPER_SIZE = (545, 19)  # ads and campaigns of the paper's file


def simulate(
    setting: str,
    *,
    policy: list[str],
    repetitions: int = 100,
    budget_plays: float = BUDGET_PLAYS,
    data: str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    out: Path | None = None,
    by_problem: bool = False,
    as_json: bool = False,
) -> None:
    """Play policies on a setting of the paper and print their regret."""
    from bursar.simulation.result import plan

    todo = plan(policy, setting, repetitions, budget_plays, data=data, seed=seed)
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists, got {out}; make {out.parent}")
    # a missing library is reported before hours of play
    arrow = None if out is None else import_extra("bursar.simulation.arrow")
    result, whole = _play(todo, jobs)
    if arrow is not None:
        arrow.write(result, out)
        typer.echo(f"wrote {out}", err=True)
    _show_regret(result, todo.repetitions, by_problem, as_json)
    if not whole:
        raise typer.Exit(130)


def demo(
    *,
    repetitions: int = 20,
    seed: int = 0,
    picture: Path = Path("bursar-demo.png"),
    as_json: bool = False,
) -> None:
    """Compare a few policies on the paper's smallest setting: a table and a picture."""
    from bursar.simulation.result import plan

    import_extra("bursar.paper.figures.regret")
    if not picture.parent.is_dir():
        raise InvalidInput(f"--picture must be in a folder that exists, got {picture}")
    todo = plan(_DEMO_POLICIES, "S-Br-10", repetitions, seed=seed)
    result, whole = _play(todo, None)
    if not as_json:
        console().print(
            f"S-Br-10: ten arms with random rewards and costs of 0 or 1, {repetitions} problems,\n"
            "a budget of 150,000 plays of the cheapest arm each.\n"
            "Regret is the reward lost compared with always playing the best arm.\n"
        )
    _show_regret(result, repetitions, False, as_json)
    result.plot(intervals=False).savefig(picture, dpi=120)
    typer.echo(f"\nThe curves are in {picture}", err=as_json)
    if not whole:
        raise typer.Exit(130)


def _play(todo: Plan, jobs: int | None) -> tuple[bursar.Result, bool]:
    """Play a plan behind a progress bar; Ctrl-C keeps the repetitions that are done."""
    from bursar.simulation.result import CellGames
    from bursar.simulation.simulate import play_cells

    done: list[CellGames] = []
    total = len(todo.settings) * todo.repetitions
    with progress_bar() as bar, suppress(KeyboardInterrupt):
        task = bar.add_task("compiling (first run only)", total=total)
        for cell in play_cells(todo, jobs):
            done.append(cell)
            bar.update(task, advance=1, description=", ".join(cell.problems[:1]))
    whole = len(done) == total
    if not whole:
        typer.echo(f"stopped: {len(done)} of {todo.repetitions} repetitions are done", err=True)
        if not done:
            raise typer.Exit(130)
    return bursar.Result.of(todo, done), whole


def _show_regret(result: bursar.Result, repetitions: int, by_problem: bool, as_json: bool) -> None:
    """Print a row per policy at the end of the budget, smallest regret first."""
    rows = result.summary(by_problem)
    if as_json:
        names = result.settings[0] if len(result.settings) == 1 else list(result.settings)
        print_json({"setting": names, "repetitions": repetitions, "rows": rows})
        return
    last = float(result.shares[-1])
    rows = [row for row in rows if row["budget_share"] == last]
    left = ("setting", "problem", "policy")
    columns = ["setting", *(["problem"] if by_problem else []), "policy", "regret", "± 95%"]
    order = {name: i for i, name in enumerate(result.settings)}
    rows.sort(key=lambda r: (order[r["setting"]], r.get("problem", ""), r["regret_mean"]))
    cells = (
        [
            row["setting"], *([row.get("problem", "all")] if by_problem else []), row["policy"],
            f"{row['regret_mean']:,.1f}", f"{row['regret_high'] - row['regret_mean']:,.1f}",
            f"{row['regret_median']:,.1f}", f"{row['plays_mean']:,.0f}", str(row["games"]),
        ]
        for row in rows
    )  # fmt: skip
    print_table([*columns, "median", "plays", "games"], cells, left=left)


def settings(*, as_json: bool = False) -> None:
    """List all settings: distribution, arms, problems per repetition, required data, source."""
    from bursar.settings.families import FAMILIES
    from bursar.settings.nonstationary import NONSTATIONARY

    every = (*bursar.list_settings(), *NONSTATIONARY.values(), *FAMILIES.values())
    columns = ("name", "distribution", "arms", "problems", "needs data", "source")
    left = ("name", "distribution", "needs data", "source")
    rows = [
        {
            "name": one.name, "kind": one.kind, "distribution": one.distribution,
            "arms": list(one.arms), "problems": len(one.arms), "needs_data": one.needs_data,
            "source": one.source,
        }
        for one in every
    ]  # fmt: skip
    print_rows(rows, as_json, columns, _setting_cells, left)


def _setting_cells(row: dict[str, Any]) -> list[str]:
    low, high = min(row["arms"]), max(row["arms"])
    arms = str(low) if low == high else f"{low}…{high}"
    data = "Facebook ads" if row["needs_data"] else "no"
    return [row["name"], row["distribution"], arms, str(row["problems"]), data, row["source"]]


def facebook_ads(*, source: str) -> None:
    """Check your copy of the Facebook ads and store it where FB-Br and FB-Bt find it."""
    from bursar.settings.facebook import keep_file, load

    kept = keep_file(source)
    ads = load(kept)
    campaigns = ads.campaigns()
    typer.echo(f"stored in {kept}")
    typer.echo(f"{len(ads)} ads in {len(campaigns)} campaigns (campaign, age, gender)")
    if (len(ads), len(campaigns)) != _PAPER_SIZE:
        expected = "{} ads in {} campaigns".format(*_PAPER_SIZE)
        typer.echo(f"This is not the paper's file, which has {expected}.")
    left_out = sum(ads.left_out.counts.values())
    typer.echo(f"{left_out} lines left out{':' if left_out else ''}")
    for reason, count in ads.left_out.counts.items():
        typer.echo(f"  {count:>5}  {reason} ({ads.left_out.format_lines(reason)})")
