"""Section "Synthetic Generalized Bernoulli and synthetic Beta"."""

from __future__ import annotations

from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence
from bursar.claims.contrast import Contrast, larger
from bursar.claims.likeness import similar
from bursar.claims.names import (
    BERNOULLI,
    BETA,
    BTS,
    COMPETITORS,
    GENERALISED,
    OMEGA_QUARTER,
    STAR_QUARTER,
)
from bursar.claims.order import Pair, every, lower

__all__ = ["CLAIMS"]

_SECTION = "Generalised Bernoulli and Beta"
_OURS = (OMEGA_QUARTER, STAR_QUARTER)
_LAST = "S-Bt-100"


def quarter_beats_competitors(case: Case) -> Claim:
    """All but m-UCB on 100 Beta arms."""
    text = (
        "ω-UCB and ω*-UCB with rho = 1/4 do better than their competitors, except for m-UCB with"
        " 100 Beta arms."
    )
    pairs = every(GENERALISED + BETA, _OURS, COMPETITORS)
    pairs = [p for p in pairs if (p.setting, p.other) != (_LAST, "m-ucb")]
    return lower(case, Sentence("continuous-quarter-beats-competitors", _SECTION, text), pairs)


def m_ucb_comparable(case: Case) -> Claim:
    """m-UCB on 100 Beta arms."""
    text = "With 100 Beta arms m-UCB does about as well as ω-UCB and ω*-UCB with rho = 1/4."
    pairs = [Pair(_LAST, "m-ucb", ours) for ours in _OURS]
    return similar(case, Sentence("beta-100-m-ucb-comparable", _SECTION, text), pairs)


def bts_not_competitive(case: Case) -> Claim:
    """BTS against both."""
    text = "On generalised Bernoulli and Beta arms BTS is not competitive with either ω policy."
    pairs = every(GENERALISED + BETA, _OURS, [BTS])
    return lower(case, Sentence("continuous-bts-not-competitive", _SECTION, text), pairs)


def bts_ignores_variance(case: Case) -> Claim:
    """BTS falls behind more where variances are small."""
    text = (
        "BTS falls behind because it cannot use small variances: against ω*-UCB(1/4) it does worse"
        " on Beta arms than on Bernoulli arms of the same number."
    )
    contrasts = [
        Contrast(BTS, STAR_QUARTER, (beta,), (bernoulli,))
        for beta, bernoulli in zip(BETA, BERNOULLI, strict=True)
    ]
    return larger(case, Sentence("beta-bts-ignores-variance", _SECTION, text), contrasts)


def star_uses_variance(case: Case) -> Claim:
    """ω* against ω."""
    text = (
        "Estimating the variance gives ω*-UCB a significant advantage over ω-UCB on generalised"
        " Bernoulli and Beta arms (rho = 1/4)."
    )
    pairs = every(GENERALISED + BETA, [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(case, Sentence("continuous-star-beats-omega", _SECTION, text), pairs)


CLAIMS = (
    quarter_beats_competitors,
    m_ucb_comparable,
    bts_not_competitive,
    bts_ignores_variance,
    star_uses_variance,
)
