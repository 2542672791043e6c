"""The settings and policies that the paper's sentences speak of, by name."""

from __future__ import annotations

from fractions import Fraction

from bursar.policies import policy as policy_of

__all__ = [
    "ADS", "BERNOULLI", "BETA", "BTS", "COMPETITORS", "GENERALISED", "LEFT_OUT", "OMEGA_ONE",
    "OMEGA_QUARTER", "RHOS", "SMALL", "STAR_ONE", "STAR_QUARTER", "SYNTHETIC", "XIA", "omega",
    "spoken", "star",
]  # fmt: skip

BERNOULLI = ("S-Br-10", "S-Br-50", "S-Br-100")
GENERALISED = ("S-GBr-10", "S-GBr-50", "S-GBr-100")
BETA = ("S-Bt-10", "S-Bt-50", "S-Bt-100")
SYNTHETIC = BERNOULLI + GENERALISED + BETA
ADS = ("FB-Br", "FB-Bt")

BTS = "bts"
XIA = ("m-ucb", "c-ucb", "i-ucb")
COMPETITORS = (BTS, "budget-ucb", *XIA, "b-greedy", "ucb-sc-plus")
LEFT_OUT = ("eps-first", "kube", "ucb-bv1", "pd-bwk", "kl-ucb-sc-plus")
RHOS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
SMALL = (0.01, 0.1)  # shares of the budget that count as small


def omega(rho: float) -> str:
    """Return the slug of ω-UCB."""
    return str(policy_of("omega-ucb").but(rho=rho))


def star(rho: float) -> str:
    """Return the slug of ω*-UCB."""
    return str(policy_of("omega-star-ucb").but(rho=rho))


OMEGA_QUARTER, OMEGA_ONE = omega(0.25), omega(1.0)
STAR_QUARTER, STAR_ONE = star(0.25), star(1.0)


def spoken(slug: str) -> str:
    """Return a policy as a sentence names it.

    >>> spoken("omega-star-ucb:rho=0.25"), spoken("bts")
    ('ω*-UCB(1/4)', 'BTS')
    """
    policy = policy_of(slug)
    rho = getattr(policy, "rho", None)
    return policy.title if rho is None else f"{policy.title}({Fraction(rho).limit_denominator(64)})"
