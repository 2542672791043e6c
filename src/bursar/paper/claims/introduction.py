"""Section "Introduction": what Figure 1 is said to show of 99% bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bursar.paper.analysis.coverage import example
from bursar.paper.analysis.dominance import PUBLISHED
from bursar.paper.analysis.games import final, settings_of
from bursar.paper.claims.claim import (
    ADS,
    AGAINST,
    BETA,
    BTS,
    COMPETITORS,
    DEPENDS,
    FAILS,
    FOR,
    HOLDS,
    LEFT_OUT,
    OMEGA_ONE,
    OMEGA_QUARTER,
    OPEN,
    RHOS,
    SMALL,
    STAR_QUARTER,
    SYNTHETIC,
    UNTESTED,
    XIA,
    Claim,
    ClaimCase,
    Sentence,
    omega,
    spoken_name,
    star,
    verdict_of,
)
from bursar.paper.claims.criteria import Pair, every, logarithmic, lower

__all__ = ["CLAIMS", "OVERALL_CLAIMS", "RELATED_CLAIMS"]

_SECTION = "Introduction"
_LEVEL = 0.01
_TEST = (
    "10,000 random pairs of Bernoulli arms for each sample size, errors of the published script"
    " corrected. Too tight: the 95% interval of the share of violations lies above 1%. Valid: it"
    " ends at 1% or below. Loose: valid, and the median of bound over ratio is above that of ω."
)
_OURS = "omega-ucb"
Row = dict[str, Any]


def united_too_tight(case: ClaimCase) -> Claim:
    """i-UCB, UCB-SC, KL-UCB-SC."""
    text = "Bounds of united policies (u) tend to be too tight: violated in more than 1% of cases."
    rows = [row for row in _correct(case) if row["type"] == "u"]
    findings = [_tight(row) for row in rows]
    why = "Violated in {i-ucb} of cases by i-UCB, {ucb-sc} by UCB-SC, {kl-ucb-sc} by KL-UCB-SC."
    script = _range([row for row in case.bounds() if row["as_published"]], "ucb-sc")
    why = _filled(why, rows) + (
        f" The published script takes a radius for UCB-SC that does not depend on the sample size;"
        f" with it the bound is violated in {script}."
    )
    return _claim("figure-1-united-too-tight", text, rows, findings, why)


def composite_too_loose(case: ClaimCase) -> Claim:
    """m-UCB."""
    text = "Bounds of the composite type (c) are mainly too loose."
    rows = [row for row in _correct(case) if row["type"] == "c" and row["bound"] != _OURS]
    findings = [FOR if _is_loose(case, row) else AGAINST for row in rows]
    loose = [_against_ours(case, row) for row in rows]
    why = _filled("m-UCB's bound is violated in {m-ucb} of cases and", rows)
    why += f" {min(loose):.2f} to {max(loose):.2f} times as far from the ratio as ω's (median)."
    return _claim("figure-1-composite-too-loose", text, rows, findings, why)


def hybrid_either(case: ClaimCase) -> Claim:
    """c-UCB and Budget-UCB."""
    text = "Bounds of hybrid policies (h) are either too tight or too loose."
    rows = [row for row in _correct(case) if row["type"] == "h"]
    findings = [FOR if _tight(row) == FOR or _is_loose(case, row) else AGAINST for row in rows]
    why = "; ".join(_described(case, rows, bound) for bound in ("c-ucb", "budget-ucb"))
    why = f"{why[:1].upper()}{why[1:]}."
    return _claim("figure-1-hybrid-either", text, rows, findings, why)


def ours_valid(case: ClaimCase) -> Claim:
    """ω's own bound: violations."""
    text = "The asymmetric bounds of ω-UCB are valid: violated in at most 1% of cases."
    rows = [row for row in _correct(case) if row["bound"] == _OURS]
    findings = [
        FOR if row["violations_high"] <= _LEVEL else AGAINST if _tight(row) == FOR else OPEN
        for row in rows
    ]
    why = _filled("Violated in {omega-ucb} of cases where 1% is allowed.", rows)
    if max(row["violations_high"] for row in rows) < _LEVEL / 2.0:
        why += " So the bound is itself wider than its level asks for."
    return _claim("figure-1-omega-valid", text, rows, findings, why)


