"""A made-up service for tests of the client: answers by hand, time that passes by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from bursar.client import AsyncClient, Client, Retry

URL = "http://bursar.test"


def decision(id: str = "d1", **changes: Any) -> dict[str, Any]:
    """Return a decision as a service writes it."""
    return {
        "id": id, "campaign": "llm", "arm": "small", "hold": "0.004000",
        "at": "2026-01-02T03:04:05.000006Z", "expires_at": "2026-01-03T03:04:05.000006Z",
        "propensity": 1.0, "constrained": False, "replayed": False, "money": "held",
        "reward_state": "pending", "cost": None, "reward": None, "seq": 2, "context": None,
    } | changes  # fmt: skip


def problem(status: int, code: str, detail: str = "no", **more: Any) -> httpx2.Response:
    """Return an error as a service writes it."""
    headers = {"content-type": "application/problem+json"} | more.pop("headers", {})
    body = {"type": f"https://docs/{code}", "title": code, "status": status, "detail": detail,
            "code": code, **more}  # fmt: skip
    return httpx2.Response(status, json=body, headers=headers)


class HandTime:
    """A clock that only sleeping moves, and the worst of luck: every wait is as long as it may."""

    def __init__(self, chance: float = 0.999) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.chance = chance

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def retry(self, awaited: bool = False) -> Retry:
        return Retry(
            clock=lambda: self.now,
            chance=lambda: self.chance,
            sleep=self.asleep if awaited else self.sleep,
        )


@dataclass
class Wire:
    """Answers requests with what ``handler`` returns, or raises; keeps them all."""

    handler: Callable[[httpx2.Request], httpx2.Response]
    time: HandTime = field(default_factory=HandTime)
    requests: list[httpx2.Request] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return self.handler(request)

    def client(self, **options: Any) -> Client:
        transport = httpx2.MockTransport(self)
        options = {"key": "bursar_k_s", "retry": self.time.retry()} | options
        return Client(URL, transport=transport, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        transport = httpx2.MockTransport(self)
        options = {"key": "bursar_k_s", "retry": self.time.retry(awaited=True)} | options
        return AsyncClient(URL, transport=transport, **options)

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(one.method, one.url.raw_path.decode()) for one in self.requests]

    def bodies(self, end: str = "") -> list[dict[str, Any]]:
        found = [one for one in self.requests if one.url.path.endswith(end)]
        return [json.loads(one.content) if one.content else {} for one in found]


def in_turn(*answers: httpx2.Response | Exception) -> Wire:
    """Return a wire with these answers, one after the other; the last is repeated."""
    rest = list(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        one = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(one, Exception):
            raise one
        return one

    return Wire(answer)


def ok(body: Any, status: int = 200, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json=body, headers=headers)
