"""What is to be played, checked once, and the result: a table, its summary, and its figure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.formatting import pluralize
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.settings import Setting
from bursar.settings import setting as setting_of
from bursar.settings.ad_export import AdExportSetting
from bursar.settings.base import Data
from bursar.simulation import BUDGET_PLAYS
from bursar.validation import check_int, check_positive

SHARES = tuple(i / 100 for i in range(1, 101))

AnySetting = Setting | AdExportSetting
SettingLike = str | AnySetting | Problem


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Policies, settings, repetitions and budget, checked."""

    policies: tuple[Policy, ...]
    settings: tuple[AnySetting | Problem, ...]
    repetitions: int
    budget_plays: float
    shares: tuple[float, ...]
    data: Data
    seed: int
    overspend: str
    budget: float | None = None  # in the setting's own money; in place of `budget_plays`

    def problems(self, which: int, repetition: int) -> tuple[AnySetting | None, list[Problem]]:
        """Return a setting, unless it is a problem itself, and its problems in a repetition."""
        setting = self.settings[which]
        if isinstance(setting, Problem):
            return None, [setting]
        return setting, setting.problems(repetition, self.data)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yield (setting, repetition) of each cell, in the order of the result."""
        return product(range(len(self.settings)), range(self.repetitions))


def plan(
    policies: str | Policy | Iterable[str | Policy],
    settings: SettingLike | Iterable[SettingLike],
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
    known = tuple(
        setting_of(s) if isinstance(s, str) else s
        for s in _several(settings, (str, Setting, AdExportSetting, Problem))
    )
    for name, value in (("policies", chosen), ("settings", known)):
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
    at = tuple(float(share) for share in shares)
    if not at or any(not 0.0 < s <= 1.0 for s in at) or list(at) != sorted(set(at)):
        raise InvalidInput(f"shares must rise within (0, 1], got {list(shares)!r}")
    return Plan(
        policies=chosen, settings=known, repetitions=int(repetitions),
        budget_plays=float(budget_plays), shares=at, data=data, seed=int(seed),
        overspend=overspend, budget=budget,
    )  # fmt: skip


def _several(given: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    return (given,) if isinstance(given, kinds) else tuple(given)


class CellGames(NamedTuple):
    """The games of one cell, a repetition of a setting."""

    setting: int
    repetition: int
    problems: list[str]
    optima: list[float]  # of each problem: mean reward of the best arm for the whole budget
    games: dict[str, Any]  # of each policy on each problem: plays, spend and regret at each share


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """Plays, spend and regret of every game at every share of its budget.

    ``values`` has one row for each share of each game: plays, spent, regret. The other columns
    say which game it is.
    """

    settings: tuple[str, ...]
    problems: tuple[str, ...]
    policies: tuple[str, ...]
    shares: Floats
    setting: Any  # number in `settings`, of each game
    problem: Any
    repetition: Any
    policy: Any
    optimum: Floats  # of each game: mean reward of the best arm for the whole budget
    values: Floats  # games x shares x 3
    repetitions: int

    @classmethod
    def of(cls, plan: Plan, cells: Sequence[CellGames]) -> Self:
        """Put the cells of a plan in order; some may be missing if it was interrupted."""
        slugs = tuple(map(str, plan.policies))
        names: dict[str, int] = {}
        keys: list[tuple[int, int, int, int]] = []
        blocks: list[Floats] = []
        optima: list[float] = []
        for cell in sorted(cells, key=lambda cell: cell[:2]):
            for i, (problem, optimum) in enumerate(zip(cell.problems, cell.optima, strict=True)):
                number = names.setdefault(problem, len(names))
                for slug, game in cell.games.items():
                    keys.append((cell.setting, number, cell.repetition, slugs.index(slug)))
                    blocks.append(game[i])
                    optima.append(optimum)
        columns = np.array(keys, dtype=np.int32).reshape(-1, 4)
        return cls(
            settings=tuple(str(getattr(s, "name", s)) or "problem" for s in plan.settings),
            problems=tuple(names),
            policies=slugs,
            shares=np.array(plan.shares),
            setting=columns[:, 0],
            problem=columns[:, 1],
            repetition=columns[:, 2],
            policy=columns[:, 3],
            optimum=np.array(optima, dtype=np.float64),
            values=np.array(blocks).reshape(-1, len(plan.shares), 3),
            repetitions=plan.repetitions,
        )

    def __repr__(self) -> str:
        """Return what was played, and the policy of the least regret."""
        games = len(self.values)
        text = (
            f"{pluralize(len(self.policies), 'policy', 'policies')}, "
            f"{pluralize(len(self.settings), 'setting')}, "
            f"{pluralize(self.repetitions, 'repetition')}: {pluralize(games, 'game')}"
        )
        if len(self.settings) == 1 and (last := self._final_rows()):
            best = min(last, key=lambda row: row["regret_mean"])
            text += f"; least mean regret: {best['policy']}, {best['regret_mean']:,.4g}"
        return f"<Result of {text}>"

    def _repr_html_(self) -> str:
        """Return the mean regret of each policy at the end as a table for notebooks."""
        rows = "".join(
            f"<tr><td>{escape(row['setting'])}</td><td>{escape(row['policy'])}</td>"
            f"<td>{row['games']:,}</td><td>{row['regret_mean']:,.4g}</td>"
            f"<td>{row['regret_low']:,.4g} to {row['regret_high']:,.4g}</td></tr>"
            for row in self._final_rows()
        )
        head = "".join(
            f"<th>{name}</th>" for name in ("setting", "policy", "games", "mean regret", "95%")
        )
        return (
            f"<table><caption>{escape(repr(self))}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def _final_rows(self) -> list[dict[str, Any]]:
        return [row for row in self.summary() if row["budget_share"] == float(self.shares[-1])]

    @property
    def table(self) -> Any:
        """The result as a pyarrow table, one row per share of each game."""
        return import_extra("bursar.simulation.arrow").table(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Pass the table to any library that reads Arrow, as in ``polars.DataFrame(result)``."""
        return self.table.__arrow_c_stream__(requested_schema)

    def plot(self, **options: Any) -> Any:
        """Draw mean regret over the budget, one panel per setting; return a matplotlib figure."""
        return import_extra("bursar.paper.figures.regret").draw_regret(self, **options)

    def summary(self, by_problem: bool = False) -> list[dict[str, Any]]:
        """Return mean, spread and median of regret by setting, policy and share of the budget.

        ``regret_low`` and ``regret_high`` are the 95% interval of the mean over games. With
        ``by_problem`` there are also rows for each problem of a setting (the campaigns of the ads).
        """
        rows: list[dict[str, Any]] = []
        for setting, name in enumerate(self.settings):
            here = self.setting == setting
            for policy, slug in enumerate(self.policies):
                games = here & (self.policy == policy)
                if games.any():
                    rows.extend(self._summarize({"setting": name, "policy": slug}, games))
                if by_problem:
                    for problem in np.unique(self.problem[games]):
                        which = {"setting": name, "policy": slug, "problem": self.problems[problem]}
                        rows.extend(self._summarize(which, games & (self.problem == problem)))
        return rows

    def _summarize(self, whose: dict[str, str], games: Any) -> Iterator[dict[str, Any]]:
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
