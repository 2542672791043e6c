"""What the paper claims in words, and what the numbers say: holds, does not hold, depends."""

from __future__ import annotations

from os import PathLike

from bursar.paper.claims import ads, introduction, synthetic
from bursar.paper.claims.claim import Claim, ClaimCase, as_json
from bursar.simulation.result import Result

__all__ = ["Claim", "as_json", "claims"]

_ALL = (
    *introduction.OVERALL_CLAIMS,
    *synthetic.CLAIMS,
    *synthetic.CONTINUOUS_CLAIMS,
    *ads.CLAIMS,
    *ads.SHAPE_CLAIMS,
    *synthetic.SENSITIVITY_CLAIMS,
    *ads.FILE_CLAIMS,
    *introduction.CLAIMS,
    *introduction.RELATED_CLAIMS,
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
    case = ClaimCase(result, data)
    return [judge(case) for judge in _ALL]
