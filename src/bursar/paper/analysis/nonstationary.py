"""Worlds that change: from which speed of change on a policy that forgets nothing loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bursar.errors import BursarError
from bursar.paper.analysis import games
from bursar.paper.analysis.compare import Comparison, compare
from bursar.settings import setting as setting_of
from bursar.settings.nonstationary import CHANGES, NonstationarySetting
from bursar.simulation.result import Result
from bursar.validation import Floats

__all__ = [
    "PLAIN",
    "ForgettingSpeed",
    "ForgettingVerdict",
    "forgetful",
    "lost_share",
    "sweeps",
    "verdicts",
]

PLAIN = "omega-star-ucb:rho=0.25"
"""The policy that is recommended where nothing changes, and that forgets nothing."""
_FEWEST = 3  # speeds that make a sweep


class ForgettingSpeed(NamedTuple):
    """A setting, and how fast it changes."""

    setting: str
    amount: float


class ForgettingVerdict(NamedTuple):
    """How the plain policy does against one that forgets, at each speed of a sweep."""

    way: str
    unit: str
    other: str
    speeds: list[float]
    comparisons: list[Comparison]  # plain against the other: above 0 the plain one lost more

    @property
    def loses(self) -> list[float]:
        """Speeds at which the plain policy lost more: the 95% interval lies above 0."""
        pairs = zip(self.speeds, self.comparisons, strict=True)
        return [speed for speed, one in pairs if one.low > 0.0]

    @property
    def wins(self) -> list[float]:
        """Speeds at which the plain policy lost less: the 95% interval lies below 0."""
        pairs = zip(self.speeds, self.comparisons, strict=True)
        return [speed for speed, one in pairs if one.high < 0.0]

    @property
    def since(self) -> Comparison | None:
        """The comparison at the speed from which on the plain policy loses at all that follow."""
        found = None
        for one in reversed(self.comparisons):
            if not one.low > 0.0:
                break
            found = one
        return found


def sweeps(result: Result) -> dict[str, list[ForgettingSpeed]]:
    """Return the settings of each way to change that was played at three speeds or more."""
    found: dict[str, list[ForgettingSpeed]] = {}
    for name in games.settings_of(result):
        try:
            place = setting_of(name)
        except BursarError:  # a problem of the user's own
            continue
        if isinstance(place, NonstationarySetting):
            found.setdefault(place.change, []).append(ForgettingSpeed(name, place.amount))
    return {
        way: sorted(speeds, key=lambda one: one.amount)
        for way, speeds in found.items()
        if len(speeds) >= _FEWEST
    }


def forgetful(policies: Sequence[str], like: str = PLAIN) -> list[str]:
    """Return the policies that are as ``like`` but for forgetting."""
    family = like.partition(":")[0]
    names = {f"sw-{family}", f"d-{family}"}
    return [slug for slug in policies if slug.partition(":")[0] in names]


def lost_share(result: Result, setting: str, policy: str) -> Floats:
    """Return what was lost of what was possible, one number a repetition."""
    rows = games.rows_of(result, setting, policy)
    return np.asarray(result.values[rows, -1, 2] / result.optimum[rows])


def verdicts(result: Result, plain: str = PLAIN) -> list[ForgettingVerdict]:
    """Compare the plain policy with every one that forgets, at all speeds of all sweeps."""
    if plain not in result.policies:
        return []
    found = []
    for way, speeds in sweeps(result).items():
        for other in forgetful(result.policies, plain):
            both = [
                one
                for one in speeds
                if games.has(result, one.setting, plain) and games.has(result, one.setting, other)
            ]
            compared = [compare(result, one.setting, plain, other) for one in both]
            amounts = [one.amount for one in both]
            found.append(ForgettingVerdict(way, CHANGES[way].option, other, amounts, compared))
    return found
