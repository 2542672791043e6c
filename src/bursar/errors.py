"""Every exception of bursar: one class a cause, each also a builtin that callers may catch."""

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
]


class BursarError(Exception):
    """Whatever bursar raises on purpose; the message says what, the value got, and the way out."""

    code = "error"
    """What kind of error it is, in a word that programs in any language can compare."""

    extra: Mapping[str, str] = {}
    """What else a program may want to know, by name."""


class InvalidInput(BursarError, ValueError):
    """A number, array or range that a function cannot work with."""

    code = "invalid"


class InvalidData(BursarError, ValueError):
    """A file whose content cannot be used; the message names the line where there is one."""

    code = "invalid"


class InvalidParameter(BursarError, ValueError):
    """A policy parameter outside its domain."""

    code = "invalid"


class InvalidSlug(BursarError, ValueError):
    """A policy slug that is not of the form ``name:parameter=value,parameter=value``."""

    code = "invalid"


class UnknownPolicy(BursarError, LookupError):
    """No policy has that name."""

    code = "invalid"


class UnknownParameter(BursarError, LookupError):
    """The policy has no parameter of that name."""

    code = "invalid"


class UnknownSetting(BursarError, LookupError):
    """No setting of the paper has that name."""


class MissingData(BursarError, FileNotFoundError):
    """A setting needs a file that is not there; the message says how to get it."""


class MissingKnowledge(BursarError, ValueError):
    """The policy must know something (the budget, a lower bound of the costs) and was not told."""

    code = "invalid"


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


class CampaignExists(BursarError, ValueError):
    """A new campaign with the name of one that is there."""

    code = "campaign-exists"


class UnknownCampaign(BursarError, LookupError):
    """A campaign that is not in the store."""

    code = "unknown-campaign"


class UnknownDecision(BursarError, LookupError):
    """A decision that this campaign never made."""

    code = "decision-unknown"


class UnknownArm(BursarError, LookupError):
    """An arm that this campaign does not have."""

    code = "unknown-arm"


class BudgetExhausted(BursarError, RuntimeError):
    """No arm fits into what is left of the budget or of a cap."""

    code = "budget-exhausted"


class PolicyFailed(BursarError, RuntimeError):
    """The policy of a campaign failed, and its rule is to refuse then."""

    code = "policy-error"


class NotActive(BursarError, RuntimeError):
    """A campaign that is paused, closed, overdrawn or not reconciled grants no asks."""

    code = "not-active"


class TooManyOpen(BursarError, RuntimeError):
    """More decisions wait for their outcome than the campaign allows."""

    code = "too-many-open"


class Overloaded(BursarError, RuntimeError):
    """More calls wait for the ledger than it can serve; nothing was reserved."""

    code = "overloaded"


class OutcomeConflict(BursarError, ValueError):
    """A second outcome that differs from the first, which stands."""

    code = "outcome-conflict"


class IdempotencyMismatch(BursarError, ValueError):
    """An id that was used before for something else."""

    code = "idempotency-mismatch"


class StaleVersion(BursarError, RuntimeError):
    """A change made from what is no longer the newest state."""

    code = "stale-version"


class StorageUnavailable(BursarError, OSError):
    """The ledger could not be written; nothing was acknowledged, nothing is decided from memory."""

    code = "storage-unavailable"


class StorageInUse(BursarError, OSError):
    """A file that another process owns, or that lies on a network file system."""

    code = "storage-in-use"


class CorruptLedger(BursarError, RuntimeError):
    """A log whose hashes or sums do not hold; the message has the first bad event."""

    code = "corrupt-ledger"


class NewerSchema(BursarError, RuntimeError):
    """A store that a newer bursar has written."""

    code = "newer-schema"


class CannotAnswer(BursarError, ValueError):
    """A log from which the question cannot be answered."""


class Unauthenticated(BursarError, PermissionError):
    """A call without a key, or with one that is not known, expired or revoked."""

    code = "unauthenticated"


class Forbidden(BursarError, PermissionError):
    """A key that may not do this."""

    code = "forbidden"


class RateLimited(BursarError, RuntimeError):
    """More calls than a key may make; ``retry_after`` seconds later it may again."""

    code = "rate-limited"

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(BursarError, ValueError):
    """A body that is longer than is read."""

    code = "too-large"
