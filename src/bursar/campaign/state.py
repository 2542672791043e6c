"""The state of a campaign: what its events add up to. Nothing else ever changes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapify, heappush
from typing import Any

import msgspec
import numpy as np

from bursar.campaign.config import Config
from bursar.campaign.events import CREATED, check_kind
from bursar.campaign.learner import COST, REWARD, CampaignLearner
from bursar.campaign.records import OPEN, Arm, ArmStatistics, Balance, DecisionRecord, changes_of
from bursar.errors import CorruptLedger
from bursar.jit.arms import ARM
from bursar.jit.detector import used, with_room
from bursar.ledger import Event
from bursar.ledger.store import CampaignTotals
from bursar.policies import policy as policy_of

__all__ = ["State", "day_of", "decode_snapshot", "encode_snapshot"]

_DAY = 86_400_000_000  # µs
_ENOUGH = 30  # costs before a quantile of them is trusted
_FLAGS = 20  # of the newest troubles, kept for an operator
_NEWEST = 1000  # costs of an arm that quantile holds look at


def day_of(ts: int) -> int:
    """Return the day of a time, counted from 1970 in UTC: days neither skip nor repeat an hour."""
    return ts // _DAY


def _take(costs: list[int], before: int | None, cost: int) -> None:
    """Note a cost among the newest; one that was wrong is replaced, if it is still there."""
    if before is None:
        costs.append(cost)
        del costs[:-_NEWEST]
    elif before in costs:
        costs[costs.index(before)] = cost


class State:
    """A fold of events. ``apply`` does not fail: what an event says has happened."""

    def __init__(self, first: Event, empty: bool = False) -> None:
        body = first.body
        self.name: str = body["name"]
        self.config = Config.of(body["config"])
        self._unit = 10.0**self.config.coin.exponent
        self._quantile = self.config.quantile
        ask_ttl = self.config.ask_ttl
        lives = self.config.hold_ttl if ask_ttl is None else ask_ttl
        self.lives = round(lives * 1e6)  # µs of a hold, and of the wait for a reward
        self.waits = round(self.config.reward_ttl * 1e6)
        self.patience = self.config.patience * 1e9
        self.low, self.high = self.config.reward_range
        self.budget: int = body["budget"]
        self.spent = self.held = self.overrun = 0
        self.stored = "active"  # active, paused, closed, unreconciled
        self.arms: list[Arm] = []
        self.keys: dict[str, int] = {}
        self.day_cap: int | None = None
        self.days: dict[int, Balance] = {}
        self.decisions: dict[str, DecisionRecord] = {}  # those of which something is expected
        self.deadlines: list[tuple[int, str]] = []
        self.flags: list[str] = []
        self.seq, self.ts, self.version = first.seq, first.ts, 1
        self.asks = 0
        self.reward = 0.0
        self._seen_version, self._plain, self._most = -1, False, 0
        self._least: int | None = None
        self.learner = CampaignLearner(
            policy_of(self.config.policy), self.config.reward_range, self.config.seed,
            self.config.on_change != "ignore",
        )  # fmt: skip
        self._add(body["arms"])
        for scope, cap in body["caps"].items():
            self._cap(scope, cap)
        if not empty:
            self.know()

    # looking

    @property
    def available(self) -> int:
        """What no decision has spent or holds; below 0 after overruns and cuts."""
        return self.budget - self.spent - self.held

    @property
    def state(self) -> str:
        """What the campaign is: as it was set, or overdrawn, or exhausted."""
        if self.stored != "active":
            return self.stored
        if self.available < 0:
            return "overdrawn"
        return "active" if self._some_fit() else "exhausted"

    def hold_of(self, number: int) -> int:
        """Return what an ask of an arm reserves; at least one unit, so that no ask is free."""
        arm, quantile = self.arms[number], self._quantile
        if quantile is None or len(arm.costs) < _ENOUGH:
            return arm.max_cost
        ordered = sorted(arm.costs)
        return max(1, min(arm.max_cost, ordered[math.ceil(quantile * len(ordered)) - 1]))

    def _some_fit(self) -> bool:
        """Tell whether some arm can be asked for, today or on a day whose cap is not used up."""
        self._ready()
        if self._plain:
            return self._least is not None and self._least <= self.available
        return any(
            arm.state == "active" and self.hold_of(number) <= arm.money.within(self.available)
            for number, arm in enumerate(self.arms)
        )

    def all_fit(self) -> bool:
        """Tell whether every arm may be chosen and fits: the usual case, told at a glance."""
        if self._seen_version != self.version:
            self._ready()
        return self._plain and self._most <= self.budget - self.spent - self.held

    def _ready(self) -> None:
        if self._seen_version != self.version:
            capped = self.day_cap is not None or any(a.money.cap is not None for a in self.arms)
            idle = any(arm.state != "active" for arm in self.arms)
            self._plain = bool(self.arms) and not (capped or idle or self.config.hold != "max")
            self._most = max((arm.max_cost for arm in self.arms), default=0)
            self._least = min(
                (arm.max_cost for arm in self.arms if arm.state == "active"), default=None
            )
            self._seen_version = self.version

    def summary(self, granted: bool) -> CampaignTotals:
        """Return the row that a store keeps beside the log."""
        now = "active" if self.stored == "active" and self.all_fit() else self.state
        # one a commit: Summary(…) would make the same, three times as slowly
        return tuple.__new__(CampaignTotals, (now, self.budget, self.spent, self.held, granted))

    # changing

    def apply(self, event: Event) -> None:
        """Take an event into account."""
        handler = _ON.get(event.kind)
        if handler is None:
            check_kind(event)
            raise CorruptLedger(f"event {event.seq} of {self.name!r} creates it a second time")
        handler(self, event, event.body)
        self.seq, self.ts = event.seq, event.ts

    def _on_asked(self, event: Event, body: dict[str, Any]) -> None:
        number, hold, ts, day = body["arm"], body["hold"], event.ts, event.ts // _DAY
        expires, due = body["expires"], body["due"]
        self.decisions[event.decision] = DecisionRecord(
            event.decision, event.seq, ts, number, hold, day, expires, due, body["print"],
            body["p"], body["constrained"], body.get("context"),
        )  # fmt: skip
        if len(self.deadlines) > 4 * len(self.decisions) + 1000:
            self.rebuild_deadlines()
        heappush(self.deadlines, (expires if expires < due else due, event.decision))
        arm = self.arms[number]
        arm.open += 1
        arm.asks += 1
        arm.last = ts
        arm.money.held += hold
        (self.days.get(day) or self._day(day)).held += hold
        self.held += hold
        self.asks += 1
        self.learner.asked(number)

    _on_adopted = _on_asked  # all the same, but for the promise that a grant keeps

    def _on_confirmed(self, event: Event, body: dict[str, Any]) -> None:
        choice = self.decisions[event.decision]
        choice.money, choice.expires = "confirmed", body["expires"]
        self._remind(choice)

    def _on_told(self, event: Event, body: dict[str, Any]) -> None:
        choice = self.decisions.get(event.decision) or self._choice(event)
        if "report" in body:
            choice.reports[body["report"]] = body["print"]
        if "cost" in body:
            self._settle(choice, body["cost"])
        if "reward" in body:
            choice.reward = body["reward"]
            if "late" in body:
                choice.rewarded = "late"
            else:
                choice.rewarded = "observed"
                self.reward += body["reward"]
        news = REWARD if choice.rewarded == "observed" else 0
        self._study(choice, event.seq, news + COST if "cost" in body else news)

    def _on_defaulted(self, event: Event, body: dict[str, Any]) -> None:
        choice = self._choice(event)
        choice.rewarded, choice.reward = "defaulted", body["reward"]
        if choice.reward is not None:
            self.reward += choice.reward
        self._study(choice, event.seq)

    def _on_corrected(self, event: Event, body: dict[str, Any]) -> None:
        choice = self._choice(event)
        if choice.learned > self.arms[choice.arm].reset:  # else it is forgotten already
            self.learner.forget(
                choice.arm, choice.reward or 0.0, self._cost(choice), choice.learned
            )
            choice.learned = 0
        if "report" in body:
            choice.reports[body["report"]] = body["print"]
        if "cost" in body:
            self._settle(choice, body["cost"])
        if "reward" in body:
            if choice.rewarded in ("observed", "defaulted") and choice.reward is not None:
                self.reward -= choice.reward
            choice.reward, choice.rewarded = body["reward"], "observed"
            self.reward += choice.reward
        self._study(choice, event.seq)

    def _on_voided(self, event: Event, body: dict[str, Any]) -> None:
        self._end(event.decision, "voided", 0)

    def _on_released(self, event: Event, body: dict[str, Any]) -> None:
        self._end(event.decision, "released", 0)

    def _on_lapsed(self, event: Event, body: dict[str, Any]) -> None:
        self._end(event.decision, "lapsed", body["charge"])

    def _on_arm_added(self, event: Event, body: dict[str, Any]) -> None:
        self._add([(body["key"], body["max_cost"])])
        self.know()
        self.version += 1

    def _on_arm_paused(self, event: Event, body: dict[str, Any]) -> None:
        self._arm_state(body["key"], "paused")

    def _on_arm_resumed(self, event: Event, body: dict[str, Any]) -> None:
        self._arm_state(body["key"], "active")

    def _on_arm_retired(self, event: Event, body: dict[str, Any]) -> None:
        self._arm_state(body["key"], "retired")

    def _on_budget_set(self, event: Event, body: dict[str, Any]) -> None:
        self.budget = body["budget"]
        self.know()
        self.version += 1

    def _on_cap_set(self, event: Event, body: dict[str, Any]) -> None:
        self._cap(body["scope"], body["cap"])
        self.version += 1

    def _on_paused(self, event: Event, body: dict[str, Any]) -> None:
        self.stored = "paused"
        self.version += 1

    def _on_resumed(self, event: Event, body: dict[str, Any]) -> None:
        self.stored = "active"
        self.version += 1

    def _on_closed(self, event: Event, body: dict[str, Any]) -> None:
        self.stored = "closed"
        self.version += 1

    def _on_restored(self, event: Event, body: dict[str, Any]) -> None:
        if self.stored != "closed":  # what was over stays over
            self.stored = "unreconciled"
        self.version += 1

    def _on_reconciled(self, event: Event, body: dict[str, Any]) -> None:
        self.spent += body["gap"]
        self.stored = "active"
        self.version += 1

    def _on_policy_error(self, event: Event, body: dict[str, Any]) -> None:
        self.flags.append(f"policy-error at {event.seq}: {body['error']}")
        del self.flags[:-_FLAGS]  # a policy that fails, fails at every ask

    def _on_policy_slow(self, event: Event, body: dict[str, Any]) -> None:
        self.flags.append(f"policy-slow at {event.seq}: a choice took {body['seconds']:.3g} s")
        del self.flags[:-_FLAGS]

    def _on_changed(self, event: Event, body: dict[str, Any]) -> None:
        number, what = self.keys[body["key"]], body["what"]
        arm = self.arms[number]
        reset = body["reset"]
        arm.changed[what] = ArmStatistics(
            what, event.seq, event.ts, body["before"], body["after"], body["newer"], reset
        )
        self.learner.accept(number, what)
        if reset:
            arm.reset = event.seq
            self.learner.start_again(number)
            if what == "cost":
                arm.costs = []  # a quantile of old prices would hold too little, or too much
        anew = "; it is learned anew" if reset else ""
        self.flags.append(f"{arm.key} changed at {event.seq}: its {changes_of(arm)[0]}{anew}")
        del self.flags[:-_FLAGS]

    # parts

    def _remind(self, choice: DecisionRecord) -> None:
        """Note when to look at a decision again."""
        heappush(self.deadlines, (self.next_look(choice), choice.id))

    def rebuild_deadlines(self) -> None:
        """Note anew when to look at each open decision."""
        self.deadlines = [(self.next_look(c), c.id) for c in self.decisions.values()]
        heapify(self.deadlines)

    @staticmethod
    def next_look(choice: DecisionRecord) -> int:
        """Return when something will be due for a decision."""
        if choice.money not in OPEN:
            return choice.due
        # a reward that is known, or was made up, is not waited for again
        return min(choice.expires, choice.due) if choice.rewarded == "pending" else choice.expires

    def _hold(self, choice: DecisionRecord, amount: int) -> None:
        self.held += amount
        self.arms[choice.arm].money.held += amount
        (self.days.get(choice.day) or self._day(choice.day)).held += amount

    def _day(self, day: int) -> Balance:
        found = self.days.get(day)
        if found is None:
            found = self.days[day] = Balance()
        return found

    def _charge(self, choice: DecisionRecord, amount: int) -> None:
        self.spent += amount
        self.arms[choice.arm].money.spent += amount
        (self.days.get(choice.day) or self._day(choice.day)).spent += amount
        choice.charged += amount

    def _settle(self, choice: DecisionRecord, cost: int) -> None:
        """Book the truth: what it did cost, whatever was held or counted before."""
        arm, hold, more = self.arms[choice.arm], choice.hold, cost - choice.charged
        day = self.days.get(choice.day) or self._day(choice.day)
        if choice.money in OPEN:
            self.held -= hold
            arm.money.held -= hold
            day.held -= hold
            arm.open -= 1
        self.spent += more
        arm.money.spent += more
        day.spent += more
        choice.charged = cost
        if cost > hold or (choice.cost or 0) > hold:
            before = max((choice.cost or 0) - hold, 0)
            excess = max(cost - hold, 0)
            self.overrun += excess - before
            arm.overruns += bool(excess) - bool(before)
        if self._quantile is not None:  # nobody else looks at them
            _take(arm.costs, choice.cost, cost)
        choice.money, choice.cost = "settled", cost

    def _end(self, decision: str, how: str, charge: int) -> None:
        choice = self.decisions[decision]
        self._hold(choice, -choice.hold)
        self.arms[choice.arm].open -= 1
        choice.money = how
        self._charge(choice, charge)
        if how != "lapsed" and choice.rewarded == "pending":
            choice.rewarded = "none"  # it was not used: no reward is to be expected
        if choice.done:
            self._retire(choice)

    def _study(self, choice: DecisionRecord, seq: int, news: int = 0) -> None:
        """Learn, once cost and reward are both known; a complete decision leaves the memory.

        ``news`` is what the tests for changes have not seen. What is corrected is no news to them,
        nor is what was made up because nothing came in time: that is late, and would look like a
        change to the worse.
        """
        waited = (
            choice.rewarded != "pending"
            and choice.money not in OPEN
            and self.decisions.pop(choice.id, None) is not None
        )
        reward, cost = choice.reward, choice.cost
        known = cost is not None and reward is not None
        if known and not choice.learned and choice.rewarded != "late":
            self.learner.learn(
                choice.arm, reward or 0.0, (cost or 0) / self._unit, seq, waited, news
            )
            choice.learned = seq
            return
        if news & COST:
            self.learner.paid(choice.arm, self._cost(choice))
        if waited:
            self.learner.closed(choice.arm)

    def _retire(self, choice: DecisionRecord) -> None:
        if self.decisions.pop(choice.id, None) is not None:
            self.learner.closed(choice.arm)

    def _cost(self, choice: DecisionRecord) -> float:
        return (choice.cost or 0) / self._unit

    def _choice(self, event: Event) -> DecisionRecord:
        """Return the decision of an event; one that has left the memory is told in the event."""
        found = self.decisions.get(event.decision)
        if found is not None:
            return found
        was = event.body["was"]
        return DecisionRecord(**(was | {"reports": dict(was["reports"])}))  # events never change

    def _add(self, arms: Sequence[tuple[str, int]]) -> None:
        for key, max_cost in arms:
            self.keys[key] = len(self.arms)
            self.arms.append(Arm(key, max_cost))
        amount = self.config.coin.amount
        self.learner.add_arms([float(amount(max_cost)) for _, max_cost in arms])

    def _arm_state(self, key: str, state: str) -> None:
        self.arms[self.keys[key]].state = state
        self.version += 1

    def _cap(self, scope: str, cap: int | None) -> None:
        if scope == "day":
            self.day_cap = cap
        else:
            self.arms[self.keys[scope.removeprefix("arm:")]].money.cap = cap

    def know(self) -> None:
        """Tell the policy what it may know: arms, budget, least cost."""
        least = self.config.min_cost
        budget = float(self.config.coin.amount(max(self.budget, 1)))  # cut to 0: it plays no more
        self.learner.know(budget, None if least is None else float(least))


_ON = {
    name.removeprefix("_on_").replace("_", "-"): function
    for name, function in vars(State).items()
    if name.startswith("_on_")
}
"""What each kind of event does, by its kind."""


# ==== campaign.snapshot
# Snapshots: the state of a campaign as bytes, the same bytes for the same state.

VERSION = 3
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
        "config": state.config.body(),
        "plain": {name: getattr(state, name) for name in _PLAIN},
        "arms": state.arms,
        "days": [[day, cap] for day, cap in sorted(state.days.items())],
        "choices": [choice for _, choice in sorted(state.decisions.items())],
        "brain": {
            "arms": learner.arms.tobytes(),
            "open": learner.open,
            "costs": learner.costs,
            "most": learner.most,
            "plays": int(learner.game["plays"][0]),
            "spent": float(learner.game["spent"][0]),
            "watch": [rows, learner.watch[:rows, : 2 * len(learner.open)].tobytes()],
        },
    }
    return msgspec.msgpack.encode(content, order="deterministic")


def decode_snapshot(content: bytes) -> State | None:
    """Return the state of a snapshot; None if another version of bursar wrote it."""
    data = msgspec.msgpack.decode(content)
    if data["v"] != VERSION:
        return None
    body = {"name": data["name"], "config": data["config"], "budget": 0, "arms": [], "caps": {}}
    plain = data["plain"]
    state = State(Event(plain["seq"], plain["ts"], CREATED, "", body), empty=True)
    for name in _PLAIN:
        setattr(state, name, plain[name])
    state.arms = [_arm(arm) for arm in data["arms"]]
    state.keys = {arm.key: number for number, arm in enumerate(state.arms)}
    state.days = {day: Balance(**cap) for day, cap in data["days"]}
    state.decisions = {choice["id"]: DecisionRecord(**choice) for choice in data["choices"]}
    state.rebuild_deadlines()
    learner, kept = state.learner, data["brain"]
    learner.arms = np.frombuffer(kept["arms"], dtype=ARM).copy()
    learner.open, learner.costs, learner.most = kept["open"], kept["costs"], kept["most"]
    learner.game["plays"], learner.game["spent"] = kept["plays"], kept["spent"]
    rows, watch = kept["watch"]
    learner.watch = with_room(learner.watch, 2 * len(learner.open))
    learner.watch[:rows, : 2 * len(learner.open)] = np.frombuffer(watch).reshape(rows, -1)
    learner.look_again()
    state.know()
    return state


def _arm(kept: dict[str, Any]) -> Arm:
    changed = {what: ArmStatistics(**one) for what, one in kept["changed"].items()}
    return Arm(**(kept | {"money": Balance(**kept["money"]), "changed": changed}))
