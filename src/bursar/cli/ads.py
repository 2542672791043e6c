"""The command ``bursar run --ads``: policies on the arms of a user's own ad export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from bursar.analysis.advice import advice
from bursar.cli.experiments import Options, go
from bursar.cli.grids import Changes
from bursar.errors import InvalidInput
from bursar.experiments import experiment
from bursar.experiments.own import policies_of
from bursar.figures.labels import label
from bursar.settings import own

__all__ = ["Columns", "run_ads"]

_PLAYERS = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "bts", "ucb-sc-plus", "m-ucb", "b-greedy",
    "eps-first", "uniform",
)  # fmt: skip


@dataclass(frozen=True)
class Columns:
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
        """Return them as :func:`bursar.settings.own.read` takes them, without what is usual."""
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
    path: str, columns: Columns, changes: Changes, options: Callable[[str], Options]
) -> None:
    """Read the export, compare policies on its arms, and say what that means for the money."""
    if changes.budget is None:
        raise InvalidInput("give --budget: the money for each campaign, as in --budget 500")
    read = columns.options()
    export = own.read(path, **read)
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
    go(
        what, options(what.name), about_paper=False, notes=export.words(),
        advise=lambda outcome: advice(
            export.settings, outcome.result, spend, export.currency, label
        ),
    )  # fmt: skip


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
