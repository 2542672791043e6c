"""What a new policy leaves of another's regret, in sentences."""

from __future__ import annotations

from bursar.analysis.ratios import NEW, Interval, overall, ratios
from bursar.figures.labels import RECOMMENDED, short
from bursar.result import Result

__all__ = ["said_of_ratios"]


def said_of_ratios(result: Result) -> list[str]:
    """Return a line a setting and one of all together."""
    found = ratios(result, NEW, RECOMMENDED)
    if not found:
        return []
    head = f"Regret of {short(NEW)} over that of {short(RECOMMENDED)}, with 95% intervals:"
    lines = [
        f"{row.setting:<16} mean {_words(row.mean)}, 95th percentile {_words(row.tail)}"
        for row in found
    ]
    return [head, *lines, f"{'geometric mean':<16} mean {_words(overall(found))}"]


def _words(one: Interval) -> str:
    return f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"
