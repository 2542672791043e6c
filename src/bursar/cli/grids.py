"""Which experiment a command line asks for: the paper's, the package's, or a file's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from bursar.cli.experiments import Options, go
from bursar.errors import InvalidInput
from bursar.experiments import Experiment, Outcome, changing, families, full, less_regret, quick
from bursar.experiments.own import policies_of
from bursar.experiments.toml import read
from bursar.result import extra
from bursar.settings import SETTINGS
from bursar.settings.store import find, kept

__all__ = [
    "Changes", "paper_experiment", "reproduce_changing", "reproduce_families",
    "reproduce_less_regret", "run_file",
]  # fmt: skip

_NO_ADS = "FB-Br and FB-Bt are left out: give the Facebook ads with --data"


@dataclass(frozen=True)
class Changes:
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
    want_quick: bool, repetitions: int | None, seed: int, options: Callable[[str], Options]
) -> None:
    """Run the experiment on worlds that change; the page begins with what came out."""
    what = changing(repetitions, seed, want_quick)
    said = extra("bursar.report.changing", "scipy").said
    go(what, options(what.name), about_paper=False, advise=lambda outcome: said(outcome.result))


def reproduce_less_regret(
    want_quick: bool,
    data: str | None,
    repetitions: int | None,
    seed: int,
    options: Callable[[str], Options],
) -> None:
    """Run bursar's policy and the paper's best on the paper's settings."""
    ads = _ads(data)
    notes = [] if ads else [_NO_ADS]
    for note in notes:
        typer.echo(note, err=True)
    what = less_regret(ads, repetitions, seed, want_quick)
    notes = [f"{note}." for note in notes]
    go(what, options(what.name), about_paper=False, advise=_ratios, notes=notes)


def reproduce_families(
    want_quick: bool, repetitions: int | None, seed: int, options: Callable[[str], Options]
) -> None:
    """Run both on families that are not the paper's."""
    what = families(repetitions, seed, want_quick)
    go(what, options(what.name), about_paper=False, advise=_ratios)


def _ratios(outcome: Outcome) -> list[str]:
    said: list[str] = extra("bursar.report.ratios", "matplotlib").said_of_ratios(outcome.result)
    return said


def _ads(data: str | None) -> str | None:
    """Return where the ads are: as given, or the kept copy if there is one."""
    return str(find(data)) if data is not None or kept() is not None else None


def run_file(file: Path, changes: Changes, options: Callable[[str], Options]) -> None:
    """Run the experiment of a TOML file; the paper's claims are checked if it has its settings."""
    what = changes.apply(read(file))
    names = [getattr(place, "name", "") for place in what.plan.settings]
    go(what, options(what.name), about_paper=any(name in SETTINGS for name in names))
