"""The one rule by which findings become a verdict, and the words that count them."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.claims.claim import DEPENDS, FAILS, HOLDS, UNTESTED

__all__ = ["AGAINST", "FOR", "OPEN", "listed", "some_of", "verdict_of"]

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


def listed(items: Sequence[str], most: int = 4) -> str:
    """Return a few items as words.

    >>> listed(["a", "b", "c"], most=2), listed(["a", "b"])
    ('a, b and 1 more', 'a and b')
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
