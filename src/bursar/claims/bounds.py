"""Section "Introduction": what Figure 1 is said to show of 99% bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bursar.claims.case import Case
from bursar.claims.claim import Claim
from bursar.claims.judge import AGAINST, FOR, OPEN, verdict_of

__all__ = ["CLAIMS"]

_SECTION = "Introduction"
_LEVEL = 0.01
_TEST = (
    "10,000 random pairs of Bernoulli arms for each sample size, errors of the published script"
    " corrected. Too tight: the 95% interval of the share of violations lies above 1%. Valid: it"
    " ends at 1% or below. Loose: valid, and the median of bound over ratio is above that of ω."
)
_OURS = "omega-ucb"
Row = dict[str, Any]


def united_too_tight(case: Case) -> Claim:
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


def composite_too_loose(case: Case) -> Claim:
    """m-UCB."""
    text = "Bounds of the composite type (c) are mainly too loose."
    rows = [row for row in _correct(case) if row["type"] == "c" and row["bound"] != _OURS]
    findings = [FOR if _is_loose(case, row) else AGAINST for row in rows]
    loose = [_against_ours(case, row) for row in rows]
    why = _filled("m-UCB's bound is violated in {m-ucb} of cases and", rows)
    why += f" {min(loose):.2f} to {max(loose):.2f} times as far from the ratio as ω's (median)."
    return _claim("figure-1-composite-too-loose", text, rows, findings, why)


def hybrid_either(case: Case) -> Claim:
    """c-UCB and Budget-UCB."""
    text = "Bounds of hybrid policies (h) are either too tight or too loose."
    rows = [row for row in _correct(case) if row["type"] == "h"]
    findings = [FOR if _tight(row) == FOR or _is_loose(case, row) else AGAINST for row in rows]
    why = "; ".join(_described(case, rows, bound) for bound in ("c-ucb", "budget-ucb"))
    why = f"{why[:1].upper()}{why[1:]}."
    return _claim("figure-1-hybrid-either", text, rows, findings, why)


def ours_valid(case: Case) -> Claim:
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


def ours_tightest(case: Case) -> Claim:
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


def invalid_values(case: Case) -> Claim:
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


def _correct(case: Case) -> list[Row]:
    return [row for row in case.bounds() if not row["as_published"]]


def _tight(row: Row) -> str:
    if row["violations_low"] > _LEVEL:
        return FOR
    return AGAINST if row["violations_high"] <= _LEVEL else OPEN


def _is_loose(case: Case, row: Row) -> bool:
    return bool(row["violations_high"] <= _LEVEL) and _against_ours(case, row) > 1.0


def _against_ours(case: Case, row: Row) -> float:
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


def _described(case: Case, rows: Sequence[Row], bound: str) -> str:
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
