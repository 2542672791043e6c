"""Many threads on one campaign: calls share commits, and each gets its own answer or error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hand_clock import folded, live_state
from store_contract import verify

from bursar.campaign import Campaign, Decision
from bursar.campaign.commands import ask_command
from bursar.campaign.committer import DeadlinePassed, PendingCommand
from bursar.campaign.events import CHANGED
from bursar.campaign.state import encode_snapshot
from bursar.errors import (
    BudgetExhausted,
    InvalidInput,
    OutcomeConflict,
    StorageUnavailable,
    UnknownDecision,
)
from bursar.ledger import MemoryStore, Store
from bursar.ledger.sqlite import SQLiteStore

THREADS, ROUNDS = 16, 30


class Counting:
    """A store that counts its sessions, takes its time, and lets every so-manieth commit fail."""

    def __init__(self, store: Store, failing: int = 0, seconds: float = 0.0) -> None:
        self.store = store
        self.failing = failing
        self.seconds = seconds
        self.sessions = self.failed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    @contextmanager
    def open_writer(self, name: str) -> Iterator[Any]:
        with self.store.open_writer(name) as session:
            self.sessions += 1
            before = session.head.seq
            yield session
            time.sleep(self.seconds)
            # SQLite's session takes back what was appended; a look alone cannot fail
            if self.failing and self.sessions % self.failing == 0 and _appended(session, before):
                self.failed += 1
                raise OSError(5, "Input/output error")


def _appended(session: Any, before: int) -> bool:
    return bool(session.head.seq > before)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "spend.db")


def in_threads(work: Callable[[int], None]) -> None:
    """Do work in many threads at once; raise the first error of any."""
    errors: list[BaseException] = []
    ready = threading.Barrier(THREADS)

    def one(number: int) -> None:
        try:
            ready.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_no_update_is_lost_and_each_call_gets_its_own_answer(store: Store) -> None:
    counting = Counting(store, seconds=0.001)  # as on a disk
    campaign = Campaign(
        "c", "1000", {"x": "1", "y": "0.50"}, exponent=4, storage=counting, max_open=THREADS
    )
    began = counting.sessions

    def work(number: int) -> None:
        for round_ in range(ROUNDS):
            id, cost = f"{number}/{round_}", Decimal(number * ROUNDS + round_) / 10_000
            mine = campaign.ask(id=id, among=["x"] if number % 2 else ["y"])
            assert (mine.id, mine.replayed) == (id, False)
            assert mine.arm == ("x" if number % 2 else "y")
            told = campaign.tell(mine, cost=cost, reward=0.5)
            assert (told.id, told.cost, told.money) == (id, cost, "settled")
            with pytest.raises(UnknownDecision, match=f"'{id}/never'"):
                campaign.tell(f"{id}/never", cost=cost)
            with pytest.raises(OutcomeConflict, match=f"'{id}'"):
                campaign.tell(mine, cost=cost + 1)
            with pytest.raises(InvalidInput, match=f"got {number + 2}.5"):
                campaign.tell(mine, reward=number + 2.5)

    in_threads(work)
    count = THREADS * ROUNDS
    assert campaign.spent == Decimal(sum(range(count))) / 10_000
    assert campaign.held == campaign.open == 0
    # costs rise from thread to thread, so some orders of calls look like a change of prices
    changes = sum(event.kind == CHANGED for event in campaign.events())
    assert verify(campaign.store, "c") == 1 + 2 * count + changes
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))
    if isinstance(store, SQLiteStore):
        assert counting.sessions - began < 5 * count * 0.7  # many calls shared a session


def test_what_was_answered_is_in_the_log_and_what_failed_is_not(tmp_path: Path) -> None:
    """Every seventh commit fails: only the callers that share it get the error."""
    store = Counting(SQLiteStore(tmp_path / "spend.db"))
    campaign = Campaign("c", "1000", {"x": "1"}, exponent=4, storage=store)
    store.failing = 7
    granted: set[str] = set()
    refused: set[str] = set()
    causes: list[object] = []

    def work(number: int) -> None:
        for round_ in range(ROUNDS):
            id = f"{number}/{round_}"
            try:
                assert campaign.ask(id=id).id == id
            except StorageUnavailable as error:
                refused.add(id)
                causes.append(error.__cause__)
            else:
                granted.add(id)

    in_threads(work)
    assert store.failed > 0
    assert len(refused) >= store.failed
    assert all(isinstance(cause, OSError) for cause in causes)
    assert {e.decision for e in campaign.events() if e.kind == "asked"} == granted
    store.failing = 0
    assert campaign.held == len(granted)
    assert not campaign.ask(id=min(refused)).replayed  # it never happened
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))


def test_a_call_is_done_only_once_it_has_its_result() -> None:
    seen: list[Any] = []

    class Watched(PendingCommand):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "done":
                seen.append(self.result)
            super().__setattr__(name, value)

    campaign = Campaign("c", "50", {"x": "1"})
    late = Watched(ask_command(), deadline=0.0)
    campaign.committer._commit([Watched(ask_command()), late])
    decision, error = seen  # so Ctrl-C cannot give one call the result of another
    assert isinstance(decision, Decision)
    assert isinstance(error, DeadlinePassed)
    assert campaign.open == 1


def test_only_so_much_is_granted_to_all_threads_together(store: Store) -> None:
    campaign = Campaign("c", "50", {"x": "1", "y": "3"}, exponent=2, storage=store)
    got: list[Decimal] = []

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            try:
                decision = campaign.ask()
            except BudgetExhausted:
                continue
            got.append(decision.hold)

    in_threads(work)
    assert sum(got) == campaign.held
    assert 50 - 1 < campaign.held <= 50
