"""Claims of the form "about the same" or "no worse": intervals against a margin of a tenth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bursar.analysis.pairs import Comparison
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence, untested
from bursar.claims.judge import AGAINST, FOR, OPEN, verdict_of
from bursar.claims.names import spoken
from bursar.claims.order import Pair, missing_words, numbers_of, split

__all__ = ["MARGIN", "no_worse", "similar"]

MARGIN = 0.1  # of the other's mean: what counts as about the same
_FEWEST = 6

_SIMILAR = (
    "95% bootstrap interval of the paired mean difference against a margin of 10% of the other's"
    " mean: inside it counts for the claim, wholly outside against it."
)
_NO_WORSE = (
    "95% bootstrap interval of the paired mean difference: for the claim if its upper end is below"
    " 10% of the other's mean, against it if its lower end is above."
)


def similar(case: Case, sentence: Sentence, pairs: Sequence[Pair]) -> Claim:
    """Judge whether both of each pair lose about the same."""
    return _judge(case, sentence, pairs, _SIMILAR, _alike, "Within 10%")


def no_worse(case: Case, sentence: Sentence, pairs: Sequence[Pair]) -> Claim:
    """Judge whether the first of each pair loses no more than a tenth above the second."""
    return _judge(case, sentence, pairs, _NO_WORSE, _not_above, "At most 10% above")


def _alike(c: Comparison, margin: float) -> str:
    if -margin <= c.low and c.high <= margin:
        return FOR
    return AGAINST if c.low > margin or c.high < -margin else OPEN


def _not_above(c: Comparison, margin: float) -> str:
    if c.high <= margin:
        return FOR
    return AGAINST if c.low > margin else OPEN


def _judge(
    case: Case,
    sentence: Sentence,
    pairs: Sequence[Pair],
    test: str,
    rule: Callable[[Comparison, float], str],
    word: str,
) -> Claim:
    here, absent = split(case, pairs)
    if not here:
        return untested(sentence, test, f"Nothing to judge by.{missing_words(absent)}")
    found = [case.compare(*pair) for pair in here]
    findings = [rule(c, MARGIN * c.mean_other) if c.repetitions >= _FEWEST else OPEN for c in found]
    numbers = [
        numbers_of(case, c, c.p, c.p_typical, finding)
        for c, finding in zip(found, findings, strict=True)
    ]
    good, bad = findings.count(FOR), findings.count(AGAINST)
    widest = max(found, key=lambda c: abs(c.difference) / max(c.mean_other, 1e-9))
    why = (
        f"{word} in {good} of {len(found)} comparisons, clearly beyond in {bad}, unsettled in"
        f" {len(found) - good - bad}. Furthest apart: {spoken(widest.one)} {widest.mean_one:,.0f}"
        f" (95% of the difference: {widest.low:+,.0f} to {widest.high:+,.0f}) against"
        f" {spoken(widest.other)} {widest.mean_other:,.0f} on {widest.setting}."
    )
    return Claim(*sentence, numbers, test, verdict_of(findings), why + missing_words(absent))
