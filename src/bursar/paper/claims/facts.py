"""Claims that no game decides: on the bounds of Figure 1, on Example 2, and on the file of ads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from bursar.arrays import Floats
from bursar.paper.analysis.compare import holm
from bursar.paper.analysis.coverage import example_2
from bursar.paper.claims import criteria
from bursar.paper.claims.criteria import AGAINST, FOR, OPEN, Evidence, Judgement, all_of
from bursar.settings.facebook import Ads

Row = dict[str, Any]

# bounds of Figure 1

_ALLOWED = 0.01
_OMEGA = "omega-ucb"


def judge_united_bounds(evidence: Evidence) -> Judgement:
    """Judge i-UCB, UCB-SC and KL-UCB-SC."""
    rows = _correct(evidence, type="u")
    published = [row for row in evidence.bounds if row["as_published"]]
    why = (
        f"Violated in {_violations(rows, 'i-ucb')} of cases by i-UCB, {_violations(rows, 'ucb-sc')}"
        f" by UCB-SC, {_violations(rows, 'kl-ucb-sc')} by KL-UCB-SC. The published script uses a"
        " radius for UCB-SC that does not depend on the sample size; with it the bound is violated"
        f" in {_violations(published, 'ucb-sc')}."
    )
    return _judge_bounds(rows, [_tight(row) for row in rows], why)


def judge_composite_bounds(evidence: Evidence) -> Judgement:
    """Judge m-UCB."""
    rows = _correct(evidence, bound="m-ucb")
    findings = [_finding(_is_loose(evidence, row)) for row in rows]
    loose = [_looseness(evidence, row) for row in rows]
    why = (
        f"m-UCB's bound is violated in {_violations(rows, 'm-ucb')} of cases and {min(loose):.2f}"
        f" to {max(loose):.2f} times as far from the ratio as ω's (median)."
    )
    return _judge_bounds(rows, findings, why)


def judge_hybrid_bounds(evidence: Evidence) -> Judgement:
    """Judge c-UCB and Budget-UCB."""
    rows = _correct(evidence, type="h")
    findings = [_finding(_tight(r) == FOR or _is_loose(evidence, r)) for r in rows]
    parts = []
    for bound in ("c-ucb", "budget-ucb"):
        mine = _correct(evidence, bound=bound)
        tight = sum(_tight(row) == FOR for row in mine)
        loose = sum(_is_loose(evidence, row) for row in mine)
        parts.append(
            f"he bound of {bound} is too tight at {tight} and too loose at {loose} of {len(mine)}"
            f" sample sizes (violated in {_violations(mine, bound)})"
        )
    return _judge_bounds(rows, findings, f"T{'; t'.join(parts)}.")


def judge_omega_validity(evidence: Evidence) -> Judgement:
    """Judge how often ω's own bound is violated."""
    rows = _correct(evidence, bound=_OMEGA)
    opposite = {FOR: AGAINST, AGAINST: FOR, OPEN: OPEN}
    why = f"Violated in {_violations(rows, _OMEGA)} of cases where 1% is allowed."
    if max(row["violations_high"] for row in rows) < _ALLOWED / 2.0:
        why += " So the bound is itself wider than its level requires."
    return _judge_bounds(rows, [opposite[_tight(row)] for row in rows], why)


def judge_omega_tightness(evidence: Evidence) -> Judgement:
    """Judge how tight ω's own bound is among the valid ones."""
    rows = [r for r in _correct(evidence) if r["bound"] != _OMEGA and _tight(r) != FOR]
    findings = [_finding(_looseness(evidence, row) > 1.0) for row in rows]
    tighter = sorted({str(r["bound"]) for r, f in zip(rows, findings, strict=True) if f == AGAINST})
    why = (
        f"Among the other valid bounds, ω's is tighter in {findings.count(FOR)} of"
        f" {len(findings)} cases (median of bound over ratio)."
    )
    if tighter:
        why += f" It is not tighter than {', '.join(tighter)}, with its radius corrected."
    return _judge_bounds(rows, findings, why)


