"""The criteria by which claims are judged, and the evidence and verdicts that they share.

- *Order*: a policy loses less than another (`lower`). Sign-flip tests, corrected by Holm's method.
- *Likeness*: two policies lose about the same (`similar`), or one loses no more (`no_worse`).
  Intervals of the difference are compared with a margin of 10%.
- *Contrast*: a ratio of regrets is larger on some settings than on others (`larger`).
- *Bend*: over the logarithm of the budget a curve is straight, convex, or at most straight.

Two claims need more: `published_order` reads the published matrix where no games decide, and
`dominant` compares one policy with many over all settings.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import cache, cached_property, partial
from itertools import product
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.formatting import join_words
from bursar.paper.analysis import games
from bursar.paper.analysis.compare import (
    FEWEST,
    LEVEL,
    Comparison,
    clear_sign,
    compare,
    holm,
    load_published,
    measure_dominance,
)
from bursar.paper.analysis.coverage import measure_coverage
from bursar.paper.analysis.growth import Growth, decades, measure_growth
from bursar.paper.labels import format_short_label
from bursar.settings import facebook
from bursar.simulation.result import Result

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"
FOR, AGAINST, OPEN = "for", "against", "open"
FINDINGS = {1: FOR, -1: AGAINST, 0: OPEN, None: OPEN}  # None: not known


class Judgement(NamedTuple):
    """What the evidence says about a claim."""

    numbers: Any
    verdict: str
    why: str
    test: str = ""  # the name of the test, if it is not that of the criterion


def untested(why: str) -> Judgement:
    """Return the judgement of a claim for which there are no data."""
    return Judgement([], UNTESTED, why)


def all_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that every finding must support.

    The claim holds if all findings support it. If one contradicts it, the claim does not hold, or
    depends if others support it. Without a contradiction the data are inconclusive: it depends.

    >>> all_of(["for", "for"]), all_of(["for", "against"]), all_of(["against", "open"])
    ('holds', 'depends', 'does not hold')
    """
    if not findings:
        return UNTESTED
    if all(finding == FOR for finding in findings):
        return HOLDS
    return FAILS if AGAINST in findings and FOR not in findings else DEPENDS


