"""Claims of the form "more so here than there": ratios of regret on two groups of settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from bursar.analysis.games import curves
from bursar.analysis.pairs import LEVEL, holm
from bursar.checks import Floats
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence, untested
from bursar.claims.judge import AGAINST, FOR, OPEN, listed, verdict_of
from bursar.claims.names import spoken
from bursar.claims.order import missing_words

__all__ = ["Contrast", "larger"]

_FEWEST = 6
_TEST = (
    "Regret of a policy over that of a reference, (1 + one) / (1 + other), a number a repetition"
    " (geometric mean over settings); Mann-Whitney test between the two groups of settings,"
    " two-sided, 5%, Holm's correction over the {count} contrasts."
)


class Contrast(NamedTuple):
    """The ratio of ``one`` to ``reference`` is claimed to be larger ``here`` than ``there``."""

    one: str
    reference: str
    here: tuple[str, ...]
    there: tuple[str, ...]


def larger(case: Case, sentence: Sentence, contrasts: Sequence[Contrast]) -> Claim:
    """Judge whether each ratio is larger on the first group of settings than on the second."""
    played: list[tuple[Contrast, Floats, Floats]] = []
    absent: list[str] = []
    for one in contrasts:
        here, there = _ratios(case, one, one.here), _ratios(case, one, one.there)
        if here.size and there.size:
            played.append((one, here, there))
        else:
            absent.extend(_lacking(case, one))
    absent = list(dict.fromkeys(absent))
    test = _TEST.format(count=len(played))
    if not played:
        return untested(sentence, test, f"Nothing to judge by.{missing_words(absent)}")
    p = holm([_p(here, there) for _, here, there in played])
    numbers = [_numbers(*parts, float(q)) for parts, q in zip(played, p, strict=True)]
    findings = [str(row["finding"]) for row in numbers]
    why = (
        f"So in {findings.count(FOR)} of {len(findings)}, the reverse in {findings.count(AGAINST)}."
    )
    pick = AGAINST if AGAINST in findings else FOR if FOR in findings else OPEN
    row = numbers[findings.index(pick)]
    why += (
        f" {spoken(row['policy'])} loses {row['ratio_here']:.2f} times what"
        f" {spoken(row['reference'])} loses on {row['here']}, {row['ratio_there']:.2f} times on"
        f" {row['there']}."
    )
    return Claim(
        *sentence,
        numbers,
        test,
        verdict_of(findings),
        why + missing_words(absent),
    )


def _ratios(case: Case, contrast: Contrast, settings: tuple[str, ...]) -> Floats:
    """Return log ratios, one a repetition, averaged over the settings that were played."""
    logs: dict[int, list[float]] = {}
    for setting in settings:
        if not case.has(setting, contrast.one, contrast.reference):
            continue
        mine, ours = curves(case.result, setting, contrast.one)
        theirs, those = curves(case.result, setting, contrast.reference)
        both, left, right = np.intersect1d(mine, theirs, return_indices=True)
        ratio = np.log1p(ours[left, -1]) - np.log1p(those[right, -1])
        for repetition, value in zip(both.tolist(), ratio.tolist(), strict=True):
            logs.setdefault(repetition, []).append(value)
    return np.array([np.mean(values) for values in logs.values()])


def _lacking(case: Case, contrast: Contrast) -> list[str]:
    return [
        case.lacks(setting, slug)
        for setting in contrast.here + contrast.there
        for slug in (contrast.one, contrast.reference)
        if not case.has(setting, slug)
    ]


def _p(here: Floats, there: Floats) -> float:
    if min(here.size, there.size) < _FEWEST or np.ptp(np.concatenate([here, there])) == 0.0:
        return 1.0
    return float(mannwhitneyu(here, there).pvalue)


def _numbers(contrast: Contrast, here: Floats, there: Floats, p: float) -> dict[str, Any]:
    difference = float(np.median(here) - np.median(there))
    finding = OPEN if p > LEVEL or difference == 0.0 else FOR if difference > 0.0 else AGAINST
    return {
        "policy": contrast.one,
        "reference": contrast.reference,
        "here": listed(contrast.here),
        "ratio_here": float(np.exp(np.median(here))),
        "there": listed(contrast.there),
        "ratio_there": float(np.exp(np.median(there))),
        "p": p,
        "finding": finding,
    }
