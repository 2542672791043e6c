"""Claims for the page: grouped by section, counted by verdict, their numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bursar.report.spelling import cell

__all__ = ["VERDICTS", "Count", "Grid", "counts", "grid", "sections"]

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
