"""Ads: what a click on each cost and brought, and the campaigns they make up."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from bursar.checks import Floats

__all__ = ["Ads", "Campaign", "Exclusions"]

Key = tuple[str, str, str]
_SHOWN = 5  # line numbers kept a reason


@dataclass
class Exclusions:
    """How many lines were left out, by reason, and where the first few are."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: int, reason: str) -> None:
        """Count a line."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        first = self.lines.setdefault(reason, [])
        if len(first) < _SHOWN:
            first.append(line)


@dataclass(frozen=True, eq=False)
class Campaign:
    """The ads of one campaign for one age and gender, as arms with means in (0, 1), best first."""

    name: str
    reward: Floats
    cost: Floats

    @property
    def arms(self) -> int:
        """Number of ads."""
        return int(self.reward.size)


@dataclass(frozen=True, eq=False)
class Ads:
    """The usable ads of a file, in its order, and what was left out and why.

    Attributes
    ----------
    key : list of (str, str, str)
        Campaign, age and gender of each ad.
    reward, cost : ndarray
        Conversions and money spent a click, of each ad.
    excluded : dict of str to int
        How many lines were left out, by reason.
    lines : dict of str to list of int
        The first few lines left out, by reason.
    """

    key: list[Key]
    reward: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    excluded: dict[str, int]
    lines: dict[str, list[int]]

    def __len__(self) -> int:
        return len(self.key)

    def digest(self) -> str:
        """Return a short name for the content, to tell results of other ads apart."""
        content = hashlib.sha256(repr(self.key).encode())
        content.update(self.reward.tobytes() + self.cost.tobytes())
        return content.hexdigest()[:20]

    def campaigns(self) -> list[Campaign]:
        """Group the ads by campaign, age and gender, in sorted order."""
        members: defaultdict[Key, list[int]] = defaultdict(list)
        for position, key in enumerate(self.key):
            members[key].append(position)
        return [
            Campaign("/".join(key), *_as_arms(self.reward[at], self.cost[at]))
            for key, at in sorted(members.items(), key=lambda item: _order(item[0]))
        ]


def _order(key: Key) -> tuple[bool, int, Key]:
    # 916 comes before 1178, as numbers do; ids that are not numbers come after those that are
    number = key[0].isdecimal()
    return (not number, int(key[0]) if number else 0, key)


def _as_arms(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Scale to (0, 1) and sort as the authors of the paper do (docs/deviations.md, row 12)."""
    reward = np.where(reward == 0.0, 0.01, reward)  # before scaling, in conversions a click
    reward, cost = reward / reward.max() * 0.99, cost / cost.max() * 0.99
    # stable: ads with equal ratios keep the order of the file on every machine
    order = np.argsort(cost / reward, kind="stable")
    return reward[order], cost[order]
