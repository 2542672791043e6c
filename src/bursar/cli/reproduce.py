"""Which experiment a command line asks for: the paper's, the package's, or a file's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from bursar.cli.output import console, new_table, print_json
from bursar.cli.run_experiment import RunOptions, run_experiment
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.experiments import (
    Experiment,
    ExperimentRun,
    experiment,
    families_experiment,
    full,
    less_regret_experiment,
    nonstationary_experiment,
    quick,
)
from bursar.experiments.toml import policies_of, read
from bursar.extras import import_extra
from bursar.paper.analysis.ad_advice import advice
from bursar.paper.figures.style import label
from bursar.settings import SETTINGS, ad_export
from bursar.settings.facebook import find_file, load_kept
from bursar.simulation.result import Result

__all__ = [
    "ColumnOptions",
    "ExperimentOverrides",
    "compare_command",
    "paper_experiment",
    "reproduce_changing",
    "reproduce_families",
    "reproduce_less_regret",
    "run_ads",
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
            changed["policies"] = policies_of(self.policies, what.code)
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
        return full(data, repetitions or 100, seed, all_policies)
    return quick(data, repetitions or 30, seed)


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
    return str(find_file(data)) if data is not None or load_kept() is not None else None


def run_file(
    file: Path, changes: ExperimentOverrides, options: Callable[[str], RunOptions]
) -> None:
    """Run the experiment of a TOML file; the paper's claims are checked if it has its settings."""
    what = changes.apply(read(file))
    names = [getattr(place, "name", "") for place in what.plan.settings]
    run_experiment(what, options(what.name), about_paper=any(name in SETTINGS for name in names))


# ==== cli.ads
# The command ``bursar run --ads``: policies on the arms of a user's own ad export.

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
        """Return them as :func:`bursar.settings.ad_export.read_ad_export` takes them, without what is usual."""
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
        policies=policies_of(changes.policies or _PLAYERS, ()),
        settings=export.settings,
        repetitions=changes.repetitions or 100,
        seed=changes.seed or 0,
        budget=changes.budget,
    )
    for line in export.words():
        typer.echo(line, err=True)
    spend = changes.budget
    run_experiment(
        what, options(what.name), about_paper=False, notes=export.words(),
        advise=lambda outcome: advice(
            export.settings, outcome.result, spend, export.currency, label
        ),
    )  # fmt: skip


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


# ==== cli.compare
# The command ``bursar compare``: two results folders side by side.


def compare_command(one: Path, other: Path, as_json: bool) -> None:
    """Print final regret of both, paired where both played the same games; then what changed."""
    versus = import_extra("bursar.paper.analysis.shares").compare_results
    first, second = _result(one), _result(other)
    rows = [row.as_dict() for row in versus(first, second)]
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
