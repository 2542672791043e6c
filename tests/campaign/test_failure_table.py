"""The 30 things that go wrong with live campaigns, one test a row of the table in the spec.

The names of HTTP codes in that table are classes of bursar.errors here, since this is the embedded
library. Rows that only a service has are tested by what stands for them, as their docstrings say.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw
import pytest
from hand_clock import DAY, HandClock, folded, live_state
from store_contract import verify

from bursar.campaign import Campaign, Decision, committer
from bursar.campaign.state import encode_snapshot
from bursar.errors import (
    BudgetExhausted,
    CannotAnswer,
    CorruptLedger,
    IdempotencyMismatch,
    InvalidInput,
    NewerSchema,
    NotActive,
    OutcomeConflict,
    Overloaded,
    PolicyFailed,
    StaleVersion,
    StorageInUse,
    StorageUnavailable,
    TooManyOpen,
    UnknownArm,
    UnknownDecision,
)
from bursar.ledger import MemoryStore, locks
from bursar.ledger.sqlite import SQLiteStore
from bursar.ledger.sqlite_file import restore

ARMS = {"small": "1", "large": "4"}
SRC = Path(__file__).parents[2] / "src"


def made(budget: str = "10", arms: dict[str, str] | None = None, **rules: Any) -> Campaign:
    rules = {"exponent": 2, "clock": HandClock()} | rules
    return Campaign("c", budget, ARMS if arms is None else arms, **rules)


def kinds(campaign: Campaign) -> list[str]:
    return [event.kind for event in campaign.events()]


def same_as_its_log(campaign: Campaign) -> bool:
    return encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


def on_disk(folder: Path) -> str:
    return f"sqlite:///{folder}/spend.db"


@pytest.mark.parametrize("kind", ["threads", "objects", "sqlite"])
def test_row_01_two_workers_ask_one_unit_left(kind: str, tmp_path: Path) -> None:
    store = SQLiteStore(on_disk(tmp_path)) if kind == "sqlite" else MemoryStore()
    first = made("1", {"x": "1"}, storage=store)
    other = first if kind == "threads" else Campaign("c", storage=store, clock=first.clock)
    workers = [first, other] * 4
    ready = threading.Barrier(len(workers))
    answers: list[str] = []

    def work(campaign: Campaign) -> None:
        ready.wait()
        try:
            answers.append(campaign.ask().arm)
        except BudgetExhausted:
            answers.append("none left")

    threads = [threading.Thread(target=work, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["none left"] * 7 + ["x"]
    assert (first.held, other.available) == (Decimal(1), Decimal(0))


def test_row_02_best_arm_does_not_fit_cheaper_one_does() -> None:
    campaign = made("30", arms={"good": "4", "poor": "1"})
    for _ in range(6):  # the dear one brings much more per unit
        decision = campaign.ask()
        best = decision.arm == "good"
        campaign.tell(decision, cost="1" if best else "0.90", reward=1.0 if best else 0.0)
    preferred = campaign.ask()
    assert (preferred.arm, preferred.constrained) == ("good", False)
    campaign.void(preferred)
    campaign.set_budget(campaign.spent + 2)
    few = campaign.ask()
    assert (few.arm, few.constrained) == ("poor", True)
    assert campaign.ask().arm == "poor"
    with pytest.raises(BudgetExhausted, match=r"needs 1\.00; 0\.00 is available"):
        campaign.ask()


def test_row_03_crash_between_commit_and_answer(tmp_path: Path) -> None:
    """A process asks and is killed by kill -9 right after the commit, before it can say so."""
    code = (
        "import os, signal, sys\n"
        "from bursar.campaign import Campaign\n"
        "c = Campaign('c', '10', {'small': '1', 'large': '4'}, exponent=2, storage=sys.argv[1])\n"
        "c.ask(id='mine')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    url = on_disk(tmp_path)
    killed = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert killed.returncode == -signal.SIGKILL
    campaign = Campaign("c", storage=url)
    held = campaign.held
    again = campaign.ask(id="mine")
    assert again.replayed
    assert again.hold == held == campaign.held
    assert kinds(campaign).count("asked") == 1


def test_row_04_client_never_comes_back() -> None:
    campaign = made(ask_ttl=30, hold_ttl=3600)
    unsure, sure = campaign.ask(), campaign.ask()
    campaign.confirm(sure)
    campaign.clock.go(31)
    assert campaign.expire() == 1
    assert campaign.decision(unsure.id).money == "released"
    assert campaign.held == sure.hold
    campaign.clock.go(3600)
    campaign.ask()  # any call ends what is overdue
    assert campaign.decision(sure.id).money == "lapsed"
    assert campaign.spent == sure.hold
    assert kinds(campaign)[-3:] == ["released", "lapsed", "asked"]


def test_row_05_outcome_arrives_twice() -> None:
    campaign = made()
    decision = campaign.ask()
    assert not campaign.tell(decision, cost="0.50", reward=0.5, report="r").replayed
    assert campaign.tell(decision, cost="0.50", reward=0.5, report="r").replayed
    assert campaign.tell(decision, cost="0.50").replayed
    for other in ({"cost": "0.60"}, {"reward": 0.6}, {"cost": "0.50", "reward": 0.4}):
        with pytest.raises(OutcomeConflict, match="a correction can change it"):
            campaign.tell(decision, **other)
    with pytest.raises(OutcomeConflict, match="a correction can change it"):
        campaign.tell(decision, cost="0.50", report="r")  # the same report, now without reward
    assert campaign.spent == Decimal("0.50")
    assert kinds(campaign).count("told") == 1


def test_row_06_outcome_before_its_ask_is_visible() -> None:
    """Another object, which has seen nothing of it, books the outcome of an ask at once."""
    store = MemoryStore()
    here = made(storage=store)
    there = Campaign("c", storage=store, clock=here.clock)
    decision = here.ask()
    assert there.tell(decision, cost="0.50", reward=1).money == "settled"
    assert here.spent == Decimal("0.50")
    with pytest.raises(UnknownDecision, match="has no decision 'nobody'"):
        there.tell("nobody", cost="0.50")


def test_row_07_reward_days_late_after_the_hold_expired() -> None:
    campaign = made(hold_ttl=3600, reward_ttl=7 * DAY)
    first, second = campaign.ask(), campaign.ask()
    campaign.clock.go(3 * DAY)
    campaign.expire()
    assert campaign.spent == first.hold + second.hold  # both lapsed
    booked = campaign.tell(first, cost="0.50", reward=1.0)  # within its time: learned
    assert (booked.money, booked.reward_state) == ("settled", "observed")
    learned = live_state(campaign).learner.arms["n"].sum()
    campaign.clock.go(7 * DAY)
    late = campaign.tell(second, cost="0.50", reward=1.0)
    assert (late.money, late.reward_state) == ("settled", "late")
    assert campaign.spent == Decimal(1)  # the money part is always booked
    assert learned == live_state(campaign).learner.arms["n"].sum() == 1
    assert same_as_its_log(campaign)


def test_row_08_reward_never_comes() -> None:
    campaign = made(reward_ttl=DAY, default_reward=0.25)
    decision = campaign.ask()
    campaign.tell(decision, cost="0.50")
    campaign.clock.go(DAY + 1)
    for _ in range(3):
        campaign.expire()
    assert kinds(campaign).count("defaulted") == 1
    state = live_state(campaign)
    assert state.reward == 0.25
    assert state.learner.arms["reward"].sum() == 0.25
    real = campaign.tell(decision, reward=1.0)  # replaces what was made up
    assert (real.reward, real.reward_state) == (1.0, "observed")
    state = live_state(campaign)
    assert state.reward == 1.0
    assert (state.learner.arms["n"].sum(), state.learner.arms["reward"].sum()) == (1, 1.0)


def test_row_08_no_default_and_reward_never_comes() -> None:
    campaign = made(reward_ttl=DAY)
    decision = campaign.ask()
    campaign.tell(decision, cost="0.50")
    campaign.clock.go(DAY + 1)
    campaign.expire()
    assert campaign.open == 0
    assert live_state(campaign).learner.arms["n"].sum() == 0  # nothing to learn from


def test_row_08_a_made_up_reward_does_not_keep_other_holds_from_lapsing() -> None:
    """The waits of one decision must not hide those of others."""
    campaign = made("100", hold_ttl=30 * DAY, reward_ttl=DAY, default_reward=0.0)
    campaign.ask(8)
    campaign.clock.go(DAY + 1)
    assert campaign.expire() == 8
    assert campaign.expire() == 0
    campaign.clock.go(30 * DAY)
    assert campaign.expire() == 8
    assert campaign.held == 0


def test_row_09_cost_above_its_hold() -> None:
    campaign = made("6", overruns=2)
    for number, cost in enumerate(["3", "3.50"]):
        decision = campaign.ask(among=["small"])
        campaign.tell(decision, cost=cost, reward=1)
        assert campaign.overrun == Decimal(["2", "4.50"][number])
    assert (campaign.spent, campaign.available) == (Decimal("6.50"), Decimal("-0.50"))
    assert campaign.state == "overdrawn"
    with pytest.raises(BudgetExhausted):
        campaign.ask()
    campaign.set_budget("20")
    with pytest.raises(BudgetExhausted, match="no active arm"):
        campaign.ask(among=["small"])  # paused by itself after two of them
    assert campaign.ask().arm == "large"
    assert kinds(campaign).count("arm-paused") == 1
    campaign.resume_arm("small")
    assert campaign.ask(among=["small"]).arm == "small"


def test_row_10_cost_below_its_hold() -> None:
    campaign = made("4", {"x": "4"})
    decision = campaign.ask()
    assert campaign.available == 0
    before = len(kinds(campaign))
    campaign.tell(decision, cost="0.01")
    assert campaign.available == Decimal("3.99")
    assert len(kinds(campaign)) == before + 1  # the rest came back with the same event


@pytest.mark.parametrize(
    "cost", ["NaN", "sNaN", "inf", "-0.01", "0.001", "1e30", float("nan"), 0.1, -1, True, b"1", ""]
)
def test_row_11_cost_that_is_no_amount(cost: Any) -> None:
    campaign = made()
    decision = campaign.ask()
    before = encode_snapshot(live_state(campaign))
    with pytest.raises(InvalidInput, match="cost"):
        campaign.tell(decision, cost=cost, reward=0.5)
    with pytest.raises(InvalidInput, match="cost"):
        campaign.correct(decision, cost=cost)
    assert encode_snapshot(live_state(campaign)) == before
    assert campaign.held == decision.hold


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -0.5, 1.5, "1", [True]])
def test_row_11_reward_that_is_no_number_in_its_range(reward: Any) -> None:
    campaign = made()
    decision = campaign.ask()
    before = encode_snapshot(live_state(campaign))
    with pytest.raises(InvalidInput, match="reward"):
        campaign.tell(decision, cost="0.50", reward=reward)
    with pytest.raises(InvalidInput, match="reward"):
        campaign.correct(decision, cost="0.50", reward=reward)
    assert encode_snapshot(live_state(campaign)) == before


def test_row_12_sums_do_not_drift() -> None:
    campaign = made("1000", {"x": "0.10"}, exponent=6)
    for decision in campaign.ask(1000):
        campaign.tell(decision, cost="0.1", reward=1)
    assert campaign.spent == Decimal(100)
    decision = campaign.ask()
    with pytest.raises(InvalidInput, match="no exact decimal value"):
        campaign.tell(decision, cost=0.1)
    campaign.tell(decision, cost=0.1 + 0.2 - 0.2000001, rounding="up")
    assert campaign.spent == Decimal("100.1")


def test_row_13_outcome_for_an_arm_that_is_gone() -> None:
    campaign = made()
    paused, retired = campaign.ask(among=["small"]), campaign.ask(among=["large"])
    campaign.pause_arm("small")
    campaign.retire_arm("large")
    campaign.tell(paused, cost="0.50", reward=1)
    campaign.tell(retired, cost="2", reward=0.5)
    assert campaign.spent == Decimal("2.50")
    assert list(live_state(campaign).learner.arms["n"]) == [1, 1]
    with pytest.raises(BudgetExhausted, match="no active arm"):
        campaign.ask()
    with pytest.raises(InvalidInput, match="keys are never used again"):
        campaign.add_arm("large", "1")
    with pytest.raises(InvalidInput, match="retired for good"):
        campaign.resume_arm("large")
    campaign.resume_arm("small")
    assert campaign.ask().arm == "small"


def test_row_14_arm_added_live() -> None:
    campaign = made("100")
    for _ in range(10):
        campaign.tell(campaign.ask(), cost="0.50", reward=0.5)
    old = live_state(campaign).learner.arms[["n", "reward"]].copy()
    campaign.add_arm("huge", "20")
    new = live_state(campaign).learner.arms
    assert (new[["n", "reward"]][:2] == old).all()
    assert new["n"][2] == 0
    assert campaign.ask().arm == "huge"  # a new one is tried first
    assert same_as_its_log(campaign)


def test_row_15_budget_raised_live() -> None:
    campaign = made("1", {"x": "1"})
    campaign.ask()
    with pytest.raises(BudgetExhausted):
        campaign.ask()
    seen = campaign.version
    campaign.set_budget("2", by="ann", if_version=seen)
    with pytest.raises(StaleVersion, match="look again"):
        campaign.set_budget("3", by="bob", if_version=seen)
    assert campaign.ask().arm == "x"
    (change,) = [event for event in campaign.events() if event.kind == "budget-set"]
    assert change.body == {"budget": 200, "before": 100, "by": "ann"}


@pytest.mark.parametrize("policy", ["omega-star-ucb:rho=0.25", "kube", "budget-ucb", "uniform"])
@pytest.mark.parametrize("budget", ["3", "0"])
def test_row_16_budget_cut_below_what_is_spent_and_held(policy: str, budget: str) -> None:
    campaign = made("10", policy=policy, min_cost="0.10")
    first, second = campaign.ask(2)
    campaign.tell(first, cost=first.hold)
    campaign.set_budget(budget)
    assert campaign.state == "overdrawn"
    with pytest.raises(BudgetExhausted):
        campaign.ask()
    assert campaign.held == second.hold  # running work goes on
    campaign.tell(second, cost=second.hold, reward=1)
    assert campaign.spent == first.hold + second.hold
    campaign.set_budget("20")
    assert campaign.ask().arm in ARMS
    assert same_as_its_log(campaign)


def test_row_17_day_rolls_over_with_holds_open() -> None:
    campaign = made("100", {"x": "1"}, caps={"day": "2"})
    first, second = campaign.ask(2)
    with pytest.raises(BudgetExhausted):
        campaign.ask()
    campaign.clock.go(DAY - 100)  # the next day, the holds still open
    third = campaign.ask()
    campaign.tell(first, cost="1")  # counts for the day it was asked on
    campaign.tell(second, cost="5")
    fourth = campaign.ask()
    with pytest.raises(BudgetExhausted):
        campaign.ask()
    days = live_state(campaign).days
    assert [days[day].spent for day in sorted(days)] == [600, 0]
    assert campaign.held == third.hold + fourth.hold


@pytest.mark.parametrize("seconds", [DAY, 400 * DAY, -3600])
def test_row_18_clock_jumps(seconds: int) -> None:
    campaign = made("100", hold_ttl=600)
    campaign.ask(5)
    held = campaign.held
    campaign.clock.set(seconds)
    for _ in range(3):  # not only the first call after it
        assert campaign.expire() == 0
    campaign.ask()
    assert campaign.held > held
    assert any("the clock was set" in alarm for alarm in campaign.alarms)
    times = [event.ts for event in campaign.events()]
    assert times == sorted(set(times))
    assert verify(campaign.store, "c") == len(times)
    campaign.clock.set(-seconds)  # put right again: holds end in their time
    campaign.clock.go(601)
    assert campaign.expire() >= 5


def test_row_18_a_clock_set_between_two_processes(tmp_path: Path) -> None:
    url = on_disk(tmp_path)
    campaign = made("100", hold_ttl=600, storage=url)
    campaign.ask(5)
    campaign.close()
    campaign.clock.set(DAY)
    campaign = Campaign("c", storage=url, clock=campaign.clock)
    assert campaign.expire() == 0
    assert any("the clock was set by +86,400 s" in alarm for alarm in campaign.alarms)
    campaign.trust_clock()
    assert campaign.expire() == 5
    campaign.close()
    assert Campaign("c", storage=url, clock=campaign.clock).alarms == []  # it was told once


def test_row_18_the_clock_may_be_trusted_from_elsewhere(tmp_path: Path) -> None:
    url = on_disk(tmp_path)
    campaign = made("100", hold_ttl=600, storage=url)
    campaign.ask(5)
    campaign.clock.set(DAY)
    assert campaign.expire() == 0
    other = Campaign("c", storage=url, clock=campaign.clock)  # an operator's command, say
    other.trust_clock()
    other.close()
    campaign.clock.go(2)
    assert campaign.expire() == 5


def test_row_18_small_steps_are_no_jump() -> None:
    campaign = made("100", hold_ttl=600)
    campaign.ask()
    campaign.clock.set(-30)
    campaign.clock.go(700)
    assert campaign.expire() == 1
    assert campaign.alarms == []


def test_row_19_holds_that_never_settle() -> None:
    campaign = made("100000", {"x": "1"}, max_open=10_000)
    decisions = campaign.ask(10_000)
    with pytest.raises(TooManyOpen, match="10,000"):
        campaign.ask()
    assert len(decisions) == campaign.open == 10_000
    assert campaign.held == 10_000
    for decision in decisions[:100]:
        campaign.void(decision, reason="stuck")
    assert len(campaign.ask(200)) == 100  # as many as there is room for, none lost
    assert campaign.held == 10_000
    assert len(live_state(campaign).deadlines) < 50_000


def test_row_20_restore_of_an_older_backup(tmp_path: Path) -> None:
    url, copy = on_disk(tmp_path), tmp_path / "backup.db"
    campaign = made("10", {"x": "1"}, storage=url)
    known = campaign.ask()
    campaign.store.backup(copy)
    campaign.tell(known, cost="1", reward=1)
    lost = campaign.ask()
    campaign.tell(lost, cost="0.75", reward=1)
    campaign.close()
    restore(copy, tmp_path / "spend.db", replace=True)
    campaign = Campaign("c", storage=url, clock=campaign.clock)
    assert campaign.state == "unreconciled"
    with pytest.raises(NotActive, match="reconcile"):
        campaign.ask()
    with pytest.raises(NotActive):
        campaign.resume()
    campaign.tell(known, cost="1", reward=1)  # outcomes are booked all the same
    campaign.reconcile("0.75", by="ann")  # what the provider's bill says was spent since
    assert (campaign.state, campaign.spent) == ("active", Decimal("1.75"))
    assert campaign.ask().arm == "x"
    with pytest.raises(NotActive):
        campaign.reconcile("0.75")
    assert same_as_its_log(campaign)


def test_row_20_an_outcome_after_a_restore_is_recorded_by_its_token(tmp_path: Path) -> None:
    url, copy = on_disk(tmp_path), tmp_path / "backup.db"
    campaign = made("2", {"x": "1", "y": "1"}, storage=url)
    campaign.store.backup(copy)
    lost = campaign.ask(2)
    tokens = [campaign.token(one) for one in lost]
    campaign.close()
    restore(copy, tmp_path / "spend.db", replace=True)
    campaign = Campaign("c", storage=url, clock=campaign.clock)
    first, second = (one.id for one in lost)
    with pytest.raises(UnknownDecision):
        campaign.tell(first, cost="0.75")
    for wrong in (tokens[1], tokens[0][:-4] + "AAA=", "", "é", "x" * 500):
        with pytest.raises(InvalidInput, match="token"):
            campaign.tell(first, cost="0.75", token=wrong)
    told = campaign.tell(first, cost="0.75", reward=1, token=tokens[0])
    assert (told.arm, told.cost) == (lost[0].arm, Decimal("0.75"))
    assert campaign.tell(first, cost="0.75", reward=1, token=tokens[0]).replayed
    [late] = campaign.tell_many([{"decision": second, "cost": "0.5", "token": tokens[1]}])
    assert isinstance(late, Decision)
    assert campaign.spent == Decimal("1.25")
    assert [arm.plays for arm in campaign.arms() if arm.key == told.arm] == [1]
    with pytest.raises(CannotAnswer, match="before c was restored"):
        campaign.explain(first)
    campaign.reconcile("0")
    assert campaign.verify().events == len(list(campaign.events()))
    assert same_as_its_log(campaign)


class _Broken(MemoryStore):
    """A store whose commits can fail, as on a full disk."""

    trouble: Exception | None = None

    @contextmanager
    def open_writer(self, name: str) -> Iterator[Any]:
        with super().open_writer(name) as log:
            before = len(log.events)
            yield log
            if self.trouble is not None and len(log.events) > before:
                raise self.trouble


def test_row_21_disk_full_fails_closed() -> None:
    store = _Broken()
    campaign = made("10", {"x": "1"}, storage=store)
    decision = campaign.ask()
    for trouble in (OSError(28, "No space left on device"), StorageUnavailable("read only")):
        store.trouble = trouble
        for step in (campaign.ask, lambda: campaign.tell(decision, cost="1")):
            with pytest.raises(StorageUnavailable):
                step()
        store.trouble = None
        assert (campaign.held, campaign.spent) == (Decimal(1), Decimal(0))
        assert same_as_its_log(campaign)
    campaign.tell(decision, cost="1")
    assert campaign.spent == 1


def _ask_on(campaign: Campaign, kept: list[Decision]) -> None:
    for _ in range(50):
        kept += campaign.ask(100)


def test_row_21_disk_really_full(tmp_path: Path) -> None:
    """A file size limit of the process stands for a full disk."""
    campaign = made("1000", {"x": "1"}, storage=on_disk(tmp_path))
    kept = campaign.ask(5)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    usual = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        size = max(f.stat().st_size for f in tmp_path.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        with pytest.raises(StorageUnavailable):
            _ask_on(campaign, kept)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, usual)
    assert campaign.held == len(kept)
    kept.append(campaign.ask())
    assert {e.decision for e in campaign.events() if e.kind == "asked"} == {d.id for d in kept}
    assert verify(campaign.store, "c") == 1 + len(kept)


def test_row_22_connection_lost_during_commit() -> None:
    """The commit happened but its answer is lost: the same id finds it. (With a real PostgreSQL
    server whose connection is cut in COMMIT: tests/test_postgres_store.py.)"""

    class Lossy(MemoryStore):
        lose = False

        @contextmanager
        def open_writer(self, name: str) -> Iterator[Any]:
            with super().open_writer(name) as log:
                before = len(log.events)
                yield log
                moved = len(log.events) > before
            if self.lose and moved:
                raise ConnectionError("server closed the connection unexpectedly")

    store = Lossy()
    campaign = made(storage=store)
    store.lose = True
    with pytest.raises(StorageUnavailable):
        campaign.ask(id="mine")
    store.lose = False
    again = campaign.ask(id="mine")
    assert again.replayed
    assert campaign.held == again.hold
    store.lose = True
    with pytest.raises(StorageUnavailable):
        campaign.tell(again, cost="0.50")
    store.lose = False
    assert campaign.tell(again, cost="0.50").replayed
    assert campaign.spent == Decimal("0.50")


def test_row_23_ten_times_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is bounded: a call is refused before anything is reserved."""
    monkeypatch.setattr(committer, "QUEUE_LIMIT", 8)

    class Slow(MemoryStore):
        gate = threading.Event()
        inside = threading.Semaphore(0)

        @contextmanager
        def open_writer(self, name: str) -> Iterator[Any]:
            with super().open_writer(name) as log:
                self.inside.release()
                assert self.gate.wait(30)
                yield log

    store = Slow()
    store.gate.set()
    campaign = made("1000", {"x": "1"}, storage=store)
    store.gate.clear()
    while store.inside.acquire(blocking=False):
        pass
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(campaign.ask())
        except Overloaded as error:
            answers.append(error)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    threads[0].start()
    assert store.inside.acquire(timeout=30)  # one is being served, the line is empty
    for thread in threads[1:]:
        thread.start()
    while len(answers) < 40 - 1 - 8:  # those that were refused are back at once
        threading.Event().wait(0.001)
    store.gate.set()
    for thread in threads:
        thread.join()
    refused = [one for one in answers if isinstance(one, Overloaded)]
    assert len(refused) == 31
    assert campaign.held == 9  # nothing was reserved for the others


