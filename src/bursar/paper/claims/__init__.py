"""The paper's claims as a table, judged by numbers.

Each row names a criterion and what it compares. A claim holds, does not hold, depends, or is not
tested. Texts paraphrase the paper; ids never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike
from typing import Any

from bursar.paper.analysis.games import played_settings
from bursar.paper.claims import criteria, facts
from bursar.paper.claims.criteria import Evidence, Pair, every
from bursar.simulation.result import Result

__all__ = [
    "CLAIMS",
    "COMPETITORS",
    "OMEGA_ONE",
    "OMEGA_QUARTER",
    "STAR_QUARTER",
    "Claim",
    "judge_claims",
]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim with its verdict."""

    id: str  # a slug that stays the same from version to version
    section: str  # the part of the paper
    text: str  # what the paper says, paraphrased
    numbers: Any  # the evidence: a list of rows or a dict that JSON can hold
    test: str  # how it was judged
    verdict: str  # "holds", "does not hold", "depends" or "not tested"
    why: str  # the verdict in one or two sentences, with numbers


def judge_claims(result: Result, data: str | PathLike[str] | None = None) -> list[Claim]:
    """Judge every claim of the paper by a result, those on the ads themselves by their file.

    Settings and policies that the result lacks are named in ``why``; a claim for which it has no
    games is "not tested".
    """
    evidence = Evidence(result, data)
    claims = []
    for section, rows in CLAIMS.items():
        for id_, criterion, *subjects, text in rows:
            given = [one(evidence) if callable(one) else one for one in subjects]
            found = criterion(evidence, *given)
            claims.append(Claim(id=id_, section=section, text=text, **found._asdict()))
    return claims


# the settings and policies that the paper speaks of

BERNOULLI = ("S-Br-10", "S-Br-50", "S-Br-100")
BETA = ("S-Bt-10", "S-Bt-50", "S-Bt-100")
CONTINUOUS = ("S-GBr-10", "S-GBr-50", "S-GBr-100", *BETA)
ADS = ("FB-Br", "FB-Bt")
ALL = (*BERNOULLI, *CONTINUOUS, *ADS)
ADS_AND_LIKE = ((("FB-Br",), BERNOULLI), (("FB-Bt",), BETA))  # ads, and synthetic arms like them

_RHOS = ("0.015625", "0.03125", "0.0625", "0.125", "0.25", "0.5", "1", "2")
OMEGAS = tuple(f"omega-ucb:rho={rho}" for rho in _RHOS)
STARS = tuple(f"omega-star-ucb:rho={rho}" for rho in _RHOS)
OMEGA_EIGHTH, OMEGA_QUARTER, OMEGA_ONE, OMEGA_TWO = OMEGAS[3], OMEGAS[4], OMEGAS[6], OMEGAS[7]
STAR_QUARTER, STAR_ONE = STARS[4], STARS[6]
QUARTERS = (OMEGA_QUARTER, STAR_QUARTER)
XIA = ("m-ucb", "c-ucb", "i-ucb")
COMPETITORS = ("bts", "budget-ucb", *XIA, "b-greedy", "ucb-sc-plus")
LEFT_OUT = ("eps-first", "kube", "ucb-bv1", "pd-bwk", "kl-ucb-sc-plus")
SMALL = (0.01, 0.1)  # shares of the budget that count as small


def _curves(settings: Iterable[str], slugs: Iterable[str]) -> list[criteria.Curve]:
    return list(product(settings, slugs))


def _against_best(slug: str, family: Sequence[str]) -> Callable[[Evidence], list[Pair]]:
    """Compare a policy, on each continuous setting, with the best other one of its family."""
    rivals = [one for one in family if one != slug]
    return lambda evidence: [
        Pair(setting, slug, evidence.best(setting, rivals) or family[0]) for setting in CONTINUOUS
    ]


def _best_against_left_out(evidence: Evidence) -> list[Pair]:
    """Compare the best competitor on each setting with the policies that the paper left out."""
    best = {s: evidence.best(s, COMPETITORS) for s in played_settings(evidence.result)}
    return [pair for s, slug in best.items() if slug for pair in every([s], [slug], LEFT_OUT)]


