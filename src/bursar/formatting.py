"""How the pages write money, numbers, shares and times."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

__all__ = [
    "format_ago",
    "format_count",
    "format_duration",
    "format_money",
    "format_number",
    "format_percent",
    "format_time",
    "pluralize",
]


def format_money(amount: Decimal, currency: str = "") -> str:
    """Return an amount for people: exact, with thousands separators, cents at least.

    >>> format_money(Decimal("1234567.500000"), "USD"), format_money(Decimal("-0.004100"))
    ('1,234,567.50 USD', '−0.0041')
    """
    # normalize() rounds to the context's digits; the zeros are cut off by hand instead
    whole, _, rest = f"{abs(amount):,f}".partition(".")
    digits = rest.rstrip("0").ljust(min(2, len(rest)), "0")
    sign = "−" if amount < 0 else ""
    text = f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"
    return f"{text} {currency}" if currency else text


def format_number(value: float | None) -> str:
    """Return a number with three digits, or a dash if there is none.

    >>> format_number(31.24), format_number(0.004567), format_number(1234567.0), format_number(-2.0), format_number(None)
    ('31.2', '0.00457', '1,230,000', '−2', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    text = f"{abs(round(value, places)):,.{max(places, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"−{text}" if value < 0 else text


def format_count(value: int) -> str:
    """Return a whole number with thousands separators.

    >>> format_count(12345)
    '12,345'
    """
    return f"{value:,}"


def pluralize(value: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    >>> pluralize(1, "hold"), pluralize(2000, "hold"), pluralize(0, "entry", "entries")
    ('1 hold', '2,000 holds', '0 entries')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def format_percent(share: float | None) -> str:
    """Return a share as a percentage.

    >>> format_percent(0.1234), format_percent(0.0004), format_percent(1.0), format_percent(None)
    ('12.3%', 'under 0.1%', '100%', '–')
    """
    if share is None:
        return "–"
    if 0.0 < share < 0.001:
        return "under 0.1%"
    return f"{100.0 * share:.1f}".removesuffix(".0") + "%"


def format_time(at: datetime | None) -> str:
    """Return a time with its zone.

    >>> format_time(datetime(2026, 11, 16, 5, 4, 3, tzinfo=UTC))
    '2026-11-16 05:04:03 UTC'
    """
    if at is None:
        return "never"
    try:
        return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except OverflowError:  # the last day of the calendar, elsewhere
        return at.isoformat(" ")


_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def format_duration(seconds: float) -> str:
    """Return how long something takes, in the largest unit that fits.

    >>> format_duration(5), format_duration(90), format_duration(7200), format_duration(86400 * 3.5), format_duration(0.2)
    ('5 seconds', '1 minute', '2 hours', '3 days', 'under a second')
    """
    for size, name in _UNITS:
        if seconds >= size:
            return pluralize(int(seconds // size), name)
    return "under a second"


def format_ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago something was.

    >>> format_ago(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 2, tzinfo=UTC))
    '2 minutes ago'
    """
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 2.0 else f"{format_duration(seconds)} ago"
