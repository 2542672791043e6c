"""Every kind of event that a campaign's log can hold: its name, its body, and the groups of kinds.

A log is read by the fold (:class:`bursar.campaign.state.State`), the audit, the series of the
service, the dashboard and others. All of them take the kinds from here, and a test asks each of
them for every kind. A kind that is not here was written by a newer version of bursar.

The names and the keys of the bodies are durable: they stand in ledgers and must not change.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

from bursar.errors import NewerSchema
from bursar.ledger.event import RESTORED as RESTORED
from bursar.ledger.event import Event

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


class Created(TypedDict):
    """A campaign was created: the first event of every log."""

    name: str
    config: dict[str, Any]
    budget: int
    arms: list[tuple[str, int]]  # the key and the maximum cost of each arm
    caps: dict[str, int]
    by: NotRequired[str]


class Asked(TypedDict):
    """A decision was granted, or adopted after a restore: its maximum cost is on hold."""

    arm: int
    hold: int
    p: float | None  # the probability of this choice, if it is known
    print: str  # fingerprint of the options of the ask
    constrained: bool
    expires: int
    due: int
    context: NotRequired[dict[str, Any]]


class Confirmed(TypedDict):
    """A decision is about to be used: its hold now lasts until ``expires``."""

    expires: int


class Told(TypedDict, total=False):
    """A cost, a reward or both were reported."""

    cost: int
    reward: float
    late: bool  # the reward came after its deadline and is not learned from
    report: str
    print: str  # fingerprint of the report
    was: dict[str, Any]  # the decision before, if it had left the memory


class Defaulted(TypedDict):
    """No reward was reported before its deadline; the default counts, if there is one."""

    reward: float | None


class Corrected(Told, total=False):
    """A reported outcome was replaced."""

    reason: str
    by: str


class Voided(TypedDict):
    """A decision was not used; its hold was released."""

    reason: str
    by: NotRequired[str]


class Released(TypedDict):
    """A decision was not confirmed in time; its hold was released."""


class Lapsed(TypedDict):
    """No cost was reported in time; the hold ended and ``charge`` of it counts as spent."""

    charge: int


class ArmAdded(TypedDict):
    """An arm was added."""

    key: str
    max_cost: int
    by: str


class ArmPaused(TypedDict):
    """An arm was paused by an operator, or because its costs exceeded their holds."""

    key: str
    reason: str
    by: NotRequired[str]


class ArmChanged(TypedDict):
    """An arm was resumed or retired."""

    key: str
    by: str


class BudgetSet(TypedDict):
    """The budget was raised or cut."""

    budget: int
    before: int
    by: str


class CapSet(TypedDict):
    """The cap of a day or of an arm was set, or removed (None)."""

    scope: str
    cap: int | None
    by: str


class StateSet(TypedDict):
    """The whole campaign was paused, resumed or closed."""

    by: str


class Restored(TypedDict):
    """The ledger was restored from a backup; what happened after the backup is not in the log."""

    epoch: int


class Reconciled(TypedDict):
    """What was spent between a backup and its restore was added."""

    gap: int
    by: str


class PolicyError(TypedDict):
    """The policy raised an exception."""

    error: str


class PolicySlow(TypedDict):
    """The policy took longer than the campaign's patience."""

    seconds: float


class Changed(TypedDict):
    """A test found that the mean cost or reward of an arm has changed."""

    key: str
    what: Literal["cost", "reward"]
    before: float
    after: float
    older: int  # outcomes in the mean before the change, and after it
    newer: int
    reset: bool  # whether the arm is learned from the start again


BODIES: Final[dict[str, Any]] = {
    CREATED: Created,
    ASKED: Asked,
    ADOPTED: Asked,
    CONFIRMED: Confirmed,
    TOLD: Told,
    DEFAULTED: Defaulted,
    CORRECTED: Corrected,
    VOIDED: Voided,
    RELEASED: Released,
    LAPSED: Lapsed,
    ARM_ADDED: ArmAdded,
    ARM_PAUSED: ArmPaused,
    ARM_RESUMED: ArmChanged,
    ARM_RETIRED: ArmChanged,
    BUDGET_SET: BudgetSet,
    CAP_SET: CapSet,
    PAUSED: StateSet,
    RESUMED: StateSet,
    CLOSED: StateSet,
    RESTORED: Restored,
    RECONCILED: Reconciled,
    POLICY_ERROR: PolicyError,
    POLICY_SLOW: PolicySlow,
    CHANGED: Changed,
}
"""The body of each kind of event."""

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
    CLOSED, RESTORED, RECONCILED,
)  # fmt: skip
"""Changes of the campaign's arms, money or state."""

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
