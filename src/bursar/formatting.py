"""Numbers, money, percentages, durations and times as text for people.

Digits that reports and pages promise differ: where they do, a parameter says so.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any


def format_number(value: float | None, digits: int = 3, *, keep_whole: bool = False) -> str:
    """Return a number with some significant digits, or a dash if there is none.

    ``keep_whole`` keeps all digits before the decimal point.

    >>> format_number(31.24), format_number(0.004567), format_number(-2.0), format_number(None)
    ('31.2', '0.00457', '−2', '–')
    >>> format_number(1234567.0), format_number(1234567.0, keep_whole=True)
    ('1,230,000', '1,234,567')
    """
    if value is None or math.isnan(value):
        return "–"
    sign = "−" if value < 0 else ""
    size = abs(value)
    if math.isinf(size):
        return f"{sign}∞"
    if size == 0.0:
        return "0"
    places = digits - 1 - math.floor(math.log10(size))
    if keep_whole:
        places = max(places, 0)
    text = f"{round(size, places):,.{max(places, 0)}f}"
    return sign + (text.rstrip("0").rstrip(".") if "." in text else text)


def pluralize(value: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    >>> pluralize(1, "hold"), pluralize(2000, "hold"), pluralize(0, "entry", "entries")
    ('1 hold', '2,000 holds', '0 entries')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


_FORMULA = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|'*[\t\r\n]")


def to_csv_cell(value: Any) -> Any:
    """Return a value for CSV; a text that a spreadsheet would take for a formula gets a quote.

    Numbers stay as they are. :func:`from_csv_cell` returns the text as it was.

    >>> to_csv_cell("=1+1"), to_csv_cell("a=b"), to_csv_cell(-1.5)
    ("'=1+1", 'a=b', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def from_csv_cell(text: str) -> str:
    """Return the text that :func:`to_csv_cell` was given.

    >>> from_csv_cell("'=1+1"), from_csv_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text


# from the colon behind the user to the last @, since passwords are often not encoded as they should
_PASSWORD = re.compile(r"((?://|^(?!\w+://))[^:@/]*):.*@", re.DOTALL)
_PASSWORD_OPTION = re.compile(r"(passw(?:or)?d\s*=\s*)('[^']*'?|[^&\s]*)", re.IGNORECASE)


def hide_password(url: str) -> str:
    """Return a URL, right or mistyped, without its password, for messages.

    >>> hide_password("postgresq://ada:s/e@cret@db.example/spend?sslpassword=key&port=1")
    'postgresq://ada:…@db.example/spend?sslpassword=…&port=1'
    >>> hide_password("postgres//ada:secret@db"), hide_password("ada:secret@db")
    ('postgres//ada:…@db', 'ada:…@db')
    """
    return _PASSWORD_OPTION.sub(r"\1…", _PASSWORD.sub(r"\1:…@", url))


def join_words(words: Sequence[str], most: int = 0) -> str:
    """Return words as a list in a sentence, after the first ``most`` only their number.

    >>> join_words(["a", "b", "c"]), join_words(["a", "b", "c"], most=1)
    ('a, b and c', 'a and 2 more')
    """
    if 0 < most < len(words):
        words = [*words[:most], f"{len(words) - most:,} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def format_money(amount: Decimal, currency: str = "") -> str:
    """Return an exact amount with thousands separators and at least the cents.

    >>> format_money(Decimal("1234567.500000"), "USD"), format_money(Decimal("-0.004100"))
    ('1,234,567.50 USD', '−0.0041')
    """
    # normalize() rounds to the digits of the context, so zeros are cut off the text instead
    whole, _, rest = f"{abs(amount):,f}".partition(".")
    digits = rest.rstrip("0").ljust(min(2, len(rest)), "0")
    sign = "−" if amount < 0 else ""
    text = f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"
    return f"{text} {currency}" if currency else text


def format_percent(share: float | None, *, digits: int | None = None) -> str:
    """Return a share as a percentage with one decimal, or with some significant digits.

    >>> format_percent(0.1234), format_percent(0.0004), format_percent(1.0), format_percent(None)
    ('12.3%', 'under 0.1%', '100%', '–')
    >>> format_percent(0.1234, digits=2), format_percent(0.0123, digits=2)
    ('12%', '1.2%')
    """
    if share is None:
        return "–"
    if digits is not None:
        return f"{format_number(100.0 * share, digits, keep_whole=True)}%"
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
    except OverflowError:  # the last day of the calendar, in another zone
        return at.isoformat(" ")


_UNITS = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def format_duration(seconds: float) -> str:
    """Return a duration in its largest unit, in words.

    >>> format_duration(5), format_duration(90), format_duration(86400 * 3.5), format_duration(0.2)
    ('5 seconds', '1 minute', '3 days', 'under a second')
    """
    for size, name in _UNITS:
        if seconds >= size:
            return pluralize(int(seconds // size), name)
    return "under a second"


def format_elapsed(seconds: float, decimals: int = 0) -> str:
    """Return how long a computation took, in abbreviated units.

    >>> format_elapsed(8.4), format_elapsed(8.13, 1), format_elapsed(95), format_elapsed(7384)
    ('8 s', '8.1 s', '1 min 35 s', '2 h 3 min')
    """
    if round(seconds, decimals) < 60.0:
        return f"{seconds:.{decimals}f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago something happened.

    >>> format_ago(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 2, tzinfo=UTC))
    '2 minutes ago'
    """
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 2.0 else f"{format_duration(seconds)} ago"


def to_plain(value: Any) -> Any:
    """Convert a value to data for JSON: money and times become texts, infinities become None.

    >>> to_plain({"spent": Decimal("1.50"), "bound": math.inf})
    {'spent': '1.50', 'bound': None}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no infinity
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_plain(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value
