"""Kill -9 of the server in the middle of a run: clients go on, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from extent import extent
from service_app import ServerProcess, eventually, free_port

from bursar.campaign import Campaign
from bursar.client import Client
from bursar.errors import StorageUnavailable
from bursar.service import Service
from bursar.service.keys import SCOPES

ARMS = {"a": "0.05", "b": "0.20"}
BUDGET = "30.00"
KILLS = extent(2, 5)


class Killable:
    """A ledger, and a service of it that is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.storage = f"sqlite:///{folder / 'spend.db'}"
        self.port = free_port()
        first = Service(self.storage)
        _, self.token = first.keys.create(SCOPES)
        first.close()
        self.process: ServerProcess | None = None

    def start(self) -> None:
        words = ("--log-level", "warning")
        self.process = ServerProcess(self.storage, *words, port=self.port).started()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None

    def client(self, **options: Any) -> Client:
        return Client(f"http://127.0.0.1:{self.port}", key=self.token, **options)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Killable]:
    found = Killable(tmp_path)
    found.start()
    yield found
    found.kill()


def test_every_acknowledged_outcome_is_in_the_log_once(server: Killable):
    with server.client(timeout=120.0) as client:
        campaign = client.create("llm", BUDGET, ARMS)
        told: list[tuple[str, str]] = []
        stop = threading.Event()

        def work(number: int) -> None:
            while not stop.is_set():
                one = campaign.ask()
                cost = f"0.0{1 + (len(told) + number) % 9}"
                done = campaign.tell(one, cost=cost, reward=0.5)
                assert str(done.cost) == f"{cost}0000"
                told.append((one.id, cost))

        def until(count: int) -> bool:
            return len(told) >= count or not all(one.is_alive() for one in threads)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for one in threads:
            one.start()
        for _ in range(KILLS):
            much = len(told) + 20
            eventually(lambda much=much: until(much))
            server.kill()
            server.start()
        much = len(told) + 20
        eventually(lambda: until(much))
        stop.set()
        for one in threads:
            one.join(120.0)
    server.kill()

    log = Campaign("llm", storage=server.storage)
    booked = [event for event in log.events() if event.kind == "told"]
    asked = Counter(event.decision for event in log.events() if event.kind == "asked")
    assert len(told) >= 20 * (KILLS + 1)
    # whoever acknowledged tells once, and what was acknowledged is what is booked
    assert Counter(event.decision for event in booked) == Counter(key for key, _ in told)
    costs = {event.decision: event.body["cost"] for event in booked}
    assert costs == {key: round(float(cost) * 1e6) for key, cost in told}
    assert set(asked.values()) == {1}
    assert log.held == 0  # no ask was granted that nobody knows of
    assert log.spent + log.held <= log.budget
    log.verify(choices=True)
    log.close()


def test_outcomes_of_a_dead_server_are_in_its_log_after_it_came_back(server: Killable, tmp_path):
    spool = tmp_path / "spool"
    with server.client(timeout=60.0) as client:
        campaign = client.create("llm", BUDGET, ARMS)
        asked = campaign.ask(3)
    with server.client(timeout=0.5, spool=spool) as client:
        server.kill()
        for one in asked:
            with pytest.raises(StorageUnavailable):
                client.campaign("llm").tell(one, cost="0.04", reward=1)
    server.start()
    with server.client(timeout=60.0, spool=spool) as client:
        # the first answer shows that the service is back; what was kept follows
        client.campaign("llm").void(client.campaign("llm").ask())
        assert client.flush() == 0
        assert str(client.campaign("llm").spent) == "0.120000"
        kinds = Counter(event.kind for event in client.campaign("llm").events())
    assert kinds["told"] == 3
