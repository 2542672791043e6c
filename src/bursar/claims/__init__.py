"""What the paper claims in words, and what the numbers say: holds, does not hold, depends."""

from __future__ import annotations

from os import PathLike

from bursar.claims import (
    ads,
    bernoulli,
    bounds,
    continuous,
    file,
    overall,
    related,
    sensitivity,
)
from bursar.claims.case import Case
from bursar.claims.claim import Claim, as_json
from bursar.result import Result

__all__ = ["Claim", "as_json", "claims"]

_ALL = (
    *overall.CLAIMS,
    *bernoulli.CLAIMS,
    *continuous.CLAIMS,
    *ads.CLAIMS,
    *file.SHAPE_CLAIMS,
    *sensitivity.CLAIMS,
    *file.CLAIMS,
    *bounds.CLAIMS,
    *related.CLAIMS,
)


def claims(result: Result, data: str | PathLike[str] | None = None) -> list[Claim]:
    """Judge every claim of the paper by a result.

    Parameters
    ----------
    result : Result
        Games to judge by. Whatever settings and policies it lacks are named in ``why``; a claim on
        which it has nothing is "not tested".
    data : path, optional
        The file of ads, for claims on the ads themselves.
    """
    case = Case(result, data)
    return [judge(case) for judge in _ALL]
