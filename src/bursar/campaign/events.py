"""Every kind of event that a campaign's log can hold: its name, its body, and the groups of kinds.

A log is read by the fold (:class:`bursar.campaign.state.State`), the audit, the series of the
service, the dashboard and others. All of them take the kinds from here, and a test asks each of
them for every kind. A kind that is not here was written by a newer version of bursar.

The names and the keys of the bodies are durable: they stand in ledgers and must not change.
"""

from typing import Any, Final, Literal, NotRequired

from bursar.errors import NewerSchema
from bursar.history import PastOutcomes
from bursar.ledger.log import RESTORED as RESTORED
from bursar.ledger.log import Event

CREATED: Final = "created"
ASKED: Final = "asked"
ADOPTED: Final = "adopted"
CONFIRMED: Final = "confirmed"
TOLD: Final = "told"
DEFAULTED: Final = "defaulted"
CORRECTED: Final = "corrected"
VOIDED: Final = "voided"
RELEASED: Final = "released"
LAPSED: Final = "lapsed"
ARM_ADDED: Final = "arm-added"
ARM_PAUSED: Final = "arm-paused"
ARM_RESUMED: Final = "arm-resumed"
ARM_RETIRED: Final = "arm-retired"
BUDGET_SET: Final = "budget-set"
CAP_SET: Final = "cap-set"
PAUSED: Final = "paused"
RESUMED: Final = "resumed"
CLOSED: Final = "closed"
RECONCILED: Final = "reconciled"
POLICY_ERROR: Final = "policy-error"
POLICY_SLOW: Final = "policy-slow"
CHANGED: Final = "changed"
LEARNED: Final = "learned"


_OUTCOME: Final = {
    "cost": NotRequired[int],
    "reward": NotRequired[float],
    "late": NotRequired[bool],  # the reward came after its deadline and is not learned from
    "report": NotRequired[str],
    "print": NotRequired[str],  # fingerprint of the report
    "was": NotRequired[dict[str, Any]],  # the decision before, if it had left the memory
}
_GRANT: Final = {
    "arm": int,
    "hold": int,
    "p": float | None,  # the probability of this choice, if it is known
    "print": str,  # fingerprint of the options of the ask
    "constrained": bool,
    "expires": int,
    "due": int,
    "context": NotRequired[dict[str, Any]],
}
BODIES: Final[dict[str, dict[str, Any]]] = {
    # A campaign was created: the first event of every log.
    CREATED: {
        "name": str,
        "config": dict[str, Any],
        "budget": int,
        "arms": list[tuple[str, int]],  # the key and the maximum cost of each arm
        "caps": dict[str, int],
        "by": NotRequired[str],
    },
    # A decision was granted: its maximum cost is on hold.
    ASKED: _GRANT,
    # A decision from before a restore was added with its hold.
    ADOPTED: _GRANT,
    # A decision is about to be used: its hold now lasts until ``expires``.
    CONFIRMED: {"expires": int},
    # A cost, a reward or both were reported.
    TOLD: _OUTCOME,
    # No reward was reported before its deadline; the default counts, if there is one.
    DEFAULTED: {"reward": float | None},
    # A reported outcome was replaced.
    CORRECTED: {**_OUTCOME, "reason": NotRequired[str], "by": NotRequired[str]},
    # A decision was not used; its hold was released.
    VOIDED: {"reason": str, "by": NotRequired[str]},
    # A decision was not confirmed in time; its hold was released.
    RELEASED: {},
    # No cost was reported in time; the hold ended and ``charge`` of it counts as spent.
    LAPSED: {"charge": int},
    ARM_ADDED: {"key": str, "max_cost": int, "by": str},
    # An arm was paused by an operator, or because its costs exceeded their holds.
    ARM_PAUSED: {"key": str, "reason": str, "by": NotRequired[str]},
    ARM_RESUMED: {
        "key": str,
        "by": str,
        "anew": NotRequired[bool],  # it was paused for its costs: quantile holds start again
    },
    ARM_RETIRED: {"key": str, "by": str},
    # The budget was raised or cut.
    BUDGET_SET: {"budget": int, "before": int, "by": str},
    # The cap of a day or of an arm was set, or removed (None).
    CAP_SET: {"scope": str, "cap": int | None, "by": str},
    # The whole campaign was paused, resumed or closed.
    PAUSED: {"by": str},
    RESUMED: {"by": str},
    CLOSED: {"by": str},
    # The ledger was restored from a backup; what happened after the backup is not in the log.
    RESTORED: {"epoch": int},
    # What was spent between a backup and its restore was added.
    RECONCILED: {"gap": int, "by": str},
    # The policy raised an exception.
    POLICY_ERROR: {"error": str},
    # The policy took longer than the campaign's patience.
    POLICY_SLOW: {"seconds": float},
    # A test found that the mean cost or reward of an arm has changed.
    CHANGED: {
        "key": str,
        "what": Literal["cost", "reward"],
        "before": float,
        "after": float,
        "older": int,  # outcomes in the mean before the change, and after it
        "newer": int,
        "reset": bool,  # whether the arm is learned from the start again
    },
    # Past outcomes of a table count for the learner; no money moves.
    LEARNED: {
        "source": str,
        "weight": float,  # how many plays an outcome counts as
        "digest": str,  # of all outcomes of the table
        "arms": list[PastOutcomes],  # of those that were not learned from this table before
        "by": NotRequired[str],
    },
}
"""The keys in the body of each kind of event, with their types."""

GRANTS: Final = (ASKED, ADOPTED)
"""The first event of a decision: granted by an ask, or adopted after a restore."""

OUTCOMES: Final = (TOLD, DEFAULTED, CORRECTED)
"""What a decision cost and earned."""

ENDINGS: Final = (VOIDED, RELEASED, LAPSED)
"""A hold ended without a reported cost."""

DECISIONS: Final = (*GRANTS, CONFIRMED, *OUTCOMES, *ENDINGS)
"""The events of a decision; all others concern the whole campaign."""

RULES: Final = (
    CREATED, ARM_ADDED, ARM_PAUSED, ARM_RESUMED, ARM_RETIRED, BUDGET_SET, CAP_SET, PAUSED, RESUMED,
    CLOSED, RESTORED, RECONCILED, LEARNED,
)  # fmt: skip
"""Changes of the campaign's arms, money or state, or of what it knows."""

NOTICES: Final = (CHANGED, POLICY_ERROR, POLICY_SLOW)
"""What an operator should know; no money moves."""

AUDITED: Final = (*RULES, ADOPTED, CORRECTED, VOIDED)
"""What somebody did by hand to rules or money."""


def check_kind(event: Event) -> None:
    """Raise NewerSchema if this version of bursar does not know the kind of an event."""
    if event.kind not in BODIES:
        raise unknown_kind(event)


def unknown_kind(event: Event) -> NewerSchema:
    """Return the error for an event that a newer version of bursar wrote."""
    return NewerSchema(
        f"event {event.seq} has the kind {event.kind!r}, which this version of bursar does not"
        " know; use the version that wrote it, or a newer one"
    )
