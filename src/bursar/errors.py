"""All exceptions of bursar: one class per cause, each also a builtin exception.

A message says what was wrong, the value that was given, and the way out. Messages that the shell
shows too are neutral, or name the option or command beside the argument or method.
"""

import difflib
from collections.abc import Iterable, Mapping


class BursarError(Exception):
    """Base class of all errors that bursar raises on purpose."""

    code = "error"
    """The kind of error, as a word that programs in any language can compare."""

    extra: Mapping[str, str] = {}
    """Further details for programs, by name."""

    def __init_subclass__(cls, code: str = "") -> None:
        """Set the code of a class, as in ``class NotActive(BursarError, code="not-active")``."""
        cls.code = code or cls.code


# what callers pass in


class InvalidInput(BursarError, ValueError, code="invalid"):
    """An argument has a wrong type or lies outside its domain."""


class InvalidData(BursarError, ValueError, code="invalid"):
    """The content of a file cannot be used; the message names the line if there is one."""


class InvalidParameter(BursarError, ValueError, code="invalid"):
    """A parameter of a policy lies outside its domain."""


class InvalidSlug(BursarError, ValueError, code="invalid"):
    """A slug is not of the form ``name:parameter=value,parameter=value``."""


class UnknownPolicy(BursarError, LookupError, code="invalid"):
    """No policy has this name."""


class UnknownParameter(BursarError, LookupError, code="invalid"):
    """The policy has no parameter of this name."""


class UnknownSetting(BursarError, LookupError):
    """No setting has this name."""


class MissingData(BursarError, FileNotFoundError):
    """A setting needs a file that is missing; the message says how to get it."""


class MissingKnowledge(BursarError, ValueError, code="invalid"):
    """The policy needs to know the budget or a lower bound on the costs."""


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


class ClusterLost(BursarError, ConnectionError):
    """The scheduler of a cluster is gone, or it has no workers; finished units are stored."""


# campaigns


class CampaignExists(BursarError, ValueError, code="campaign-exists"):
    """Another campaign already has this name."""


class UnknownCampaign(BursarError, LookupError, code="unknown-campaign"):
    """The store has no campaign of this name."""


class UnknownDecision(BursarError, LookupError, code="decision-unknown"):
    """The campaign has no decision with this id."""


class UnknownArm(BursarError, LookupError, code="unknown-arm"):
    """The campaign has no arm of this name."""


class BudgetExhausted(BursarError, RuntimeError, code="budget-exhausted"):
    """No arm fits into what is left of the budget or of a cap."""


class PolicyFailed(BursarError, RuntimeError, code="policy-error"):
    """The policy failed, and the campaign's rule is to refuse in that case."""


class NotActive(BursarError, RuntimeError, code="not-active"):
    """The campaign is paused, closed, overdrawn or not reconciled, and grants no asks."""


class TooManyOpen(BursarError, RuntimeError, code="too-many-open"):
    """More decisions are waiting for an outcome than the campaign allows."""


class OutcomeConflict(BursarError, ValueError, code="outcome-conflict"):
    """A second outcome differs from the first one, which is kept."""


class IdempotencyMismatch(BursarError, ValueError, code="idempotency-mismatch"):
    """The id was used before with other arguments."""


class StaleVersion(BursarError, RuntimeError, code="stale-version"):
    """The campaign was changed since the version that the change is based on."""


# storage


class Overloaded(BursarError, RuntimeError, code="overloaded"):
    """Too many calls are waiting for the ledger; nothing was reserved."""


class StorageUnavailable(BursarError, OSError, code="storage-unavailable"):
    """The ledger or a file could not be written; nothing was recorded or acknowledged."""


class StorageInUse(BursarError, OSError, code="storage-in-use"):
    """Another process has the file open, or it is on a network file system."""


class CorruptLedger(BursarError, RuntimeError, code="corrupt-ledger"):
    """The hashes or sums of a log are wrong; the message names the first bad event."""


class NewerSchema(BursarError, RuntimeError, code="newer-schema"):
    """A newer version of bursar wrote the store."""


# the service


class Unauthenticated(BursarError, PermissionError, code="unauthenticated"):
    """The key is missing, unknown, expired or revoked."""


class Forbidden(BursarError, PermissionError, code="forbidden"):
    """The key does not allow this call."""


class RateLimited(BursarError, RuntimeError, code="rate-limited"):
    """The key has made too many calls; retry after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(BursarError, ValueError, code="too-large"):
    """The body of a request is too long."""


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
