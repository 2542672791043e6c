"""Section "Synthetic Bernoulli": what the paper says of S-Br-10, S-Br-50 and S-Br-100."""

from __future__ import annotations

from bursar.paper.analysis.dominance import dominance
from bursar.paper.analysis.games import final
from bursar.paper.claims.claim import (
    AGAINST,
    BERNOULLI,
    BETA,
    BTS,
    COMPETITORS,
    FOR,
    GENERALISED,
    OMEGA_ONE,
    OMEGA_QUARTER,
    OPEN,
    RHOS,
    SMALL,
    STAR_ONE,
    STAR_QUARTER,
    XIA,
    Claim,
    ClaimCase,
    Sentence,
    omega,
    some_of,
    spoken_name,
    star,
    untested,
    verdict_of,
)
from bursar.paper.claims.criteria import (
    Contrast,
    Pair,
    convex,
    every,
    larger,
    logarithmic,
    lower,
    no_worse,
    similar,
    straight,
)

__all__ = ["CLAIMS", "CONTINUOUS_CLAIMS", "SENSITIVITY_CLAIMS"]

_SECTION = "Synthetic Bernoulli"
_OTHERS = tuple(slug for slug in COMPETITORS if slug != BTS)


def _said(slug: str, text: str) -> Sentence:
    return Sentence(f"bernoulli-{slug}", _SECTION, text)


def star_is_identical(case: ClaimCase) -> Claim:
    """ω* is not shown, since it is the same."""
    text = "On Bernoulli arms ω*-UCB gives almost the same results as ω-UCB."
    pairs = [
        pair
        for one, other in ((STAR_QUARTER, OMEGA_QUARTER), (STAR_ONE, OMEGA_ONE))
        for pair in every(BERNOULLI, [one], [other])
    ]
    return similar(case, _said("star-almost-identical", text), pairs)


def logarithmic_regret(case: ClaimCase) -> Claim:
    """ω-UCB and BTS have logarithmic regret."""
    text = "ω-UCB and BTS achieve logarithmic regret."
    slugs = (OMEGA_QUARTER, OMEGA_ONE, BTS)
    return logarithmic(case, _said("logarithmic-regret", text), BERNOULLI, slugs)


def better_asymptotics(case: ClaimCase) -> Claim:
    """What is lost in the last nine tenths of the budget."""
    text = (
        "ω-UCB and BTS behave better in the long run than the other methods (judged by what is lost"
        " in the last nine tenths of the budget)."
    )
    pairs = every(BERNOULLI, (OMEGA_QUARTER, OMEGA_ONE, BTS), _OTHERS, since=0.1)
    return lower(case, _said("better-asymptotics", text), pairs)


def xia_ahead_early(case: ClaimCase) -> Claim:
    """m-, c- and i-UCB may be ahead of rho = 1 at first."""
    text = "With small budgets m-UCB, c-UCB and i-UCB may do better than ω-UCB with rho = 1."
    pairs = every(BERNOULLI, XIA, [OMEGA_ONE], SMALL)
    return lower(case, _said("xia-ahead-early", text), pairs, some_of)


def xia_grow_rapidly(case: ClaimCase) -> Claim:
    """Their regret bends upwards."""
    text = "The regret of m-UCB, c-UCB and i-UCB grows rapidly with the budget."
    return convex(case, _said("xia-grow-rapidly", text), BERNOULLI, XIA)


def beats_bts_on_many_arms(case: ClaimCase) -> Claim:
    """ω-UCB, with either rho, on 50 and 100 arms."""
    text = "With 50 and 100 arms ω-UCB has lower regret than BTS."
    pairs = every(BERNOULLI[1:], (OMEGA_QUARTER, OMEGA_ONE), [BTS])
    return lower(case, _said("beats-bts-on-many-arms", text), pairs)


def bts_wins_on_ten_only(case: ClaimCase) -> Claim:
    """BTS against rho = 1: ahead on 10 arms, behind on 50 and 100."""
    text = "BTS does better than ω-UCB with rho = 1 only with 10 arms."
    pairs = [Pair("S-Br-10", BTS, OMEGA_ONE), *every(BERNOULLI[1:], [OMEGA_ONE], [BTS])]
    return lower(case, _said("bts-beats-rho-one-on-ten-arms-only", text), pairs)


def quarter_beats_all(case: ClaimCase) -> Claim:
    """Rho = 1/4 against everyone, on small and large budgets."""
    text = (
        "ω-UCB with rho = 1/4 does better than all other policies, with small and large budgets and"
        " any number of arms."
    )
    pairs = every(BERNOULLI, [OMEGA_QUARTER], (*COMPETITORS, OMEGA_ONE), (*SMALL, 1.0))
    return lower(case, _said("rho-quarter-beats-all", text), pairs)


