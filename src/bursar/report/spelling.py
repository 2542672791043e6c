"""How numbers, times and names are spelled on the page."""

from __future__ import annotations

import math
from typing import Any

from bursar.errors import BursarError
from bursar.figures.labels import label
from bursar.policies import policy as policy_of

__all__ = ["amount", "cell", "duration", "name", "number", "percent", "points", "spoken"]


def name(slug: str) -> str:
    """Return what a policy is called; a slug that bursar does not know stays as it is."""
    try:
        policy_of(slug)
    except BursarError:
        return slug
    return label(slug)


def spoken(slug: str) -> str:
    """Return what a policy is called within a sentence.

    >>> spoken("omega-star-ucb:rho=0.25"), spoken("bts")
    ('ω*-UCB (ρ = 1/4)', 'BTS')
    """
    first, comma, rest = name(slug).partition(", ")
    return f"{first} ({rest})" if comma else first


def number(value: float) -> str:
    """Return a number as people read it.

    >>> number(10190.93), number(9.3012), number(0.0421), number(0.0), number(1e-7), number(-3.0)
    ('10,191', '9.3', '0.042', '0', '1e-07', '−3')
    """
    size = abs(value)
    if not math.isfinite(value):
        return "infinite" if size == math.inf else "unknown"
    if size >= 100.0 or value == int(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if size >= 1.0 else f"{value:.2g}"
    return f"−{text[1:]}" if text.startswith("-") else text


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.22071), percent(0.0123), percent(0.00042), percent(0.0), percent(1e-6)
    ('22%', '1.2%', '0.04%', '0%', 'under 0.01%')
    """
    return f"{points(share)}%"


def points(share: float) -> str:
    """Return a share or a difference of shares in hundredths, without the sign for percent."""
    hundredths = 100.0 * share
    size = abs(hundredths)
    sign = "−" if hundredths < 0.0 else ""
    if size == 0.0:
        return "0"
    if size < 0.005:
        return f"{sign}0.00" if sign else "under 0.01"
    if size >= 9.95:
        return f"{sign}{size:.0f}"
    return f"{sign}{size:.1f}" if size >= 0.995 else f"{sign}{size:.2f}"


def amount(count: float) -> str:
    """Return a large count in words.

    >>> amount(13536), amount(2_400_000), amount(1.94e9)
    ('13,536', '2.4 million', '1.9 billion')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return (
                f"{count / size:.3g} {word}" if count >= 10 * size else f"{count / size:.1f} {word}"
            )
    return f"{count:,.0f}"


def duration(seconds: float) -> str:
    """Return how long something took.

    >>> duration(8.13), duration(95), duration(7384)
    ('8.1 s', '1 min 35 s', '2 h 3 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def cell(value: Any) -> str:
    """Return any value of a claim's numbers as the text of a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell, value))
    return name(value) if isinstance(value, str) and value else str(value)