def ours_tightest(case: ClaimCase) -> Claim:
    """ω's own bound: tightness against other valid bounds."""
    text = "The bounds of ω-UCB are tighter and more accurate than those of its competitors."
    rows = [row for row in _correct(case) if row["bound"] != _OURS and _tight(row) != FOR]
    findings = [FOR if _against_ours(case, row) > 1.0 else AGAINST for row in rows]
    tighter = sorted({str(r["bound"]) for r, f in zip(rows, findings, strict=True) if f == AGAINST})
    why = (
        f"Of the other valid bounds ω's is the tighter one in {findings.count(FOR)} of"
        f" {len(findings)} cases (median of bound over ratio)."
    )
    why += f" Not than that of {', '.join(tighter)}, with its radius corrected." * bool(tighter)
    return _claim("figure-1-omega-tightest", text, rows, findings, why)


def invalid_values(case: ClaimCase) -> Claim:
    """Issue (i3): the lower bound of a cost reaches 0."""
    text = (
        "With Hoeffding's inequality the lower bound of a cost can be 0 or negative, so that the"
        " bound of the ratio is undefined."
    )
    rows = [row for row in _correct(case) if row["bound"] == "m-ucb"]
    findings = [FOR if row["infinite"] > _free(row) else AGAINST for row in rows]
    shares = [f"{row['infinite']:.1%} with {row['samples']:,} samples" for row in rows]
    why = f"m-UCB's bound is infinite in {', '.join(shares)}."
    if all(row["infinite"] <= _free(row) for row in _correct(case) if row["bound"] == _OURS):
        why += " That of ω-UCB is so only where no sample cost anything."
    return _claim("introduction-invalid-values", text, rows, findings, why)


def _correct(case: ClaimCase) -> list[Row]:
    return [row for row in case.bounds() if not row["as_published"]]


def _tight(row: Row) -> str:
    if row["violations_low"] > _LEVEL:
        return FOR
    return AGAINST if row["violations_high"] <= _LEVEL else OPEN


def _is_loose(case: ClaimCase, row: Row) -> bool:
    return bool(row["violations_high"] <= _LEVEL) and _against_ours(case, row) > 1.0


def _against_ours(case: ClaimCase, row: Row) -> float:
    """Return how far the bound is above the ratio, over how far ω's is."""
    (ours,) = (
        r["tightness_median"]
        for r in _correct(case)
        if r["bound"] == _OURS and r["samples"] == row["samples"]
    )
    mine = row["tightness_median"]
    return float("inf") if mine is None else float((mine - 1.0) / (ours - 1.0))


def _free(row: Row) -> float:
    """Return the share of pairs whose samples cost nothing, and a last digit for rounding."""
    return float(row["zero_costs"] / row["pairs"]) + 1e-9


def _described(case: ClaimCase, rows: Sequence[Row], bound: str) -> str:
    mine = [row for row in rows if row["bound"] == bound]
    tight = sum(_tight(row) == FOR for row in mine)
    loose = sum(_is_loose(case, row) for row in mine)
    return (
        f"the bound of {bound} is too tight at {tight} and too loose at {loose} of {len(mine)}"
        f" sample sizes (violated in {_range(mine, bound)})"
    )


def _range(rows: Sequence[Row], bound: str) -> str:
    shares = [row["violations"] for row in rows if row["bound"] == bound]
    return f"{min(shares):.2%} to {max(shares):.2%}"


def _filled(text: str, rows: Sequence[Row]) -> str:
    for bound in {str(row["bound"]) for row in rows}:
        text = text.replace(f"{{{bound}}}", _range(rows, bound))
    return text


def _claim(slug: str, text: str, rows: list[Row], findings: list[str], why: str) -> Claim:
    numbers = [{**row, "finding": f} for row, f in zip(rows, findings, strict=True)]
    return Claim(slug, _SECTION, text, numbers, _TEST, verdict_of(findings), why)


CLAIMS = (
    united_too_tight,
    composite_too_loose,
    hybrid_either,
    ours_valid,
    ours_tightest,
    invalid_values,
)


# ==== claims.overall
# What abstract, introduction and conclusion say of regret over all settings.

