"""All exceptions of bursar: one class per cause, each also a builtin exception.

A message says what was wrong, the value that was given, and the way out. Messages that the shell
shows too are neutral, or name the option or command beside the argument or method.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

__all__ = [
    "BudgetExhausted",
    "BursarError",
    "CampaignExists",
    "CannotAnswer",
    "CorruptLedger",
    "Forbidden",
    "IdempotencyMismatch",
    "InvalidData",
    "InvalidInput",
    "InvalidParameter",
    "InvalidSlug",
    "MissingData",
    "MissingExtra",
    "MissingKnowledge",
    "NewerSchema",
    "NoIndex",
    "NonConforming",
    "NotActive",
    "OutcomeConflict",
    "Overloaded",
    "PolicyFailed",
    "RateLimited",
    "StaleVersion",
    "StorageInUse",
    "StorageUnavailable",
    "TapeTooLong",
    "TooLarge",
    "TooManyOpen",
    "Unauthenticated",
    "UnknownArm",
    "UnknownCampaign",
    "UnknownDecision",
    "UnknownParameter",
    "UnknownPolicy",
    "UnknownSetting",
    "UnlikeWorkers",
    "suggest",
]


class BursarError(Exception):
    """Base class of all errors that bursar raises on purpose."""

    code = "error"
    """The kind of error, as a word that programs in any language can compare."""

    extra: Mapping[str, str] = {}
    """Further details for programs, by name."""


# what callers pass in


class InvalidInput(BursarError, ValueError):
    """An argument has a wrong type or lies outside its domain."""

    code = "invalid"


class InvalidData(BursarError, ValueError):
    """The content of a file cannot be used; the message names the line if there is one."""

    code = "invalid"


class InvalidParameter(BursarError, ValueError):
    """A parameter of a policy lies outside its domain."""

    code = "invalid"


class InvalidSlug(BursarError, ValueError):
    """A slug is not of the form ``name:parameter=value,parameter=value``."""

    code = "invalid"


class UnknownPolicy(BursarError, LookupError):
    """No policy has this name."""

    code = "invalid"


class UnknownParameter(BursarError, LookupError):
    """The policy has no parameter of this name."""

    code = "invalid"


class UnknownSetting(BursarError, LookupError):
    """No setting has this name."""


class MissingData(BursarError, FileNotFoundError):
    """A setting needs a file that is missing; the message says how to get it."""


class MissingKnowledge(BursarError, ValueError):
    """The policy needs to know the budget or a lower bound on the costs."""

    code = "invalid"


class MissingExtra(BursarError, ImportError):
    """A part of bursar needs a library that is not installed."""


class CannotAnswer(BursarError, ValueError):
    """The log does not hold what is needed to answer the question."""


# policies and simulations


class NoIndex(BursarError, TypeError):
    """The policy draws its arm at random and has no index."""


class NonConforming(BursarError, AssertionError):
    """A policy breaks a rule of :func:`bursar.testing.check_policy`."""


class TapeTooLong(BursarError, MemoryError):
    """A game needs more outcomes than fit into the memory reserved for them."""


class UnlikeWorkers(BursarError, RuntimeError):
    """Workers of a cluster would compute other numbers than this machine."""


# campaigns


class CampaignExists(BursarError, ValueError):
    """Another campaign already has this name."""

    code = "campaign-exists"


class UnknownCampaign(BursarError, LookupError):
    """The store has no campaign of this name."""

    code = "unknown-campaign"


class UnknownDecision(BursarError, LookupError):
    """The campaign has no decision with this id."""

    code = "decision-unknown"


class UnknownArm(BursarError, LookupError):
    """The campaign has no arm of this name."""

    code = "unknown-arm"


class BudgetExhausted(BursarError, RuntimeError):
    """No arm fits into what is left of the budget or of a cap."""

    code = "budget-exhausted"


class PolicyFailed(BursarError, RuntimeError):
    """The policy failed, and the campaign's rule is to refuse in that case."""

    code = "policy-error"


class NotActive(BursarError, RuntimeError):
    """The campaign is paused, closed, overdrawn or not reconciled, and grants no asks."""

    code = "not-active"


class TooManyOpen(BursarError, RuntimeError):
    """More decisions are waiting for an outcome than the campaign allows."""

    code = "too-many-open"


class OutcomeConflict(BursarError, ValueError):
    """A second outcome differs from the first one, which is kept."""

    code = "outcome-conflict"


class IdempotencyMismatch(BursarError, ValueError):
    """The id was used before with other arguments."""

    code = "idempotency-mismatch"


class StaleVersion(BursarError, RuntimeError):
    """The campaign was changed since the version that the change is based on."""

    code = "stale-version"


# storage


class Overloaded(BursarError, RuntimeError):
    """Too many calls are waiting for the ledger; nothing was reserved."""

    code = "overloaded"


class StorageUnavailable(BursarError, OSError):
    """The ledger could not be written; nothing was recorded or acknowledged."""

    code = "storage-unavailable"


class StorageInUse(BursarError, OSError):
    """Another process has the file open, or it is on a network file system."""

    code = "storage-in-use"


class CorruptLedger(BursarError, RuntimeError):
    """The hashes or sums of a log are wrong; the message names the first bad event."""

    code = "corrupt-ledger"


class NewerSchema(BursarError, RuntimeError):
    """A newer version of bursar wrote the store."""

    code = "newer-schema"


# the service


class Unauthenticated(BursarError, PermissionError):
    """The key is missing, unknown, expired or revoked."""

    code = "unauthenticated"


class Forbidden(BursarError, PermissionError):
    """The key does not allow this call."""

    code = "forbidden"


class RateLimited(BursarError, RuntimeError):
    """The key has made too many calls; retry after ``retry_after`` seconds."""

    code = "rate-limited"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(BursarError, ValueError):
    """The body of a request is too long."""

    code = "too-large"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` with the closest known word, or a list of all words.

    >>> suggest("omgea-ucb", ["omega-ucb", "bts"])
    "; did you mean 'omega-ucb'?"
    >>> suggest("xyz", ["alpha", "ties"])
    '; known: alpha, ties'
    """
    names = list(known)
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
