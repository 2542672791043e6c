"""A claim of the paper, the numbers that bear on it, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple

from bursar.errors import InvalidInput
from bursar.paper.analysis import games
from bursar.paper.analysis.compare import Comparison, compare
from bursar.paper.analysis.coverage import coverage
from bursar.paper.analysis.games import failed_share
from bursar.paper.analysis.growth import Growth, decades, growth
from bursar.policies import policy as policy_of
from bursar.settings import facebook
from bursar.settings.facebook import Ads
from bursar.simulation.result import Result

__all__ = [
    "ADS",
    "AGAINST",
    "BERNOULLI",
    "BETA",
    "BTS",
    "COMPETITORS",
    "DEPENDS",
    "FAILS",
    "FOR",
    "GENERALISED",
    "HOLDS",
    "LEFT_OUT",
    "OMEGA_ONE",
    "OMEGA_QUARTER",
    "OPEN",
    "RHOS",
    "SMALL",
    "STAR_ONE",
    "STAR_QUARTER",
    "SYNTHETIC",
    "UNTESTED",
    "XIA",
    "Claim",
    "ClaimCase",
    "Sentence",
    "as_json",
    "list_words",
    "omega",
    "some_of",
    "spoken_name",
    "star",
    "untested",
    "verdict_of",
]

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"


class Sentence(NamedTuple):
    """What the paper says and where, in plain words."""

    id: str
    section: str
    text: str


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict.

    Attributes
    ----------
    id : str
        A slug that stays the same from version to version.
    section : str
        The part of the paper.
    text : str
        What the paper says, paraphrased.
    numbers : list of dict, or dict
        What bears on it; plain values that JSON can hold.
    test : str
        How it was judged.
    verdict : {"holds", "does not hold", "depends", "not tested"}
    why : str
        The verdict in one or two sentences, with numbers.
    """

    id: str
    section: str
    text: str
    numbers: Any
    test: str
    verdict: str
    why: str


def as_json(claim: Claim) -> dict[str, Any]:
    """Return the claim as plain values."""
    return asdict(claim)


def untested(sentence: Sentence, test: str, why: str) -> Claim:
    """Return a claim on which there are no data."""
    return Claim(*sentence, [], test, UNTESTED, why)


# ==== claims.judge
# The one rule by which findings become a verdict, and the words that count them.

FOR, AGAINST, OPEN = "for", "against", "open"


def verdict_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that all of its findings must support.

    All for it: it holds. Any against it: it does not hold, or it depends if others are for it. None
    against it but not all for it: it depends, these data do not settle it.

    >>> verdict_of(["for", "for"]), verdict_of(["for", "against"]), verdict_of(["against", "open"])
    ('holds', 'depends', 'does not hold')
    """
    if not findings:
        return UNTESTED
    if all(finding == FOR for finding in findings):
        return HOLDS
    if AGAINST in findings:
        return DEPENDS if FOR in findings else FAILS
    return DEPENDS


def some_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that one finding is enough for ("may outperform").

    >>> some_of(["for", "against"]), some_of(["against", "against"]), some_of(["open"])
    ('holds', 'does not hold', 'depends')
    """
    if not findings:
        return UNTESTED
    if FOR in findings:
        return HOLDS
    return FAILS if all(finding == AGAINST for finding in findings) else DEPENDS


def list_words(items: Sequence[str], most: int = 4) -> str:
    """Return a few items as words.

    >>> list_words(["a", "b", "c"], most=2), list_words(["a", "b"])
    ('a, b and 1 more', 'a and b')
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


# ==== claims.names
# The settings and policies that the paper's sentences speak of, by name.

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


def spoken_name(slug: str) -> str:
    """Return a policy as a sentence names it.

    >>> spoken_name("omega-star-ucb:rho=0.25"), spoken_name("bts")
    ('ω*-UCB(1/4)', 'BTS')
    """
    policy = policy_of(slug)
    rho = getattr(policy, "rho", None)
    return policy.title if rho is None else f"{policy.title}({Fraction(rho).limit_denominator(64)})"


# ==== claims.case
# What a verdict may look at: a result, the ads, and numbers computed from them once.


class ClaimCase:
    """A result and, if given, the file of ads; remembers what was computed."""

    def __init__(self, result: Result, data: str | PathLike[str] | None = None) -> None:
        self.result = result
        self._data = data
        self._known: dict[Any, Any] = {}

    def has(self, setting: str, *policies: str) -> bool:
        """Whether all of these policies have played the setting."""
        return all(self._once("has", games.has, setting, policy) for policy in policies)

    def lacks(self, setting: str, policy: str) -> str:
        """Say what is missing: the setting, the policy, or the policy on this setting."""
        if setting not in self.result.settings:
            return setting
        absent = policy not in self.result.policies
        return spoken_name(policy) if absent else f"{spoken_name(policy)} on {setting}"

    def compare(
        self, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
    ) -> Comparison:
        """Compare two policies, as :func:`bursar.paper.analysis.compare.compare` does."""
        found: Comparison = self._once("compare", compare, setting, one, other, share, since)
        return found

    def failed(self, setting: str, policy: str) -> float:
        """Return the share of games that failed."""
        return float(self._once("failed", failed_share, setting, policy))

    def growth(self, setting: str, policy: str) -> Growth:
        """Return how regret grows with the logarithm of the budget."""
        found: Growth = self._once("growth", growth, setting, policy)
        return found

    @property
    def has_decades(self) -> bool:
        """Whether enough shares of the budget were noted to see growth."""
        try:
            decades(self.result)
        except InvalidInput:
            return False
        return True

    def bounds(self) -> list[dict[str, Any]]:
        """Return the rows of Figure 1; the same for every result."""
        if "bounds" not in self._known:
            self._known["bounds"] = coverage()
        rows: list[dict[str, Any]] = self._known["bounds"]
        return rows

    def ads(self) -> Ads | None:
        """Return the ads, or None if no file was given."""
        if self._data is None:
            return None
        if "ads" not in self._known:
            self._known["ads"] = facebook.load(self._data)
        found: Ads = self._known["ads"]
        return found

    def _once(self, kind: str, function: Any, *arguments: Any) -> Any:
        key = (kind, *arguments)
        if key not in self._known:
            self._known[key] = function(self.result, *arguments)
        return self._known[key]
