"""The audit of a campaign's log: hashes, money, snapshot and choices; and any past ask repeated.

`Audit` adds up the money straight from the events. It shares no code with the fold in
`bursar.campaign.state` on purpose: two independent sums that agree are the check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from bursar import errors
from bursar.campaign import events as kinds
from bursar.campaign.ask_options import load_ask_options
from bursar.campaign.committer import SNAPSHOT_EVERY
from bursar.campaign.holds import ask, find_own_hold
from bursar.campaign.records import day_of
from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.campaign.transaction import Transaction
from bursar.campaign.views import CampaignView
from bursar.ledger import Event, Store
from bursar.ledger.log import check_chain, encode_event_body, hash_snapshot
from bursar.ledger.store import LAST, MOST_SNAPSHOT_BYTES, MOST_SNAPSHOTS
from bursar.validation import escape_surrogates

_VERIFIED = "verified"  # kind of the records
_SLICE = 200  # events between two pauses
_KEEP_EVERY = 2 * SNAPSHOT_EVERY  # events without a snapshot after which a reader saves one


@dataclass(frozen=True, kw_only=True)
class Verification(CampaignView):
    """A log that was found to be right.

    Attributes
    ----------
    events, decisions : int
        How many were checked.
    hash : str
        Hash of the last event; it covers the whole log.
    spent, held : Decimal
        Sums over the log.
    snapshot : int or None
        The event after which a snapshot was saved that equals the log up to there, bit for bit.
    choices : int or None
        Choices that were repeated with the same result; None if that was not requested.
    """

    events: int
    decisions: int
    hash: str
    spent: Decimal
    held: Decimal
    snapshot: int | None
    choices: int | None


class LastVerification(msgspec.Struct, frozen=True):
    """When a log was verified last, and what was wrong with it; a record beside the logs."""

    at: int = 0  # µs since 1970; 0 for never
    error: str = ""


def load_verifications(store: Store) -> defaultdict[str, LastVerification]:
    """Return when each campaign was verified last; never, for one that was not or is unknown."""
    found = defaultdict(LastVerification)
    for name, body in store.records(_VERIFIED).items():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # damaged: verify it again
            found[name] = msgspec.json.decode(body, type=LastVerification)
    return found


def save_verification(store: Store, name: str, at: int, error: str = "") -> None:
    """Record that a campaign was verified."""
    body = msgspec.json.encode(LastVerification(at, escape_surrogates(error)))
    # the result stands without the record
    with suppress(errors.StorageUnavailable, errors.StorageInUse):
        store.put_record(_VERIFIED, name, body)


def verify_campaign(
    store: Store,
    name: str,
    live: tuple[int, bytes],
    choices: bool,
    pause: Callable[[], None] | None = None,
) -> Verification:
    """Check a campaign; raise CorruptLedger with the first event that is wrong.

    ``live`` is the campaign's own state as a snapshot; ``choices`` repeats every choice; ``pause``
    is called after every 200 events.
    """
    snapshots = {
        seq: hash_snapshot(seq, content)
        for seq, content in _iterate_snapshots(store, name, LAST)
        # a snapshot of another version of bursar is never used, so it cannot be wrong
        if _load_state(content) is not None
    }
    with store.open_writer(name) as writer:
        head = writer.head
    verifier = _Verifier(name, live, snapshots, choices, pause)
    count = check_chain(name, verifier.check_events(store.read(name)), head)
    state, audit = verifier.state, verifier.audit
    wrong = audit.find_difference(state)
    if wrong is not None:
        raise errors.CorruptLedger(f"event {count} of {name!r}: {wrong}; restore a backup")
    return Verification(
        events=count,
        decisions=audit.decisions,
        hash=verifier.last_hash.hex(),
        spent=state.config.coin.amount(state.spent),
        held=state.config.coin.amount(state.held),
        snapshot=max(snapshots, default=None),
        choices=audit.decisions if choices else None,
    )


def _iterate_snapshots(store: Store, name: str, before: int) -> Iterator[tuple[int, bytes]]:
    """Yield the snapshots before an event, the newest first; writers wait for none of them long."""
    while True:
        with store.open_writer(name) as writer:
            found = writer.load_snapshot(before)
        if found is None:
            return
        yield found
        before = found[0]


@dataclass
class _Verifier:
    """Checks events one by one while `check_chain` checks their hashes."""

    name: str
    live: tuple[int, bytes]
    snapshots: Mapping[int, bytes]
    choices: bool
    pause: Callable[[], None] | None
    last_hash: bytes = b""
    state: State = field(init=False)  # since the first event
    audit: Audit = field(init=False)

    def check_events(self, events: Iterable[tuple[Event, bytes]]) -> Iterator[tuple[Event, bytes]]:
        """Yield events with their hashes; check each after its hash was found right."""
        for event, digest in events:
            yield event, digest
            self.last_hash = digest
            try:
                wrong = self._find_wrong(event)
            except (errors.CorruptLedger, errors.NewerSchema):
                raise
            except Exception as error:  # a body that bursar did not write may raise anything
                raise self._corrupt(event, f"makes no sense ({error!r})") from error
            if wrong is not None:
                raise self._corrupt(event, wrong)
            if self.pause is not None and event.seq % _SLICE == 0:
                self.pause()

    def _corrupt(self, event: Event, wrong: str) -> errors.CorruptLedger:
        return errors.CorruptLedger(f"event {event.seq} of {self.name!r} {wrong}; restore a backup")

    def _find_wrong(self, event: Event) -> str | None:
        """Take an event into account; return what is wrong with it, or None."""
        if event.seq == 1:
            self.state, self.audit = State(event), Audit(event)
        else:
            wrong = self.audit.follow(event)
            if wrong is None and self.choices and event.kind == kinds.ASKED:
                wrong = self._find_other_choice(event)
            if wrong is not None:
                return wrong
            self.state.apply(event)
        seq, live = self.live
        if event.seq == seq and encode_snapshot(self.state) != live:
            return "leads to another state than the one in memory"
        if event.seq in self.snapshots:
            found = hash_snapshot(event.seq, encode_snapshot(self.state))
            if found != self.snapshots[event.seq]:
                return "leads to another state than its snapshot"
        return None

    def _find_other_choice(self, event: Event) -> str | None:
        copy = decode_snapshot(encode_snapshot(self.state))
        assert copy is not None
        same, arm = replay_ask(copy, event)
        return None if same else f"is not what the policy chooses, {arm!r}"


class Audit:
    """Follows the money of each decision, and checks every grant against budget and caps."""

    def __init__(self, first: Event) -> None:
        self.budget: int = first.body["budget"]
        self.caps: dict[str, int | None] = dict(first.body["caps"])
        self.keys: list[str] = [key for key, _ in first.body["arms"]]
        self.idle: set[str] = set()
        self.state = "active"
        self.gap = 0
        self.learned: set[tuple[str, str]] = set()  # digests of past outcomes, and their arms
        self.decisions = 0
        self.scopes: dict[str, list[str]] = {}  # of a decision: all, the day, the arm
        self.holds: dict[str, int] = {}  # open ones
        self.charges: dict[str, int] = {}
        self.spent: defaultdict[str, int] = defaultdict(int)  # by scope; "" for all
        self.held: defaultdict[str, int] = defaultdict(int)

    def follow(self, event: Event) -> str | None:
        """Take an event into account; return what is wrong with it, or None."""
        kinds.check_kind(event)
        kind, body = event.kind, event.body
        if kind in kinds.GRANTS:
            return self._grant(event)
        if kind in (kinds.TOLD, kinds.CORRECTED) and "cost" in body:
            return self._charge(event.decision, body["cost"])
        if kind in kinds.ENDINGS:
            if event.decision not in self.holds:
                return "ends a hold that is not open"
            return self._charge(event.decision, body.get("charge", 0))
        if kind == kinds.ARM_ADDED:
            if body["key"] in self.keys:
                return f"adds the arm {body['key']!r} a second time"
            self.keys.append(body["key"])
        elif kind in (kinds.ARM_PAUSED, kinds.ARM_RETIRED):
            self.idle.add(body["key"])
        elif kind == kinds.ARM_RESUMED:
            self.idle.discard(body["key"])
        elif kind == kinds.BUDGET_SET:
            self.budget = body["budget"]
        elif kind == kinds.CAP_SET:
            self.caps[body["scope"]] = body["cap"]
        elif kind in (kinds.PAUSED, kinds.CLOSED, kinds.RESTORED):
            self.state = kind
        elif kind in (kinds.RESUMED, kinds.RECONCILED):
            self.state = "active"
            self.gap += body.get("gap", 0)
        elif kind == kinds.LEARNED:
            return self._learn(body)
        return None

    def _learn(self, body: dict[str, Any]) -> str | None:
        if not 0.0 < body["weight"] <= 1.0:
            return f"learns past outcomes with weight {body['weight']!r}"
        for one in body["arms"]:
            if one["arm"] not in self.keys:
                return f"learns past outcomes of {one['arm']!r}, which is no arm"
            if (body["digest"], one["arm"]) in self.learned:
                return f"learns past outcomes of {one['arm']!r} a second time"
            self.learned.add((body["digest"], one["arm"]))
        return None

    def _grant(self, event: Event) -> str | None:
        decision, key, hold = event.decision, self.keys[event.body["arm"]], event.body["hold"]
        if decision in self.scopes:
            return f"grants {decision!r} a second time"
        limited = event.kind == kinds.ASKED  # a grant from before a restore may exceed any limit
        if limited and key in self.idle:
            return f"grants {key!r} while that arm is not active"
        if limited and self.state != "active":
            return f"grants {key!r} while the campaign is not active"
        self.decisions += 1
        self.holds[decision], self.charges[decision] = hold, 0
        limits = {
            "": ("the budget", self.budget - self.gap),
            f"day:{day_of(event.ts)}": ("the day's cap", self.caps.get("day")),
            f"arm:{key}": ("the arm's cap", self.caps.get(f"arm:{key}")),
        }
        self.scopes[decision] = list(limits)
        for scope in limits:
            self.held[scope] += hold
        for scope, (what, limit) in limits.items():
            total = self.spent[scope] + self.held[scope]
            if limited and limit is not None and total > limit:
                return f"grants more than {what} allows ({total:,} of {limit:,} units)"
        return None

    def _charge(self, decision: str, cost: int) -> str | None:
        if decision not in self.scopes:
            return f"has the outcome of {decision!r}, which was never granted"
        hold, before = self.holds.pop(decision, 0), self.charges[decision]
        self.charges[decision] = cost
        for scope in self.scopes[decision]:
            self.held[scope] -= hold
            self.spent[scope] += cost - before
        return None

    def find_difference(self, state: State) -> str | None:
        """Return which sum of a campaign differs from that of the log, or None."""
        sums = [
            ("spent", state.spent, self.spent[""] + self.gap),
            ("held", state.held, self.held[""]),
            ("the budget", state.budget, self.budget),
            ("asks", state.asks, self.decisions),
        ]
        scopes = [(f"arm:{arm.key}", f"arm {arm.key!r}", arm.money) for arm in state.arms]
        scopes += [(f"day:{day}", f"day {day}", money) for day, money in state.days.items()]
        for scope, what, money in scopes:
            sums.append((f"spent on {what}", money.spent, self.spent[scope]))
            sums.append((f"held for {what}", money.held, self.held[scope]))
        for what, kept, found in sums:
            if kept != found:
                return f"{what} is {kept:,} units where the log adds up to {found:,}"
        return None


class PastAsk(NamedTuple):
    """The state before an ask, the ask, and how the policy failed in it, if it did."""

    state: State
    asked: Event
    failure: str | None


def state_before(store: Store, name: str, decision: str) -> PastAsk:
    """Return what was known when a decision was made: the log before it, folded."""
    with store.open_writer(name) as writer:
        history, head = writer.decision_events(decision), writer.seq
    if not history:
        raise errors.UnknownDecision(
            f"{name} has no decision {decision!r}; pass the id that an ask returned"
        )
    asked, failure = history[0], None
    if asked.kind != kinds.ASKED:
        raise errors.CannotAnswer(
            f"{decision!r} cannot be explained: it was granted before {name} was restored from a"
            " backup, and the log of that time is lost"
        )
    older = (_load_state(one) for _, one in _iterate_snapshots(store, name, asked.seq))
    state = next((one for one in older if one is not None), None)
    kept_at = 0 if state is None else state.seq
    keep_every = max(_KEEP_EVERY, 2 * head // MOST_SNAPSHOTS)
    for event, _ in store.read(name, kept_at):
        if event.seq > asked.seq:
            failure = event.body["error"] if event.kind == kinds.POLICY_ERROR else None
            break
        if state is None:
            state = State(event)
        elif event.seq < asked.seq:
            state.apply(event)
            if event.seq - kept_at >= keep_every:
                kept_at = event.seq
                _keep_snapshot(store, state)
    assert state is not None  # an ask is never the first event
    return PastAsk(state, asked, failure)


def _load_state(content: bytes) -> State | None:
    """Return the state of a snapshot, or None if it cannot be read: the log has all that it has."""
    with suppress(Exception):
        return decode_snapshot(content)
    return None


def _keep_snapshot(store: Store, state: State) -> None:
    """Save a snapshot on the way through a log that has none, so that the next way is short."""
    content = encode_snapshot(state)
    # larger ones would be dropped again
    if len(content) <= MOST_SNAPSHOT_BYTES // MOST_SNAPSHOTS:
        with suppress(errors.BursarError), store.open_writer(state.name) as writer:
            writer.save_snapshot(state.seq, content)


def options_of(state: State, asked: Event) -> tuple[tuple[str, ...] | None, int | None]:
    """Return the arms that an ask was restricted to (None for all), and the hold that it named."""
    options = load_ask_options(asked.body["print"], None)
    return options.keys(state.keys), find_own_hold(state, options)


def replay_ask(state: State, asked: Event) -> tuple[bool, str | None]:
    """Repeat an ask on the state before it, which changes that state.

    Returns whether the result equals the log in every bit, and the arm that is chosen now.
    """
    no_writer: Any = None  # the id is new to this state, so the log is not read
    options = load_ask_options(asked.body["print"], asked.body.get("context"))
    # nothing expires here: expiries of that time are in the log
    transaction = Transaction(state, no_writer, asked.ts, lambda _: False)
    try:
        choice, _ = ask(transaction, asked.decision, options, True)
    except errors.BursarError:
        return False, None
    repeated = next(event for event in transaction.events if event.kind == kinds.ASKED)
    # dict(): a body that was flattened is compared as it is read
    same = encode_event_body(repeated.body) == encode_event_body(dict(asked.body))
    return same, state.arms[choice.arm].key
