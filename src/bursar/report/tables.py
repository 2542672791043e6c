"""The tables of a page: final regret by setting and policy, and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.analysis.failures import failed_share
from bursar.analysis.games import final, has, settings_of
from bursar.analysis.permutation import bootstrap_interval
from bursar.analysis.shares import by_repetition
from bursar.report.spelling import amount, name, number, percent
from bursar.result import Result

__all__ = ["Cell", "Final", "Speed", "finals", "matrix", "speeds"]


@dataclass(frozen=True)
class Final:
    """What a policy came to in a setting, at the end of the budget."""

    policy: str
    mean: float
    interval: tuple[float, float] | None  # 95%, of the mean; None if played once
    median: float
    lost: float  # share of what was possible
    failed: float
    best: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells of its row."""
        spread = "–" if self.interval is None else " to ".join(map(number, self.interval))
        lost, failed = percent(self.lost), percent(self.failed)
        return (number(self.mean), spread, number(self.median), lost, failed)


class Cell(NamedTuple):
    """The share that a policy lost in a setting; None if it did not play there."""

    lost: float | None
    best: bool


def finals(result: Result) -> dict[str, list[Final]]:
    """Return the rows of each setting, best mean first."""
    shares, played = by_repetition(result)
    tables: dict[str, list[Final]] = {}
    for setting in settings_of(result):
        here = [slug for slug in result.policies if has(result, setting, slug)]
        least = min(final(result, setting, slug).mean() for slug in here)
        rows = []
        for slug in here:
            values = final(result, setting, slug)
            where = result.settings.index(setting), result.policies.index(slug)
            rows.append(
                Final(
                    name(slug),
                    float(values.mean()),
                    bootstrap_interval(values) if values.size > 1 else None,
                    float(np.median(values)),
                    float(shares[where][played[where]].mean()),
                    failed_share(result, setting, slug),
                    bool(values.mean() == least),
                )
            )
        tables[setting] = sorted(rows, key=lambda row: row.mean)
    return tables


def matrix(result: Result, tables: Mapping[str, Sequence[Final]]) -> list[tuple[str, list[Cell]]]:
    """Return a row a policy, the one that lost least first, with a cell a setting."""
    least = [min(row.lost for row in rows) for rows in tables.values()]
    found = []
    for who in map(name, result.policies):
        lost = [next((r.lost for r in rows if r.policy == who), None) for rows in tables.values()]
        known = [share for share in lost if share is not None]
        cells = [Cell(share, share == best) for share, best in zip(lost, least, strict=True)]
        if known:
            found.append((sum(known) / len(known), who, cells))
    return [(who, cells) for _, who, cells in sorted(found, key=lambda row: row[:2])]


@dataclass(frozen=True)
class Speed:
    """What a policy's plays took."""

    policy: str
    seconds: float  # a million plays
    fastest: str
    slowest: str
    plays: str


def speeds(timings: Sequence[Mapping[str, Any]]) -> list[Speed]:
    """Return seconds per million plays of each policy, fastest first."""
    rows = []
    for slug in dict.fromkeys(str(one["policy"]) for one in timings):
        mine = [one for one in timings if one["policy"] == slug and one["plays"] > 0]
        plays, seconds = (sum(one[key] for one in mine) for key in ("plays", "seconds"))
        if plays:
            pace = sorted((1e6 * o["seconds"] / o["plays"], str(o["setting"])) for o in mine)
            fast, slow = (f"{number(value)} ({place})" for value, place in (pace[0], pace[-1]))
            rows.append(Speed(name(slug), 1e6 * seconds / plays, fast, slow, amount(plays)))
    return sorted(rows, key=lambda row: row.seconds)
