"""A claim of the paper, the numbers that bear on it, and what they say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

__all__ = ["DEPENDS", "FAILS", "HOLDS", "UNTESTED", "Claim", "Sentence", "as_json", "untested"]

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"


class Sentence(NamedTuple):
    """What the paper says and where, in plain words."""

    id: str
    section: str
    text: str


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict.

    Attributes
    ----------
    id : str
        A slug that stays the same from version to version.
    section : str
        The part of the paper.
    text : str
        What the paper says, paraphrased.
    numbers : list of dict, or dict
        What bears on it; plain values that JSON can hold.
    test : str
        How it was judged.
    verdict : {"holds", "does not hold", "depends", "not tested"}
    why : str
        The verdict in one or two sentences, with numbers.
    """

    id: str
    section: str
    text: str
    numbers: Any
    test: str
    verdict: str
    why: str


def as_json(claim: Claim) -> dict[str, Any]:
    """Return the claim as plain values."""
    return asdict(claim)


def untested(sentence: Sentence, test: str, why: str) -> Claim:
    """Return a claim on which there are no data."""
    return Claim(*sentence, [], test, UNTESTED, why)
