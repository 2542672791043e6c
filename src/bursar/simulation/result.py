"""What a simulation came to: a table, its summary, and its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.settings import Setting
from bursar.settings import setting as setting_of
from bursar.settings.ad_export import AdExportSetting
from bursar.settings.facebook import Ads
from bursar.simulation import BUDGET_PLAYS
from bursar.validation import check_int, check_positive

__all__ = [
    "BUDGET_PLAYS",
    "SHARES",
    "Data",
    "Named",
    "Place",
    "Plan",
    "Result",
    "Unit",
    "plan",
]

# ==== plan
# What is to be played: policies, settings, repetitions and budget, checked once.

SHARES = tuple(i / 100 for i in range(1, 101))

Place = Setting | AdExportSetting
Named = str | Place | Problem
Data = str | PathLike[str] | Ads | None


@dataclass(frozen=True)
class Plan:
    """What is to be played; checked, and the same whoever plays it."""

    policies: tuple[Policy, ...]
    settings: tuple[Place | Problem, ...]
    repetitions: int
    budget_plays: float
    shares: tuple[float, ...]
    data: Data
    seed: int
    overspend: str
    budget: float | None = None  # in the setting's own money; in place of `budget_plays`

    def place(self, which: int, repetition: int) -> tuple[Place | None, list[Problem]]:
        """Return a setting, if it is one, and its problems in a repetition."""
        place = self.settings[which]
        if isinstance(place, Problem):
            return None, [place]
        return place, place.problems(repetition, self.data)

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Yield (setting, repetition) of each unit of work, in the order of the result."""
        for which in range(len(self.settings)):
            for repetition in range(self.repetitions):
                yield which, repetition


def plan(
    policies: str | Policy | Iterable[str | Policy],
    settings: Named | Iterable[Named],
    repetitions: int,
    budget_plays: float = BUDGET_PLAYS,
    shares: Sequence[float] = SHARES,
    data: Data = None,
    seed: int = 0,
    overspend: str = "last",
    budget: float | None = None,
) -> Plan:
    """Check what is asked for, and return it as a plan."""
    chosen = tuple(policy_of(p) for p in _several(policies, (str, Policy)))
    places = tuple(
        setting_of(s) if isinstance(s, str) else s
        for s in _several(settings, (str, Setting, AdExportSetting, Problem))
    )
    for name, value in (("policies", chosen), ("settings", places)):
        if not value:
            raise InvalidInput(f"{name} must name at least one, got none")
    if len(set(map(str, chosen))) < len(chosen):
        raise InvalidInput(f"a policy is given twice in {', '.join(map(str, chosen))}")
    check_int("repetitions", repetitions, 1, "100 in the paper")
    check_positive("budget_plays", budget_plays, "150,000 in the paper")
    if budget is not None:
        budget = check_positive("budget", budget, "what may be spent on each problem")
    check_int("seed", seed, 0, "try 0")
    if overspend not in ("last", "never"):
        raise InvalidInput(f"overspend must be 'last' or 'never', got {overspend!r}")
    marks = tuple(float(share) for share in shares)
    if not marks or any(not 0.0 < s <= 1.0 for s in marks) or list(marks) != sorted(set(marks)):
        raise InvalidInput(f"shares must rise within (0, 1], got {list(shares)!r}")
    return Plan(
        chosen, places, int(repetitions), float(budget_plays), marks, data, int(seed), overspend,
        budget,
    )  # fmt: skip


def _several(given: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    return (given,) if isinstance(given, kinds) else tuple(given)


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
        return import_extra("bursar.simulation.arrow").table(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the table to any library that speaks Arrow, as in ``polars.DataFrame(result)``."""
        return self.table.__arrow_c_stream__(requested_schema)

    def plot(self, **options: Any) -> Any:
        """Draw mean regret over the budget, a panel a setting; returns a matplotlib figure."""
        return import_extra("bursar.paper.figures.regret").draw_regret(self, **options)

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
