"""Section "Social-media advertisement data": regret on the ads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from bursar.paper.analysis.compare import LEVEL, holm
from bursar.paper.claims.claim import (
    ADS,
    AGAINST,
    BERNOULLI,
    BETA,
    BTS,
    COMPETITORS,
    DEPENDS,
    FAILS,
    FOR,
    GENERALISED,
    HOLDS,
    OMEGA_ONE,
    OMEGA_QUARTER,
    OPEN,
    STAR_ONE,
    STAR_QUARTER,
    XIA,
    Claim,
    ClaimCase,
    Sentence,
    untested,
    verdict_of,
)
from bursar.paper.claims.criteria import Contrast, every, larger, logarithmic, lower
from bursar.settings.facebook import Ads
from bursar.validation import Floats

__all__ = ["CLAIMS", "FILE_CLAIMS", "SECTION", "SHAPE_CLAIMS"]

SECTION = "Advertisement data"
_FAMILIES = (
    (("FB-Br",), BERNOULLI),
    (("FB-Bt",), BETA),
)  # ads, and synthetic arms of the same kind


def quarter_beats_competitors(case: ClaimCase) -> Claim:
    """Rho = 1/4 against all competitors."""
    text = "On the ads rho = 1/4 does better than all competitors."
    pairs = every(ADS, (OMEGA_QUARTER, STAR_QUARTER), COMPETITORS)
    return lower(case, Sentence("ads-quarter-beats-competitors", SECTION, text), pairs)


def quarter_beats_one(case: ClaimCase) -> Claim:
    """Rho = 1/4 against 1."""
    text = "On the ads rho = 1/4 does significantly better than rho = 1."
    pairs = every(ADS, [OMEGA_QUARTER], [OMEGA_ONE]) + every(ADS, [STAR_QUARTER], [STAR_ONE])
    return lower(case, Sentence("ads-quarter-beats-one", SECTION, text), pairs)


def good_asymptotics(case: ClaimCase) -> Claim:
    """Both values of rho."""
    text = "On the ads both rho = 1/4 and rho = 1 behave well in the long run (logarithmic growth)."
    slugs = (OMEGA_QUARTER, OMEGA_ONE, STAR_QUARTER, STAR_ONE)
    return logarithmic(case, Sentence("ads-good-asymptotics", SECTION, text), ADS, slugs)


def easier_for_some(case: ClaimCase) -> Claim:
    """BTS and KL-UCB-SC+; the paper shows UCB-SC+, so that is looked at too."""
    text = (
        "The ads are easier than synthetic arms for BTS and KL-UCB-SC+ (the paper's figures show"
        " UCB-SC+, judged too): their regret over that of ω*-UCB(1/4) is smaller on the ads."
    )
    contrasts = [
        Contrast(slug, STAR_QUARTER, synthetic, ads)
        for slug in (BTS, "kl-ucb-sc-plus", "ucb-sc-plus")
        for ads, synthetic in _FAMILIES
    ]
    return larger(case, Sentence("ads-easier-for-bts-and-sc", SECTION, text), contrasts)


def harder_for_others(case: ClaimCase) -> Claim:
    """m-, c- and i-UCB."""
    text = (
        "The ads are harder than synthetic arms for m-UCB, c-UCB and i-UCB: their regret over that"
        " of ω*-UCB(1/4) is larger on the ads."
    )
    contrasts = [
        Contrast(slug, STAR_QUARTER, ads, synthetic) for slug in XIA for ads, synthetic in _FAMILIES
    ]
    return larger(case, Sentence("ads-harder-for-xia", SECTION, text), contrasts)


def star_beats_omega(case: ClaimCase) -> Claim:
    """ω* against ω."""
    text = "On the ads ω*-UCB has lower regret than ω-UCB (rho = 1/4)."
    pairs = every(ADS, [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(case, Sentence("ads-star-beats-omega", SECTION, text), pairs)


def star_gains_less(case: ClaimCase) -> Claim:
    """The effect is smaller than on synthetic arms."""
    text = "The advantage of ω*-UCB over ω-UCB is smaller on the ads than on synthetic arms."
    contrasts = [Contrast(STAR_QUARTER, OMEGA_QUARTER, ("FB-Bt",), GENERALISED + BETA)]
    return larger(case, Sentence("ads-star-gains-less", SECTION, text), contrasts)


CLAIMS = (
    quarter_beats_competitors,
    quarter_beats_one,
    good_asymptotics,
    easier_for_some,
    harder_for_others,
    star_beats_omega,
    star_gains_less,
)


# ==== claims.file
# Claims on the file of ads itself: groups, numbers of arms, where the means lie.

_SETUP = "Setup"
_NO_FILE = "The file of ads was not given."
_COUNTED = "Counted in the file of ads, after leaving out unusable lines."
_EXAMPLE = 33  # arms of the campaign that the paper draws


def groups(case: ClaimCase) -> Claim:
    """19 campaigns by gender and age."""
    text = "Grouping the ads by gender and age category results in 19 campaigns."
    sentence = Sentence("setup-nineteen-campaigns", _SETUP, text)
    ads = case.ads()
    if ads is None:
        return untested(sentence, _COUNTED, _NO_FILE)
    plain = len({key[1:] for key in ads.key})
    full = len({*ads.key})
    verdict = HOLDS if plain == 19 else DEPENDS if full == 19 else FAILS
    why = (
        f"Gender and age alone make {plain} groups; campaign, gender and age make {full}, which is"
        " what the authors' code does."
    )
    numbers = {"by_gender_and_age": plain, "by_campaign_gender_and_age": full}
    return Claim(*sentence, numbers, _COUNTED, verdict, why)


def arms(case: ClaimCase) -> Claim:
    """2 to 93, or 2 to 97."""
    text = "A campaign has between 2 and 93 ads (the text) or 2 and 97 (the table of settings)."
    sentence = Sentence("setup-arms-of-campaigns", _SETUP, text)
    ads = case.ads()
    if ads is None:
        return untested(sentence, _COUNTED, _NO_FILE)
    sizes = sorted(campaign.arms for campaign in ads.campaigns())
    found = (sizes[0], sizes[-1])
    said = {"the text": (2, 93), "the table": (2, 97)}
    right = [where for where, both in said.items() if both == found]
    verdict = HOLDS if len(right) == 2 else DEPENDS if right else FAILS
    why = f"Campaigns have {found[0]} to {found[1]} ads: " + (
        f"{' and '.join(right)} is right." if right else "neither is right."
    )
    return Claim(*sentence, {"arms": sizes}, _COUNTED, verdict, why)


def ages(case: ClaimCase) -> Claim:
    """The categories of age."""
    text = "The age categories are 30-34, 34-39, 40-44 and 45-49; genders are female and male."
    sentence = Sentence("setup-age-categories", _SETUP, text)
    ads = case.ads()
    if ads is None:
        return untested(sentence, _COUNTED, _NO_FILE)
    found = sorted({key[1] for key in ads.key})
    right = {"30-34", "34-39", "40-44", "45-49"} == {*found}
    why = f"The file has {', '.join(found)}" + ("." if right else ": 34-39 is a slip for 35-39.")
    numbers = {"ages": found, "genders": sorted({key[2] for key in ads.key})}
    return Claim(*sentence, numbers, _COUNTED, HOLDS if right else FAILS, why)


def costs_near_one(case: ClaimCase) -> Claim:
    """More than half of the mean costs above 1/2."""
    text = "The mean costs of the ads are biased towards 1."
    sentence = Sentence("ads-costs-near-one", SECTION, text)
    test = "Share of mean costs above 1/2, binomial test against 1/2, Holm's correction."
    ads = case.ads()
    if ads is None:
        return untested(sentence, test, _NO_FILE)
    rows = [_share(name, c > 0.5, 0.5, "above 1/2") for name, _, c in _samples(ads)]
    return _shapes(sentence, test, rows)


def rewards_near_ends(case: ClaimCase) -> Claim:
    """Both outer quarters hold more than a quarter of the mean rewards."""
    text = "The mean rewards of the ads are biased towards both ends of [0, 1]."
    sentence = Sentence("ads-rewards-near-the-ends", SECTION, text)
    test = (
        "Share of mean rewards in the lowest and in the highest quarter of [0, 1], binomial test"
        " against 1/4, Holm's correction."
    )
    ads = case.ads()
    if ads is None:
        return untested(sentence, test, _NO_FILE)
    rows = []
    for name, reward, _ in _samples(ads):
        rows.append(_share(name, reward < 0.25, 0.25, "below 1/4"))
        rows.append(_share(name, reward > 0.75, 0.25, "above 3/4"))
    return _shapes(sentence, test, rows)


def _samples(ads: Ads) -> list[tuple[str, Floats, Floats]]:
    """Return all ads, and the campaign of the paper's picture if it is there."""
    campaigns = ads.campaigns()
    everything = (
        "all ads",
        np.concatenate([c.reward for c in campaigns]),
        np.concatenate([c.cost for c in campaigns]),
    )
    shown = [
        (f"{c.name} ({c.arms} ads)", c.reward, c.cost) for c in campaigns if c.arms == _EXAMPLE
    ]
    return [everything, *shown]


def _share(name: str, inside: Any, expected: float, where: str) -> dict[str, Any]:
    count, total = int(inside.sum()), int(inside.size)
    test = binomtest(count, total, expected)
    return {
        "of": name,
        "where": where,
        "share": count / total,
        "if_uniform": expected,
        "ads": total,
        "p": float(test.pvalue),
    }


def _shapes(sentence: Sentence, test: str, rows: Sequence[dict[str, Any]]) -> Claim:
    corrected = holm([row["p"] for row in rows])
    numbers = []
    for row, p in zip(rows, corrected, strict=True):
        more = row["share"] > row["if_uniform"]
        finding = OPEN if p > LEVEL else FOR if more else AGAINST
        numbers.append({**row, "p": float(p), "finding": finding})
    shown = [f"{r['share']:.0%} of {r['of']} lie {r['where']}" for r in numbers]
    verdict = verdict_of([str(row["finding"]) for row in numbers])
    base = " and ".join(sorted({f"{r['if_uniform']:.0%}" for r in numbers}))
    return Claim(*sentence, numbers, test, verdict, f"{'; '.join(shown)} (uniform means: {base}).")


FILE_CLAIMS = (groups, arms, ages)
SHAPE_CLAIMS = (costs_near_one, rewards_near_ends)
