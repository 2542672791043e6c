"""What is to be played: policies, settings, repetitions and budget, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from bursar.checks import positive, whole
from bursar.errors import InvalidInput
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.settings import Setting
from bursar.settings import setting as setting_of
from bursar.settings.ads import Ads
from bursar.settings.own_setting import OwnSetting

__all__ = ["BUDGET_PLAYS", "SHARES", "Data", "Named", "Place", "Plan", "plan"]

BUDGET_PLAYS = 150_000
SHARES = tuple(i / 100 for i in range(1, 101))

Place = Setting | OwnSetting
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
        for s in _several(settings, (str, Setting, OwnSetting, Problem))
    )
    for name, value in (("policies", chosen), ("settings", places)):
        if not value:
            raise InvalidInput(f"{name} must name at least one, got none")
    if len(set(map(str, chosen))) < len(chosen):
        raise InvalidInput(f"a policy is given twice in {', '.join(map(str, chosen))}")
    whole("repetitions", repetitions, 1, "100 in the paper")
    positive("budget_plays", budget_plays, "150,000 in the paper")
    if budget is not None:
        budget = positive("budget", budget, "what may be spent on each problem")
    whole("seed", seed, 0, "try 0")
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