def one_is_straight(case: ClaimCase) -> Claim:
    """The curve of rho = 1."""
    text = "Over a logarithmic axis of the budget the regret of rho = 1 is a straight line."
    return straight(case, _said("rho-one-straight", text), BERNOULLI, [OMEGA_ONE])


def quarter_is_convex(case: ClaimCase) -> Claim:
    """The curve of rho = 1/4."""
    text = "Over a logarithmic axis of the budget the regret of rho = 1/4 is convex."
    return convex(case, _said("rho-quarter-convex", text), BERNOULLI, [OMEGA_QUARTER])


def quarter_ahead_of_one(case: ClaimCase) -> Claim:
    """Rho = 1/4 against 1, as far as the budget goes."""
    text = "With budgets that are not too large rho = 1/4 loses less than rho = 1."
    pairs = every(BERNOULLI, [OMEGA_QUARTER], [OMEGA_ONE], (*SMALL, 1.0))
    return lower(case, _said("rho-quarter-ahead-of-one", text), pairs)


def one_better_in_the_end(case: ClaimCase) -> Claim:
    """What is lost in the last half of the budget."""
    text = (
        "In the long run rho = 1 does better than rho = 1/4 (judged by what is lost in the last"
        " half of the budget; the theorem speaks of budgets without limit)."
    )
    pairs = every(BERNOULLI, [OMEGA_ONE], [OMEGA_QUARTER], since=0.5)
    return lower(case, _said("rho-one-better-asymptotically", text), pairs)


CLAIMS = (
    star_is_identical,
    logarithmic_regret,
    better_asymptotics,
    xia_ahead_early,
    xia_grow_rapidly,
    beats_bts_on_many_arms,
    bts_wins_on_ten_only,
    quarter_beats_all,
    one_is_straight,
    quarter_is_convex,
    quarter_ahead_of_one,
    one_better_in_the_end,
)


# ==== claims.continuous
# Section "Synthetic Generalized Bernoulli and synthetic Beta".

_CONTINUOUS_SECTION = "Generalised Bernoulli and Beta"
_OURS = (OMEGA_QUARTER, STAR_QUARTER)
_LAST = "S-Bt-100"


def quarter_beats_competitors(case: ClaimCase) -> Claim:
    """All but m-UCB on 100 Beta arms."""
    text = (
        "ω-UCB and ω*-UCB with rho = 1/4 do better than their competitors, except for m-UCB with"
        " 100 Beta arms."
    )
    pairs = every(GENERALISED + BETA, _OURS, COMPETITORS)
    pairs = [p for p in pairs if (p.setting, p.other) != (_LAST, "m-ucb")]
    return lower(
        case, Sentence("continuous-quarter-beats-competitors", _CONTINUOUS_SECTION, text), pairs
    )


def m_ucb_comparable(case: ClaimCase) -> Claim:
    """m-UCB on 100 Beta arms."""
    text = "With 100 Beta arms m-UCB does about as well as ω-UCB and ω*-UCB with rho = 1/4."
    pairs = [Pair(_LAST, "m-ucb", ours) for ours in _OURS]
    return similar(case, Sentence("beta-100-m-ucb-comparable", _CONTINUOUS_SECTION, text), pairs)


def bts_not_competitive(case: ClaimCase) -> Claim:
    """BTS against both."""
    text = "On generalised Bernoulli and Beta arms BTS is not competitive with either ω policy."
    pairs = every(GENERALISED + BETA, _OURS, [BTS])
    return lower(case, Sentence("continuous-bts-not-competitive", _CONTINUOUS_SECTION, text), pairs)


def bts_ignores_variance(case: ClaimCase) -> Claim:
    """BTS falls behind more where variances are small."""
    text = (
        "BTS falls behind because it cannot use small variances: against ω*-UCB(1/4) it does worse"
        " on Beta arms than on Bernoulli arms of the same number."
    )
    contrasts = [
        Contrast(BTS, STAR_QUARTER, (beta,), (bernoulli,))
        for beta, bernoulli in zip(BETA, BERNOULLI, strict=True)
    ]
    return larger(case, Sentence("beta-bts-ignores-variance", _CONTINUOUS_SECTION, text), contrasts)


def star_uses_variance(case: ClaimCase) -> Claim:
    """ω* against ω."""
    text = (
        "Estimating the variance gives ω*-UCB a significant advantage over ω-UCB on generalised"
        " Bernoulli and Beta arms (rho = 1/4)."
    )
    pairs = every(GENERALISED + BETA, [STAR_QUARTER], [OMEGA_QUARTER])
    return lower(case, Sentence("continuous-star-beats-omega", _CONTINUOUS_SECTION, text), pairs)


