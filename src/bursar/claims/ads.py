"""Section "Social-media advertisement data": regret on the ads."""

from __future__ import annotations

from bursar.claims.bend import logarithmic
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence
from bursar.claims.contrast import Contrast, larger
from bursar.claims.names import (
    ADS,
    BERNOULLI,
    BETA,
    BTS,
    COMPETITORS,
    GENERALISED,
    OMEGA_ONE,
    OMEGA_QUARTER,
    STAR_ONE,
    STAR_QUARTER,
    XIA,
)
from bursar.claims.order import every, lower

__all__ = ["CLAIMS", "SECTION"]

SECTION = "Advertisement data"
_FAMILIES = (
    (("FB-Br",), BERNOULLI),
    (("FB-Bt",), BETA),
)  # ads, and synthetic arms of the same kind


def quarter_beats_competitors(case: Case) -> Claim:
    """Rho = 1/4 against all competitors."""
    text = "On the ads rho = 1/4 does better than all competitors."
    pairs = every(ADS, (OMEGA_QUARTER, STAR_QUARTER), COMPETITORS)
    return lower(case, Sentence("ads-quarter-beats-competitors", SECTION, text), pairs)


def quarter_beats_one(case: Case) -> Claim:
    """Rho = 1/4 against 1."""
    text = "On the ads rho = 1/4 does significantly better than rho = 1."
    pairs = every(ADS, [OMEGA_QUARTER], [OMEGA_ONE]) + every(ADS, [STAR_QUARTER], [STAR_ONE])
    return lower(case, Sentence("ads-quarter-beats-one", SECTION, text), pairs)


def good_asymptotics(case: Case) -> Claim:
    """Both values of rho."""
    text = "On the ads both rho = 1/4 and rho = 1 behave well in the long run (logarithmic growth)."
    slugs = (OMEGA_QUARTER, OMEGA_ONE, STAR_QUARTER, STAR_ONE)
    return logarithmic(case, Sentence("ads-good-asymptotics", SECTION, text), ADS, slugs)


def easier_for_some(case: Case) -> Claim:
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


def harder_for_others(case: Case) -> Claim:
    """m-, c- and i-UCB."""
    text = (
        "The ads are harder than synthetic arms for m-UCB, c-UCB and i-UCB: their regret over that"
        " of ω*-UCB(1/4) is larger on the ads."
    )
    contrasts = [
        Contrast(slug, STAR_QUARTER, ads, synthetic) for slug in XIA for ads, synthetic in _FAMILIES
    ]
    return larger(case, Sentence("ads-harder-for-xia", SECTION, text), contrasts)


def star_beats_omega(case: Case) -> Claim:
    """ω* against ω."""
    text = "On the ads ω*-UCB has lower regret than ω-UCB (rho = 1/4)."
    pairs = every(ADS, [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(case, Sentence("ads-star-beats-omega", SECTION, text), pairs)


def star_gains_less(case: Case) -> Claim:
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
