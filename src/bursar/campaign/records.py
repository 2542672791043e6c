"""What a campaign knows of an arm and of a decision; only events change them.

These are msgspec structs rather than dataclasses: one is made and dropped at every ask, and a
struct is made in C. None of them can be part of a cycle, so the garbage collector need not look.
The names of their fields are durable: they stand in snapshots, and those of
:class:`DecisionRecord` in the log as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct, field

from bursar.campaign import events as kinds
from bursar.campaign.decision import to_datetime
from bursar.formatting import join_words, pluralize
from bursar.ledger import Event

OPEN = ("held", "confirmed")
"""States of the money of a decision in which its hold still counts."""

_DAY = 86_400_000_000  # µs
_Room = TypeVar("_Room", int, float)


def is_own_hold(fingerprint: str) -> bool:
    """Return whether an ask with this fingerprint named its own hold."""
    return '"hold":' in fingerprint and fingerprint.startswith("{")


def day_of(ts: int) -> int:
    """Return the day of a time, counted from 1970 in UTC: days neither skip nor repeat an hour."""
    return ts // _DAY


class Balance(Struct, gc=False):
    """What may be spent within a scope (None: no cap), what was spent, and what is held."""

    cap: int | None = None
    spent: int = 0
    held: int = 0

    def within(self, room: _Room) -> _Room:
        """Return what is left of this cap and of a wider one, which may be infinite."""
        return room if self.cap is None else min(room, self.cap - self.spent - self.held)


class NoticedChange(Struct, gc=False, frozen=True):
    """A change of an arm's mean cost or reward that a test found; means in the user's units."""

    what: str  # cost, reward
    seq: int
    ts: int
    before: float
    after: float
    newer: int  # outcomes in the mean after it
    reset: bool  # whether the arm was learned from the start again


class Arm(Struct, gc=False):
    """One option that money can be spent on."""

    key: str
    max_cost: int
    state: str = "active"  # active, paused, retired
    open: int = 0
    asks: int = 0
    overruns: int = 0
    last: int = 0  # time of the last ask
    money: Balance = field(default_factory=Balance)
    costs: list[int] = []  # the newest, for quantile holds
    reset: int = 0  # number of the event since which it is learned
    changed: dict[str, NoticedChange] = {}  # the newest change of its cost, and of its reward


class LearnedTable(Struct, gc=False, frozen=True):
    """A table of past outcomes that the learner counts."""

    seq: int
    digest: str
    source: str
    weight: float
    plays: dict[str, int]  # outcomes by arm


class DecisionRecord(Struct, gc=False):
    """A decision: its arm, its hold, and its outcome. The fold of the events of one decision."""

    id: str
    seq: int
    ts: int
    arm: int
    hold: int
    day: int
    expires: int
    due: int
    fingerprint: str
    propensity: float | None = None
    constrained: bool = False
    context: dict[str, Any] | None = None  # what the caller recorded with it
    money: str = "held"  # held, confirmed, settled, voided, released, lapsed
    rewarded: str = "pending"  # pending, observed, defaulted, late, none
    cost: int | None = None
    reward: float | None = None
    charged: int = 0  # how much of it counts as spent
    learned: int = 0  # number of the event at which it was learned from
    reports: dict[str, str] = {}

    @property
    def done(self) -> bool:
        """Whether no more events are expected."""
        return self.rewarded != "pending" and self.money not in OPEN

    def apply(self, event: Event, reset: int = 0) -> None:
        """Take a later event of this decision into account.

        ``reset`` is the event since which the arm is learned; what was learned before it stays.
        """
        kind, body = event.kind, event.body
        if kind in kinds.OUTCOMES:
            self.apply_outcome(event, reset)
        elif kind in kinds.ENDINGS:
            self.money, self.charged = kind, body.get("charge", 0)
            if kind != kinds.LAPSED and self.rewarded == "pending":
                self.rewarded = "none"  # it was not used: no reward is expected
        elif kind == kinds.CONFIRMED:
            self.money, self.expires = "confirmed", body["expires"]
        else:
            raise kinds.unknown_kind(event)

    def apply_outcome(self, event: Event, reset: int) -> None:
        """Take a report, a correction or a default into account."""
        kind, body = event.kind, event.body
        if self.learned > reset and kind == kinds.CORRECTED:
            self.learned = 0
        if "report" in body:
            self.reports[body["report"]] = body["print"]
        if "cost" in body:
            self.cost = self.charged = body["cost"]
            self.money = "settled"
        if "reward" in body:
            self.reward = body["reward"]
            late = "late" if "late" in body else "observed"
            self.rewarded = "defaulted" if kind == kinds.DEFAULTED else late
        if (
            not self.learned
            and self.cost is not None
            and self.reward is not None
            and self.rewarded != "late"
        ):
            self.learned = event.seq


def make_record(event: Event) -> DecisionRecord:
    """Return a decision as its first event leaves it."""
    body, ts = event.body, event.ts
    return DecisionRecord(
        id=event.decision, seq=event.seq, ts=ts, day=ts // _DAY, arm=body["arm"],
        hold=body["hold"], expires=body["expires"], due=body["due"], fingerprint=body["print"],
        propensity=body["p"], constrained=body["constrained"], context=body.get("context"),
    )  # fmt: skip


def load_decision(events: Sequence[Event], arms: Sequence[Arm] = ()) -> DecisionRecord | None:
    """Return a decision as its events left it, or None if there are none.

    ``arms`` say since which event each is learned; without them nothing was reset.
    """
    if not events:
        return None
    record = make_record(events[0])
    reset = arms[record.arm].reset if arms else 0
    for event in events[1:]:
        record.apply(event, reset)
    return record


@dataclass(frozen=True, kw_only=True)
class ArmChange:
    """A change of an arm that a test found, for users.

    Attributes
    ----------
    what : str
        "cost" or "reward".
    before, after : float
        The mean before the change, and the mean of the outcomes since, in the user's units.
    outcomes : int
        Outcomes since the change, when it was found.
    at : datetime
        When it was found.
    seq : int
        Number of its event in the log.
    reset : bool
        Whether the arm is learned from the start again; if not, its means cover both sides.
    """

    what: str
    before: float
    after: float
    outcomes: int
    at: datetime
    seq: int
    reset: bool

    def __str__(self) -> str:
        return (
            f"mean {self.what} went from {self.before:.3g} to {self.after:.3g}"
            f" in {self.outcomes:,} outcomes before {self.at:%Y-%m-%d %H:%M}"
        )


def changes_of(arm: Arm) -> tuple[ArmChange, ...]:
    """Return the newest change of an arm's cost and of its reward, the latest one first."""
    return tuple(
        ArmChange(
            what=one.what,
            before=one.before,
            after=one.after,
            outcomes=one.newer,
            at=to_datetime(one.ts),
            seq=one.seq,
            reset=one.reset,
        )
        for one in sorted(arm.changed.values(), key=lambda one: -one.seq)
    )