def judge_invalid_bounds(evidence: Evidence) -> Judgement:
    """Judge issue (i3): the lower bound of a cost reaches 0."""
    rows = _correct(evidence, bound="m-ucb")
    findings = [_finding(row["infinite"] > _free(row)) for row in rows]
    shares = [f"{row['infinite']:.1%} with {row['samples']:,} samples" for row in rows]
    why = f"m-UCB's bound is infinite in {', '.join(shares)}."
    if all(row["infinite"] <= _free(row) for row in _correct(evidence, bound=_OMEGA)):
        why += " That of ω-UCB is infinite only where no sample cost anything."
    return _judge_bounds(rows, findings, why)


def _finding(right: bool) -> str:
    return FOR if right else AGAINST


def _judge_bounds(rows: list[Row], findings: list[str], why: str) -> Judgement:
    numbers = [{**row, "finding": f} for row, f in zip(rows, findings, strict=True)]
    return Judgement(numbers, all_of(findings), why)


def _correct(evidence: Evidence, **wanted: Any) -> list[Row]:
    """Return the corrected rows of Figure 1 that have the wanted values."""
    wanted["as_published"] = False
    return [row for row in evidence.bounds if wanted.items() <= row.items()]


def _tight(row: Row) -> str:
    """Return whether a bound is violated too often."""
    if row["violations_low"] > _ALLOWED:
        return FOR
    return AGAINST if row["violations_high"] <= _ALLOWED else OPEN


def _is_loose(evidence: Evidence, row: Row) -> bool:
    return _tight(row) == AGAINST and _looseness(evidence, row) > 1.0


def _looseness(evidence: Evidence, row: Row) -> float:
    """Return how far the bound is above the ratio, relative to how far ω's is."""
    (omega,) = _correct(evidence, bound=_OMEGA, samples=row["samples"])
    mine = row["tightness_median"]
    return float("inf") if mine is None else (mine - 1.0) / (omega["tightness_median"] - 1.0)


def _free(row: Row) -> float:
    """Return the share of pairs whose samples cost nothing, with an allowance for rounding."""
    return float(row["zero_costs"] / row["pairs"]) + 1e-9


def _violations(rows: Sequence[Row], bound: str) -> str:
    shares = [row["violations"] for row in rows if row["bound"] == bound]
    return f"{min(shares):.2%} to {max(shares):.2%}"


# Example 2


def judge_example_values(_: Evidence) -> Judgement:
    """Judge the four numbers of Example 2."""
    one, two = rows = example_2()
    columns = (("m_ucb_paper", "m_ucb"), ("omega_paper", "omega_at_bound"))
    right = [_is_rounded(row[paper], row[ours]) for row in rows for paper, ours in columns]
    why = (
        f"{sum(right)} of 4 are right. m-UCB's formula gives {one['m_ucb']:.2f} for arm 1, not"
        f" {one['m_ucb_paper']}, and {two['m_ucb']:.1f} for arm 2; ω-UCB's gives"
        f" {one['omega_at_bound']:.2f} and {two['omega_at_bound']:.2f} at the level of Theorem 3,"
        f" {one['omega_policy']:.2f} and {two['omega_policy']:.2f} as the policy computes it."
    )
    return Judgement(rows, all_of([_finding(each) for each in right]), why)


def judge_example_choice(_: Evidence) -> Judgement:
    """Judge which arm each policy plays."""
    one, two = rows = example_2()
    wrong = two["m_ucb"] > one["m_ucb"]
    right = all(one[key] > two[key] for key in ("omega_policy", "omega_at_bound"))
    why = (
        f"m-UCB's index is {one['m_ucb']:.2f} for arm 1 and {two['m_ucb']:.2f} for arm 2, ω-UCB's"
        f" {one['omega_policy']:.2f} and {two['omega_policy']:.2f}."
    )
    return Judgement(rows, all_of([_finding(wrong), _finding(right)]), why)


def _is_rounded(printed: float, exact: float) -> bool:
    return round(exact, len(str(printed).partition(".")[2])) == printed


# the file of ads

_EXAMPLE = 33  # arms of the campaign that the paper draws