# fmt: off
# By section: id, criterion, what it compares (pairs, curves, contrasts, or a function that derives
# them from the evidence; nothing for claims that no game decides), and the text.
CLAIMS: dict[str, list[tuple[Any, ...]]] = {
    "Abstract and conclusion": [
        ("abstract-consistently-outperforms", criteria.lower, every(ALL, QUARTERS, COMPETITORS),
         "ω-UCB consistently does better than existing policies, in synthetic and real settings"
         " (judged with the recommended rho = 1/4 and the whole budget)."),
        ("introduction-small-and-large-budgets", criteria.lower,
         every(ALL, QUARTERS, COMPETITORS, (*SMALL, 1.0)),
         "ω-UCB and ω*-UCB have substantially lower regret than the competitors for both small"
         " and large budgets (rho = 1/4)."),
        ("conclusion-quarter-performed-best", criteria.lower,
         every(ALL, [OMEGA_QUARTER], OMEGAS) + every(ALL, [STAR_QUARTER], STARS),
         "rho = 1/4 performed best in the experiments."),
        ("conclusion-logarithmic-from-rho-one", criteria.logarithmic,
         _curves(ALL, (OMEGA_ONE, OMEGA_TWO)),
         "ω-UCB achieves logarithmic regret for rho of 1 and more (a theorem for budgets without"
         " limit; judged as far as the budget goes)."),
        ("conclusion-variance-helps-continuous", criteria.lower,
         every((*BETA, "FB-Bt"), [STAR_QUARTER], [OMEGA_QUARTER]),
         "Tracking the variance leads to even better performance on continuous rewards and"
         " costs."),
    ],
    "Synthetic Bernoulli": [
        ("bernoulli-star-almost-identical", criteria.similar,
         every(BERNOULLI, [STAR_QUARTER], [OMEGA_QUARTER])
         + every(BERNOULLI, [STAR_ONE], [OMEGA_ONE]),
         "On Bernoulli arms ω*-UCB gives almost the same results as ω-UCB."),
        ("bernoulli-logarithmic-regret", criteria.logarithmic,
         _curves(BERNOULLI, (OMEGA_QUARTER, OMEGA_ONE, "bts")),
         "ω-UCB and BTS achieve logarithmic regret."),
        ("bernoulli-better-asymptotics", criteria.lower,
         every(BERNOULLI, (OMEGA_QUARTER, OMEGA_ONE, "bts"), COMPETITORS[1:], since=0.1),
         "ω-UCB and BTS behave better in the long run than the other methods (judged by what is"
         " lost in the last nine tenths of the budget)."),
        ("bernoulli-xia-ahead-early", criteria.lower_somewhere,
         every(BERNOULLI, XIA, [OMEGA_ONE], SMALL),
         "With small budgets m-UCB, c-UCB and i-UCB may do better than ω-UCB with rho = 1."),
        ("bernoulli-xia-grow-rapidly", criteria.convex, _curves(BERNOULLI, XIA),
         "The regret of m-UCB, c-UCB and i-UCB grows rapidly with the budget."),
        ("bernoulli-beats-bts-on-many-arms", criteria.lower,
         every(BERNOULLI[1:], (OMEGA_QUARTER, OMEGA_ONE), ["bts"]),
         "With 50 and 100 arms ω-UCB has lower regret than BTS."),
        ("bernoulli-bts-beats-rho-one-on-ten-arms-only", criteria.lower,
         [Pair("S-Br-10", "bts", OMEGA_ONE), *every(BERNOULLI[1:], [OMEGA_ONE], ["bts"])],
         "BTS does better than ω-UCB with rho = 1 only with 10 arms."),
        ("bernoulli-rho-quarter-beats-all", criteria.lower,
         every(BERNOULLI, [OMEGA_QUARTER], (*COMPETITORS, OMEGA_ONE), (*SMALL, 1.0)),
         "ω-UCB with rho = 1/4 does better than all other policies, with small and large budgets"
         " and any number of arms."),
        ("bernoulli-rho-one-straight", criteria.straight, _curves(BERNOULLI, [OMEGA_ONE]),
         "Over a logarithmic axis of the budget the regret of rho = 1 is a straight line."),
        ("bernoulli-rho-quarter-convex", criteria.convex, _curves(BERNOULLI, [OMEGA_QUARTER]),
         "Over a logarithmic axis of the budget the regret of rho = 1/4 is convex."),
        ("bernoulli-rho-quarter-ahead-of-one", criteria.lower,
         every(BERNOULLI, [OMEGA_QUARTER], [OMEGA_ONE], (*SMALL, 1.0)),
         "With budgets that are not too large rho = 1/4 loses less than rho = 1."),
        ("bernoulli-rho-one-better-asymptotically", criteria.lower,
         every(BERNOULLI, [OMEGA_ONE], [OMEGA_QUARTER], since=0.5),
         "In the long run rho = 1 does better than rho = 1/4 (judged by what is lost in the last"
         " half of the budget; the theorem speaks of budgets without limit)."),
    ],
    "Generalised Bernoulli and Beta": [
        ("continuous-quarter-beats-competitors", criteria.lower,
         [pair for pair in every(CONTINUOUS, QUARTERS, COMPETITORS)
          if (pair.setting, pair.other) != ("S-Bt-100", "m-ucb")],
         "ω-UCB and ω*-UCB with rho = 1/4 do better than their competitors, except for m-UCB"
         " with 100 Beta arms."),
        ("beta-100-m-ucb-comparable", criteria.similar, every(["S-Bt-100"], ["m-ucb"], QUARTERS),
         "With 100 Beta arms m-UCB does about as well as ω-UCB and ω*-UCB with rho = 1/4."),
        ("continuous-bts-not-competitive", criteria.lower, every(CONTINUOUS, QUARTERS, ["bts"]),
         "On generalised Bernoulli and Beta arms BTS is not competitive with either ω policy."),
        ("beta-bts-ignores-variance", criteria.larger,
         [criteria.Contrast("bts", STAR_QUARTER, (beta,), (bernoulli,))
          for beta, bernoulli in zip(BETA, BERNOULLI, strict=True)],
         "BTS falls behind because it cannot use small variances: against ω*-UCB(1/4) it does"
         " worse on Beta arms than on Bernoulli arms of the same number."),
        ("continuous-star-beats-omega", criteria.lower,
         every(CONTINUOUS, [STAR_QUARTER], [OMEGA_QUARTER]),
         "Estimating the variance gives ω*-UCB a significant advantage over ω-UCB on generalised"
         " Bernoulli and Beta arms (rho = 1/4)."),
    ],
    "Advertisement data": [
        ("ads-quarter-beats-competitors", criteria.lower, every(ADS, QUARTERS, COMPETITORS),
         "On the ads rho = 1/4 does better than all competitors."),
        ("ads-quarter-beats-one", criteria.lower,
         every(ADS, [OMEGA_QUARTER], [OMEGA_ONE]) + every(ADS, [STAR_QUARTER], [STAR_ONE]),
         "On the ads rho = 1/4 does significantly better than rho = 1."),
        ("ads-good-asymptotics", criteria.logarithmic,
         _curves(ADS, (OMEGA_QUARTER, OMEGA_ONE, STAR_QUARTER, STAR_ONE)),
         "On the ads both rho = 1/4 and rho = 1 behave well in the long run (logarithmic"
         " growth)."),
        ("ads-easier-for-bts-and-sc", criteria.larger,
         [criteria.Contrast(slug, STAR_QUARTER, synthetic, ads)
          for slug in ("bts", "kl-ucb-sc-plus", "ucb-sc-plus") for ads, synthetic in ADS_AND_LIKE],
         "The ads are easier than synthetic arms for BTS and KL-UCB-SC+ (the paper's figures"
         " show UCB-SC+, judged too): their regret over that of ω*-UCB(1/4) is smaller on the"
         " ads."),
        ("ads-harder-for-xia", criteria.larger,
         [criteria.Contrast(slug, STAR_QUARTER, ads, synthetic)
          for slug in XIA for ads, synthetic in ADS_AND_LIKE],
         "The ads are harder than synthetic arms for m-UCB, c-UCB and i-UCB: their regret over"
         " that of ω*-UCB(1/4) is larger on the ads."),
        ("ads-star-beats-omega", criteria.lower, every(ADS, [STAR_QUARTER], [OMEGA_QUARTER]),
         "On the ads ω*-UCB has lower regret than ω-UCB (rho = 1/4)."),
        ("ads-star-gains-less", criteria.larger,
         [criteria.Contrast(STAR_QUARTER, OMEGA_QUARTER, ("FB-Bt",), CONTINUOUS)],
         "The advantage of ω*-UCB over ω-UCB is smaller on the ads than on synthetic arms."),
        ("ads-costs-near-one", facts.judge_costs,
         "The mean costs of the ads are biased towards 1."),
        ("ads-rewards-near-the-ends", facts.judge_rewards,
         "The mean rewards of the ads are biased towards both ends of [0, 1]."),
    ],
    "Sensitivity study": [
        ("sensitivity-quarter-best-on-bernoulli", criteria.lower,
         every(BERNOULLI, [OMEGA_QUARTER], OMEGAS) + every(BERNOULLI, [STAR_QUARTER], STARS),
         "On Bernoulli arms both ω policies do best with rho = 1/4."),
        ("sensitivity-comparable-on-bernoulli", criteria.similar,
         [Pair(setting, star, omega)
          for star, omega in zip(STARS, OMEGAS, strict=True) for setting in BERNOULLI],
         "On Bernoulli arms ω-UCB and ω*-UCB do about equally well, rho by rho."),
        ("sensitivity-estimate-does-no-harm", criteria.no_worse,
         every(BERNOULLI, [STAR_QUARTER], [OMEGA_QUARTER]),
         "On Bernoulli arms estimating the variance does not make ω*-UCB worse than ω-UCB."),
        ("sensitivity-eighth-works-for-omega", criteria.no_worse,
         _against_best(OMEGA_EIGHTH, OMEGAS),
         "On generalised Bernoulli and Beta arms rho = 1/8 works well for ω-UCB (near its best)."),
        ("sensitivity-quarter-near-best-for-star", criteria.no_worse,
         _against_best(STAR_QUARTER, STARS),
         "On generalised Bernoulli and Beta arms rho = 1/4 is near the best for ω*-UCB."),
        ("sensitivity-recommend-star-quarter", criteria.dominant, (STAR_QUARTER, *OMEGAS, *STARS),
         "ω*-UCB with rho = 1/4 is the one to recommend among all ω policies."),
    ],
    "Setup": [
        ("setup-nineteen-campaigns", facts.judge_campaigns,
         "Grouping the ads by gender and age category results in 19 campaigns."),
        ("setup-arms-of-campaigns", facts.judge_arm_counts,
         "A campaign has between 2 and 93 ads (the text) or 2 and 97 (the table of settings)."),
        ("setup-age-categories", facts.judge_ages,
         "The age categories are 30-34, 34-39, 40-44 and 45-49; genders are female and male."),
    ],
    "Introduction": [
        ("figure-1-united-too-tight", facts.judge_united_bounds,
         "Bounds of united policies (u) tend to be too tight: violated in more than 1% of cases."),
        ("figure-1-composite-too-loose", facts.judge_composite_bounds,
         "Bounds of the composite type (c) are mainly too loose."),
        ("figure-1-hybrid-either", facts.judge_hybrid_bounds,
         "Bounds of hybrid policies (h) are either too tight or too loose."),
        ("figure-1-omega-valid", facts.judge_omega_validity,
         "The asymmetric bounds of ω-UCB are valid: violated in at most 1% of cases."),
        ("figure-1-omega-tightest", facts.judge_omega_tightness,
         "The bounds of ω-UCB are tighter and more accurate than those of its competitors."),
        ("introduction-invalid-values", facts.judge_invalid_bounds,
         "With Hoeffding's inequality the lower bound of a cost can be 0 or negative, so that"
         " the bound of the ratio is undefined."),
    ],
    "Related work": [
        ("example-2-values", facts.judge_example_values,
         "In Example 2 m-UCB (alpha = 1) computes 2.95 and 48.6 for the two arms, ω-UCB (rho ="
         " 1) 5.5 and 2.1."),
        ("example-2-conclusion", facts.judge_example_choice,
         "In Example 2 m-UCB would pull the worse arm 2, ω-UCB the better arm 1."),
        ("figure-2-kube", criteria.published_order,
         [("kube", "eps-first"), ("ucb-bv1", "kube"), ("bts", "kube")],
         "KUBE does better than ε-first, UCB-BV1 and BTS do better than KUBE."),
        ("figure-2-ucb-bv1-inferior", criteria.published_order,
         [(slug, "ucb-bv1") for slug in ("bts", "budget-ucb", "kl-ucb-sc-plus", "ucb-sc-plus")],
         "UCB-BV1 is inferior to more recent policies (BTS, Budget-UCB, KL-UCB-SC+, UCB-SC+)."),
        ("figure-2-pd-bwk-inferior", criteria.published_order,
         [(slug, "pd-bwk") for slug in ("bts", "b-greedy", *XIA)],
         "BTS, b-greedy and {i, c, m}-UCB do better than PD-BwK."),
        ("related-best-were-compared", criteria.lower, _best_against_left_out,
         "The policies compared with are the best existing ones (judged: on each setting the"
         " best of them against those left out)."),
    ],
}
# fmt: on