def _stream(decision: Any) -> None:
    decision.settle(cost="0.30")  # what it cost so far
    raise RuntimeError("stream cut \ud800")


def test_row_24_caller_breaks_off_midway() -> None:
    """In place of a client that disconnects: a block that raises, or is cancelled."""
    campaign = made("100", {"x": "1"})
    with pytest.raises(KeyboardInterrupt), campaign.decide() as decision:
        raise KeyboardInterrupt
    assert campaign.decision(decision.id).money == "voided"
    with pytest.raises(RuntimeError, match="stream"), campaign.decide() as decision:
        _stream(decision)
    assert campaign.decision(decision.id).cost == Decimal("0.30")
    with pytest.raises(InvalidInput, match="ended without settle"), campaign.decide() as decision:
        pass
    assert campaign.held == 1  # unknown: it stays until it lapses
    campaign.clock.go(DAY + 1)
    campaign.expire()
    assert campaign.spent == Decimal("1.30")
    with campaign.decide() as decision:
        decision.settle(cost="0.50", reward=1.0)
    assert campaign.decision(decision.id).money == "settled"


@pytest.mark.parametrize("answer", [RuntimeError("broken"), 99, -1])
def test_row_25_policy_fails(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = made("10")

    def choose(*_: Any) -> int:
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    monkeypatch.setattr(live_state(campaign).learner, "choose", choose)
    decision = campaign.ask()
    assert decision.arm in ARMS
    assert decision.propensity is None
    assert kinds(campaign) == ["created", "asked", "policy-error"]
    assert "policy-error" in campaign.alarms[0]
    campaign.tell(decision, cost="0.50", reward=1)
    for _ in range(30):
        campaign.tell(campaign.ask(), cost="0.01")
    assert len(campaign.alarms) <= 20  # a policy that always fails does not fill the memory
    assert campaign.held == 0
    assert same_as_its_log(campaign)


def test_row_25_a_policy_that_fails_may_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = made("10", on_failure="refuse")

    def choose(*_: Any) -> int:
        raise ZeroDivisionError("it failed")

    with monkeypatch.context() as patched:
        patched.setattr(live_state(campaign).learner, "choose", choose)
        with pytest.raises(PolicyFailed, match="it failed; nothing was reserved"):
            campaign.ask()
    assert (campaign.held, campaign.open) == (0, 0)
    assert kinds(campaign) == ["created", "policy-error"]
    assert "it failed" in campaign.alarms[0]
    assert campaign.ask().arm in ARMS
    assert same_as_its_log(campaign)


def test_row_25_a_policy_that_is_slow_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = made("10", patience=0.001)
    learner = live_state(campaign).learner
    choose = learner.choose

    def slow(*given: Any) -> int:
        time.sleep(0.01)
        return choose(*given)

    monkeypatch.setattr(learner, "choose", slow)
    decision = campaign.ask()
    assert kinds(campaign) == ["created", "asked", "policy-slow"]
    assert "a choice took 0.01" in campaign.alarms[0]
    assert campaign.explain(decision).verified  # late as it came, it is the policy's
    assert same_as_its_log(campaign)


def test_row_26_two_processes_on_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes may share a file, one after the other; one that keeps it too long is named."""
    url = on_disk(tmp_path)
    campaign = made("10", {"x": "1"}, storage=SQLiteStore(url, deadline=0.2))
    code = (
        "import sys\n"
        "from bursar.ledger.sqlite import SQLiteStore\n"
        "with SQLiteStore(sys.argv[1]).open_writer('c'):\n"
        "    print('in', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(StorageInUse, match="locked by another process"):
            campaign.ask()
        other.stdin.close()
        other.wait(30)
    assert campaign.ask().arm == "x"
    monkeypatch.setattr(locks, "file_system_of", lambda _: "nfs4")
    with pytest.raises(StorageInUse, match="network file system"):
        SQLiteStore(url)


def test_row_27_older_code_meets_a_newer_schema_with_holds_open(tmp_path: Path) -> None:
    """Upgrades by numbered steps, with a copy before: tests/test_sqlite_store.py."""
    url = on_disk(tmp_path)
    campaign = made("10", {"x": "1"}, storage=url)
    decision = campaign.ask()
    campaign.close()
    raw = apsw.Connection(str(tmp_path / "spend.db"))
    (now,) = raw.execute("SELECT schema_version FROM meta").fetchone()
    raw.execute("UPDATE meta SET schema_version = 99")
    raw.close()
    with pytest.raises(NewerSchema, match="schema 99"):
        Campaign("c", storage=url)
    raw = apsw.Connection(str(tmp_path / "spend.db"))
    raw.execute("UPDATE meta SET schema_version = ?", (now,))
    raw.close()
    campaign = Campaign("c", storage=url, clock=campaign.clock)
    assert campaign.held == 1
    assert campaign.tell(decision, cost="0.50").money == "settled"


def test_row_28_an_ask_can_never_raise_the_budget() -> None:
    """A library has no keys: a caller that can only ask, tell and void cannot do more."""
    campaign = made("2", {"x": "1"})
    for wrong in ({"budget": "100"}, {"among": ["x"], "max_cost": "0"}, {"hold": "0"}):
        with pytest.raises((TypeError, InvalidInput)):
            campaign.ask(**wrong)  # type: ignore[call-overload]
    for among in (["budget"], ["arm:x"], ["*"]):
        with pytest.raises(UnknownArm):
            campaign.ask(among=among)
    for n in (-5, 0, 1.5, "3", True):
        with pytest.raises(InvalidInput):
            campaign.ask(n)  # type: ignore[call-overload]
    first, second = campaign.ask(50)
    for cost in ("-5", -5, Decimal(-5)):
        with pytest.raises(InvalidInput):
            campaign.tell(first, cost=cost)
    campaign.tell(first, cost="0")
    campaign.void(second)
    campaign.void(second)  # gives nothing back twice
    assert (campaign.budget, campaign.available) == (Decimal(2), Decimal(2))
    assert len(campaign.ask(50)) == 2


def test_row_29_same_id_for_another_ask() -> None:
    campaign = made(arms={"x": "1", "y": "1", "x,y": "1"})
    campaign.ask(id="mine", among=["x", "y"])
    assert campaign.ask(id="mine", among=["y", "x"]).replayed
    for among in (None, ["x"], ["x,y"]):
        with pytest.raises(IdempotencyMismatch, match="use a new id for a new ask"):
            campaign.ask(id="mine", among=among)
    assert campaign.held == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET body = replace(body, '50', '40') WHERE seq = 3",
        "UPDATE event SET ts = ts + 1 WHERE seq = 3",
        "DELETE FROM event WHERE seq = 3",
    ],
)
def test_row_30_log_tampered_with(change: str, tmp_path: Path) -> None:
    url = on_disk(tmp_path)
    campaign = made("10", {"x": "1"}, storage=url)
    campaign.tell(campaign.ask(), cost="0.50", reward=1)
    campaign.ask()
    assert verify(campaign.store, "c") == 4
    campaign.close()
    raw = apsw.Connection(str(tmp_path / "spend.db"))
    raw.execute(change)
    assert raw.changes() == 1
    raw.close()
    with pytest.raises(CorruptLedger, match="event 3"):
        verify(SQLiteStore(url), "c")
    with pytest.raises(CorruptLedger, match="event 3"):
        Campaign("c", storage=url).ask()