@dataclass(frozen=True, kw_only=True)
class ArmHistory:
    """Past outcomes of an arm that count beside its own, for users.

    Attributes
    ----------
    outcomes : int
        How many there are.
    plays : float
        How many plays they count as: each counts as the weight that it was learned with.
    sources : tuple of str
        Where they come from.
    """

    outcomes: int
    plays: float
    sources: tuple[str, ...]

    def describe(self, arm: str) -> str:
        """Return how many there are, from where, and as how many plays they count."""
        what, verb = pluralize(self.outcomes, "past outcome"), "count"
        weighted = "" if self.plays == self.outcomes else f" as {self.plays:,.6g} plays"
        verb += "s" * (self.outcomes == 1)
        return f"{what} from {join_words(self.sources)} {verb} for {arm}{weighted}"


def history_of(arm: Arm, tables: Sequence[LearnedTable]) -> ArmHistory | None:
    """Return the past outcomes of an arm that count; None if there are none."""
    mine = [one for one in tables if arm.key in one.plays and one.seq > arm.reset]
    if not mine:
        return None
    return ArmHistory(
        outcomes=sum(one.plays[arm.key] for one in mine),
        plays=sum(one.plays[arm.key] * one.weight for one in mine),
        sources=tuple(dict.fromkeys(one.source for one in mine)),
    )
