"""Section "Synthetic Bernoulli": what the paper says of S-Br-10, S-Br-50 and S-Br-100."""

from __future__ import annotations

from bursar.claims.bend import convex, logarithmic, straight
from bursar.claims.case import Case
from bursar.claims.claim import Claim, Sentence
from bursar.claims.judge import some_of
from bursar.claims.likeness import similar
from bursar.claims.names import (
    BERNOULLI,
    BTS,
    COMPETITORS,
    OMEGA_ONE,
    OMEGA_QUARTER,
    SMALL,
    STAR_ONE,
    STAR_QUARTER,
    XIA,
)
from bursar.claims.order import Pair, every, lower

__all__ = ["CLAIMS"]

_SECTION = "Synthetic Bernoulli"
_OTHERS = tuple(slug for slug in COMPETITORS if slug != BTS)


def _said(slug: str, text: str) -> Sentence:
    return Sentence(f"bernoulli-{slug}", _SECTION, text)


def star_is_identical(case: Case) -> Claim:
    """ω* is not shown, since it is the same."""
    text = "On Bernoulli arms ω*-UCB gives almost the same results as ω-UCB."
    pairs = [
        pair
        for one, other in ((STAR_QUARTER, OMEGA_QUARTER), (STAR_ONE, OMEGA_ONE))
        for pair in every(BERNOULLI, [one], [other])
    ]
    return similar(case, _said("star-almost-identical", text), pairs)


def logarithmic_regret(case: Case) -> Claim:
    """ω-UCB and BTS have logarithmic regret."""
    text = "ω-UCB and BTS achieve logarithmic regret."
    slugs = (OMEGA_QUARTER, OMEGA_ONE, BTS)
    return logarithmic(case, _said("logarithmic-regret", text), BERNOULLI, slugs)


def better_asymptotics(case: Case) -> Claim:
    """What is lost in the last nine tenths of the budget."""
    text = (
        "ω-UCB and BTS behave better in the long run than the other methods (judged by what is lost"
        " in the last nine tenths of the budget)."
    )
    pairs = every(BERNOULLI, (OMEGA_QUARTER, OMEGA_ONE, BTS), _OTHERS, since=0.1)
    return lower(case, _said("better-asymptotics", text), pairs)


def xia_ahead_early(case: Case) -> Claim:
    """m-, c- and i-UCB may be ahead of rho = 1 at first."""
    text = "With small budgets m-UCB, c-UCB and i-UCB may do better than ω-UCB with rho = 1."
    pairs = every(BERNOULLI, XIA, [OMEGA_ONE], SMALL)
    return lower(case, _said("xia-ahead-early", text), pairs, some_of)


def xia_grow_rapidly(case: Case) -> Claim:
    """Their regret bends upwards."""
    text = "The regret of m-UCB, c-UCB and i-UCB grows rapidly with the budget."
    return convex(case, _said("xia-grow-rapidly", text), BERNOULLI, XIA)


def beats_bts_on_many_arms(case: Case) -> Claim:
    """ω-UCB, with either rho, on 50 and 100 arms."""
    text = "With 50 and 100 arms ω-UCB has lower regret than BTS."
    pairs = every(BERNOULLI[1:], (OMEGA_QUARTER, OMEGA_ONE), [BTS])
    return lower(case, _said("beats-bts-on-many-arms", text), pairs)


def bts_wins_on_ten_only(case: Case) -> Claim:
    """BTS against rho = 1: ahead on 10 arms, behind on 50 and 100."""
    text = "BTS does better than ω-UCB with rho = 1 only with 10 arms."
    pairs = [Pair("S-Br-10", BTS, OMEGA_ONE), *every(BERNOULLI[1:], [OMEGA_ONE], [BTS])]
    return lower(case, _said("bts-beats-rho-one-on-ten-arms-only", text), pairs)


def quarter_beats_all(case: Case) -> Claim:
    """Rho = 1/4 against everyone, on small and large budgets."""
    text = (
        "ω-UCB with rho = 1/4 does better than all other policies, with small and large budgets and"
        " any number of arms."
    )
    pairs = every(BERNOULLI, [OMEGA_QUARTER], (*COMPETITORS, OMEGA_ONE), (*SMALL, 1.0))
    return lower(case, _said("rho-quarter-beats-all", text), pairs)


def one_is_straight(case: Case) -> Claim:
    """The curve of rho = 1."""
    text = "Over a logarithmic axis of the budget the regret of rho = 1 is a straight line."
    return straight(case, _said("rho-one-straight", text), BERNOULLI, [OMEGA_ONE])


def quarter_is_convex(case: Case) -> Claim:
    """The curve of rho = 1/4."""
    text = "Over a logarithmic axis of the budget the regret of rho = 1/4 is convex."
    return convex(case, _said("rho-quarter-convex", text), BERNOULLI, [OMEGA_QUARTER])


def quarter_ahead_of_one(case: Case) -> Claim:
    """Rho = 1/4 against 1, as far as the budget goes."""
    text = "With budgets that are not too large rho = 1/4 loses less than rho = 1."
    pairs = every(BERNOULLI, [OMEGA_QUARTER], [OMEGA_ONE], (*SMALL, 1.0))
    return lower(case, _said("rho-quarter-ahead-of-one", text), pairs)


def one_better_in_the_end(case: Case) -> Claim:
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
