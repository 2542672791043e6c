"""Words and numbers as the answers of a replay have them."""

from __future__ import annotations

from bursar.replay.value import Value

__all__ = ["EXPLORE", "added", "between", "short"]

EXPLORE = "log 5% of the asks at random (explore=0.05), with the propensity of each choice"


def short(number: float) -> str:
    """Return a number as people read it.

    >>> short(12345.678), short(0.123456), short(812.0)
    ('12,346', '0.1235', '812')
    """
    return f"{number:,.0f}" if abs(number) >= 1000.0 else f"{number:.4g}"


def between(value: Value, level: float) -> str:
    """Return an estimate with its interval.

    >>> between(Value(812.0, 790.0, 835.4), 0.95)
    '812 (95%: 790 … 835.4)'
    """
    ends = f"{short(value.low)} … {short(value.high)}"
    return f"{short(value.mean)} ({100 * level:.4g}%: {ends})"


def added(count: int, noun: str) -> str:
    """Return a count with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
