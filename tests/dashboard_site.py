"""A service with the dashboard for tests, in this process or in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from starlette.testclient import TestClient

from bursar.campaign import Campaign
from bursar.dashboard import make_pages
from bursar.service.app import create_app
from bursar.service.service import Service, ServiceConfig

_PROGRAM = """
import sys, uvicorn
from pathlib import Path
from bursar.dashboard import make_pages
from bursar.service.app import create_app
from bursar.service.service import Service, ServiceConfig
port, url, reports = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
config = ServiceConfig(port=port, require_keys=sys.argv[4] != "open", reports=reports)
service = Service(url, config)
uvicorn.run(create_app(service, make_pages(service)), port=port, log_level="error")
"""


@contextmanager
def site(storage="memory", **settings):
    """Yield a service and a client that calls it without a network."""
    service = Service(storage, ServiceConfig(**({"require_keys": False} | settings)))
    client = TestClient(
        create_app(service, make_pages(service)),
        base_url="http://localhost",
        follow_redirects=False,
    )
    try:
        yield service, client
    finally:
        client.close()
        service.close()


def make_campaign(store, name="llm", plays=30, **rules):
    """Return a campaign that has spent money and has one open decision."""
    campaign = Campaign(
        name, "10.00", {"small": "0.10", "large": "0.50"}, storage=store, currency="USD", **rules
    )
    campaign.run(lambda arm: ("0.05", 0.5) if arm == "small" else ("0.30", 0.9), most=plays)
    campaign.ask(id=f"{name}-open")
    return campaign


class Server:
    """The service in a process that can be killed."""

    def __init__(self, url, reports, kind="open"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._arguments = [sys.executable, "-c", _PROGRAM, str(self.port), url, str(reports), kind]
        self._process = None

    def start(self):
        self._process = subprocess.Popen(self._arguments)
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.1)

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def post(self, path, **body):
        """Call the API as a program would."""
        request = urllib.request.Request(
            f"{self.address}/v1{path}", json.dumps(body).encode(),
            {"content-type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def play(self, name, times, cost="0.05", reward=0.5):
        """Ask for decisions and report their outcomes."""
        for _ in range(times):
            decision = self.post(f"/campaigns/{name}/decisions")["id"]
            self.post(f"/decisions/{decision}/outcome", cost=cost, reward=reward)
