"""Section "Related work": Example 2, and what Figure 2 is said to show."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.analysis.dominance import PUBLISHED
from bursar.analysis.example import example
from bursar.analysis.games import final, settings_of
from bursar.claims.case import Case
from bursar.claims.claim import DEPENDS, FAILS, HOLDS, UNTESTED, Claim, Sentence
from bursar.claims.judge import AGAINST, FOR, OPEN, verdict_of
from bursar.claims.names import BTS, COMPETITORS, LEFT_OUT, XIA, spoken
from bursar.claims.order import Pair, every, lower

__all__ = ["CLAIMS"]

_SECTION = "Related work"
_CITED = {1: FOR, -1: AGAINST, 0: OPEN, None: OPEN}


def example_values(case: Case) -> Claim:
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
    return Claim("example-2-values", _SECTION, text, rows, test, verdict, why)


def example_conclusion(case: Case) -> Claim:
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
        "example-2-conclusion", _SECTION, text, rows, "Computed from the formulas.", verdict, why
    )


def kube(case: Case) -> Claim:
    """KUBE among the early policies."""
    text = "KUBE does better than ε-first, UCB-BV1 and BTS do better than KUBE."
    order = [("kube", "eps-first"), ("ucb-bv1", "kube"), (BTS, "kube")]
    return _cited(case, Sentence("figure-2-kube", _SECTION, text), order)


def ucb_bv1(case: Case) -> Claim:
    """UCB-BV1 is behind what came later."""
    text = "UCB-BV1 is inferior to more recent policies (BTS, Budget-UCB, KL-UCB-SC+, UCB-SC+)."
    later = (BTS, "budget-ucb", "kl-ucb-sc-plus", "ucb-sc-plus")
    order = [(slug, "ucb-bv1") for slug in later]
    return _cited(case, Sentence("figure-2-ucb-bv1-inferior", _SECTION, text), order)


def pd_bwk(case: Case) -> Claim:
    """PD-BwK is behind five others."""
    text = "BTS, b-greedy and {i, c, m}-UCB do better than PD-BwK."
    order = [(slug, "pd-bwk") for slug in (BTS, "b-greedy", *XIA)]
    return _cited(case, Sentence("figure-2-pd-bwk-inferior", _SECTION, text), order)


def best_were_compared(case: Case) -> Claim:
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
    return lower(case, Sentence("related-best-were-compared", _SECTION, text), pairs)


def _cited(case: Case, sentence: Sentence, order: Sequence[tuple[str, str]]) -> Claim:
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
        absent = sorted({spoken(s) for two in order for s in two if s not in case.result.policies})
        why = f"{matrix} No games of our own to check it: {', '.join(absent)} did not play."
        test = "Read off the published matrix (Figure 2)."
        return Claim(*sentence, numbers, test, verdict_of(findings), why)
    why = f"{matrix} In our games: {measured.why}"
    return Claim(*sentence, measured.numbers, measured.test, measured.verdict, why)


def _decimals(printed: float) -> int:
    return len(str(printed).partition(".")[2])


CLAIMS = (example_values, example_conclusion, kube, ucb_bv1, pd_bwk, best_were_compared)