def any_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that one finding is enough for ("may outperform").

    >>> any_of(["for", "against"]), any_of(["against", "against"]), any_of(["open"])
    ('holds', 'does not hold', 'depends')
    """
    if not findings:
        return UNTESTED
    if FOR in findings:
        return HOLDS
    return FAILS if all(finding == AGAINST for finding in findings) else DEPENDS


def count_findings(findings: Sequence[str], noun: str) -> str:
    """Return how many findings go which way, as a clause.

    >>> count_findings(["for", "open", "for"], "curves")
    'Supported by 2 of 3 curves, contradicted by none, inconclusive for 1'
    >>> count_findings(["for"], "curves"), count_findings(["for"] * 3, "curves")
    ('Supported by 1 of 1 curves', 'Supported by all 3 curves')
    """
    total, good, bad = len(findings), findings.count(FOR), findings.count(AGAINST)
    if good == total:
        return f"Supported by {'1 of 1' if total == 1 else f'all {total}'} {noun}"
    return (
        f"Supported by {good or 'none'} of {total} {noun}, contradicted by {bad or 'none'},"
        f" inconclusive for {total - good - bad or 'none'}"
    )


class Evidence:
    """A result and, if given, the file of ads; each number is computed once."""

    def __init__(self, result: Result, data: str | PathLike[str] | None = None) -> None:
        self.result = result
        self._data = data
        self.has: Callable[..., bool] = cache(partial(games.has_games, result))
        self.compare: Callable[..., Comparison] = cache(partial(compare, result))
        self.failed_share: Callable[..., float] = cache(partial(games.failed_share, result))
        self.growth: Callable[..., Growth] = cache(partial(measure_growth, result))

    def list_missing(self, wanted: Iterable[tuple[str, str]]) -> str:
        """Return a sentence on the settings, policies, or pairs of them, that were not played."""
        names: dict[str, None] = {}
        for setting, policy in wanted:
            if setting not in self.result.settings:
                names[setting] = None
            elif not self.has(setting, policy):
                name = format_short_label(policy)
                names[name if policy not in self.result.policies else f"{name} on {setting}"] = None
        return f" Not in this result: {join_words(list(names), 4)}." if names else ""

    def best(self, setting: str, policies: Iterable[str]) -> str | None:
        """Return the policy with the lowest mean final regret; None if none of them played."""
        played = [slug for slug in policies if self.has(setting, slug)]
        means = {
            slug: float(games.final_regret(self.result, setting, slug).mean()) for slug in played
        }
        return min(means, key=means.__getitem__) if means else None

    @cached_property
    def bounds(self) -> list[dict[str, Any]]:
        """The rows of Figure 1, which are the same for every result."""
        return measure_coverage()

    @cached_property
    def ads(self) -> facebook.Ads | None:
        """The ads, or None if no file was given."""
        return None if self._data is None else facebook.load(self._data)


NOTHING = "There are no games to judge by."


class Pair(NamedTuple):
    """``one`` is claimed to lose less than ``other``, or about the same."""

    setting: str
    one: str
    other: str
    share: float = 1.0
    since: float = 0.0


class Contrast(NamedTuple):
    """The ratio of ``one`` to ``reference`` is claimed to be larger ``here`` than ``there``."""

    one: str
    reference: str
    here: tuple[str, ...]
    there: tuple[str, ...]


Curve = tuple[str, str]  # setting and policy


def every(
    settings: Iterable[str],
    ones: Iterable[str],
    others: Iterable[str],
    shares: Iterable[float] = (1.0,),
    since: Iterable[float] = (0.0,),
) -> list[Pair]:
    """Return all combinations, without a policy against itself."""
    found = map(Pair._make, product(settings, ones, others, shares, since))
    return [pair for pair in found if pair.one != pair.other]


# order


def _judge_order(
    evidence: Evidence, pairs: Sequence[Pair], rule: Callable[[Sequence[str]], str]
) -> Judgement:
    """Judge whether the first of each pair has the lower mean regret."""
    found, missing = _compare(evidence, pairs)
    if not found:
        return untested(NOTHING + missing)
    p, typical = holm([c.p for c in found]), holm([c.p_typical for c in found])
    means = [finding_of(q, -c.difference) for q, c in zip(p, found, strict=True)]
    medians = [finding_of(q, -c.side) for q, c in zip(typical, found, strict=True)]
    numbers = [
        _comparison_row(evidence, c, float(q), float(t), finding)
        for c, q, t, finding in zip(found, p, typical, means, strict=True)
    ]
    verdict = rule(means)
    why = _explain_order(found, means, verdict == HOLDS) + _explain_typical(means, medians)
    return Judgement(numbers, verdict, why + missing)


lower = partial(_judge_order, rule=all_of)
lower_somewhere = partial(_judge_order, rule=any_of)


def _compare(evidence: Evidence, pairs: Sequence[Pair]) -> tuple[list[Comparison], str]:
    """Return the comparisons that were played, and a sentence on the others."""
    wanted = [(pair.setting, slug) for pair in pairs for slug in (pair.one, pair.other)]
    played = [pair for pair in pairs if evidence.has(pair.setting, pair.one, pair.other)]
    return [evidence.compare(*pair) for pair in played], evidence.list_missing(wanted)


def finding_of(p: float, effect: float) -> str:
    """Return what a test says about a claim that the effect is positive."""
    return FINDINGS[clear_sign(p, effect)]


def _comparison_row(
    evidence: Evidence, c: Comparison, p: float, p_typical: float, finding: str
) -> dict[str, Any]:
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
        "failed": evidence.failed_share(c.setting, c.one),
        "failed_other": evidence.failed_share(c.setting, c.other),
        "finding": finding,
    }


def _explain_order(found: Sequence[Comparison], findings: Sequence[str], holds: bool) -> str:
    """Count the comparisons by finding, and show the one that decides."""
    text = count_findings(findings, "comparisons of mean regret")
    ratios = [c.mean_one / max(c.mean_other, 1e-9) for c in found]
    if all(finding == FOR for finding in findings):
        return f"{text}; in the closest, {_describe(found[ratios.index(max(ratios))])}."
    worst = (AGAINST, "worst") if AGAINST in findings else (OPEN, "least favourable")
    kind, word = (FOR, "clearest") if holds else worst
    chosen = [i for i, finding in enumerate(findings) if finding == kind]
    shown = (min if holds else max)(chosen, key=ratios.__getitem__)
    fewest = min(c.repetitions for c in found)
    few = ""
    if len(found) * 2.0 ** (1 - fewest) > LEVEL:
        few = f" With {fewest} repetitions no comparison can be significant after the correction."
    return f"{text}.{few} In the {word}, {_describe(found[shown])}."


def _describe(c: Comparison) -> str:
    when = f" at {c.share:g} of the budget" if c.share < 1.0 else ""
    when = f" from {c.since:g} of the budget on" if c.since else when
    return (
        f"{format_short_label(c.one)} lost {c.mean_one:,.0f} and {format_short_label(c.other)}"
        f" {c.mean_other:,.0f} on {c.setting}{when}"
    )


def _explain_typical(means: Sequence[str], medians: Sequence[str]) -> str:
    """Say where the typical game differs from the mean."""
    opposite = sum({m, g} == {FOR, AGAINST} for m, g in zip(means, medians, strict=True))
    if all_of(means) == all_of(medians) and not opposite:
        return ""
    end = f"; mean and typical game have opposite signs in {opposite}." if opposite else "."
    return (
        f" In the typical (median) game, regret is significantly lower in {medians.count(FOR)} and"
        f" higher in {medians.count(AGAINST)} of {len(medians)}{end}"
    )


# likeness

MARGIN = 0.1  # of the other's mean: what counts as about the same


def _judge_likeness(
    evidence: Evidence, pairs: Sequence[Pair], word: str, two_sided: bool
) -> Judgement:
    """Judge whether the first of each pair loses at most 10% more, or about the same."""
    found, missing = _compare(evidence, pairs)
    if not found:
        return untested(NOTHING + missing)
    findings = [
        OPEN if c.repetitions < FEWEST else _place(c.low, c.high, MARGIN * c.mean_other, two_sided)
        for c in found
    ]
    numbers = [
        _comparison_row(evidence, c, c.p, c.p_typical, finding)
        for c, finding in zip(found, findings, strict=True)
    ]
    good, bad = findings.count(FOR), findings.count(AGAINST)
    widest = max(found, key=lambda c: abs(c.difference) / max(c.mean_other, 1e-9))
    why = (
        f"{word} in {good} of {len(found)} comparisons, clearly beyond in {bad}, inconclusive in"
        f" {len(found) - good - bad}. In the widest, {_describe(widest)} (95% interval of the"
        f" difference: {widest.low:+,.0f} to {widest.high:+,.0f})."
    )
    return Judgement(numbers, all_of(findings), why + missing)


def _place(low: float, high: float, margin: float, two_sided: bool = False) -> str:
    """Return whether an interval lies below a margin (or within ±margin), beyond it, or neither."""
    if high <= margin and (not two_sided or low >= -margin):
        return FOR
    return AGAINST if low > margin or (two_sided and high < -margin) else OPEN


similar = partial(_judge_likeness, word="Within 10%", two_sided=True)
no_worse = partial(_judge_likeness, word="At most 10% above", two_sided=False)


# contrast


def larger(evidence: Evidence, contrasts: Sequence[Contrast]) -> Judgement:
    """Judge whether each ratio is larger on the first group of settings than on the second."""
    ratios = [
        (c, _log_ratios(evidence, c, c.here), _log_ratios(evidence, c, c.there)) for c in contrasts
    ]
    played = [parts for parts in ratios if parts[1].size and parts[2].size]
    missing = evidence.list_missing(
        (setting, slug)
        for c, here, there in ratios
        if not (here.size and there.size)
        for setting in c.here + c.there
        for slug in (c.one, c.reference)
    )
    if not played:
        return untested(NOTHING + missing)
    p = holm([_test_contrast(here, there) for _, here, there in played])
    numbers = [_contrast_row(*parts, float(q)) for parts, q in zip(played, p, strict=True)]
    findings = [str(row["finding"]) for row in numbers]
    kind = AGAINST if AGAINST in findings else FOR if FOR in findings else OPEN
    row = numbers[findings.index(kind)]
    why = (
        f"{count_findings(findings, 'contrasts')}. {format_short_label(row['policy'])} loses"
        f" {row['ratio_here']:.2f} times what {format_short_label(row['reference'])} loses on"
        f" {row['here']}, {row['ratio_there']:.2f} times on {row['there']}."
    )
    return Judgement(numbers, all_of(findings), why + missing)


def _log_ratios(evidence: Evidence, contrast: Contrast, settings: tuple[str, ...]) -> Floats:
    """Return a log ratio per repetition, averaged over the settings that were played."""
    logs: dict[int, list[float]] = {}
    for setting in settings:
        if evidence.has(setting, contrast.one, contrast.reference):
            pair = games.pair_regret(evidence.result, setting, contrast.one, contrast.reference)
            ratios = np.log1p(pair.one) - np.log1p(pair.other)
            for repetition, value in zip(pair.repetitions.tolist(), ratios.tolist(), strict=True):
                logs.setdefault(repetition, []).append(value)
    return np.array([np.mean(values) for values in logs.values()])


def _test_contrast(here: Floats, there: Floats) -> float:
    if min(here.size, there.size) < FEWEST or np.ptp(np.concatenate([here, there])) == 0.0:
        return 1.0
    return float(mannwhitneyu(here, there).pvalue)


def _contrast_row(contrast: Contrast, here: Floats, there: Floats, p: float) -> dict[str, Any]:
    return {
        "policy": contrast.one,
        "reference": contrast.reference,
        "here": join_words(contrast.here, 4),
        "ratio_here": float(np.exp(np.median(here))),
        "there": join_words(contrast.there, 4),
        "ratio_there": float(np.exp(np.median(there))),
        "p": p,
        "finding": finding_of(p, float(np.median(here) - np.median(there))),
    }


# bend

# the last decade of the budget costs at most 1.67 times what the decade before it costs
_NEARLY = 0.25


def _judge_bend(
    evidence: Evidence, curves: Sequence[Curve], rule: Callable[[float, float], str]
) -> Judgement:
    """Judge the interval of each curvature by a rule."""
    try:
        decades(evidence.result)
    except InvalidInput:
        return untested("Regret was recorded at too few shares of the budget to see a shape.")
    found = [evidence.growth(*curve) for curve in curves if evidence.has(*curve)]
    missing = evidence.list_missing(curves)
    if not found:
        return untested(NOTHING + missing)
    findings = [rule(g.curvature_low, g.curvature_high) for g in found]
    numbers = [
        asdict(g) | {"failed": evidence.failed_share(g.setting, g.policy), "finding": finding}
        for g, finding in zip(found, findings, strict=True)
    ]
    kind = AGAINST if AGAINST in findings else OPEN if OPEN in findings else FOR
    chosen = [g for g, finding in zip(found, findings, strict=True) if finding == kind]
    shown = max(chosen, key=lambda g: abs(g.curvature))
    why = (
        f"{count_findings(findings, 'curves')}. {format_short_label(shown.policy)} on"
        f" {shown.setting} lost {shown.lost_before:,.0f} in the second-to-last decade of the budget"
        f" and {shown.lost_in_last_decade:,.0f} in the last (curvature {shown.curvature_low:.2f} to"
        f" {shown.curvature_high:.2f}; median game {shown.curvature_of_median:.2f})."
    )
    return Judgement(numbers, all_of(findings), why + missing)


logarithmic = partial(_judge_bend, rule=partial(_place, margin=_NEARLY))
straight = partial(_judge_bend, rule=partial(_place, margin=_NEARLY, two_sided=True))
convex = partial(
    _judge_bend, rule=lambda low, high: FOR if low > 0.0 else AGAINST if high <= _NEARLY else OPEN
)


# orders over all settings


def published_order(evidence: Evidence, order: Sequence[tuple[str, str]]) -> Judgement:
    """Judge by our own games where both policies have played, else by the published matrix."""
    pairs = [Pair(s, *two) for s in games.played_settings(evidence.result) for two in order]
    measured = lower(evidence, pairs)
    cited = [load_published().entry(*two) for two in order]
    findings = [FINDINGS[entry] for entry in cited]
    known = findings.count(FOR)
    part = "all of it" if known == len(order) else f"{known} of {len(order)}"
    matrix = f"The published matrix supports {part}."
    if measured.verdict != UNTESTED:
        return measured._replace(why=f"{matrix} In our games: {measured.why}", test="lower")
    numbers = [
        {"policy": one, "other": other, "published": entry}
        for (one, other), entry in zip(order, cited, strict=True)
    ]
    slugs = {slug for two in order for slug in two if slug not in evidence.result.policies}
    absent = ", ".join(sorted(map(format_short_label, slugs)))
    why = f"{matrix} There are no games of our own to check it: {absent} did not play."
    return Judgement(numbers, all_of(findings), why)


def dominant(evidence: Evidence, slugs: Sequence[str]) -> Judgement:
    """Judge whether the first policy loses less than all others, over all settings."""
    names = [slug for slug in dict.fromkeys(slugs) if slug in evidence.result.policies]
    if slugs[0] not in names or len(names) < 2:
        return untested("There are not two of these policies in the result.")
    table = measure_dominance(evidence.result, names)
    numbers = [
        {
            "policy": slugs[0],
            "other": other,
            "finding": FINDINGS[entry],
            "settings_won": table.settings_won[0][i],
            "settings_lost": table.settings_won[i][0],
            "settings": table.settings_shared[0][i],
        }
        for i, (other, entry) in enumerate(zip(table.names, table.matrix[0], strict=True))
        if i and entry is not None
    ]
    findings = [str(row["finding"]) for row in numbers]
    rivals = [format_short_label(str(r["other"])) for r in numbers if r["finding"] != FOR]
    higher = [format_short_label(str(r["other"])) for r in numbers if r["settings_lost"]]
    why = f"Lower regret in the typical game than {findings.count(FOR)} of {len(findings)} others."
    why += f" It is not lower than that of {', '.join(rivals)}." if rivals else ""
    if higher:
        why += (
            f" On some settings its mean is significantly higher than that of {', '.join(higher)}."
        )
    return Judgement(numbers, all_of(findings), why)
