"""The past of a campaign: its state as it was before a decision, and the same ask once more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from bursar.campaign.events import (
    ARM_ADDED,
    ARM_PAUSED,
    ARM_RESUMED,
    ARM_RETIRED,
    ASKED,
    BUDGET_SET,
    CAP_SET,
    CLOSED,
    CORRECTED,
    ENDINGS,
    GRANTS,
    PAUSED,
    POLICY_ERROR,
    RECONCILED,
    RESTORED,
    RESUMED,
    TOLD,
    check_kind,
)
from bursar.campaign.holds import ask, load_ask_options
from bursar.campaign.records import day_of
from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, CannotAnswer, CorruptLedger, NewerSchema, UnknownDecision
from bursar.formatting import to_plain
from bursar.ledger import Event, Store, encode_event_body
from bursar.ledger.chain import check_chain

__all__ = [
    "Audit",
    "PastAsk",
    "Verification",
    "among_of",
    "replay_ask",
    "state_before",
    "verify_campaign",
]


class PastAsk(NamedTuple):
    """The state before an ask, the ask, and how the policy failed in it, if it did."""

    state: State
    asked: Event
    failure: str | None


def state_before(store: Store, name: str, decision: str) -> PastAsk:
    """Return what was known when a decision was made: the log up to it, folded."""
    with store.open_writer(name) as session:
        own = session.decision_events(decision)
        kept = session.load_snapshot()
    if not own:
        raise UnknownDecision(
            f"{name} has no decision {decision!r}; pass the id that an ask returned"
        )
    asked, failure = own[0], None
    if asked.kind != ASKED:
        raise CannotAnswer(
            f"{decision!r} was granted before {name} was restored from a backup: the log from which"
            " it was chosen is gone"
        )
    state = decode_snapshot(kept[1]) if kept is not None and kept[0] < asked.seq else None
    for event, _ in store.read(name, 0 if state is None else state.seq):
        if event.seq > asked.seq:
            failure = event.body["error"] if event.kind == POLICY_ERROR else None
            break
        if state is None:
            state = State(event)
        elif event.seq < asked.seq:
            state.apply(event)
    assert state is not None  # an ask is never the first event
    return PastAsk(state, asked, failure)


def among_of(state: State, asked: Event) -> tuple[str, ...] | None:
    """Return the arms that an ask was restricted to, or None for all."""
    return load_ask_options(asked.body["print"], None).keys(state.keys)


def replay_ask(state: State, asked: Event) -> tuple[bool, str | None]:
    """Ask once more on the state as it was, which this spoils.

    Returns whether the log says the same in every bit, and the arm that is chosen now.
    """
    session: Any = None  # the id is new to this state, so nobody looks into the log
    options = load_ask_options(asked.body["print"], asked.body.get("context"))
    transaction = Transaction(
        state, session, asked.ts, lambda _: False
    )  # what was due then is in the log
    try:
        choice, _ = ask(transaction, asked.decision, options, True)
    except BursarError:
        return False, None
    made = next(event for event in transaction.events if event.kind == ASKED)
    return encode_event_body(made.body) == encode_event_body(asked.body), state.arms[choice.arm].key


# ==== campaign.audit
# The books done again: sums of money straight from the log, beside those that a campaign keeps.


class Audit:
    """Follows the money of each decision, and checks every grant against budget and caps.

    Simple on purpose, and apart from the code it checks.
    """

    def __init__(self, first: Event) -> None:
        self.budget: int = first.body["budget"]
        self.caps: dict[str, int | None] = dict(first.body["caps"])
        self.keys: list[str] = [key for key, _ in first.body["arms"]]
        self.idle: set[str] = set()
        self.state = "active"
        self.gap = 0
        self.decisions = 0
        self.scopes: dict[str, list[str]] = {}  # of a decision: the day and the arm
        self.holds: dict[str, int] = {}  # open ones
        self.charges: dict[str, int] = {}
        self.spent: defaultdict[str, int] = defaultdict(int)  # by scope; "" for all
        self.held: defaultdict[str, int] = defaultdict(int)

    def follow(self, event: Event) -> str | None:
        """Take an event into account; return what is wrong with it, if anything is."""
        check_kind(event)
        kind, body = event.kind, event.body
        if kind in GRANTS:
            return self._asked(event)
        if kind in (TOLD, CORRECTED) and "cost" in body:
            return self._charged(event.decision, body["cost"])
        if kind in ENDINGS:
            if event.decision not in self.holds:
                return "ends a hold that is not open"
            return self._charged(event.decision, body.get("charge", 0))
        if kind == ARM_ADDED:
            if body["key"] in self.keys:
                return f"adds the arm {body['key']!r} a second time"
            self.keys.append(body["key"])
        elif kind in (ARM_PAUSED, ARM_RETIRED):
            self.idle.add(body["key"])
        elif kind == ARM_RESUMED:
            self.idle.discard(body["key"])
        elif kind == BUDGET_SET:
            self.budget = body["budget"]
        elif kind == CAP_SET:
            self.caps[body["scope"]] = body["cap"]
        elif kind in (PAUSED, CLOSED, RESTORED):
            self.state = kind
        elif kind in (RESUMED, RECONCILED):
            self.state = "active"
            self.gap += body.get("gap", 0)
        return None

    def _asked(self, event: Event) -> str | None:
        decision, key = event.decision, self.keys[event.body["arm"]]
        if decision in self.scopes:
            return f"grants {decision!r} a second time"
        promised = event.kind == ASKED  # what was granted before a restore may exceed anything
        if promised and (self.state != "active" or key in self.idle):
            return f"grants {key!r} while " + ("it" if key in self.idle else "all") + " must wait"
        self.decisions += 1
        self.scopes[decision] = ["", f"day:{day_of(event.ts)}", f"arm:{key}"]
        self.holds[decision] = event.body["hold"]
        self.charges[decision] = 0
        for scope in self.scopes[decision]:
            self.held[scope] += event.body["hold"]
        limits = [self.budget - self.gap, self.caps.get("day"), self.caps.get(f"arm:{key}")]
        for scope, limit in zip(self.scopes[decision], limits, strict=True):
            total = self.spent[scope] + self.held[scope]
            if promised and limit is not None and total > limit:
                what = {"": "the budget", "d": "the day's cap", "a": "the cap of its arm"}[
                    scope[:1]
                ]
                return f"grants more than {what} allows ({total:,} of {limit:,} units)"
        return None

    def _charged(self, decision: str, cost: int) -> str | None:
        if decision not in self.scopes:
            return f"tells of {decision!r}, which was never asked"
        hold, before = self.holds.pop(decision, 0), self.charges[decision]
        self.charges[decision] = cost
        for scope in self.scopes[decision]:
            self.held[scope] -= hold
            self.spent[scope] += cost - before
        return None

    def differs(self, state: State) -> str | None:
        """Return which sum of a campaign is not that of the log, if one is."""
        sums = [
            ("spent", state.spent, self.spent[""] + self.gap),
            ("held", state.held, self.held[""]),
            ("the budget", state.budget, self.budget),
            ("asks", state.asks, self.decisions),
        ]
        for arm in state.arms:
            scope = f"arm:{arm.key}"
            sums.append((f"spent on {arm.key!r}", arm.money.spent, self.spent[scope]))
            sums.append((f"held for {arm.key!r}", arm.money.held, self.held[scope]))
        for day, cap in state.days.items():
            sums.append((f"spent on day {day}", cap.spent, self.spent[f"day:{day}"]))
            sums.append((f"held for day {day}", cap.held, self.held[f"day:{day}"]))
        for what, kept, found in sums:
            if kept != found:
                return f"{what} is {kept:,} units where the log adds up to {found:,}"
        return None


# ==== campaign.verification
# Whether a campaign adds up: its chain of hashes, its money, its snapshot, its choices.


@dataclass(frozen=True)
class Verification:
    """A log that was found to be right.

    Attributes
    ----------
    events, decisions : int
        How many were checked.
    hash : str
        Hash of the last event; it stands for the whole log.
    spent, held : Decimal
        As the log adds up.
    snapshot : int or None
        The event after which a snapshot was kept that equals the log up to there, bit for bit.
    choices : int or None
        Choices that were made again and came out the same; None if that was not asked for.
    """

    events: int
    decisions: int
    hash: str
    spent: Decimal
    held: Decimal
    snapshot: int | None
    choices: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = to_plain(self)
        return found


class _Fold:
    """Events on their way through the checks."""

    def __init__(self, name: str, states: dict[str, tuple[int, bytes]], choices: bool) -> None:
        self.name = name
        self.states = states
        self.choices = choices
        self.state: State | None = None
        self.audit: Audit | None = None
        self.last = b""

    def through(self, events: Iterator[tuple[Event, bytes]]) -> Iterator[tuple[Event, bytes]]:
        """Hand on events; each is taken into account once its hash was found right."""
        for event, kept in events:
            yield event, kept
            self.last = kept
            try:
                self._take(event)
            except (CorruptLedger, NewerSchema):
                raise
            except Exception as error:  # whatever a body that nobody wrote may lead to
                raise self._bad(event.seq, f"makes no sense ({error!r})") from error

    def _take(self, event: Event) -> None:
        if self.state is None or self.audit is None:
            self.state, self.audit = State(event), Audit(event)
            self._compare(self.state)
            return
        wrong = self.audit.follow(event)
        if wrong is not None:
            raise self._bad(event.seq, wrong)
        if self.choices and event.kind == ASKED:
            self._choose(self.state, event)
        self.state.apply(event)
        self._compare(self.state)

    def _compare(self, state: State) -> None:
        for what, (seq, content) in self.states.items():
            # a snapshot of another version of bursar is never used, and so never wrong
            if (
                seq == state.seq
                and decode_snapshot(content) is not None
                and encode_snapshot(state) != content
            ):
                raise self._bad(seq, f"leads to another state than {what}")

    def _choose(self, state: State, event: Event) -> None:
        copy = decode_snapshot(encode_snapshot(state))
        assert copy is not None
        same, arm = replay_ask(copy, event)
        if not same:
            raise self._bad(event.seq, f"is not what the policy chooses, {arm!r}")

    def _bad(self, seq: int, what: str) -> CorruptLedger:
        return CorruptLedger(f"event {seq} of {self.name!r} {what}; restore a backup")


def verify_campaign(
    store: Store, name: str, live: tuple[int, bytes], choices: bool
) -> Verification:
    """Check a campaign; raise CorruptLedger with the first event that is wrong."""
    with store.open_writer(name) as session:
        head, snapshot = session.head, session.load_snapshot()
    states = {"the one in memory": live}
    if snapshot is not None:
        states["its snapshot"] = snapshot
    fold = _Fold(name, states, choices)
    count = check_chain(name, fold.through(iter(store.read(name))), head)
    state, audit = fold.state, fold.audit
    assert state is not None
    assert audit is not None
    wrong = audit.differs(state)
    if wrong is not None:
        raise CorruptLedger(f"event {count} of {name!r}: {wrong}; restore a backup")
    amount = state.config.coin.amount
    return Verification(
        count, audit.decisions, fold.last.hex(), amount(state.spent), amount(state.held),
        None if snapshot is None else snapshot[0], audit.decisions if choices else None,
    )  # fmt: skip
