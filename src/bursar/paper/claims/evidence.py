"""What claims are judged by: a result, the file of ads, and the verdicts that findings lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, partial
from os import PathLike
from typing import Any, NamedTuple

from bursar.errors import InvalidInput
from bursar.formatting import join_words
from bursar.paper.analysis.compare import Comparison, compare
from bursar.paper.analysis.coverage import measure_coverage
from bursar.paper.analysis.games import failed_share, final_regret, has_games
from bursar.paper.analysis.growth import Growth, decades, measure_growth
from bursar.paper.labels import format_short_label
from bursar.settings import facebook
from bursar.settings.facebook import Ads
from bursar.simulation.result import Result

__all__ = [
    "AGAINST",
    "DEPENDS",
    "FAILS",
    "FOR",
    "HOLDS",
    "OPEN",
    "UNTESTED",
    "Evidence",
    "Judgement",
    "all_of",
    "any_of",
    "count_findings",
    "untested",
]

HOLDS, FAILS, DEPENDS, UNTESTED = "holds", "does not hold", "depends", "not tested"
FOR, AGAINST, OPEN = "for", "against", "open"


class Judgement(NamedTuple):
    """What the evidence says about a claim; the fields are those of a claim."""

    numbers: Any
    test: str
    verdict: str
    why: str


def untested(test: str, why: str) -> Judgement:
    """Return the judgement of a claim for which there are no data."""
    return Judgement([], test, UNTESTED, why)


def all_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that every finding must support.

    The claim holds if all findings support it. If one contradicts it, the claim does not hold, or
    depends if others support it. Without a contradiction the data are inconclusive: it depends.

    >>> all_of(["for", "for"]), all_of(["for", "against"]), all_of(["against", "open"])
    ('holds', 'depends', 'does not hold')
    """
    if not findings:
        return UNTESTED
    if all(finding == FOR for finding in findings):
        return HOLDS
    return FAILS if AGAINST in findings and FOR not in findings else DEPENDS


def any_of(findings: Sequence[str]) -> str:
    """Return the verdict of a claim that one finding is enough for ("may outperform").

    >>> any_of(["for", "against"]), any_of(["against", "against"]), any_of(["open"])
    ('holds', 'does not hold', 'depends')
    """
    if not findings:
        return UNTESTED
    if FOR in findings:
        return HOLDS
    return FAILS if all(finding == AGAINST for finding in findings) else DEPENDS


def count_findings(findings: Sequence[str], noun: str) -> str:
    """Return how many findings go which way, as a clause.

    >>> count_findings(["for", "open", "for"], "curves")
    'Supported by 2 of 3 curves, contradicted by none, inconclusive for 1'
    >>> count_findings(["for"], "curves"), count_findings(["for"] * 3, "curves")
    ('Supported by 1 of 1 curves', 'Supported by all 3 curves')
    """
    total, good, bad = len(findings), findings.count(FOR), findings.count(AGAINST)
    if good == total:
        return f"Supported by {'1 of 1' if total == 1 else f'all {total}'} {noun}"
    return (
        f"Supported by {good or 'none'} of {total} {noun}, contradicted by {bad or 'none'},"
        f" inconclusive for {total - good - bad or 'none'}"
    )


class Evidence:
    """A result and, if given, the file of ads; each number is computed once."""

    def __init__(self, result: Result, data: str | PathLike[str] | None = None) -> None:
        self.result = result
        self._data = data
        self._has: Callable[..., bool] = cache(partial(has_games, result))
        self.compare: Callable[..., Comparison] = cache(partial(compare, result))
        self.failed_share: Callable[..., float] = cache(partial(failed_share, result))
        self.growth: Callable[..., Growth] = cache(partial(measure_growth, result))

    def has(self, setting: str, *policies: str) -> bool:
        """Whether all of these policies have played the setting."""
        return all(self._has(setting, policy) for policy in policies)

    def list_missing(self, wanted: Iterable[tuple[str, str]]) -> str:
        """Return a sentence on the wanted (setting, policy) that were not played, or nothing."""
        names = [self._missing(*pair) for pair in wanted if not self.has(*pair)]
        unique = list(dict.fromkeys(names))
        return f" Not in this result: {join_words(unique, 4)}." if unique else ""

    def _missing(self, setting: str, policy: str) -> str:
        """Name what is missing: the setting, the policy, or the policy on this setting."""
        if setting not in self.result.settings:
            return setting
        name = format_short_label(policy)
        return name if policy not in self.result.policies else f"{name} on {setting}"

    def best(self, setting: str, policies: Iterable[str]) -> str | None:
        """Return the policy with the lowest mean final regret; None if none of them played."""
        played = [slug for slug in policies if self.has(setting, slug)]
        means = {slug: float(final_regret(self.result, setting, slug).mean()) for slug in played}
        return min(means, key=means.__getitem__) if means else None

    @property
    def has_decades(self) -> bool:
        """Whether regret was recorded at enough shares of the budget to see how it grows."""
        try:
            decades(self.result)
        except InvalidInput:
            return False
        return True

    @cached_property
    def bounds(self) -> list[dict[str, Any]]:
        """The rows of Figure 1, which are the same for every result."""
        return measure_coverage()

    @cached_property
    def ads(self) -> Ads | None:
        """The ads, or None if no file was given."""
        return None if self._data is None else facebook.load(self._data)
