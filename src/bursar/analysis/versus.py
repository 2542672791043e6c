"""Two results side by side, paired where both played the same games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bursar.analysis.failures import failed_share
from bursar.analysis.games import curves, has
from bursar.analysis.pairs import LEVEL
from bursar.analysis.permutation import bootstrap_interval, sign_flip
from bursar.result import Result

__all__ = ["Versus", "versus"]

_FEWEST = 6  # repetitions below which nothing can be significant at 5%


@dataclass(frozen=True)
class Versus:
    """Final regret of a policy on a setting in two results, over repetitions that both have."""

    setting: str
    policy: str
    repetitions: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    failed_a: float
    failed_b: float
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def versus(one: Result, other: Result) -> Iterator[Versus]:
    """Yield a row for each setting and policy that both results have."""
    for setting in one.settings:
        for policy in one.policies:
            if has(one, setting, policy) and has(other, setting, policy):
                yield _row(one, other, setting, policy)


def _row(one: Result, other: Result, setting: str, policy: str) -> Versus:
    mine, ours = curves(one, setting, policy)
    theirs, those = curves(other, setting, policy)
    _, left, right = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    before, after = ours[left, -1], those[right, -1]
    if not before.size:  # no repetition in common: the means of what there is
        return Versus(
            setting, policy, 0, float(ours[:, -1].mean()), float(those[:, -1].mean()),
            0.0, 0.0, 0.0,
            failed_share(one, setting, policy), failed_share(other, setting, policy),
            "not the same games",
        )  # fmt: skip
    d = after - before
    low, high = bootstrap_interval(d)
    return Versus(
        setting, policy, int(d.size), float(before.mean()), float(after.mean()), float(d.mean()),
        low, high, failed_share(one, setting, policy), failed_share(other, setting, policy),
        _verdict(d),
    )  # fmt: skip


def _verdict(d: Any) -> str:
    if not d.any():
        return "identical"
    if d.size < _FEWEST or sign_flip(d) > LEVEL:
        return "no clear difference"
    return "B lost less" if d.mean() < 0.0 else "B lost more"
