"""Which files of bursar a call runs: what a reader opens to follow the call from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from service_app import ARMS, Live
from starlette.testclient import TestClient

import bursar
from bursar.service import Service, ServiceConfig, create_app
from bursar.service.keys import SCOPES

__all__ = [
    "client_tell_files", "figure_files", "http_ask_files", "simulated_play_files", "traced_files",
]  # fmt: skip

_ROOT = f"{Path(bursar.__file__).parent}/"


@contextmanager
def traced_files(*, all_threads: bool = True) -> Iterator[set[str]]:
    """Collect the files of bursar whose functions run inside the block.

    This thread is traced, and with ``all_threads`` every thread that starts inside the block. Clear
    the set to forget what ran before. Importing a module does not count, nor does compiled code,
    which the profiler does not see.
    """
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(_ROOT):
            found.add(code.co_filename.removeprefix(_ROOT))

    before = sys.getprofile()
    if all_threads:
        threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def http_ask_files(folder: Path) -> list[str]:
    """Return the files that run between an HTTP ask and its response, down to the disk.

    The campaign is open and the key is known, as in a service that has been running for a while.
    """
    config = ServiceConfig(allowed_hosts=("testserver",))
    with traced_files() as found:
        service = Service(f"sqlite:///{folder / 'walk.db'}", config)
        headers = {"authorization": f"Bearer {service.keys.create(SCOPES)[1]}"}
        with TestClient(create_app(service), headers=headers) as client:
            new = {"name": "llm", "budget": "10", "arms": ARMS}
            assert client.post("/v1/campaigns", json=new).status_code == 201
            path = "/v1/campaigns/llm/decisions"
            for _ in ARMS:  # untried arms are chosen by another way than the usual one
                client.post(path, json={})
            found.clear()
            assert client.post(path, json={}).status_code == 201
            files = sorted(found)
        service.close()
    return files


def client_tell_files(folder: Path) -> list[str]:
    """Return the files that run in the thread of a client that reports an outcome."""
    live = Live(folder / "walk.db")
    try:
        with live.client() as http:
            http.post("/v1/campaigns", json={"name": "llm", "budget": "10", "arms": ARMS})
        with bursar.Client(live.url, key=live.token) as client:
            campaign = client.campaign("llm")
            campaign.tell(campaign.ask(), cost="0.001", reward=1.0)
            decision = campaign.ask()
            with traced_files(all_threads=False) as found:
                campaign.tell(decision, cost="0.001", reward=1.0)
    finally:
        live.stop()
    return sorted(found)


def simulated_play_files() -> list[str]:
    """Return the files that run when a policy plays one game on a problem."""
    problem = bursar.Bernoulli([0.8, 0.3], [0.4, 0.5])
    with traced_files() as found:
        bursar.simulate("omega-star-ucb:rho=0.25", problem, 1, budget_plays=50)  # compiles
        found.clear()
        bursar.simulate("omega-star-ucb:rho=0.25", problem, 1, budget_plays=50)
    return sorted(found)


def figure_files() -> list[str]:
    """Return the files that run when the figure of a result is drawn."""
    result = bursar.simulate(["omega-star-ucb:rho=0.25", "bts"], "S-Br-10", 2, budget_plays=50)
    with traced_files() as found:
        result.plot()
    return sorted(found)


def trace_walks() -> dict[str, list[str]]:
    """Return the walks of a new process, in which no other test has filled a cache."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    walks: dict[str, list[str]] = json.loads(done.stdout)
    return walks


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        found = {
            "one HTTP ask": http_ask_files(Path(one)),
            "one report of a client": client_tell_files(Path(two)),
            "one simulated play": simulated_play_files(),
            "one figure": figure_files(),
        }
    sys.stdout.write(json.dumps(found))
