"""The tables of a page: final regret by setting and policy, and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.paper.analysis.compare import bootstrap_interval
from bursar.paper.analysis.games import failed_share, final, has, settings_of
from bursar.paper.analysis.shares import by_repetition
from bursar.paper.report.facts import amount, cell, name, number, percent
from bursar.simulation.result import Result

__all__ = [
    "VERDICTS",
    "Count",
    "Final",
    "Grid",
    "MatrixCell",
    "SpeedRow",
    "counts",
    "finals",
    "grid",
    "matrix",
    "sections",
    "speeds",
]


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


class MatrixCell(NamedTuple):
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


def matrix(
    result: Result, tables: Mapping[str, Sequence[Final]]
) -> list[tuple[str, list[MatrixCell]]]:
    """Return a row a policy, the one that lost least first, with a cell a setting."""
    least = [min(row.lost for row in rows) for rows in tables.values()]
    found = []
    for who in map(name, result.policies):
        lost = [next((r.lost for r in rows if r.policy == who), None) for rows in tables.values()]
        known = [share for share in lost if share is not None]
        cells = [MatrixCell(share, share == best) for share, best in zip(lost, least, strict=True)]
        if known:
            found.append((sum(known) / len(known), who, cells))
    return [(who, cells) for _, who, cells in sorted(found, key=lambda row: row[:2])]


@dataclass(frozen=True)
class SpeedRow:
    """What a policy's plays took."""

    policy: str
    seconds: float  # a million plays
    fastest: str
    slowest: str
    plays: str


def speeds(timings: Sequence[Mapping[str, Any]]) -> list[SpeedRow]:
    """Return seconds per million plays of each policy, fastest first."""
    rows = []
    for slug in dict.fromkeys(str(one["policy"]) for one in timings):
        mine = [one for one in timings if one["policy"] == slug and one["plays"] > 0]
        plays, seconds = (sum(one[key] for one in mine) for key in ("plays", "seconds"))
        if plays:
            pace = sorted((1e6 * o["seconds"] / o["plays"], str(o["setting"])) for o in mine)
            fast, slow = (f"{number(value)} ({place})" for value, place in (pace[0], pace[-1]))
            rows.append(SpeedRow(name(slug), 1e6 * seconds / plays, fast, slow, amount(plays)))
    return sorted(rows, key=lambda row: row.seconds)


# ==== report.verdicts
# Claims for the page: grouped by section, counted by verdict, their numbers as tables.

VERDICTS = {
    "holds": ("hold", "holds", "yes"),
    "depends": ("depend", "depends", "part"),
    "does not hold": ("do not hold", "does not hold", "no"),
    "not tested": ("not tested", "not tested", "open"),
}
"""Each verdict: its word for many, its word for one, and the class of its badge."""


@dataclass(frozen=True)
class Count:
    """How many claims have a verdict."""

    count: int
    word: str
    badge: str


@dataclass(frozen=True)
class Grid:
    """Numbers as a table."""

    heads: list[str]
    rows: list[list[str]]


def counts(claims: Sequence[Mapping[str, Any]]) -> list[Count]:
    """Count the claims by verdict; verdicts that no claim has are left out."""
    found = [str(claim["verdict"]) for claim in claims]
    rows = []
    for verdict, (many, one, badge) in VERDICTS.items():
        times = found.count(verdict)
        if times:
            rows.append(Count(times, one if times == 1 else many, badge))
    return rows


def sections(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the claims by section, in the order in which they come."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for place, claim in enumerate(claims, start=1):
        shown = {
            "anchor": f"claim-{place}",
            "id": str(claim["id"]),
            "text": str(claim["text"]),
            "verdict": str(claim["verdict"]),
            "badge": VERDICTS.get(str(claim["verdict"]), ("", "", "open"))[2],
            "why": str(claim.get("why") or ""),
            "test": str(claim.get("test") or ""),
            "grid": grid(claim.get("numbers")),
        }
        groups.setdefault(str(claim["section"]), []).append(shown)
    return groups


def grid(numbers: Any) -> Grid | None:
    """Return numbers of any shape as a table, or None if there are none.

    >>> grid({"omega-ucb:rho=0.25": {"mean": 279.21, "games": 12}}).rows
    [['ω-UCB, ρ = 1/4', '279', '12']]
    >>> grid({"p_value": 0.0312}).rows
    [['p value', '0.031']]
    """
    if not isinstance(numbers, (Mapping, list, tuple)):
        return None if numbers is None else Grid(["value"], [[cell(numbers)]])
    if not numbers:
        return None
    if isinstance(numbers, Mapping):
        if all(isinstance(value, Mapping) for value in numbers.values()):
            return _columns([{"": key, **value} for key, value in numbers.items()])
        return Grid(["what", "value"], [[_words(k), cell(v)] for k, v in _flat(numbers)])
    if all(isinstance(value, Mapping) for value in numbers):
        return _columns(list(numbers))
    return Grid(["value"], [[cell(value)] for value in numbers])


def _columns(rows: Sequence[Mapping[Any, Any]]) -> Grid:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    heads = [_words(key) or "which" for key in keys]
    return Grid(heads, [[cell(row[key]) if key in row else "" for key in keys] for row in rows])


def _flat(numbers: Mapping[Any, Any], before: str = "") -> list[tuple[str, Any]]:
    """Return the values of nested mappings with the path to each."""
    pairs: list[tuple[str, Any]] = []
    for key, value in numbers.items():
        path = f"{before}{cell(key)}"
        pairs += _flat(value, f"{path}: ") if isinstance(value, Mapping) else [(path, value)]
    return pairs


def _words(key: Any) -> str:
    return str(key).replace("_", " ")
