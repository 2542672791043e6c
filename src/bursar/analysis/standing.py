"""Standing: what policies found on a user's own ads, in one group or over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bursar.analysis.games import final, rows_of
from bursar.analysis.pairs import LEVEL, compare, holm
from bursar.result import Result
from bursar.settings.own import OwnSetting

__all__ = ["Standing", "standing"]

_ALL = "all groups"


@dataclass(frozen=True)
class Standing:
    """How policies stood in the whole repetitions of a result on a user's own groups."""

    groups: list[OwnSetting]
    result: Result
    pooled: Result  # the same with one setting

    @property
    def runs(self) -> int:
        """Whole repetitions."""
        return int(np.unique(self.result.repetition).size)

    @property
    def ranked(self) -> list[str]:
        """Policies, the one that found most first."""
        return sorted(self.result.policies, key=self.found, reverse=True)

    def as_good(self) -> list[str]:
        """Return the policies that cannot be told from the best, at 5% and tested all at once."""
        best, *others = self.ranked
        p = holm([compare(self.pooled, _ALL, best, other).p for other in others])
        return [other for other, value in zip(others, p, strict=True) if value > LEVEL]

    def possible(self) -> float:
        """Return what the best arms bring on average, over all groups."""
        rows = rows_of(self.pooled, _ALL, self.result.policies[0])
        return float(self.pooled.optimum[rows].mean()) * len(self.groups)

    def found(self, policy: str) -> float:
        """Return what a policy found on average, over all groups."""
        lost = float(final(self.pooled, _ALL, policy).mean()) * len(self.groups)
        return max(self.possible() - lost, 0.0)

    def loss(self, group: int, policy: str) -> float:
        """Return the share of what was possible in a group that a policy lost."""
        name = self.groups[group].name
        optimum = float(self.result.optimum[rows_of(self.result, name, policy)].mean())
        return min(float(final(self.result, name, policy).mean()) / optimum, 1.0)


def standing(settings: Sequence[OwnSetting], result: Result) -> Standing | None:
    """Take the games of the given settings in repetitions that have them all; None without one."""
    names = {setting.name for setting in settings}
    numbers = [i for i, name in enumerate(result.settings) if name in names]
    mine = np.isin(result.setting, numbers)
    games = np.bincount(result.repetition[mine], minlength=1)
    whole = np.flatnonzero(games == len(settings) * len(result.policies))
    keep = mine & np.isin(result.repetition, whole)
    if not keep.any():
        return None
    played = replace(
        result, setting=result.setting[keep], problem=result.problem[keep],
        repetition=result.repetition[keep], policy=result.policy[keep],
        optimum=result.optimum[keep], values=result.values[keep],
    )  # fmt: skip
    pooled = replace(played, settings=(_ALL,), setting=np.zeros_like(played.setting))
    return Standing(list(settings), played, pooled)