def _about_ads(judge: Callable[[Ads], Judgement]) -> Callable[[Evidence], Judgement]:
    """Make a judge of ads one of the evidence; without the file a claim is not tested."""

    def judge_file(evidence: Evidence) -> Judgement:
        if evidence.ads is None:
            return criteria.untested("The file of ads was not given.")
        return judge(evidence.ads)

    return judge_file


@_about_ads
def judge_campaigns(ads: Ads) -> Judgement:
    """Judge whether there are 19 campaigns by gender and age."""
    plain = len({key[1:] for key in ads.key})
    full = len({*ads.key})
    verdict = criteria.HOLDS if plain == 19 else criteria.DEPENDS if full == 19 else criteria.FAILS
    why = (
        f"Gender and age alone give {plain} groups; campaign, gender and age give {full}, which is"
        " what the authors' code does."
    )
    numbers = {"by_gender_and_age": plain, "by_campaign_gender_and_age": full}
    return Judgement(numbers, verdict, why)


@_about_ads
def judge_arm_counts(ads: Ads) -> Judgement:
    """Judge whether campaigns have 2 to 93, or 2 to 97, ads."""
    sizes = sorted(campaign.arms for campaign in ads.campaigns())
    found = (sizes[0], sizes[-1])
    claimed = {"the text": (2, 93), "the table": (2, 97)}
    right = [where for where, range_ in claimed.items() if range_ == found]
    who = f"{' and '.join(right)} is right" if right else "neither is right"
    verdict = all_of([_finding(range_ == found) for range_ in claimed.values()])
    why = f"Campaigns have {found[0]} to {found[1]} ads: {who}."
    return Judgement({"arms": sizes}, verdict, why)


@_about_ads
def judge_ages(ads: Ads) -> Judgement:
    """Judge the age categories."""
    found = sorted({key[1] for key in ads.key})
    right = {"30-34", "34-39", "40-44", "45-49"} == {*found}
    why = f"The file has {', '.join(found)}" + ("." if right else ": 34-39 is a slip for 35-39.")
    numbers = {"ages": found, "genders": sorted({key[2] for key in ads.key})}
    return Judgement(numbers, all_of([_finding(right)]), why)


@_about_ads
def judge_costs(ads: Ads) -> Judgement:
    """Judge whether more than half of the mean costs are above 1/2."""
    return _judge_shares(
        [_share(name, cost > 0.5, 0.5, "above 1/2") for name, _, cost in _samples(ads)]
    )


@_about_ads
def judge_rewards(ads: Ads) -> Judgement:
    """Judge whether both outer quarters hold more than a quarter of the mean rewards."""
    rows = []
    for name, reward, _ in _samples(ads):
        rows.append(_share(name, reward < 0.25, 0.25, "below 1/4"))
        rows.append(_share(name, reward > 0.75, 0.25, "above 3/4"))
    return _judge_shares(rows)


def _samples(ads: Ads) -> list[tuple[str, Floats, Floats]]:
    """Return rewards and costs of all ads, and of the campaign that the paper draws."""
    campaigns = ads.campaigns()
    rewards = np.concatenate([c.reward for c in campaigns])
    costs = np.concatenate([c.cost for c in campaigns])
    drawn = [c for c in campaigns if c.arms == _EXAMPLE]
    shown = [(f"{c.name} ({c.arms} ads)", c.reward, c.cost) for c in drawn]
    return [("all ads", rewards, costs), *shown]


def _share(name: str, inside: Any, expected: float, where: str) -> Row:
    count, total = int(inside.sum()), int(inside.size)
    return {
        "of": name,
        "where": where,
        "share": count / total,
        "if_uniform": expected,
        "ads": total,
        "p": float(binomtest(count, total, expected).pvalue),
    }


def _judge_shares(rows: Sequence[Row]) -> Judgement:
    numbers = []
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        finding = criteria.finding_of(p, row["share"] - row["if_uniform"])
        numbers.append({**row, "p": float(p), "finding": finding})
    shown = [f"{r['share']:.0%} of {r['of']} lie {r['where']}" for r in numbers]
    base = " and ".join(sorted({f"{r['if_uniform']:.0%}" for r in numbers}))
    why = f"{'; '.join(shown)} (uniform means: {base})."
    return Judgement(numbers, all_of([str(row["finding"]) for row in numbers]), why)
