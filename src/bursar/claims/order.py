"""Claims of the form "this policy loses less than those": paired comparisons, Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

from bursar.analysis.pairs import LEVEL, Comparison, holm
from bursar.claims.case import Case
from bursar.claims.claim import HOLDS, Claim, Sentence, untested
from bursar.claims.judge import AGAINST, FOR, OPEN, listed, verdict_of
from bursar.claims.names import spoken

__all__ = ["Pair", "every", "lower", "missing_words", "numbers_of", "split"]

_TEST = (
    "Mean regret, paired by repetition: sign-flip test of the mean difference, two-sided, 5%,"
    " Holm's correction over the {count} comparisons of this claim. Beside it Wilcoxon's signed"
    " rank test for the typical game, corrected likewise."
)


class Pair(NamedTuple):
    """``one`` is claimed to lose less than ``other``."""

    setting: str
    one: str
    other: str
    share: float = 1.0
    since: float = 0.0


def every(
    settings: Iterable[str],
    ones: Iterable[str],
    others: Iterable[str],
    shares: Iterable[float] = (1.0,),
    since: float = 0.0,
) -> list[Pair]:
    """Return all combinations, without a policy against itself."""
    found = (Pair(*parts, since) for parts in product(settings, ones, others, shares))
    return [pair for pair in found if pair.one != pair.other]


def lower(
    case: Case,
    sentence: Sentence,
    pairs: Sequence[Pair],
    rule: Callable[[Sequence[str]], str] = verdict_of,
) -> Claim:
    """Judge whether the first of each pair has the lower mean regret."""
    here, absent = split(case, pairs)
    test = _TEST.format(count=len(here))
    if not here:
        return untested(sentence, test, f"Nothing to judge by.{missing_words(absent)}")
    found = [case.compare(*pair) for pair in here]
    p, typical = holm([c.p for c in found]), holm([c.p_typical for c in found])
    mean = [_finding(q, c.difference) for q, c in zip(p, found, strict=True)]
    sides = [c.median_difference or 0.5 - c.wins for c in found]
    game = [_finding(q, side) for q, side in zip(typical, sides, strict=True)]
    numbers = [
        numbers_of(case, c, float(q), float(t), finding)
        for c, q, t, finding in zip(found, p, typical, mean, strict=True)
    ]
    why = _counted(found, mean, rule(mean) == HOLDS) + _typical(mean, game) + missing_words(absent)
    return Claim(*sentence, numbers, test, rule(mean), why)


def split(case: Case, pairs: Sequence[Pair]) -> tuple[list[Pair], list[str]]:
    """Return the pairs that were played, and in words what was not."""
    here = [pair for pair in pairs if case.has(pair.setting, pair.one, pair.other)]
    absent = [
        case.lacks(pair.setting, slug)
        for pair in pairs
        for slug in (pair.one, pair.other)
        if not case.has(pair.setting, slug)
    ]
    return here, list(dict.fromkeys(absent))


def missing_words(absent: Sequence[str]) -> str:
    """Return a sentence on what was not played; nothing if all was."""
    return f" Not in this result: {listed(absent)}." if absent else ""


def numbers_of(
    case: Case, c: Comparison, p: float, p_typical: float, finding: str
) -> dict[str, Any]:
    """Return a comparison as a row of numbers, p-values corrected."""
    return {
        "setting": c.setting,
        "budget_share": c.share,
        **({"since_share": c.since} if c.since else {}),
        "policy": c.one,
        "other": c.other,
        "repetitions": c.repetitions,
        "mean": c.mean_one,
        "mean_other": c.mean_other,
        "difference": c.difference,
        "difference_low": c.low,
        "difference_high": c.high,
        "p": p,
        "median_difference": c.median_difference,
        "p_typical": p_typical,
        "wins": c.wins,
        "failed": case.failed(c.setting, c.one),
        "failed_other": case.failed(c.setting, c.other),
        "finding": finding,
    }


def _finding(p: float, difference: float) -> str:
    if p > LEVEL or difference == 0.0:
        return OPEN
    return FOR if difference < 0.0 else AGAINST


def _counted(found: Sequence[Comparison], findings: Sequence[str], holds: bool) -> str:
    """Say how many comparisons go which way, and show the one that decides."""
    total, good, bad = len(found), findings.count(FOR), findings.count(AGAINST)
    ratios = [c.mean_one / max(c.mean_other, 1e-9) for c in found]
    if good == total:
        counted = "The one comparison is" if total == 1 else f"All {total} comparisons are"
        closest = found[ratios.index(max(ratios))]
        return f"{counted} significantly lower; the closest: {_shown(closest)}."
    text = (
        f"Mean regret is significantly lower in {good} of {total} comparisons, higher in"
        f" {bad or 'none'}, unsettled in {total - good - bad}."
    )
    pick, word = (FOR, "Clearest") if holds else (AGAINST, "Worst") if bad else (OPEN, "Furthest")
    chosen = [i for i, f in enumerate(findings) if f == pick]
    shown = (min if holds else max)(chosen, key=ratios.__getitem__)
    fewest = min(c.repetitions for c in found)
    if total * 2.0 ** (1 - fewest) > LEVEL:
        text += f" With {fewest} repetitions none of so many comparisons could be significant."
    return f"{text} {word}: {_shown(found[shown])}."


def _shown(c: Comparison) -> str:
    when = f" at {c.share:g} of the budget" if c.share < 1.0 else ""
    when = f" from {c.since:g} of the budget on" if c.since else when
    return (
        f"{spoken(c.one)} {c.mean_one:,.0f} against {spoken(c.other)} {c.mean_other:,.0f}"
        f" on {c.setting}{when}"
    )


def _typical(mean: Sequence[str], game: Sequence[str]) -> str:
    """Say where the typical game tells another story than the mean."""
    reverse = sum({m, g} == {FOR, AGAINST} for m, g in zip(mean, game, strict=True))
    if verdict_of(mean) == verdict_of(game) and not reverse:
        return ""
    text = (
        f" In the typical game (median) it is significantly lower in {game.count(FOR)} and higher"
        f" in {game.count(AGAINST)} of {len(game)}"
    )
    return text + (f"; mean and typical game have opposite signs in {reverse}." if reverse else ".")
