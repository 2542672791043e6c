"""A load generator for the service: connections that ask and tell, one call after the other.

It shares the cores with what it measures, so it is as cheap as Python allows: HTTP by hand on bare
protocols of uvloop. It is bounded: each connection has one call under way, so a slow service gets
fewer calls, not a longer line. benchmarks/service.py runs it in a process of its own: a plan comes
in on stdin as JSON, what was seen goes out on stdout.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import uvloop


class Plan(msgspec.Struct):
    """What to do: how many connections, to whom, and for how long."""

    addresses: list[tuple[str, int]]
    token: str
    campaign: str
    outcomes: list[tuple[str, int, float]]  # cost as told, cost in units, reward
    connections: int = 64
    batch: int = 0  # decisions a call; 0: one by one
    warm_up: float = 1.0
    seconds: float = 5.0
    watched: dict[str, list[int]] = {}  # processes by what they are, with their children


class Id(msgspec.Struct):
    """What of an answer is read: the id of a decision."""

    id: str


class Granted(msgspec.Struct):
    """The answer to many asks."""

    decisions: list[Id]


class Result(msgspec.Struct):
    """What came of one outcome of many."""

    status: int


class Booked(msgspec.Struct):
    """The answer to many outcomes."""

    results: list[Result]


_ID = msgspec.json.Decoder(Id)
_GRANTED = msgspec.json.Decoder(Granted)
_BOOKED = msgspec.json.Decoder(Booked)
_LENGTH = b"content-length: "


class Run:
    """All connections together: what they send, and what they saw."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.begin = self.end = float("inf")
        self.calls: list[float] = []  # seconds, of those that ended while it was measured
        self.trips: list[tuple[float, float]] = []  # when they ended, and seconds
        self.asked = self.told = self.units = 0  # acknowledged, from the first to the last
        self.outcomes = cycle(plan.outcomes)
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = plan.connections

    def request(self, host: str, path: str, body: bytes) -> bytes:
        """Return a call as bytes; headers as clients send them."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nUser-Agent: bursar-bench\r\n"
            f"Authorization: Bearer {self.plan.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def closed(self) -> None:
        """Note that a connection did its part."""
        self._left -= 1
        if not self._left and not self.finished.done():
            self.finished.set_result(None)

    def fail(self, why: str) -> None:
        """End it all: a rate with errors in it is worth nothing."""
        if not self.finished.done():
            self.finished.set_exception(SystemExit(f"the load generator stopped: {why}"))


class Caller(asyncio.Protocol):
    """One connection: it asks, tells what came of it, and asks again."""

    def __init__(self, run: Run, address: tuple[str, int]) -> None:
        self._run, plan = run, run.plan
        host = f"{address[0]}:{address[1]}"
        body = b'{"n":%d}' % plan.batch if plan.batch else b"{}"
        self._ask = run.request(host, f"/v1/campaigns/{plan.campaign}/decisions", body)
        # an outcome with its id left out, cut in two there
        self._tells = {
            (cost, reward): run.request(
                host, "/v1/decisions/\0/outcome", f'{{"cost":"{cost}","reward":{reward}}}'.encode()
            ).split(b"\0")
            for cost, _, reward in plan.outcomes
        }
        self._host = host
        self._kept = b""
        self._asking = True
        self._done = False
        self._units = 0
        self._sent = self._began = 0.0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._began = self._sent = time.perf_counter()
        self._transport.write(self._ask)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done:
            self._run.fail(f"the service closed a connection ({error})")
        self._run.closed()

    def data_received(self, data: bytes) -> None:
        if self._kept:
            data = self._kept + data
        end = data.find(b"\r\n\r\n") + 4
        start = data.find(_LENGTH, 0, end) + len(_LENGTH)
        if end < 4 or len(data) - end < int(data[start : data.find(b"\r", start)]):
            self._kept = data
            return
        self._kept = b""
        run, now = self._run, time.perf_counter()
        if data[9:11] != b"20":
            run.fail(f"the service answered {data.decode('utf-8', 'replace')}")
            return
        measured = run.begin <= self._sent and now <= run.end
        if measured:
            run.calls.append(now - self._sent)
        if self._asking:
            request = self._outcome_for(data[end:])
            self._sent = now
        else:
            self._acknowledged(data[end:])
            if measured and run.begin <= self._began:
                run.trips.append((now, now - self._began))
            if now >= run.end:
                self._done = True
                self._transport.close()
                return
            request = self._ask
            self._began = self._sent = now
        self._asking = not self._asking
        self._transport.write(request)

    def _outcome_for(self, body: bytes) -> bytes:
        run = self._run
        if not run.plan.batch:
            cost, self._units, reward = next(run.outcomes)
            run.asked += 1
            head, tail = self._tells[cost, reward]
            return head + _ID.decode(body).id.encode() + tail
        found = _GRANTED.decode(body).decisions
        run.asked += len(found)
        told = []
        self._units = 0
        for one, (cost, units, reward) in zip(found, run.outcomes, strict=False):
            self._units += units
            told.append(f'{{"decision":"{one.id}","cost":"{cost}","reward":{reward}}}')
        return run.request(
            self._host, "/v1/outcomes:batch", f'{{"outcomes":[{",".join(told)}]}}'.encode()
        )

    def _acknowledged(self, body: bytes) -> None:
        run = self._run
        run.units += self._units
        if not run.plan.batch:
            run.told += 1
            return
        results = _BOOKED.decode(body).results
        run.told += len(results)
        if any(one.status != 200 for one in results):
            run.fail(f"the service did not book all: {body.decode()}")


async def load(plan: Plan) -> dict[str, Any]:
    """Do what the plan says; return what was seen."""
    loop, run = asyncio.get_running_loop(), Run(plan)
    gc.collect()
    gc.disable()  # a pause here would look like one of the service
    for number in range(plan.connections):
        address = plan.addresses[number % len(plan.addresses)]
        await loop.create_connection(lambda address=address: Caller(run, address), *address)
    await asyncio.sleep(plan.warm_up)
    before, run.begin = cpu(plan.watched), time.perf_counter()
    await asyncio.sleep(plan.seconds)
    run.end, after = time.perf_counter(), cpu(plan.watched)
    await asyncio.wait_for(run.finished, 60)
    seconds, size = run.end - run.begin, plan.batch or 1
    cores = {name: (after[name] - before[name]) / seconds for name in after}
    each = [0.0] * max(round(seconds), 1)  # slices of about a second
    for when, _ in run.trips:
        place = int((when - run.begin) / seconds * len(each))
        each[min(place, len(each) - 1)] += size * len(each) / seconds
    return {
        "asked": run.asked, "told": run.told, "units": run.units,
        "rate": len(run.trips) * size / seconds, "each_second": each,
        "calls": shares(run.calls), "trips": shares([taken for _, taken in run.trips]),
        "cores": cores,
    }  # fmt: skip


def shares(taken: list[float]) -> dict[str, float]:
    """Return what half, and 99 %, of times are within, in ms."""
    ranked = sorted(taken) or [float("nan")]
    return {
        "p50": ranked[len(ranked) // 2] * 1e3,
        "p99": ranked[min(int(len(ranked) * 0.99), len(ranked) - 1)] * 1e3,
    }


def cpu(watched: dict[str, list[int]]) -> dict[str, float]:
    """Return the CPU seconds of processes with all below them, of this one, and what is idle."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return {}
    tick = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, wait, irq, soft, steal = map(int, stat.read_text().split()[1:9])
    below, used = _processes()
    found = {
        "load": sum(os.times()[:2]),
        "free": (idle + wait) / tick,
        "all": (user + nice + system + irq + soft) / tick,
        "stolen": steal / tick,
    }
    for name, pids in watched.items():
        family = list(pids)
        for pid in family:
            family += below.get(pid, [])
        found[name] = sum(used.get(pid, 0) for pid in family) / tick
    return found


def _processes() -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the children of processes, and the ticks that each has used."""
    below: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        below.setdefault(int(fields[1]), []).append(int(folder.name))
        used[int(folder.name)] = int(fields[11]) + int(fields[12])
    return below, used


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
        print(json.dumps(runner.run(load(plan))))
