"""What abstract, introduction and conclusion say of regret over all settings."""

from __future__ import annotations

from bursar.claims.bend import logarithmic
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence
from bursar.claims.names import (
    ADS,
    BETA,
    COMPETITORS,
    OMEGA_ONE,
    OMEGA_QUARTER,
    RHOS,
    SMALL,
    STAR_QUARTER,
    SYNTHETIC,
    omega,
    star,
)
from bursar.claims.order import every, lower

__all__ = ["CLAIMS"]

_SECTION = "Abstract and conclusion"
_OURS = (OMEGA_QUARTER, STAR_QUARTER)


def consistently_outperforms(case: Case) -> Claim:
    """The abstract."""
    text = (
        "ω-UCB consistently does better than existing policies, in synthetic and real settings"
        " (judged with the recommended rho = 1/4 and the whole budget)."
    )
    pairs = every(SYNTHETIC + ADS, _OURS, COMPETITORS)
    return lower(case, Sentence("abstract-consistently-outperforms", _SECTION, text), pairs)


def small_and_large(case: Case) -> Claim:
    """The list of contributions."""
    text = (
        "ω-UCB and ω*-UCB have substantially lower regret than the competitors for both small and"
        " large budgets (rho = 1/4)."
    )
    pairs = every(SYNTHETIC + ADS, _OURS, COMPETITORS, (*SMALL, 1.0))
    return lower(case, Sentence("introduction-small-and-large-budgets", _SECTION, text), pairs)


def quarter_performed_best(case: Case) -> Claim:
    """The conclusion."""
    text = "rho = 1/4 performed best in the experiments."
    settings = SYNTHETIC + ADS
    pairs = every(settings, [OMEGA_QUARTER], map(omega, RHOS))
    pairs += every(settings, [STAR_QUARTER], map(star, RHOS))
    return lower(case, Sentence("conclusion-quarter-performed-best", _SECTION, text), pairs)


def logarithmic_from_one(case: Case) -> Claim:
    """The theorem, as far as these budgets show it."""
    text = (
        "ω-UCB achieves logarithmic regret for rho of 1 and more (a theorem for budgets without"
        " limit; judged as far as the budget goes)."
    )
    slugs = (OMEGA_ONE, omega(2.0))
    sentence = Sentence("conclusion-logarithmic-from-rho-one", _SECTION, text)
    return logarithmic(case, sentence, SYNTHETIC + ADS, slugs)


def variance_helps_continuous(case: Case) -> Claim:
    """The conclusion, on ω*-UCB."""
    text = "Tracking the variance leads to even better performance on continuous rewards and costs."
    pairs = every((*BETA, "FB-Bt"), [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(case, Sentence("conclusion-variance-helps-continuous", _SECTION, text), pairs)


CLAIMS = (
    consistently_outperforms,
    small_and_large,
    quarter_performed_best,
    logarithmic_from_one,
    variance_helps_continuous,
)
