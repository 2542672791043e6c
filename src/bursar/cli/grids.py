"""Which experiment a command line asks for: the paper's, a file's, or one on a user's own ads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bursar.cli.experiments import Options, go
from bursar.errors import InvalidInput
from bursar.experiments import Experiment, changing, full, quick
from bursar.experiments.own import policies_of
from bursar.experiments.toml import read
from bursar.result import extra
from bursar.settings import SETTINGS
from bursar.settings.store import find, kept

__all__ = ["Changes", "paper_experiment", "reproduce_changing", "run_file"]


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
    if data is not None or kept() is not None:
        data = str(find(data))
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


def run_file(file: Path, changes: Changes, options: Callable[[str], Options]) -> None:
    """Run the experiment of a TOML file; the paper's claims are checked if it has its settings."""
    what = changes.apply(read(file))
    names = [getattr(place, "name", "") for place in what.plan.settings]
    go(what, options(what.name), about_paper=any(name in SETTINGS for name in names))
