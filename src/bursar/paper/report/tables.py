"""The tables of a report: final regret by setting and policy, speed, and the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.paper.analysis import games
from bursar.paper.analysis.permutation import bootstrap_interval
from bursar.paper.analysis.shares import shares_by_repetition
from bursar.paper.figures.comparison import seconds_per_million
from bursar.paper.labels import format_label
from bursar.paper.report.data import format_amount, format_cell, format_value
from bursar.simulation.result import Result

__all__ = [
    "FinalRow",
    "NumberTable",
    "count_verdicts",
    "group_claims",
    "make_final_tables",
    "make_matrix",
    "make_number_table",
    "make_speed_rows",
]


@dataclass(frozen=True, kw_only=True)
class FinalRow:
    """Regret of a policy in a setting at the end of the budget."""

    policy: str
    mean: float
    interval: tuple[float, float] | None  # 95%, of the mean; None if played once
    median: float
    regret_share: float
    failed: float
    best: bool


def make_final_tables(result: Result) -> dict[str, list[FinalRow]]:
    """Return the rows of each setting, best mean first."""
    shares, played = shares_by_repetition(result)
    tables: dict[str, list[FinalRow]] = {}
    for setting in games.played_settings(result):
        here = [slug for slug in result.policies if games.has_games(result, setting, slug)]
        regret = {slug: games.final_regret(result, setting, slug) for slug in here}
        least = min(values.mean() for values in regret.values())
        rows = []
        for slug, values in regret.items():
            where = result.settings.index(setting), result.policies.index(slug)
            rows.append(
                FinalRow(
                    policy=format_label(slug),
                    mean=float(values.mean()),
                    interval=bootstrap_interval(values) if values.size > 1 else None,
                    median=float(np.median(values)),
                    regret_share=float(shares[where][played[where]].mean()),
                    failed=games.failed_share(result, setting, slug),
                    best=bool(values.mean() == least),
                )
            )
        tables[setting] = sorted(rows, key=lambda row: row.mean)
    return tables


class MatrixCell(NamedTuple):
    """The regret share of a policy in a setting; None if it did not play there."""

    regret_share: float | None
    best: bool


def make_matrix(
    result: Result, tables: Mapping[str, Sequence[FinalRow]]
) -> list[tuple[str, list[MatrixCell]]]:
    """Return a row for each policy, the one that lost least first, with a cell for each setting."""
    columns = [{row.policy: row.regret_share for row in rows} for rows in tables.values()]
    found = []
    for policy in map(format_label, result.policies):
        shares = [column.get(policy) for column in columns]
        known = [share for share in shares if share is not None]
        if known:
            best = [s == min(column.values()) for s, column in zip(shares, columns, strict=True)]
            cells = [MatrixCell(*cell) for cell in zip(shares, best, strict=True)]
            found.append((sum(known) / len(known), policy, cells))
    return [(policy, cells) for _, policy, cells in sorted(found, key=lambda row: row[:2])]


class SpeedRow(NamedTuple):
    """How long the plays of a policy took."""

    policy: str
    seconds: float  # per million plays
    fastest: str
    slowest: str
    plays: str


def make_speed_rows(timings: Sequence[Mapping[str, Any]]) -> list[SpeedRow]:
    """Return seconds per million plays of each policy, fastest first."""
    rows = []
    for slug, speed in seconds_per_million(timings).items():
        pace = sorted((seconds, setting) for setting, seconds in speed.by_setting.items())
        fast, slow = (f"{format_value(s)} ({name})" for s, name in (pace[0], pace[-1]))
        plays = format_amount(speed.plays)
        rows.append(SpeedRow(format_label(slug), speed.seconds, fast, slow, plays))
    return sorted(rows, key=lambda row: row.seconds)


# each verdict: its word for many, its word for one, and the class of its badge
_VERDICTS = {
    "holds": ("hold", "holds", "yes"),
    "depends": ("depend", "depends", "part"),
    "does not hold": ("do not hold", "does not hold", "no"),
    "not tested": ("not tested", "not tested", "open"),
}


class VerdictCount(NamedTuple):
    """How many claims have a verdict."""

    times: int
    word: str
    badge: str


def count_verdicts(claims: Sequence[Mapping[str, Any]]) -> list[VerdictCount]:
    """Count the claims by verdict; verdicts that no claim has are left out."""
    found = [str(claim["verdict"]) for claim in claims]
    times = {verdict: found.count(verdict) for verdict in _VERDICTS}
    return [
        VerdictCount(times[verdict], one if times[verdict] == 1 else many, badge)
        for verdict, (many, one, badge) in _VERDICTS.items()
        if times[verdict]
    ]


def group_claims(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the claims by section, in their order, with what the page shows of each."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for number, claim in enumerate(claims, start=1):
        texts = {key: str(claim.get(key) or "") for key in ("id", "text", "verdict", "why", "test")}
        shown = texts | {
            "anchor": f"claim-{number}",
            "badge": _VERDICTS.get(texts["verdict"], ("", "", "open"))[2],
            "table": make_number_table(claim.get("numbers")),
        }
        groups.setdefault(str(claim["section"]), []).append(shown)
    return groups


class NumberTable(NamedTuple):
    """The numbers of a claim as a table."""

    heads: list[str]
    rows: list[list[str]]


def make_number_table(numbers: Any) -> NumberTable | None:
    """Return the numbers of a claim as a table: a row of a list, or a pair of a mapping, each.

    >>> make_number_table([{"policy": "omega-ucb:rho=0.25", "mean": 279.21}]).rows
    [['ω-UCB, ρ = 1/4', '279']]
    >>> make_number_table({"p_value": 0.0312}).rows
    [['p value', '0.031']]
    """
    if not numbers:
        return None
    if isinstance(numbers, Mapping):
        rows = [[_head(key), format_cell(value)] for key, value in numbers.items()]
        return NumberTable(["what", "value"], rows)
    keys = list(dict.fromkeys(key for row in numbers for key in row))
    cells = [[format_cell(row[key]) if key in row else "" for key in keys] for row in numbers]
    return NumberTable([_head(key) for key in keys], cells)


def _head(key: Any) -> str:
    return str(key).replace("_", " ")
