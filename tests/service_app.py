"""A service for tests: in process, a real server on a free port, or one in its own process.

Import what is used: ``from service_app import api, live, service``.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from resource import RLIMIT_NOFILE, setrlimit
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.testclient import TestClient

from bursar.service import Service, ServiceConfig, create_app
from bursar.service.keys import SCOPES

__all__ = ["PATIENCE", "Api", "Live", "ServerProcess", "api", "eventually", "live", "service"]

PATIENCE = 60.0
ARMS = [{"key": "small", "max_cost": "0.004"}, {"key": "large", "max_cost": "0.05"}]


class Api:
    """A client with a key."""

    def __init__(self, client: TestClient, service: Service, token: str) -> None:
        self.client = client
        self.service = service
        self.token = token

    def call(self, method: str, path: str, json: Any = None, **headers: str) -> httpx2.Response:
        """Send a request; underscores in names of headers are hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("authorization", f"Bearer {self.token}")
        more = {} if json is None else {"json": json}
        return self.client.request(method, path, headers=named, **more)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.call("GET", path, **headers)

    def post(self, path: str, json: Any = None, **headers: str) -> httpx2.Response:
        return self.call("POST", path, json, **headers)

    def patch(self, path: str, json: Any = None, **headers: str) -> httpx2.Response:
        return self.call("PATCH", path, json, **headers)

    def delete(self, path: str, **headers: str) -> httpx2.Response:
        return self.call("DELETE", path, **headers)

    def with_key(self, *scopes: str, campaigns: list[str] | None = None) -> Api:
        """Return a client with a key of its own."""
        _, token = self.service.keys.create(scopes, campaigns=campaigns)
        return Api(self.client, self.service, token)

    def make(self, name: str = "llm", budget: str = "1.00", **more: Any) -> dict[str, Any]:
        """Make a campaign."""
        body = {"name": name, "budget": budget, "arms": ARMS, "currency": "USD"} | more
        made = self.post("/v1/campaigns", body)
        assert made.status_code == 201, made.text
        found: dict[str, Any] = made.json()
        return found

    def ask(self, name: str = "llm", **body: Any) -> dict[str, Any]:
        """Ask for one decision."""
        asked = self.post(f"/v1/campaigns/{name}/decisions", body)
        assert asked.status_code in (200, 201), asked.text
        found: dict[str, Any] = asked.json()
        return found

    def ledger(self) -> dict[str, tuple[int, ...]]:
        """Return number of events and money of every campaign, as the store has them."""
        return {
            one.name: (one.seq, one.budget, one.spent, one.held)
            for one in self.service.store.campaign_rows()
        }


@pytest.fixture
def service() -> Iterator[Service]:
    """A service in memory."""
    made = Service("memory", ServiceConfig(allowed_hosts=("testserver",)))
    yield made
    made.close()


@pytest.fixture
def api(service: Service) -> Iterator[Api]:
    """A client of it with a key that may do everything."""
    _, token = service.keys.create(SCOPES)
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        yield Api(client, service, token)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def eventually(look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return what a look finds, as soon as it finds something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


class Live:
    """A real server in a thread of this process, with a SQLite file."""

    def __init__(self, path: Path) -> None:
        port = free_port()
        self.service = Service(f"sqlite:///{path}", ServiceConfig(port=port))
        _, self.token = self.service.keys.create(SCOPES)
        self.url = f"http://127.0.0.1:{port}"
        config = uvicorn.Config(
            create_app(self.service), port=port, log_level="warning", lifespan="off"
        )
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()
        eventually(lambda: self.server.started)

    def client(self, **options: Any) -> httpx2.Client:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60.0, **options)

    def stop(self) -> None:
        """Stop as `bursar serve` does: streams first, then the server, then the ledgers."""
        if not self._thread.is_alive():
            return  # it is stopped already
        self.service.stop()
        self.server.should_exit = True
        self._thread.join(60.0)
        assert not self._thread.is_alive()
        self.service.close()


class ServerProcess:
    """`bursar serve` in a process of its own; what it prints is read on the way."""

    def __init__(self, storage: str, *words: str, port: int = 0, files: int | None = None) -> None:
        self.storage = storage
        limit = None if files is None else partial(setrlimit, RLIMIT_NOFILE, (files, files))
        env = {**os.environ, "PYTHONUTF8": "1", "BURSAR_STORAGE": storage}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bursar", "serve", "--port", str(port), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=limit,
        )  # fmt: skip
        self.out: list[str] = []
        self.err: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: Any, lines: list[str]) -> None:
        lines.extend(stream)

    @property
    def printed(self) -> str:
        return "".join(self.out)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def started(self) -> ServerProcess:
        """Wait until it answers; return itself."""
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(r"serves http://[^\s]*:(\d+) from", self.printed)):
            assert self.process.poll() is None, "".join(self.err)
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.port = int(found[1])
        while True:
            try:
                assert self.get("/healthz")[0] == 200
                return self
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def call(
        self, method: str, path: str, body: Any = None, token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        own = {"content-type": "application/json"} if body is not None else {}
        own |= {"authorization": f"Bearer {token}"} if token else {}
        content = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, content, own | (headers or {}))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(text) if b"{" in text[:1] else text

    def get(self, path: str, token: str | None = None) -> tuple[int, Any]:
        return self.call("GET", path, token=token)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.ended()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A running server."""
    server = Live(tmp_path / "spend.db")
    yield server
    server.stop()
