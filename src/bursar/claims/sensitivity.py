"""Section "Sensitivity study": which rho, and what the variance estimate brings."""

from __future__ import annotations

from bursar.analysis.dominance import dominance
from bursar.analysis.games import final
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence, untested
from bursar.claims.judge import AGAINST, FOR, OPEN, verdict_of
from bursar.claims.likeness import no_worse, similar
from bursar.claims.names import (
    BERNOULLI,
    BETA,
    GENERALISED,
    OMEGA_QUARTER,
    RHOS,
    STAR_QUARTER,
    omega,
    spoken,
    star,
)
from bursar.claims.order import Pair, every, lower

__all__ = ["CLAIMS"]

_SECTION = "Sensitivity study"
_OMEGAS, _STARS = tuple(map(omega, RHOS)), tuple(map(star, RHOS))


def quarter_best_on_bernoulli(case: Case) -> Claim:
    """Rho = 1/4 against every other rho."""
    text = "On Bernoulli arms both ω policies do best with rho = 1/4."
    pairs = every(BERNOULLI, [OMEGA_QUARTER], _OMEGAS) + every(BERNOULLI, [STAR_QUARTER], _STARS)
    return lower(case, Sentence("sensitivity-quarter-best-on-bernoulli", _SECTION, text), pairs)


def comparable_on_bernoulli(case: Case) -> Claim:
    """ω* and ω with the same rho."""
    text = "On Bernoulli arms ω-UCB and ω*-UCB do about equally well, rho by rho."
    pairs = [
        Pair(setting, one, other)
        for one, other in zip(_STARS, _OMEGAS, strict=True)
        for setting in BERNOULLI
    ]
    return similar(case, Sentence("sensitivity-comparable-on-bernoulli", _SECTION, text), pairs)


def estimate_does_no_harm(case: Case) -> Claim:
    """The variance is known on Bernoulli arms; estimating it should not cost."""
    text = "On Bernoulli arms estimating the variance does not make ω*-UCB worse than ω-UCB."
    pairs = every(BERNOULLI, [STAR_QUARTER], [OMEGA_QUARTER])
    return no_worse(case, Sentence("sensitivity-estimate-does-no-harm", _SECTION, text), pairs)


def eighth_works_for_omega(case: Case) -> Claim:
    """ω-UCB with rho = 1/8 against its best other rho."""
    text = "On generalised Bernoulli and Beta arms rho = 1/8 works well for ω-UCB (near its best)."
    sentence = Sentence("sensitivity-eighth-works-for-omega", _SECTION, text)
    return no_worse(case, sentence, _against_best(case, omega(0.125), _OMEGAS))


def quarter_near_best_for_star(case: Case) -> Claim:
    """ω*-UCB with rho = 1/4 against its best other rho."""
    text = "On generalised Bernoulli and Beta arms rho = 1/4 is near the best for ω*-UCB."
    sentence = Sentence("sensitivity-quarter-near-best-for-star", _SECTION, text)
    return no_worse(case, sentence, _against_best(case, STAR_QUARTER, _STARS))


def star_quarter_is_default(case: Case) -> Claim:
    """ω*-UCB(1/4) against all other ω policies, over all settings of the result."""
    text = "ω*-UCB with rho = 1/4 is the one to recommend among all ω policies."
    sentence = Sentence("sensitivity-recommend-star-quarter", _SECTION, text)
    test = (
        "log(1 + regret) paired by setting and repetition, every setting with equal weight;"
        " sign-flip test, 5%, Holm's correction over all pairs. The mean is counted by settings."
    )
    slugs = [s for s in (STAR_QUARTER, *_OMEGAS, *_STARS) if s in case.result.policies]
    names = list(dict.fromkeys(slugs))
    if STAR_QUARTER not in names or len(names) < 2:
        return untested(sentence, test, "There are not two of these policies in the result.")
    table = dominance(case.result, names)
    meaning = {1: FOR, -1: AGAINST, 0: OPEN}
    numbers = [
        {
            "policy": STAR_QUARTER,
            "other": other,
            "finding": meaning[entry],
            "settings_won": table.settings_won[0][i],
            "settings_lost": table.settings_won[i][0],
            "settings": table.settings_shared[0][i],
        }
        for i, (other, entry) in enumerate(zip(table.names, table.matrix[0], strict=True))
        if i and entry is not None
    ]
    findings = [str(row["finding"]) for row in numbers]
    rivals = [spoken(str(row["other"])) for row in numbers if row["finding"] != FOR]
    why = f"Lower regret in the typical game than {findings.count(FOR)} of {len(findings)} others."
    why += f" Not than {', '.join(rivals)}." if rivals else ""
    lost = [spoken(str(row["other"])) for row in numbers if row["settings_lost"]]
    if lost:
        why += f" Its mean is significantly higher somewhere than that of {', '.join(lost)}."
    return Claim(*sentence, numbers, test, verdict_of(findings), why)


def _against_best(case: Case, slug: str, family: tuple[str, ...]) -> list[Pair]:
    """Return the policy against the one of its family with the least mean, on each setting."""
    pairs = []
    for setting in GENERALISED + BETA:
        rivals = [s for s in family if s != slug and case.has(setting, s)]
        means = {s: float(final(case.result, setting, s).mean()) for s in rivals}
        best = min(means, key=means.__getitem__) if means else family[0]
        pairs.append(Pair(setting, slug, best))
    return pairs


CLAIMS = (
    quarter_best_on_bernoulli,
    comparable_on_bernoulli,
    estimate_does_no_harm,
    eighth_works_for_omega,
    quarter_near_best_for_star,
    star_quarter_is_default,
)