CONTINUOUS_CLAIMS = (
    quarter_beats_competitors,
    m_ucb_comparable,
    bts_not_competitive,
    bts_ignores_variance,
    star_uses_variance,
)


# ==== claims.sensitivity
# Section "Sensitivity study": which rho, and what the variance estimate brings.

_SENSITIVITY_SECTION = "Sensitivity study"
_OMEGAS, _STARS = tuple(map(omega, RHOS)), tuple(map(star, RHOS))


def quarter_best_on_bernoulli(case: ClaimCase) -> Claim:
    """Rho = 1/4 against every other rho."""
    text = "On Bernoulli arms both ω policies do best with rho = 1/4."
    pairs = every(BERNOULLI, [OMEGA_QUARTER], _OMEGAS) + every(BERNOULLI, [STAR_QUARTER], _STARS)
    return lower(
        case, Sentence("sensitivity-quarter-best-on-bernoulli", _SENSITIVITY_SECTION, text), pairs
    )


def comparable_on_bernoulli(case: ClaimCase) -> Claim:
    """ω* and ω with the same rho."""
    text = "On Bernoulli arms ω-UCB and ω*-UCB do about equally well, rho by rho."
    pairs = [
        Pair(setting, one, other)
        for one, other in zip(_STARS, _OMEGAS, strict=True)
        for setting in BERNOULLI
    ]
    return similar(
        case, Sentence("sensitivity-comparable-on-bernoulli", _SENSITIVITY_SECTION, text), pairs
    )


def estimate_does_no_harm(case: ClaimCase) -> Claim:
    """The variance is known on Bernoulli arms; estimating it should not cost."""
    text = "On Bernoulli arms estimating the variance does not make ω*-UCB worse than ω-UCB."
    pairs = every(BERNOULLI, [STAR_QUARTER], [OMEGA_QUARTER])
    return no_worse(
        case, Sentence("sensitivity-estimate-does-no-harm", _SENSITIVITY_SECTION, text), pairs
    )


def eighth_works_for_omega(case: ClaimCase) -> Claim:
    """ω-UCB with rho = 1/8 against its best other rho."""
    text = "On generalised Bernoulli and Beta arms rho = 1/8 works well for ω-UCB (near its best)."
    sentence = Sentence("sensitivity-eighth-works-for-omega", _SENSITIVITY_SECTION, text)
    return no_worse(case, sentence, _against_best(case, omega(0.125), _OMEGAS))


def quarter_near_best_for_star(case: ClaimCase) -> Claim:
    """ω*-UCB with rho = 1/4 against its best other rho."""
    text = "On generalised Bernoulli and Beta arms rho = 1/4 is near the best for ω*-UCB."
    sentence = Sentence("sensitivity-quarter-near-best-for-star", _SENSITIVITY_SECTION, text)
    return no_worse(case, sentence, _against_best(case, STAR_QUARTER, _STARS))


def star_quarter_is_default(case: ClaimCase) -> Claim:
    """ω*-UCB(1/4) against all other ω policies, over all settings of the result."""
    text = "ω*-UCB with rho = 1/4 is the one to recommend among all ω policies."
    sentence = Sentence("sensitivity-recommend-star-quarter", _SENSITIVITY_SECTION, text)
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
    rivals = [spoken_name(str(row["other"])) for row in numbers if row["finding"] != FOR]
    why = f"Lower regret in the typical game than {findings.count(FOR)} of {len(findings)} others."
    why += f" Not than {', '.join(rivals)}." if rivals else ""
    lost = [spoken_name(str(row["other"])) for row in numbers if row["settings_lost"]]
    if lost:
        why += f" Its mean is significantly higher somewhere than that of {', '.join(lost)}."
    return Claim(*sentence, numbers, test, verdict_of(findings), why)


def _against_best(case: ClaimCase, slug: str, family: tuple[str, ...]) -> list[Pair]:
    """Return the policy against the one of its family with the least mean, on each setting."""
    pairs = []
    for setting in GENERALISED + BETA:
        rivals = [s for s in family if s != slug and case.has(setting, s)]
        means = {s: float(final(case.result, setting, s).mean()) for s in rivals}
        best = min(means, key=means.__getitem__) if means else family[0]
        pairs.append(Pair(setting, slug, best))
    return pairs


SENSITIVITY_CLAIMS = (
    quarter_best_on_bernoulli,
    comparable_on_bernoulli,
    estimate_does_no_harm,
    eighth_works_for_omega,
    quarter_near_best_for_star,
    star_quarter_is_default,
)
