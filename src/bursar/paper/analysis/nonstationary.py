"""Nonstationary settings: from which speed of change on a policy that never forgets loses."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.errors import BursarError
from bursar.paper.analysis.compare import Comparison, compare
from bursar.paper.analysis.games import has_games, played_settings, rows_of
from bursar.paper.labels import RECOMMENDED
from bursar.settings import setting as setting_of
from bursar.settings.nonstationary import CHANGES, NonstationarySetting
from bursar.simulation.result import Result

_FEWEST = 3  # speeds that make a sweep


class Sweep(NamedTuple):
    """The recommended policy, which forgets nothing, against one that forgets, speed by speed."""

    change: str
    unit: str
    other: str
    speeds: list[float]
    comparisons: list[Comparison]  # a difference above 0 means that the recommended one lost more

    @property
    def loses(self) -> list[float]:
        """Speeds at which the recommended policy lost more: the 95% interval lies above 0."""
        return [s for s, c in zip(self.speeds, self.comparisons, strict=True) if c.low > 0.0]

    @property
    def wins(self) -> list[float]:
        """Speeds at which the recommended policy lost less: the 95% interval lies below 0."""
        return [s for s, c in zip(self.speeds, self.comparisons, strict=True) if c.high < 0.0]

    @property
    def since(self) -> Comparison | None:
        """The comparison at the speed from which on it loses at every speed."""
        lost = list(takewhile(lambda c: c.low > 0.0, reversed(self.comparisons)))
        return lost[-1] if lost else None


def find_sweeps(result: Result) -> dict[str, list[NonstationarySetting]]:
    """Return the settings of each kind of change that was played at three speeds or more."""
    found: dict[str, list[NonstationarySetting]] = {}
    for name in played_settings(result):
        try:
            setting = setting_of(name)
        except BursarError:  # a problem of the user's own
            continue
        if isinstance(setting, NonstationarySetting):
            found.setdefault(setting.change, []).append(setting)
    return {
        change: sorted(speeds, key=lambda one: one.amount)
        for change, speeds in found.items()
        if len(speeds) >= _FEWEST
    }


def forgetting_policies(policies: Sequence[str]) -> list[str]:
    """Return the policies that differ from the recommended one only by forgetting."""
    family = RECOMMENDED.partition(":")[0]
    names = {f"sw-{family}", f"d-{family}"}
    return [slug for slug in policies if slug.partition(":")[0] in names]


def game_regret_shares(result: Result, setting: str, policy: str) -> Floats:
    """Return the regret of each game as a share of what was possible."""
    rows = rows_of(result, setting, policy)
    return np.asarray(result.values[rows, -1, 2] / result.optimum[rows])


def compare_forgetting(result: Result) -> list[Sweep]:
    """Compare the recommended policy with each one that forgets, at all speeds of all sweeps."""
    if RECOMMENDED not in result.policies:
        return []
    found = []
    for change, speeds in find_sweeps(result).items():
        for other in forgetting_policies(result.policies):
            both = [one for one in speeds if has_games(result, one.name, RECOMMENDED, other)]
            compared = [compare(result, one.name, RECOMMENDED, other) for one in both]
            amounts = [one.amount for one in both]
            found.append(Sweep(change, CHANGES[change].option, other, amounts, compared))
    return found
