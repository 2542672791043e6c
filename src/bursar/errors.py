"""Every exception of bursar: one class a cause, each also a builtin that callers may catch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BursarError",
    "InvalidData",
    "InvalidInput",
    "InvalidParameter",
    "InvalidSlug",
    "MissingData",
    "MissingExtra",
    "MissingKnowledge",
    "NoIndex",
    "NonConforming",
    "TapeTooLong",
    "UnknownParameter",
    "UnknownPolicy",
    "UnknownSetting",
    "UnlikeWorkers",
]


class BursarError(Exception):
    """Whatever bursar raises on purpose; the message says what, the value got, and the way out."""


class InvalidInput(BursarError, ValueError):
    """A number, array or range that a function cannot work with."""


class InvalidData(BursarError, ValueError):
    """A file whose content cannot be used; the message names the line where there is one."""


class InvalidParameter(BursarError, ValueError):
    """A policy parameter outside its domain."""


class InvalidSlug(BursarError, ValueError):
    """A policy slug that is not of the form ``name:parameter=value,parameter=value``."""


class UnknownPolicy(BursarError, LookupError):
    """No policy has that name."""


class UnknownParameter(BursarError, LookupError):
    """The policy has no parameter of that name."""


class UnknownSetting(BursarError, LookupError):
    """No setting of the paper has that name."""


class MissingData(BursarError, FileNotFoundError):
    """A setting needs a file that is not there; the message says how to get it."""


class MissingKnowledge(BursarError, ValueError):
    """The policy must know something (the budget, a lower bound of the costs) and was not told."""


class NoIndex(BursarError, TypeError):
    """The policy draws at random and has no deterministic index to show."""


class TapeTooLong(BursarError, MemoryError):
    """A game needs more outcomes than the memory set aside for them."""


class MissingExtra(BursarError, ImportError):
    """A part of bursar that stands on a library that is not installed."""


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
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; known: {', '.join(names)}" if names else ""


class UnlikeWorkers(BursarError, RuntimeError):
    """Workers of a cluster that would compute other numbers than this machine."""
