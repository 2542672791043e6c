"""The state of a campaign: the fold of its events. Only events change it.

A snapshot is a state as bytes, the same bytes for the same state; it spares reading a long log.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappush
from typing import Any

import msgspec
import numpy as np

from bursar.arrays import Floats
from bursar.campaign import events as kinds
from bursar.campaign import records
from bursar.campaign.config import Config
from bursar.campaign.events import CORRECTED, TOLD
from bursar.campaign.learner import COST, REWARD, CampaignLearner
from bursar.campaign.records import OPEN, DecisionRecord, make_record
from bursar.errors import CorruptLedger
from bursar.history import PastOutcomes
from bursar.jit.arms import ARM, Arms, new_arms
from bursar.jit.detector import used, with_room
from bursar.ledger import Event
from bursar.ledger.store import CampaignTotals
from bursar.policies import policy as policy_of

ENOUGH_COSTS = 30  # costs before a quantile of them is trusted
_FLAGS = 20  # notices that are kept for an operator, the newest
_NEWEST = 1000  # costs of an arm that quantile holds are computed from
_KEPT = ARM.itemsize // 8 - 1  # fields of an arm in a snapshot: all but `cap`, the last


class State:
    """A fold of events. ``apply`` does not refuse anything: an event says what has happened."""

    def __init__(self, first: Event, empty: bool = False) -> None:
        body = first.body
        self.name: str = body["name"]
        self.config = config = Config.from_body(body["config"])
        self._unit = 10.0**config.coin.exponent
        self._quantile = config.quantile
        hold_ttl = config.hold_ttl if config.ask_ttl is None else config.ask_ttl
        self.hold_time = round(hold_ttl * 1e6)  # µs until a hold ends
        self.reward_time = round(config.reward_ttl * 1e6)  # µs until a reward is late
        self.patience = config.patience * 1e9  # ns
        self.low, self.high = config.reward_range
        self.budget: int = body["budget"]
        self.spent = self.held = self.overrun = 0
        self.stored = "active"  # active, paused, closed, unreconciled
        self.arms: list[records.Arm] = []
        self.keys: dict[str, int] = {}
        self.day_cap: int | None = None
        self.days: defaultdict[int, records.Balance] = defaultdict(records.Balance)
        self.decisions: dict[str, DecisionRecord] = {}  # those that expect more events
        self.deadlines: list[tuple[int, str]] = []
        self.flags: list[str] = []
        self.tables: list[records.LearnedTable] = []  # of past outcomes, the oldest first
        self.seq, self.ts, self.version = first.seq, first.ts, 1
        self.asks = 0
        self.reward = 0.0
        self.learner = CampaignLearner(
            policy_of(config.policy), config.reward_range, config.seed,
            config.on_change != "ignore", config.scale == "declared",
        )  # fmt: skip
        self._add_arms(body["arms"])
        for scope, cap in body["caps"].items():
            self._set_cap(scope, cap)
        self.update_limits()
        if not empty:
            self.inform_policy()

    # reading

    @property
    def available(self) -> int:
        """What is neither spent nor held; below 0 after overruns and cuts."""
        return self.budget - self.spent - self.held

    @property
    def state(self) -> str:
        """The stored state; if that is active: active, overdrawn or exhausted."""
        if self.stored != "active":
            return self.stored
        left = self.available
        if left < 0:
            return "overdrawn"
        # whether some arm fits today, or on a day whose cap is not used up
        fits = (
            self._cheapest <= left
            if self._plain
            else any(
                arm.state == "active" and self.hold_of(number) <= arm.money.within(left)
                for number, arm in enumerate(self.arms)
            )
        )
        return "active" if fits else "exhausted"

    def hold_of(self, number: int, own: int | None = None) -> int:
        """Return what an ask of an arm reserves; at least one unit, so that no ask is free.

        ``own`` is the hold that the ask names.
        """
        arm, quantile = self.arms[number], self._quantile
        if own is not None:
            return min(own, arm.max_cost)
        if quantile is None or len(arm.costs) < ENOUGH_COSTS:
            return arm.max_cost
        ordered = sorted(arm.costs)
        return max(1, min(arm.max_cost, ordered[math.ceil(quantile * len(ordered)) - 1]))

    def day_balance(self, ts: int) -> records.Balance:
        """Return the cap of the day of a time, and what was spent and is held of it."""
        today = self.days.get(records.day_of(ts)) or records.Balance()
        return records.Balance(self.day_cap, today.spent, today.held)

    def all_fit(self) -> bool:
        """Return whether every arm may be chosen and fits: the usual case, and quick to know."""
        return self._plain and self._dearest <= self.budget - self.spent - self.held

    def update_limits(self) -> None:
        """Note what asks need to know of the rules, which change rarely."""
        capped = self.day_cap is not None or any(arm.money.cap is not None for arm in self.arms)
        idle = any(arm.state != "active" for arm in self.arms)
        self._plain = bool(self.arms) and not (capped or idle or self.config.hold != "max")
        self._dearest = max((arm.max_cost for arm in self.arms), default=0)
        self._cheapest = min((arm.max_cost for arm in self.arms), default=0)

    def summary(self, granted: bool) -> CampaignTotals:
        """Return the row that a store keeps beside the log."""
        budget, spent, held, now = self.budget, self.spent, self.held, self.stored
        if not self._plain or self._dearest > budget - spent - held or now != "active":
            now = self.state
        # once per commit: CampaignTotals(…) makes the same, three times as slowly
        return tuple.__new__(CampaignTotals, (now, budget, spent, held, granted))

    @staticmethod
    def next_deadline(record: DecisionRecord) -> int:
        """Return when the hold of a decision ends, or the wait for its reward."""
        if record.money not in OPEN:
            return record.due
        # a reward that is known, or was defaulted, is not waited for again
        return min(record.expires, record.due) if record.rewarded == "pending" else record.expires

    # decisions

    def apply(self, event: Event) -> None:
        """Take an event into account."""
        handler = _HANDLERS.get(event.kind)
        if handler is None:
            kinds.check_kind(event)
            raise CorruptLedger(f"event {event.seq} of {self.name!r} creates it a second time")
        handler(self, event, event.body)
        self.seq, self.ts = event.seq, event.ts

    def _grant(self, event: Event, body: dict[str, Any]) -> None:
        record = self.decisions[event.decision] = make_record(event)
        if len(self.deadlines) > 4 * len(self.decisions) + 1000:
            self.rebuild_deadlines()
        expires, due, hold = record.expires, record.due, record.hold
        heappush(self.deadlines, (expires if expires < due else due, event.decision))
        arm = self.arms[record.arm]
        arm.open += 1
        arm.asks += 1
        arm.last = event.ts
        arm.money.held += hold
        self.days[record.day].held += hold
        self.held += hold
        self.asks += 1
        self.learner.add_waiting(record.arm)

    def _confirm(self, event: Event, body: dict[str, Any]) -> None:
        record = self.decisions[event.decision]
        record.apply(event)
        heappush(self.deadlines, (self.next_deadline(record), record.id))

    def _take_outcome(self, event: Event, body: dict[str, Any]) -> None:
        """Book a report, a correction or a default: sums first, then the record, then learning.

        A decision is learned from once its cost and its reward are known; a complete one leaves
        the memory. The tests for changes see reports only: a correction is no news, and a default
        comes late and would look like a change for the worse.
        """
        record = self.decisions.get(event.decision)
        if record is None:  # it has left the memory, so the event has it
            record = msgspec.convert(body["was"], DecisionRecord)
        kind, arm, learner = event.kind, self.arms[record.arm], self.learner
        if kind == CORRECTED:
            if record.learned > arm.reset:
                cost = (record.cost or 0) / self._unit
                learner.forget(record.arm, record.reward or 0.0, cost, record.learned)
            if "reward" in body and record.rewarded in ("observed", "defaulted"):
                self.reward -= record.reward or 0.0
        if "cost" in body:
            self._charge(record, body["cost"])
            if self._quantile is not None:  # nothing else needs them
                _keep_cost(arm.costs, record.cost, body["cost"])
        if "late" not in body and body.get("reward") is not None:
            self.reward += body["reward"]
        record.apply_outcome(event, arm.reset)
        news = 0
        if kind == TOLD:
            news = REWARD if record.rewarded == "observed" else 0
            if "cost" in body:
                news += COST
        waited = (
            record.rewarded != "pending"
            and record.money not in OPEN
            and self.decisions.pop(record.id, None) is not None
        )
        cost = (record.cost or 0) / self._unit
        if record.learned == event.seq:
            learner.learn(record.arm, record.reward or 0.0, cost, event.seq, waited, news)
            return
        if news & COST:
            learner.observe_cost(record.arm, cost)
        if waited:
            learner.remove_waiting(record.arm)

    def _charge(self, record: DecisionRecord, cost: int) -> None:
        """Replace what a decision holds, or was charged before, by its cost."""
        arm, hold, more = self.arms[record.arm], record.hold, cost - record.charged
        day = self.days[record.day]
        if record.money in OPEN:
            self.held -= hold
            arm.money.held -= hold
            day.held -= hold
            arm.open -= 1
        self.spent += more
        arm.money.spent += more
        day.spent += more
        before = record.cost or 0
        if cost > hold or before > hold:
            self.overrun += max(cost - hold, 0) - max(before - hold, 0)
            # a caller's own estimate says nothing of the arm, whose maximum does
            most = max(hold, arm.max_cost) if records.is_own_hold(record.fingerprint) else hold
            arm.overruns += (cost > most) - (before > most)

    def _end_hold(self, event: Event, body: dict[str, Any]) -> None:
        record = self.decisions[event.decision]
        self._charge(record, body.get("charge", 0))
        record.apply(event)
        if record.done:
            del self.decisions[record.id]
            self.learner.remove_waiting(record.arm)

    def rebuild_deadlines(self) -> None:
        """Drop the deadlines that have passed or changed."""
        self.deadlines = [(self.next_deadline(one), one.id) for one in self.decisions.values()]
        heapify(self.deadlines)

    # rules

    def _count_change(self) -> None:
        self.version += 1
        self.update_limits()

    def _add_arm(self, event: Event, body: dict[str, Any]) -> None:
        self._add_arms([(body["key"], body["max_cost"])])
        self.inform_policy()
        self._count_change()

    def _add_arms(self, arms: Sequence[tuple[str, int]]) -> None:
        for key, max_cost in arms:
            self.keys[key] = len(self.arms)
            self.arms.append(records.Arm(key, max_cost))
        amount = self.config.coin.amount
        self.learner.add_arms([float(amount(max_cost)) for _, max_cost in arms])

    def _change_arm(self, event: Event, body: dict[str, Any]) -> None:
        arm = self.arms[self.keys[body["key"]]]
        arm.state = _ARM_STATES[event.kind]
        if "anew" in body:
            arm.costs = []  # its hold is its maximum until enough is known of its costs of today
        self._count_change()

    def _change_budget(self, event: Event, body: dict[str, Any]) -> None:
        self.budget = body["budget"]
        self.inform_policy()
        self._count_change()

    def _change_cap(self, event: Event, body: dict[str, Any]) -> None:
        self._set_cap(body["scope"], body["cap"])
        self._count_change()

    def _set_cap(self, scope: str, cap: int | None) -> None:
        if scope == "day":
            self.day_cap = cap
        else:
            self.arms[self.keys[scope.removeprefix("arm:")]].money.cap = cap

    def _change_state(self, event: Event, body: dict[str, Any]) -> None:
        if event.kind != kinds.RESTORED or self.stored != "closed":  # which stays closed
            self.stored = _CAMPAIGN_STATES[event.kind]
        self.spent += body.get("gap", 0)
        self._count_change()

    def inform_policy(self) -> None:
        """Give the policy what it may know beforehand: arms, budget, least cost."""
        least = self.config.min_cost
        # a budget that was cut to 0 is never played with, but a policy may divide by it
        budget = float(self.config.coin.amount(max(self.budget, 1)))
        self.learner.set_context(budget, None if least is None else float(least))

    # notices

    def _note_policy_error(self, event: Event, body: dict[str, Any]) -> None:
        self._flag(f"policy-error at {event.seq}: {body['error']}")

    def _note_policy_slow(self, event: Event, body: dict[str, Any]) -> None:
        self._flag(f"policy-slow at {event.seq}: a choice took {body['seconds']:.3g} s")

    def _note_change(self, event: Event, body: dict[str, Any]) -> None:
        number, what, reset = self.keys[body["key"]], body["what"], body["reset"]
        arm = self.arms[number]
        arm.changed[what] = records.NoticedChange(
            what, event.seq, event.ts, body["before"], body["after"], body["newer"], reset
        )
        self.learner.restart_test(number, what)
        if reset:
            arm.reset = event.seq
            self.learner.reset_arm(number)
            if what == "cost":
                arm.costs = []  # a quantile of old prices would hold too little, or too much
        anew = "; it is learned anew" if reset else ""
        self._flag(f"{arm.key} changed at {event.seq}: its {records.changes_of(arm)[0]}{anew}")

    # past outcomes

    def _learn_history(self, event: Event, body: dict[str, Any]) -> None:
        arms = msgspec.convert(body["arms"], list[PastOutcomes])
        for one in arms:
            self.learner.learn_history(self.keys[one.arm], one, body["weight"])
        plays = {one.arm: one.plays for one in arms}
        self.tables.append(
            records.LearnedTable(event.seq, body["digest"], body["source"], body["weight"], plays)
        )

    def _flag(self, text: str) -> None:
        self.flags.append(text)
        del self.flags[:-_FLAGS]  # a policy that fails, fails at every ask


_ARM_STATES = {
    kinds.ARM_PAUSED: "paused",
    kinds.ARM_RESUMED: "active",
    kinds.ARM_RETIRED: "retired",
}
_CAMPAIGN_STATES = {
    kinds.PAUSED: "paused",
    kinds.RESUMED: "active",
    kinds.CLOSED: "closed",
    kinds.RESTORED: "unreconciled",
    kinds.RECONCILED: "active",
}
_HANDLERS = {
    **dict.fromkeys(kinds.GRANTS, State._grant),
    kinds.CONFIRMED: State._confirm,
    **dict.fromkeys(kinds.OUTCOMES, State._take_outcome),
    **dict.fromkeys(kinds.ENDINGS, State._end_hold),
    kinds.ARM_ADDED: State._add_arm,
    **dict.fromkeys(_ARM_STATES, State._change_arm),
    kinds.BUDGET_SET: State._change_budget,
    kinds.CAP_SET: State._change_cap,
    **dict.fromkeys(_CAMPAIGN_STATES, State._change_state),
    kinds.POLICY_ERROR: State._note_policy_error,
    kinds.POLICY_SLOW: State._note_policy_slow,
    kinds.CHANGED: State._note_change,
    kinds.LEARNED: State._learn_history,
}


def _keep_cost(costs: list[int], before: int | None, cost: int) -> None:
    """Add a cost to the newest ones; a corrected one is replaced, if it is still there."""
    if before is None:
        costs.append(cost)
        del costs[:-_NEWEST]
    elif before in costs:
        costs[costs.index(before)] = cost


# snapshots

VERSION = 3
_WITH_TABLES = 4  # of past outcomes, which earlier versions of bursar would not count
_LARGE = 1  # code of the msgpack extension for integers beyond 64 bits
_PLAIN = (
    "budget", "spent", "held", "overrun", "stored", "day_cap", "flags", "seq", "ts",
    "version", "asks", "reward",
)  # fmt: skip


def encode_snapshot(state: State) -> bytes:
    """Return a state as bytes; floats and statistics keep every bit."""
    learner = state.learner
    rows = used(learner.watch)
    content: dict[str, Any] = {
        "v": VERSION,
        "name": state.name,
        "config": state.config.to_body(),
        "plain": {name: getattr(state, name) for name in _PLAIN},
        "arms": state.arms,
        "days": [[day, balance] for day, balance in sorted(state.days.items())],
        "choices": [record for _, record in sorted(state.decisions.items())],
        "brain": {
            "arms": _statistics(learner.arms).tobytes(),
            "open": learner.open,
            "costs": learner.costs,
            "most": learner.largest,
            "plays": int(learner.game["plays"][0]),
            "spent": float(learner.game["spent"][0]),
            "watch": [rows, learner.watch[:rows, : 2 * len(learner.open)].tobytes()],
        },
    }
    if state.tables:
        content |= {"v": _WITH_TABLES, "tables": state.tables}
    try:
        return msgspec.msgpack.encode(content, order="deterministic")
    except OverflowError:  # earlier versions accepted integers that msgpack does not know
        plain = msgspec.to_builtins(content, builtin_types=(bytes,))
        return msgspec.msgpack.encode(_wrap_large(plain), order="deterministic")


def _statistics(arms: Arms) -> Floats:
    """Return the numbers of arms that a snapshot keeps, a row for each arm."""
    return arms.view("f8").reshape(arms.size, _KEPT + 1)[:, :_KEPT]


def _wrap_large(value: Any) -> Any:
    """Return data in which integers beyond 64 bits are extensions with their digits."""
    if isinstance(value, dict):
        return {key: _wrap_large(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_wrap_large(one) for one in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(_LARGE, str(value).encode())
    return value


def decode_snapshot(content: bytes) -> State | None:
    """Return the state of a snapshot; None if another version of bursar wrote it."""
    data = msgspec.msgpack.decode(content, ext_hook=lambda _, digits: int(bytes(digits)))
    if data["v"] not in (VERSION, _WITH_TABLES):
        return None
    body = {"name": data["name"], "config": data["config"], "budget": 0, "arms": [], "caps": {}}
    plain = data["plain"]
    state = State(Event(plain["seq"], plain["ts"], kinds.CREATED, "", body), empty=True)
    for name in _PLAIN:
        setattr(state, name, plain[name])
    state.arms = msgspec.convert(data["arms"], list[records.Arm])
    state.keys = {arm.key: number for number, arm in enumerate(state.arms)}
    state.days.update(msgspec.convert(data["days"], list[tuple[int, records.Balance]]))
    decisions = msgspec.convert(data["choices"], list[DecisionRecord])
    state.decisions = {one.id: one for one in decisions}
    state.tables = msgspec.convert(data.get("tables", []), list[records.LearnedTable])
    state.rebuild_deadlines()
    state.update_limits()
    learner, kept = state.learner, data["brain"]
    learner.open, learner.costs, learner.largest = kept["open"], kept["costs"], kept["most"]
    learner.arms = new_arms(len(learner.open))
    _statistics(learner.arms)[:] = np.frombuffer(kept["arms"]).reshape(-1, _KEPT)
    learner.game["plays"], learner.game["spent"] = kept["plays"], kept["spent"]
    rows, watch = kept["watch"]
    learner.watch = with_room(learner.watch, 2 * len(learner.open))
    learner.watch[:rows, : 2 * len(learner.open)] = np.frombuffer(watch).reshape(rows, -1)
    learner.update_unit()
    state.inform_policy()
    return state
