"""Anything that users, operators, clocks and crashes do to a campaign, against a small model.

After every step the invariants of the specification (I1 to I6) are checked: on memory, on a SQLite
file and on a PostgreSQL server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from campaign_model import OPEN, Model, Refused
from extent import extent
from hand_clock import MORNING, HandClock, folded, live_state
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bursar import errors
from bursar.campaign import Campaign, committer
from bursar.campaign.events import CHANGED
from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.ledger import MemoryStore, Store
from bursar.ledger.log import GENESIS, encode_event_body
from bursar.ledger.postgres import PostgresStore
from bursar.ledger.sqlite import SQLiteStore

ARMS = {"a": 5, "b": 20, "c": 100}
POLICIES = ("omega-star-ucb:rho=0.25", "bts", "uniform")
rewards = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # sums of quarters are exact in any order
cents = st.integers(0, 120)
which = st.integers(0, 40)

Draw = Callable[[st.SearchStrategy[Any]], Any]


def money(units: int) -> Decimal:
    return Decimal(units) / 100


class Machine(RuleBasedStateMachine):
    """Steps of a campaign's life. Subclasses say where it is kept."""

    kept_every = 15  # events between snapshots

    def new_store(self) -> Store:
        raise NotImplementedError

    def same_store(self, tidy: bool) -> Store:
        """Open what new_store() made, as another process would."""
        raise NotImplementedError

    @initialize(
        budget=st.integers(20, 400),
        policy=st.sampled_from(POLICIES),
        ask_ttl=st.sampled_from([None, 20.5]),
        hold_ttl=st.sampled_from([60.5, 200_000.5]),
        reward_ttl=st.sampled_from([30.5, 100.5]),
        on_lapse=st.sampled_from(["charge", "release"]),
        default=st.sampled_from([None, 0.25]),
        caps=st.sampled_from([{}, {"day": 150}, {"arm:b": 60}, {"day": 200, "arm:a": 12}]),
        explore=st.sampled_from([0.0, 0.5]),
        on_change=st.sampled_from(["flag", "reset", "ignore"]),
    )
    def start(
        self,
        budget: int,
        policy: str,
        ask_ttl: float | None,
        hold_ttl: float,
        reward_ttl: float,
        on_lapse: str,
        default: float | None,
        caps: dict[str, int],
        explore: float,
        on_change: str,
    ) -> None:
        self.usual, committer.SNAPSHOT_EVERY = committer.SNAPSHOT_EVERY, self.kept_every
        self.clock = HandClock()
        self.jumped = 0
        rules: dict[str, Any] = {
            "ask_ttl": ask_ttl, "hold_ttl": hold_ttl, "reward_ttl": reward_ttl,
            "max_open": 8, "overruns": 2, "default_reward": default,
        }  # fmt: skip
        self.model = Model(
            budget, dict(ARMS), caps=dict(caps), now=MORNING, last=MORNING,
            charge_lapsed=on_lapse == "charge", **rules,
        )  # fmt: skip
        self.name = f"c-{uuid4().hex}"
        self.campaign = Campaign(
            self.name, money(budget), {key: money(most) for key, most in ARMS.items()}, policy,
            exponent=2, storage=self.new_store(), caps={s: money(c) for s, c in caps.items()},
            clock=self.clock, on_lapse=on_lapse, explore=explore, seed=7,
            on_change=on_change, **rules,
        )  # fmt: skip
        # a follower that only ever reads the log
        self.follower: State | None = None
        self.hash = GENESIS
        self.ids = 0

    def teardown(self) -> None:
        if hasattr(self, "campaign"):
            self.everything_adds_up()
            committer.SNAPSHOT_EVERY = self.usual
            self.campaign.close()

    @contextmanager
    def like(self, expected: Callable[[], object]) -> Iterator[list[Any]]:
        """Do a step in the block; it must end as the model's does: same refusal, or none."""
        self.tick(1)
        answer: list[Any] = []
        try:
            want: Any = expected()
        except Refused as refusal:
            with pytest.raises(getattr(errors, str(refusal))):
                yield answer
            return
        yield answer
        assert want is None or answer == [want], (want, answer)

    def tick(self, seconds: int) -> None:
        self.clock.go(seconds)
        self.model.now += seconds

    def pick(self, number: int) -> str:
        """Return the id of some decision, now and then one that never was."""
        ids = list(self.model.bets)
        return ids[-1 - number % len(ids)] if ids and number < 38 else "never-made"

    # asking

    def ask(self, id: str | None, among: frozenset[str] | None, own: int | None = None) -> None:
        self.tick(1)
        self.model.reap()
        few = None if among is None else sorted(among)
        hold = {} if own is None else {"hold": money(own)}
        before = self.model.bets.get(id) if id is not None else None
        if before is not None:
            if before.among != among:
                with pytest.raises(errors.IdempotencyMismatch):
                    self.campaign.ask(id=id, among=few)
                return
            again = self.campaign.ask(id=id, among=few)
            assert again.replayed
            assert (again.arm, again.hold) == (before.arm, money(before.hold))
            assert again.money == before.money
            return
        try:
            fits, constrained = self.model.may_ask(among, own)
        except Refused as refusal:
            with pytest.raises(getattr(errors, str(refusal))):
                self.campaign.ask(id=id, among=few, **hold)
            return
        granted = self.campaign.ask(id=id, among=few, **hold)
        assert not granted.replayed
        assert granted.arm in fits
        assert granted.constrained == constrained
        self.granted(granted, among, own)

    def granted(self, got: Any, among: frozenset[str] | None, own: int | None) -> None:
        assert got.hold == money(self.model.hold(got.arm, own))
        self.model.asked(got.id, got.arm, among, own)
        day = self.model.bets[got.id].day
        for limit, spent, held in self.limits(got.arm, day):
            assert limit is None or spent + held <= limit  # I1

    def limits(self, arm: str, day: int) -> list[tuple[int | None, int, int]]:
        state, model = self.live(), self.model
        own = state.arms[state.keys[arm]].money
        today = (model.spent(day=day), model.held(day=day))
        return [
            (model.budget, state.spent, state.held),
            (model.caps.get(f"arm:{arm}"), own.spent, own.held),
            (model.caps.get("day"), *today),
        ]

    @rule()
    def ask_any(self) -> None:
        self.ask(None, None)

    @rule(own=st.integers(1, 40))
    def ask_with_a_hold(self, own: int) -> None:
        self.ask(None, None, own)

    @rule(reward=rewards)
    def ask_and_tell(self, reward: float) -> None:
        self.ask(None, None)
        self.tell_within_the_hold(0, 60, reward)

    @rule(id=st.sampled_from(["k0", "k1", "k2"]), among=st.sampled_from([None, frozenset("ab")]))
    def ask_with_own_id(self, id: str, among: frozenset[str] | None) -> None:
        self.ask(id, among)
        if id in self.model.bets:
            self.ask(id, self.model.bets[id].among)

    @rule(among=st.sets(st.sampled_from("abc"), min_size=1))
    def ask_among(self, among: set[str]) -> None:
        self.ask(None, frozenset(among))

    @rule(n=st.integers(1, 12))
    def ask_several(self, n: int) -> None:
        self.tick(1)
        self.model.reap()
        try:
            fits, constrained = self.model.may_ask(None)
        except Refused as refusal:
            with pytest.raises(getattr(errors, str(refusal))):
                self.campaign.ask(n)
            return
        got = self.campaign.ask(n)
        for one in got:
            assert one.arm in fits
            assert one.constrained == constrained
            self.model.asked(one.id, one.arm, None)
            try:
                fits, constrained = self.model.may_ask(None)
            except Refused:
                fits = set()
        assert len(got) == n or not fits

    def ask_for_what_cannot_be(self) -> None:
        for wrong in ({"n": 0}, {"n": 2, "id": "x"}, {"id": ""}, {"among": ["a", 7]}):
            with pytest.raises(errors.InvalidInput):
                self.campaign.ask(**wrong)
        self.model.reap()
        if self.model.state == "active" and self.model.waiting < self.model.max_open:
            with pytest.raises(errors.UnknownArm):
                self.campaign.ask(among=["zebra"])

    # telling

    def tell(
        self, id: str, cost: int | None, reward: float | None, report: str | None = None
    ) -> None:
        with self.like(lambda: self.model.tell(id, cost, reward, report)) as answer:
            told = self.campaign.tell(
                id, None if cost is None else money(cost), reward, report=report
            )
            answer.append(told.replayed)
            self.shown(told)

    def shown(self, got: Any) -> None:
        bet = self.model.bets[got.id]
        assert (got.money, got.reward_state) == (bet.money, bet.reward_state)
        assert got.cost == (None if bet.cost is None else money(bet.cost))
        assert got.reward == bet.reward
        assert got.arm == bet.arm

    @rule(i=which, cost=cents)
    def tell_cost(self, i: int, cost: int) -> None:
        self.tell(self.pick(i), cost, None)

    @rule(i=which, reward=rewards)
    def tell_reward(self, i: int, reward: float) -> None:
        self.tell(self.pick(i), None, reward)

    @rule(i=which, cost=cents, reward=rewards, report=st.sampled_from([None, "r1", "r2"]))
    def tell_both(self, i: int, cost: int, reward: float, report: str | None) -> None:
        self.tell(self.pick(i), cost, reward, report)

    @rule(i=which, share=st.integers(0, 100), reward=rewards)
    def tell_within_the_hold(self, i: int, share: int, reward: float) -> None:
        bet = self.model.bets.get(self.pick(i))
        self.tell(self.pick(i), 0 if bet is None else bet.hold * share // 100, reward)

    @rule(i=which, report=st.sampled_from([None, "r1"]))
    def tell_again(self, i: int, report: str | None) -> None:
        bet = self.model.bets.get(self.pick(i))
        if bet is not None and (bet.cost is not None or bet.reward_state == "observed"):
            known = bet.reward if bet.reward_state in ("observed", "late") else None
            self.tell(self.pick(i), bet.cost, known, report)
            self.tell(self.pick(i), bet.cost, known, report)

    @rule(i=which)
    def tell_nonsense(self, i: int) -> None:
        self.ask_for_what_cannot_be()
        before, id = len(list(self.campaign.events())), self.pick(i)
        for cost in ("NaN", "inf", "-1", "0.001", "1e30", float("nan"), 0.1, "1_0", True):
            with pytest.raises(errors.InvalidInput, match="cost"):
                self.campaign.tell(id, cost=cost, reward=0.5)
        with pytest.raises(errors.InvalidInput, match="report"):
            self.campaign.tell(id, cost="0.01", report="")
        assert len(list(self.campaign.events())) == before
        self.model.reap()
        for reward in (float("nan"), float("inf"), -0.1, 1.5):
            with pytest.raises(errors.InvalidInput, match="reward"):
                self.campaign.tell(id, cost="0.01", reward=reward)
        with pytest.raises(errors.InvalidInput):
            self.campaign.tell(id)

    @rule(i=which)
    def void(self, i: int) -> None:
        with self.like(lambda: self.model.void(self.pick(i))) as answer:
            answer.append(self.campaign.void(self.pick(i)).replayed)

    @rule(i=which)
    def confirm(self, i: int) -> None:
        with self.like(lambda: self.model.confirm(self.pick(i))) as answer:
            answer.append(self.campaign.confirm(self.pick(i)).replayed)

    @rule(i=which, cost=st.none() | cents, reward=st.none() | rewards)
    def correct(self, i: int, cost: int | None, reward: float | None) -> None:
        id = self.pick(i)
        if cost is None and reward is None:
            return
        with self.like(lambda: self.model.correct(id, cost, reward)):
            self.shown(self.campaign.correct(id, None if cost is None else money(cost), reward))

    @rule(i=which)
    def look_at_a_decision(self, i: int) -> None:
        with self.like(lambda: self.model.bet(self.pick(i)) and None):
            self.shown(self.campaign.decision(self.pick(i)))

    # time

    @rule(seconds=st.sampled_from([10, 25, 40, 70, 90_000, 250_000]))
    def wait(self, seconds: int) -> None:
        self.tick(seconds)

    @rule()
    def expire(self) -> None:
        self.tick(1)
        self.model.reap()
        self.campaign.expire()
        assert self.campaign.expire() == 0

    @rule(seconds=st.sampled_from([-7200, 86_400, 30, -30]))
    def set_the_clock(self, seconds: int) -> None:
        self.clock.set(seconds)
        self.jumped += seconds
        self.model.now += seconds
        self.model.steady = abs(self.jumped) <= 60

    @rule()
    @precondition(lambda self: self.jumped)
    def trust_the_clock(self) -> None:
        self.campaign.trust_clock()
        self.jumped, self.model.steady = 0, True

    # operators; one rule, so that asks and tells are the usual case

    @rule(data=st.data())
    def operate(self, data: st.DataObject) -> None:
        self.tick(1)
        kinds = (self.raise_budget, self.set_budget, self.set_cap, self.add_arm, self.learn_from)
        data.draw(st.sampled_from((*kinds, self.change_arm, self.pause)))(data.draw)

    def raise_budget(self, draw: Draw) -> None:
        self.change_budget(self.model.budget + draw(st.integers(0, 300)))

    def set_budget(self, draw: Draw) -> None:
        self.change_budget(draw(st.integers(0, 500)))

    def change_budget(self, budget: int) -> None:
        version = self.campaign.version
        with pytest.raises(errors.StaleVersion):
            self.campaign.set_budget(1, if_version=version - 1)
        self.campaign.set_budget(money(budget), by="me", if_version=version)
        self.model.set_budget(budget)

    def set_cap(self, draw: Draw) -> None:
        scope = draw(st.sampled_from(["day", "arm:a", "arm:c"]))
        cap = draw(st.none() | st.integers(0, 400))
        self.campaign.set_cap(scope, None if cap is None else money(cap))
        self.model.caps[scope] = cap
        self.model.happened()

    def add_arm(self, draw: Draw) -> None:
        key, most = draw(st.sampled_from("adef")), draw(st.integers(1, 300))
        if key in self.model.arms:
            with pytest.raises(errors.InvalidInput, match="never used again"):
                self.campaign.add_arm(key, money(most))
            return
        self.campaign.add_arm(key, money(most))
        self.model.arms[key], self.model.arm_state[key] = most, "active"
        self.model.happened()

    def learn_from(self, draw: Draw) -> None:
        key, plays = draw(st.sampled_from(sorted(self.model.arms))), draw(st.integers(1, 9))
        past = {"arm": [key] * plays, "reward": [0.5] * plays, "cost": [0.01] * plays}
        known = plays in self.model.past.get(key, {})
        assert self.campaign.learn_from(past, source="evals").replayed == known
        if not known:
            self.model.past.setdefault(key, {})[plays] = True
            self.model.happened()
        assert self.campaign.learn_from(past).replayed

    def change_arm(self, draw: Draw) -> None:
        key = draw(st.sampled_from(sorted(self.model.arms)))
        act = draw(st.sampled_from(["resume", "resume", "pause", "retire"]))
        do = getattr(self.campaign, f"{act}_arm")
        was = self.model.arm_state[key]
        if was == "retired":
            with pytest.raises(errors.InvalidInput, match="retired"):
                do(key)
            return
        do(key)
        now = {"pause": "paused", "resume": "active", "retire": "retired"}[act]
        if now != was:
            self.model.arm_state[key] = now
            self.model.happened()

    def pause(self, draw: Draw) -> None:
        self.campaign.pause()
        self.model.state = "paused"
        self.model.happened()
        self.ask(None, None)
        self.tell(self.pick(draw(which)), draw(cents), draw(rewards))
        self.tick(1)
        self.campaign.resume()
        self.model.state = "active"
        self.model.happened()

    # arms that change; no test could tell from so few outcomes, so it is told

    @rule(key=st.sampled_from("abc"), what=st.sampled_from(["cost", "reward"]), reset=st.booleans())
    def an_arm_changes(self, key: str, what: str, reset: bool) -> None:
        self.tick(1)
        body = {"before": 0.25, "after": 0.5, "older": 8, "newer": 8, "reset": reset}
        self.campaign.execute(
            lambda transaction: transaction.append_event(
                CHANGED, {"key": key, "what": what, **body}
            )
        )
        if reset:
            self.model.forget(key)
        self.model.happened()
        found = {arm.key: arm for arm in self.campaign.arms()}[key].changed[0]
        assert (found.what, found.after, found.reset) == (what, 0.5, reset)
        for i, id in enumerate(reversed(self.model.bets)):
            if reset and self.model.bets[id].forgotten and i < 38:
                self.correct(i, None, 0.25)  # what is forgotten stays so
                self.correct(i, 2, 0.5)
                return

    # crashes

    @rule(tidy=st.booleans())
    def crash_and_reopen(self, tidy: bool) -> None:
        self.campaign = Campaign(self.name, storage=self.same_store(tidy), clock=self.clock)
        self.everything_adds_up()  # and a clock that was set is no better for it

    # what must hold

    def live(self) -> State:
        return live_state(self.campaign)

    @invariant()
    def money_is_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        model, state = self.model, self.live()
        held, spent = model.held(), model.spent()  # I2: sums over all decisions
        assert (state.held, state.spent, state.overrun) == (held, spent, model.overrun)
        assert (state.budget, state.available) == (model.budget, model.available)
        assert state.reward == model.reward
        assert self.campaign.state == model.shown_state()
        assert self.campaign.open == model.waiting
        assert spent + held - model.budget <= model.excused  # I4
        plays = 0
        for arm in state.arms:
            assert arm.state == model.arm_state[arm.key]
            assert (arm.money.held, arm.money.spent) == (model.held(arm.key), model.spent(arm.key))
            assert arm.open == sum(b.money in OPEN for b in model._of(arm.key, None))
            known = model.learned(arm.key)
            learner = state.learner.arms[state.keys[arm.key]]
            past = sum(model.history(arm.key))  # each of them earned a half
            assert (learner["n"], learner["reward"]) == (len(known) + past, sum(known) + past / 2)
            assert 0 <= learner["own_reward"] <= len(known) + past
            waiting = sum(b.waits for b in model._of(arm.key, None))  # these count in choices
            assert state.learner.open[state.keys[arm.key]] == waiting
            plays += len(known) + past + waiting
        assert state.learner.game["plays"][0] == plays
        for day, of_day in state.days.items():
            assert (of_day.held, of_day.spent) == (model.held(day=day), model.spent(day=day))

    @invariant()
    def the_log_says_the_same(self) -> None:
        """I5 and I6: a follower of the log, which makes its own hashes, comes to the same state."""
        if not hasattr(self, "model"):
            return
        seq, ts = (self.follower.seq, self.follower.ts) if self.follower else (0, 0)
        for event, kept in self.campaign.store.read(self.name, seq):
            assert event.seq == seq + 1
            assert event.ts > ts
            seq, ts = event.seq, event.ts
            head = f"{seq}\0{ts}\0{event.kind}\0{event.decision}\0".encode()
            self.hash = blake2b(
                self.hash + head + encode_event_body(event.body), digest_size=16
            ).digest()
            assert kept == self.hash
            if self.follower is None:
                self.follower = State(event)
            else:
                self.follower.apply(event)
        state = self.live()
        assert encode_snapshot(state) == encode_snapshot(self.follower)
        assert state.learner.seen.tobytes() == self.follower.learner.seen.tobytes()

    def everything_adds_up(self) -> None:
        """I3, I6: fresh folds and snapshots of the whole life, and every decision by itself."""
        state = self.live()
        again = decode_snapshot(encode_snapshot(state))
        for other in (folded(self.campaign), again):
            assert encode_snapshot(other) == encode_snapshot(state)
            assert other.learner.seen.tobytes() == state.learner.seen.tobytes()
            assert other.learner.game.tobytes() == state.learner.game.tobytes()
        ends: dict[str, int] = {}
        for event in self.campaign.events():
            if event.kind in ("voided", "released", "lapsed"):
                ends[event.decision] = ends.get(event.decision, 0) + 1
        assert all(count == 1 for count in ends.values())
        for id, bet in self.model.bets.items():
            got = self.campaign.decision(id)
            self.shown(got)
            assert got.hold == money(bet.hold)


class MemoryMachine(Machine):
    def new_store(self) -> Store:
        return MemoryStore()

    def same_store(self, tidy: bool) -> Store:
        return self.campaign.store


class DurableMachine(Machine):
    def __init__(self, opened: Callable[[], Store]) -> None:
        self.opened = opened
        super().__init__()

    def new_store(self) -> Store:
        return self.opened()

    def same_store(self, tidy: bool) -> Store:
        if tidy:
            self.campaign.close()
        return self.opened()


def test_memory() -> None:
    run_state_machine_as_test(
        MemoryMachine, settings=settings(max_examples=extent(60, 200), stateful_step_count=50)
    )


def test_sqlite(tmp_path: Path) -> None:
    run_state_machine_as_test(
        lambda: DurableMachine(lambda: SQLiteStore(tmp_path / "spend.db")),
        settings=settings(max_examples=extent(20, 40), stateful_step_count=50),
    )


def test_postgres(database: str) -> None:
    run_state_machine_as_test(
        lambda: DurableMachine(lambda: PostgresStore(database)),
        settings=settings(max_examples=extent(10, 20), stateful_step_count=50),
    )
