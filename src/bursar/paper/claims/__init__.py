"""The paper's claims, listed in ``claims.toml``, judged by numbers.

A claim holds, does not hold, depends, or is not tested.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from os import PathLike
from typing import Any

from bursar.paper.analysis.games import played_settings
from bursar.paper.claims import criteria, facts
from bursar.paper.claims.criteria import Contrast, Evidence, Pair, every
from bursar.simulation.result import Result

__all__ = ["Claim", "judge_claims"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim with its verdict."""

    id: str  # a slug that stays the same from version to version
    section: str  # the part of the paper
    text: str  # what the paper says, paraphrased
    numbers: Any  # the evidence: a list of rows or a dict that JSON can hold
    test: str  # how it was judged
    verdict: str  # "holds", "does not hold", "depends" or "not tested"
    why: str  # the verdict in one or two sentences, with numbers


def judge_claims(result: Result, data: str | PathLike[str] | None = None) -> list[Claim]:
    """Judge every claim of the paper by a result, those on the ads themselves by their file.

    Settings and policies that the result lacks are named in ``why``; a claim for which it has no
    games is "not tested".
    """
    evidence = Evidence(result, data)
    return [_judge(row, evidence) for row in _load()["claim"]]


@cache
def _load() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"))


def _judge(row: Mapping[str, Any], evidence: Evidence) -> Claim:
    if "fact" in row:
        found = getattr(facts, row["fact"])(evidence)
    else:
        found = getattr(criteria, row["criterion"])(evidence, list(_compared(row, evidence)))
    test = _load()["tests"][found.test or row.get("test") or row["criterion"]]
    return Claim(
        id=row["id"],
        section=row["section"],
        text=_unwrap(row["text"]),
        numbers=found.numbers,
        test=_unwrap(test).format(count=len(found.numbers)),
        verdict=found.verdict,
        why=found.why,
    )


def _unwrap(text: str) -> str:
    return " ".join(text.split())


def _compared(row: Mapping[str, Any], evidence: Evidence) -> Iterator[Any]:
    """Yield what a claim compares; a row has one of these keys."""
    yield from _expand(row.get("policies", []))
    for entry in row.get("pairs", []):
        yield from _list_pairs(evidence, **{key: _expand(value) for key, value in entry.items()})
    for entry in row.get("curves", []):
        yield from product(_expand(entry["settings"]), _expand(entry["policies"]))
    for entry in row.get("order", []):
        yield from product(_expand(entry["ones"]), _expand(entry["others"]))
    for entry in row.get("contrasts", []):
        here, there = tuple(_expand(entry["here"])), tuple(_expand(entry["there"]))
        yield Contrast(entry["one"], entry["reference"], here, there)


def _expand(value: Any) -> list[Any]:
    """Return a value or a list as a list in which members stand in place of their groups."""
    groups = _load()["groups"]
    values = value if isinstance(value, list) else [value]
    return [member for one in values for member in groups.get(one, [one])]


def _list_pairs(
    evidence: Evidence,
    best_one_of: list[str] | None = None,
    best_other_of: list[str] | None = None,
    **lists: Any,
) -> list[Pair]:
    if best_one_of:
        best = {s: evidence.best(s, best_one_of) for s in played_settings(evidence.result)}
        return [pair for s, one in best.items() if one for pair in every([s], [one], **lists)]
    if best_other_of:
        (one,) = lists["ones"]
        rivals = [slug for slug in best_other_of if slug != one]
        return [
            Pair(setting, one, evidence.best(setting, rivals) or best_other_of[0])
            for setting in lists["settings"]
        ]
    return every(**lists)