_OVERALL_SECTION = "Abstract and conclusion"
_OVERALL_OURS = (OMEGA_QUARTER, STAR_QUARTER)


def consistently_outperforms(case: ClaimCase) -> Claim:
    """The abstract."""
    text = (
        "ω-UCB consistently does better than existing policies, in synthetic and real settings"
        " (judged with the recommended rho = 1/4 and the whole budget)."
    )
    pairs = every(SYNTHETIC + ADS, _OVERALL_OURS, COMPETITORS)
    return lower(case, Sentence("abstract-consistently-outperforms", _OVERALL_SECTION, text), pairs)


def small_and_large(case: ClaimCase) -> Claim:
    """The list of contributions."""
    text = (
        "ω-UCB and ω*-UCB have substantially lower regret than the competitors for both small and"
        " large budgets (rho = 1/4)."
    )
    pairs = every(SYNTHETIC + ADS, _OVERALL_OURS, COMPETITORS, (*SMALL, 1.0))
    return lower(
        case, Sentence("introduction-small-and-large-budgets", _OVERALL_SECTION, text), pairs
    )


def quarter_performed_best(case: ClaimCase) -> Claim:
    """The conclusion."""
    text = "rho = 1/4 performed best in the experiments."
    settings = SYNTHETIC + ADS
    pairs = every(settings, [OMEGA_QUARTER], map(omega, RHOS))
    pairs += every(settings, [STAR_QUARTER], map(star, RHOS))
    return lower(case, Sentence("conclusion-quarter-performed-best", _OVERALL_SECTION, text), pairs)


def logarithmic_from_one(case: ClaimCase) -> Claim:
    """The theorem, as far as these budgets show it."""
    text = (
        "ω-UCB achieves logarithmic regret for rho of 1 and more (a theorem for budgets without"
        " limit; judged as far as the budget goes)."
    )
    slugs = (OMEGA_ONE, omega(2.0))
    sentence = Sentence("conclusion-logarithmic-from-rho-one", _OVERALL_SECTION, text)
    return logarithmic(case, sentence, SYNTHETIC + ADS, slugs)


