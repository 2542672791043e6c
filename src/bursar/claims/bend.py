"""Claims on the shape of regret curves: straight over the logarithm of the budget, or convex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from bursar.analysis.growth import Growth
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence, untested
from bursar.claims.judge import AGAINST, FOR, OPEN, verdict_of
from bursar.claims.names import spoken
from bursar.claims.order import missing_words

__all__ = ["convex", "logarithmic", "straight"]

# the last tenfold of the budget costs at most 1.67 times what the tenfold before it did
_NEARLY = 0.25
_TEST = (
    "Curvature of mean regret over log budget, (late - early) / (late + early) of the losses in the"
    " last two decades of the budget; 95% bootstrap interval over repetitions. {rule}"
)
_LOG = "For: the interval ends below 0.25 (a line is 0, y = x is 0.82). Against: it begins above."
_STRAIGHT = "For: the interval lies within ±0.25 (a line is 0). Against: wholly outside."
_CONVEX = "For: the interval lies above 0. Against: it ends below 0.25."


def logarithmic(
    case: Case, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]
) -> Claim:
    """Judge whether regret grows no faster than the logarithm of the budget."""
    return _judge(case, sentence, settings, slugs, _LOG, _grows_slowly)


def straight(
    case: Case, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]
) -> Claim:
    """Judge whether the curve is a straight line over the logarithm of the budget."""
    return _judge(case, sentence, settings, slugs, _STRAIGHT, _is_straight)


def convex(case: Case, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]) -> Claim:
    """Judge whether the curve bends upwards."""
    return _judge(case, sentence, settings, slugs, _CONVEX, _is_convex)


def _grows_slowly(g: Growth) -> str:
    if g.high <= _NEARLY:
        return FOR
    return AGAINST if g.low > _NEARLY else OPEN


def _is_straight(g: Growth) -> str:
    if g.low >= -_NEARLY and g.high <= _NEARLY:
        return FOR
    return AGAINST if g.low > _NEARLY or g.high < -_NEARLY else OPEN


def _is_convex(g: Growth) -> str:
    if g.low > 0.0:
        return FOR
    return AGAINST if g.high <= _NEARLY else OPEN


def _judge(
    case: Case,
    sentence: Sentence,
    settings: Sequence[str],
    slugs: Sequence[str],
    words: str,
    rule: Callable[[Growth], str],
) -> Claim:
    test = _TEST.format(rule=words)
    if not case.has_decades:
        return untested(sentence, test, "Too few shares of the budget were noted to see a shape.")
    wanted = list(product(settings, slugs))
    absent = [case.lacks(s, slug) for s, slug in wanted if not case.has(s, slug)]
    absent = list(dict.fromkeys(absent))
    found = [case.growth(s, slug) for s, slug in wanted if case.has(s, slug)]
    if not found:
        return untested(sentence, test, f"Nothing to judge by.{missing_words(absent)}")
    findings = [rule(g) for g in found]
    numbers = [_numbers(case, g, finding) for g, finding in zip(found, findings, strict=True)]
    why = _counted(found, findings) + missing_words(absent)
    return Claim(*sentence, numbers, test, verdict_of(findings), why)


def _counted(found: Sequence[Growth], findings: Sequence[str]) -> str:
    good, bad = findings.count(FOR), findings.count(AGAINST)
    pick = AGAINST if bad else (OPEN if good < len(found) else FOR)
    shown = max(
        (g for g, f in zip(found, findings, strict=True) if f == pick),
        key=lambda g: abs(g.curvature),
    )
    return (
        f"So in {good} of {len(found)} curves, not so in {bad}, unsettled in"
        f" {len(found) - good - bad}. {spoken(shown.policy)} on {shown.setting} lost"
        f" {shown.early:,.0f} in the tenfold of the budget before the last and {shown.late:,.0f} in"
        f" the last (curvature {shown.low:.2f} to {shown.high:.2f}; median game"
        f" {shown.typical_curvature:.2f})."
    )


def _numbers(case: Case, g: Growth, finding: str) -> dict[str, Any]:
    return {
        "setting": g.setting,
        "policy": g.policy,
        "repetitions": g.repetitions,
        "lost_before": g.early,
        "lost_in_last_decade": g.late,
        "curvature": g.curvature,
        "curvature_low": g.low,
        "curvature_high": g.high,
        "curvature_of_median": g.typical_curvature,
        "failed": case.failed(g.setting, g.policy),
        "finding": finding,
    }
