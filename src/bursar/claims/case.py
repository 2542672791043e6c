"""What a verdict may look at: a result, the ads, and numbers computed from them once."""

from __future__ import annotations

from os import PathLike
from typing import Any

from bursar.analysis import games
from bursar.analysis.coverage import coverage
from bursar.analysis.failures import failed_share
from bursar.analysis.growth import Growth, decades, growth
from bursar.analysis.pairs import Comparison, compare
from bursar.claims.names import spoken
from bursar.errors import InvalidInput
from bursar.result import Result
from bursar.settings import facebook
from bursar.settings.ads import Ads

__all__ = ["Case"]


class Case:
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
        return spoken(policy) if absent else f"{spoken(policy)} on {setting}"

    def compare(
        self, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
    ) -> Comparison:
        """Compare two policies, as :func:`bursar.analysis.pairs.compare` does."""
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