def variance_helps_continuous(case: ClaimCase) -> Claim:
    """The conclusion, on ω*-UCB."""
    text = "Tracking the variance leads to even better performance on continuous rewards and costs."
    pairs = every((*BETA, "FB-Bt"), [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(
        case, Sentence("conclusion-variance-helps-continuous", _OVERALL_SECTION, text), pairs
    )


OVERALL_CLAIMS = (
    consistently_outperforms,
    small_and_large,
    quarter_performed_best,
    logarithmic_from_one,
    variance_helps_continuous,
)


# ==== claims.related
# Section "Related work": Example 2, and what Figure 2 is said to show.

_RELATED_SECTION = "Related work"
_CITED = {1: FOR, -1: AGAINST, 0: OPEN, None: OPEN}


def example_values(case: ClaimCase) -> Claim:
    """The four numbers of Example 2."""
    text = (
        "In Example 2 m-UCB (alpha = 1) computes 2.95 and 48.6 for the two arms, ω-UCB (rho = 1)"
        " 5.5 and 2.1."
    )
    rows = example()
    pairs = [
        (row[paper], row[ours])
        for row in rows
        for paper, ours in (("m_ucb_paper", "m_ucb"), ("omega_paper", "omega_at_bound"))
    ]
    right = [round(found, _decimals(printed)) == printed for printed, found in pairs]
    verdict = HOLDS if all(right) else DEPENDS if any(right) else FAILS
    one, two = rows
    why = (
        f"{sum(right)} of 4 are right. m-UCB's formula gives {one['m_ucb']:.2f} for arm 1, not"
        f" {one['m_ucb_paper']}, and {two['m_ucb']:.1f} for arm 2; ω-UCB's gives"
        f" {one['omega_at_bound']:.2f} and {two['omega_at_bound']:.2f} at the level of Theorem 3,"
        f" {one['omega_policy']:.2f} and {two['omega_policy']:.2f} as the policy computes it."
    )
    test = "Computed from the formulas; right means equal after rounding."
    return Claim("example-2-values", _RELATED_SECTION, text, rows, test, verdict, why)


def example_conclusion(case: ClaimCase) -> Claim:
    """Which arm either plays."""
    text = "In Example 2 m-UCB would pull the worse arm 2, ω-UCB the better arm 1."
    one, two = rows = example()
    wrong = two["m_ucb"] > one["m_ucb"]
    right = all(one[key] > two[key] for key in ("omega_policy", "omega_at_bound"))
    verdict = HOLDS if wrong and right else DEPENDS if wrong or right else FAILS
    why = (
        f"m-UCB's index is {one['m_ucb']:.2f} for arm 1 and {two['m_ucb']:.2f} for arm 2, ω-UCB's"
        f" {one['omega_policy']:.2f} and {two['omega_policy']:.2f}."
    )
    return Claim(
        "example-2-conclusion",
        _RELATED_SECTION,
        text,
        rows,
        "Computed from the formulas.",
        verdict,
        why,
    )


def kube(case: ClaimCase) -> Claim:
    """KUBE among the early policies."""
    text = "KUBE does better than ε-first, UCB-BV1 and BTS do better than KUBE."
    order = [("kube", "eps-first"), ("ucb-bv1", "kube"), (BTS, "kube")]
    return _cited(case, Sentence("figure-2-kube", _RELATED_SECTION, text), order)


def ucb_bv1(case: ClaimCase) -> Claim:
    """UCB-BV1 is behind what came later."""
    text = "UCB-BV1 is inferior to more recent policies (BTS, Budget-UCB, KL-UCB-SC+, UCB-SC+)."
    later = (BTS, "budget-ucb", "kl-ucb-sc-plus", "ucb-sc-plus")
    order = [(slug, "ucb-bv1") for slug in later]
    return _cited(case, Sentence("figure-2-ucb-bv1-inferior", _RELATED_SECTION, text), order)


def pd_bwk(case: ClaimCase) -> Claim:
    """PD-BwK is behind five others."""
    text = "BTS, b-greedy and {i, c, m}-UCB do better than PD-BwK."
    order = [(slug, "pd-bwk") for slug in (BTS, "b-greedy", *XIA)]
    return _cited(case, Sentence("figure-2-pd-bwk-inferior", _RELATED_SECTION, text), order)


def best_were_compared(case: ClaimCase) -> Claim:
    """The best of the seven competitors against those that were left out, setting by setting."""
    text = (
        "The policies compared with are the best existing ones (judged: on each setting the best of"
        " them against those left out)."
    )
    pairs = []
    for setting in settings_of(case.result):
        played = [s for s in COMPETITORS if case.has(setting, s)]
        if played:
            means = {s: float(final(case.result, setting, s).mean()) for s in played}
            pairs += every([setting], [min(means, key=means.__getitem__)], LEFT_OUT)
    return lower(case, Sentence("related-best-were-compared", _RELATED_SECTION, text), pairs)


def _cited(case: ClaimCase, sentence: Sentence, order: Sequence[tuple[str, str]]) -> Claim:
    """Judge by our own games where both have played, else by the published matrix."""
    pairs = [Pair(s, *two) for s in settings_of(case.result) for two in order]
    measured = lower(case, sentence, pairs)
    findings = [_CITED[PUBLISHED.entry(*two)] for two in order]
    known = findings.count(FOR)
    said = "all of it" if known == len(order) else f"{known} of {len(order)}"
    matrix = f"The published matrix says {said}."
    if measured.verdict == UNTESTED:
        numbers = [
            {"policy": one, "other": other, "published": PUBLISHED.entry(one, other)}
            for one, other in order
        ]
        absent = sorted(
            {spoken_name(s) for two in order for s in two if s not in case.result.policies}
        )
        why = f"{matrix} No games of our own to check it: {', '.join(absent)} did not play."
        test = "Read off the published matrix (Figure 2)."
        return Claim(*sentence, numbers, test, verdict_of(findings), why)
    why = f"{matrix} In our games: {measured.why}"
    return Claim(*sentence, measured.numbers, measured.test, measured.verdict, why)


def _decimals(printed: float) -> int:
    return len(str(printed).partition(".")[2])


RELATED_CLAIMS = (example_values, example_conclusion, kube, ucb_bv1, pd_bwk, best_were_compared)
