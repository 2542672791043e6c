"""Claims of the form "this policy loses less than those": paired comparisons, Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from bursar.paper.analysis.compare import LEVEL, Comparison, holm
from bursar.paper.analysis.games import curves
from bursar.paper.analysis.growth import Growth
from bursar.paper.claims.claim import (
    AGAINST,
    FOR,
    HOLDS,
    OPEN,
    Claim,
    ClaimCase,
    Sentence,
    list_words,
    spoken_name,
    untested,
    verdict_of,
)
from bursar.validation import Floats

__all__ = [
    "MARGIN",
    "Contrast",
    "Pair",
    "convex",
    "every",
    "larger",
    "logarithmic",
    "lower",
    "missing_words",
    "no_worse",
    "numbers_of",
    "similar",
    "split",
    "straight",
]

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
    case: ClaimCase,
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


def split(case: ClaimCase, pairs: Sequence[Pair]) -> tuple[list[Pair], list[str]]:
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
    return f" Not in this result: {list_words(absent)}." if absent else ""


def numbers_of(
    case: ClaimCase, c: Comparison, p: float, p_typical: float, finding: str
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
        f"{spoken_name(c.one)} {c.mean_one:,.0f} against {spoken_name(c.other)} {c.mean_other:,.0f}"
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


# ==== claims.likeness
# Claims of the form "about the same" or "no worse": intervals against a margin of a tenth.

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


def similar(case: ClaimCase, sentence: Sentence, pairs: Sequence[Pair]) -> Claim:
    """Judge whether both of each pair lose about the same."""
    return _judge(case, sentence, pairs, _SIMILAR, _alike, "Within 10%")


def no_worse(case: ClaimCase, sentence: Sentence, pairs: Sequence[Pair]) -> Claim:
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
    case: ClaimCase,
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
        f" {len(found) - good - bad}. Furthest apart: {spoken_name(widest.one)} {widest.mean_one:,.0f}"
        f" (95% of the difference: {widest.low:+,.0f} to {widest.high:+,.0f}) against"
        f" {spoken_name(widest.other)} {widest.mean_other:,.0f} on {widest.setting}."
    )
    return Claim(*sentence, numbers, test, verdict_of(findings), why + missing_words(absent))


# ==== claims.contrast
# Claims of the form "more so here than there": ratios of regret on two groups of settings.

_CONTRAST_TEST = (
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


def larger(case: ClaimCase, sentence: Sentence, contrasts: Sequence[Contrast]) -> Claim:
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
    test = _CONTRAST_TEST.format(count=len(played))
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
        f" {spoken_name(row['policy'])} loses {row['ratio_here']:.2f} times what"
        f" {spoken_name(row['reference'])} loses on {row['here']}, {row['ratio_there']:.2f} times on"
        f" {row['there']}."
    )
    return Claim(
        *sentence,
        numbers,
        test,
        verdict_of(findings),
        why + missing_words(absent),
    )


def _ratios(case: ClaimCase, contrast: Contrast, settings: tuple[str, ...]) -> Floats:
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


def _lacking(case: ClaimCase, contrast: Contrast) -> list[str]:
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
        "here": list_words(contrast.here),
        "ratio_here": float(np.exp(np.median(here))),
        "there": list_words(contrast.there),
        "ratio_there": float(np.exp(np.median(there))),
        "p": p,
        "finding": finding,
    }


# ==== claims.bend
# Claims on the shape of regret curves: straight over the logarithm of the budget, or convex.

# the last tenfold of the budget costs at most 1.67 times what the tenfold before it did
_NEARLY = 0.25
_BEND_TEST = (
    "Curvature of mean regret over log budget, (late - early) / (late + early) of the losses in the"
    " last two decades of the budget; 95% bootstrap interval over repetitions. {rule}"
)
_LOG = "For: the interval ends below 0.25 (a line is 0, y = x is 0.82). Against: it begins above."
_STRAIGHT = "For: the interval lies within ±0.25 (a line is 0). Against: wholly outside."
_CONVEX = "For: the interval lies above 0. Against: it ends below 0.25."


def logarithmic(
    case: ClaimCase, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]
) -> Claim:
    """Judge whether regret grows no faster than the logarithm of the budget."""
    return _bend_judge(case, sentence, settings, slugs, _LOG, _grows_slowly)


def straight(
    case: ClaimCase, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]
) -> Claim:
    """Judge whether the curve is a straight line over the logarithm of the budget."""
    return _bend_judge(case, sentence, settings, slugs, _STRAIGHT, _is_straight)


def convex(
    case: ClaimCase, sentence: Sentence, settings: Sequence[str], slugs: Sequence[str]
) -> Claim:
    """Judge whether the curve bends upwards."""
    return _bend_judge(case, sentence, settings, slugs, _CONVEX, _is_convex)


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


def _bend_judge(
    case: ClaimCase,
    sentence: Sentence,
    settings: Sequence[str],
    slugs: Sequence[str],
    words: str,
    rule: Callable[[Growth], str],
) -> Claim:
    test = _BEND_TEST.format(rule=words)
    if not case.has_decades:
        return untested(sentence, test, "Too few shares of the budget were noted to see a shape.")
    wanted = list(product(settings, slugs))
    absent = [case.lacks(s, slug) for s, slug in wanted if not case.has(s, slug)]
    absent = list(dict.fromkeys(absent))
    found = [case.growth(s, slug) for s, slug in wanted if case.has(s, slug)]
    if not found:
        return untested(sentence, test, f"Nothing to judge by.{missing_words(absent)}")
    findings = [rule(g) for g in found]
    numbers = [_bend_numbers(case, g, finding) for g, finding in zip(found, findings, strict=True)]
    why = _bend_counted(found, findings) + missing_words(absent)
    return Claim(*sentence, numbers, test, verdict_of(findings), why)


def _bend_counted(found: Sequence[Growth], findings: Sequence[str]) -> str:
    good, bad = findings.count(FOR), findings.count(AGAINST)
    pick = AGAINST if bad else (OPEN if good < len(found) else FOR)
    shown = max(
        (g for g, f in zip(found, findings, strict=True) if f == pick),
        key=lambda g: abs(g.curvature),
    )
    return (
        f"So in {good} of {len(found)} curves, not so in {bad}, unsettled in"
        f" {len(found) - good - bad}. {spoken_name(shown.policy)} on {shown.setting} lost"
        f" {shown.early:,.0f} in the tenfold of the budget before the last and {shown.late:,.0f} in"
        f" the last (curvature {shown.low:.2f} to {shown.high:.2f}; median game"
        f" {shown.typical_curvature:.2f})."
    )


def _bend_numbers(case: ClaimCase, g: Growth, finding: str) -> dict[str, Any]:
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
