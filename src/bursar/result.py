"""What a simulation came to: a table, its summary, and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from bursar.checks import Floats
from bursar.errors import MissingExtra
from bursar.plan import Plan

__all__ = ["EXTRA", "Result", "Unit", "extra"]

EXTRA = ("pyarrow", "matplotlib", "scipy", "jinja2")
"""Libraries of the extra ``paper``."""


class Unit(NamedTuple):
    """The games of one repetition of one setting: a block a problem and policy, problems first."""

    setting: int
    repetition: int
    problems: list[str]
    optima: list[float]  # what the best arm brings for the whole budget, a problem
    games: list[Floats]


@dataclass(frozen=True)
class Result:
    """Plays, spend and regret of every game at every share of its budget.

    ``values`` has one row a share of a game: plays, spent, regret. The columns beside it say whose.
    """

    settings: tuple[str, ...]
    problems: tuple[str, ...]
    policies: tuple[str, ...]
    shares: Floats
    setting: Any  # number in `settings`, of each game
    problem: Any
    repetition: Any
    policy: Any
    optimum: Floats  # what the best arm brings on average for the whole budget, of each game
    values: Floats  # games x shares x 3
    repetitions: int

    @classmethod
    def of(
        cls, plan: Plan, units: Sequence[Unit], present: Sequence[Sequence[str]] | None = None
    ) -> Result:
        """Put the units of a plan in order; some may be missing if it was interrupted.

        ``present`` names the policies of each unit, where some games could not be played.
        """
        slugs = tuple(map(str, plan.policies))
        players = present or [slugs] * len(units)
        names: dict[str, int] = {}
        keys: list[tuple[int, int, int, int]] = []
        blocks: list[Floats] = []
        optima: list[float] = []
        for unit, who in sorted(zip(units, players, strict=True), key=lambda pair: pair[0][:2]):
            games = iter(unit.games)
            for problem, optimum in zip(unit.problems, unit.optima, strict=True):
                number = names.setdefault(problem, len(names))
                for slug in who:
                    keys.append((unit.setting, number, unit.repetition, slugs.index(slug)))
                    blocks.append(next(games))
                    optima.append(optimum)
        columns = np.array(keys, dtype=np.int32).reshape(-1, 4)
        shape = (-1, len(plan.shares), 3)
        return cls(
            tuple(str(getattr(s, "name", s)) or "problem" for s in plan.settings),
            tuple(names),
            slugs,
            np.array(plan.shares),
            columns[:, 0],
            columns[:, 1],
            columns[:, 2],
            columns[:, 3],
            np.array(optima, dtype=np.float64),
            np.array(blocks).reshape(shape),
            plan.repetitions,
        )

    @property
    def table(self) -> Any:
        """The result as a pyarrow table, one row a share of a game."""
        return extra("bursar.arrow", "pyarrow").table(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the table to any library that speaks Arrow, as in ``polars.DataFrame(result)``."""
        return self.table.__arrow_c_stream__(requested_schema)

    def plot(self, **options: Any) -> Any:
        """Draw mean regret over the budget, a panel a setting; returns a matplotlib figure."""
        return extra("bursar.figures.curves", "matplotlib").curves(self, **options)

    def summary(self, by_problem: bool = False) -> list[dict[str, Any]]:
        """Return mean, spread and median of regret by setting, policy and share of the budget.

        ``regret_low`` and ``regret_high`` are the 95% interval of the mean over games. With
        ``by_problem`` a row also for each problem of a setting (the campaigns of the ads).
        """
        rows: list[dict[str, Any]] = []
        for setting, name in enumerate(self.settings):
            here = self.setting == setting
            for policy, slug in enumerate(self.policies):
                games = here & (self.policy == policy)
                if games.any():
                    rows.extend(self._rows({"setting": name, "policy": slug}, games))
                if by_problem:
                    for problem in np.unique(self.problem[games]):
                        which = {"setting": name, "policy": slug, "problem": self.problems[problem]}
                        rows.extend(self._rows(which, games & (self.problem == problem)))
        return rows

    def _rows(self, whose: dict[str, str], games: Any) -> Iterator[dict[str, Any]]:
        plays, regret = self.values[games, :, 0], self.values[games, :, 2]
        count = regret.shape[0]
        mean, median = regret.mean(axis=0), np.median(regret, axis=0)
        spread = regret.std(axis=0, ddof=1) if count > 1 else np.zeros_like(mean)
        half = 1.959963984540054 * spread / count**0.5
        for i, share in enumerate(self.shares):
            yield {
                **whose,
                "budget_share": float(share),
                "games": count,
                "regret_mean": float(mean[i]),
                "regret_std": float(spread[i]),
                "regret_low": float(mean[i] - half[i]),
                "regret_high": float(mean[i] + half[i]),
                "regret_median": float(median[i]),
                "plays_mean": float(plays[:, i].mean()),
            }


def extra(module: str, library: str) -> Any:
    """Import a part of bursar that stands on a library of the extra ``paper``."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing == library or missing in EXTRA:
            raise MissingExtra(
                f"this needs {missing}, which is not installed; pip install 'bursar[paper]'"
            ) from None
        raise
