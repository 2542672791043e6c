"""Every exception of bursar: one class a cause, each also a builtin that callers may catch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BursarError",
    "InvalidInput",
    "InvalidParameter",
    "InvalidSlug",
    "MissingKnowledge",
    "NoIndex",
    "NonConforming",
    "UnknownParameter",
    "UnknownPolicy",
]


class BursarError(Exception):
    """Whatever bursar raises on purpose; the message says what, the value got, and the way out."""


class InvalidInput(BursarError, ValueError):
    """A number, array or range that a function cannot work with."""


class InvalidParameter(BursarError, ValueError):
    """A policy parameter outside its domain."""


class InvalidSlug(BursarError, ValueError):
    """A policy slug that is not of the form ``name:parameter=value,parameter=value``."""


class UnknownPolicy(BursarError, LookupError):
    """No policy has that name."""


class UnknownParameter(BursarError, LookupError):
    """The policy has no parameter of that name."""


class MissingKnowledge(BursarError, ValueError):
    """The policy must know something (the budget, a lower bound of the costs) and was not told."""


class NoIndex(BursarError, TypeError):
    """The policy draws at random and has no deterministic index to show."""


class NonConforming(BursarError, AssertionError):
    """A policy breaks a rule that :func:`bursar.testing.check_policy` checks."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest known word, or the list of them all.

    >>> nearest("omgea-ucb", ["omega-ucb", "bts"])
    "; did you mean 'omega-ucb'?"
    >>> nearest("xyz", ["alpha", "ties"])
    '; known: alpha, ties'
    """
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
