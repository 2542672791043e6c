"""The commit queue of the service: calls share commits, outcomes first; limits and deadlines."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from service_app import eventually

from bursar import Campaign
from bursar.campaign.ask_options import make_ask_options
from bursar.campaign.commands import ask_command, tell_command
from bursar.campaign.committer import DeadlinePassed
from bursar.errors import BudgetExhausted, BursarError, Overloaded, StorageUnavailable
from bursar.service import Service, ServiceConfig


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service("memory", ServiceConfig(queue=8))
    Campaign("llm", "1.00", {"small": "0.10"}, storage=made.store)
    yield made
    made.close()


class Gate:
    """Holds a ledger up until it is opened, and notes what is served together."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()
        self.batches: list[int] = []
        committer = service.campaign("llm").committer
        commit = committer._commit

        def slowly(batch: Any) -> None:
            self.batches.append(len(batch))
            assert self.opened.wait(60)
            commit(batch)

        monkeypatch.setattr(committer, "_commit", slowly)


def played(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))  # type: ignore[arg-type]


async def until(look: Callable[[], Any]) -> None:
    while not look():
        await asyncio.sleep(0.005)


def test_calls_that_wait_share_a_commit_and_outcomes_go_first(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(service, monkeypatch)
    order: list[str] = []

    def noting(word: str, work: Any) -> Any:
        def done(transaction: Any) -> Any:
            order.append(word)
            return work(transaction)

        return done

    async def play() -> None:
        config = service.campaign("llm").config
        first = asyncio.create_task(service.submit("llm", noting("first", ask_command("a"))))
        await until(lambda: gate.batches)
        asks = [
            asyncio.create_task(service.submit("llm", noting("ask", ask_command(f"b{n}"))))
            for n in range(3)
        ]
        await asyncio.sleep(0)
        told = asyncio.create_task(
            service.submit("llm", noting("tell", tell_command(config, "a", "0.05", 1)), urgent=True)
        )
        await until(lambda: service.queued() == {"llm": 4})
        gate.opened.set()
        await asyncio.gather(first, told, *asks)

    played(play)
    assert gate.batches == [1, 4]
    assert order == ["first", "tell", "ask", "ask", "ask"]


def test_a_full_line_refuses_before_anything_is_reserved(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(service, monkeypatch)

    async def play() -> None:
        first = asyncio.create_task(service.submit("llm", ask_command("first")))
        await until(lambda: gate.batches)
        waiting = [
            asyncio.create_task(service.submit("llm", ask_command(f"w{n}"))) for n in range(8)
        ]
        await until(lambda: service.queued() == {"llm": 8})
        with pytest.raises(Overloaded, match="8 calls wait for the ledger of 'llm'"):
            await service.submit("llm", ask_command("one too many"))
        gate.opened.set()
        await asyncio.gather(first, *waiting)

    played(play)
    asked = {one.decision for one in service.campaign("llm").events() if one.kind == "asked"}
    assert asked == {"first"} | {f"w{n}" for n in range(8)}


def test_a_call_is_dropped_at_its_deadline_and_nothing_is_reserved(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(service, monkeypatch)

    async def play() -> None:
        first = asyncio.create_task(service.submit("llm", ask_command("first")))
        await until(lambda: gate.batches)
        soon = time.monotonic() + 0.01
        late = asyncio.create_task(service.submit("llm", ask_command("late"), deadline=soon))
        far = time.monotonic() + 60
        other = asyncio.create_task(service.submit("llm", ask_command("other"), deadline=far))
        await until(lambda: service.queued() == {"llm": 2} and time.monotonic() > soon)
        gate.opened.set()
        with pytest.raises(DeadlinePassed, match="still queued at its deadline") as caught:
            await late
        assert caught.value.code == "deadline-passed"
        await asyncio.gather(first, other)

    played(play)
    asked = [one.decision for one in service.campaign("llm").events() if one.kind == "asked"]
    assert asked == ["first", "other"]


def test_each_gets_its_own_refusal(service: Service) -> None:
    async def play() -> None:
        calls = (
            service.submit(
                "llm", ask_command(options=make_ask_options(["small"] if n else ["missing"]))
            )
            for n in range(12)
        )
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(results[0], LookupError)
        assert sum(isinstance(one, BudgetExhausted) for one in results) >= 1
        assert sum(not isinstance(one, BaseException) for one in results) == 10

    service.close()
    service = Service("memory", ServiceConfig(queue=50))
    Campaign("llm", "1.00", {"small": "0.10"}, storage=service.store)
    played(play)
    service.close()


def test_a_ledger_that_fails_fails_everybody_and_recovers(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.campaign("llm")
    open_writer = service.store.open_writer

    def broken(name: str) -> None:
        raise ZeroDivisionError("nobody thought of this")

    async def play() -> None:
        monkeypatch.setattr(service.store, "open_writer", broken)
        results = await asyncio.gather(
            *(service.submit("llm", ask_command()) for _ in range(3)), return_exceptions=True
        )
        assert all(isinstance(one, StorageUnavailable) for one in results)
        monkeypatch.setattr(service.store, "open_writer", open_writer)
        assert (await service.submit("llm", ask_command())).arm == "small"

    played(play)


def test_closing_serves_what_is_in_line(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(service, monkeypatch)

    async def play() -> None:
        calls = [asyncio.create_task(service.submit("llm", ask_command(f"c{n}"))) for n in range(5)]
        await until(lambda: gate.batches)
        closing = threading.Thread(target=service.close)
        closing.start()
        await until(lambda: service.campaign("llm").committer._closed)
        with pytest.raises(BursarError, match="stopping"):
            await service.submit("llm", ask_command("too late"))
        gate.opened.set()
        assert sorted(one.id for one in await asyncio.gather(*calls)) == [f"c{n}" for n in range(5)]
        closing.join(60)

    played(play)


def test_the_thread_of_an_idle_campaign_ends_and_comes_back(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bursar.campaign.committer.IDLE_SECONDS", 0.05)

    def threads() -> list[str]:
        return [one.name for one in threading.enumerate() if one.name == "committer of llm"]

    played(lambda: service.submit("llm", ask_command("a")))
    eventually(lambda: not threads())
    played(lambda: service.submit("llm", ask_command("b")))
    assert [one.decision for one in service.campaign("llm").events()] == ["", "a", "b"]


def test_a_caller_who_goes_away_does_not_undo_the_call(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(service, monkeypatch)

    async def play() -> None:
        gone = asyncio.create_task(service.submit("llm", ask_command("gone")))
        await until(lambda: gate.batches)
        gone.cancel()
        gate.opened.set()
        assert (await service.submit("llm", ask_command("gone"))).replayed

    played(play)
