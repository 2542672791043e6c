"""How fast the service is: ask and tell over HTTP, durable, against targets.

A real ``bursar serve`` and the load generator of benchmarks/load.py share the cores of one machine.
A rate is printed only if the ledger then has every outcome that was acknowledged, once. A durable
commit waits for the disk, so the time of an fsync is printed beside, and how many cores were free.
Run it on a quiet machine: ``python benchmarks/service.py``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign import ARMS, BUDGET, OUTCOMES, database, file_in, fsync_ms, lacking
from engine import Row, Target, machine, show
from rich.console import Console

from bursar.campaign import Campaign

NAME = "bench"
START = 60  # seconds that a service may take to start
END = 60
GENERATOR = Path(__file__).parent / "load.py"
ADDRESS = re.compile(r"http://([\d.]+):(\d+)")


def durable(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell from 64 connections, committed to SQLite with an fsync."""
    what = "SQLite, durable, 64 connections"
    seen = on_sqlite(options, connections=64)
    rate, calls = Target(2000, unit="/s", at_least=True), Target(30, unit="ms")
    yield rate.row(f"{what}: ask + tell round trips", seen["rate"], bounds(seen))
    yield calls.row(f"{what}: 99 % of calls within", seen["calls"]["p99"], waits(seen))


def alone(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell from one connection, which waits for every commit by itself."""
    what = "SQLite, durable, 1 connection"
    seen = on_sqlite(options, connections=1)
    note = f"{seen['rate']:,.0f} round trips/s; {waits(seen)}; {bounds(seen)}"
    row = Target(math.inf, unit="ms").row(f"{what}: half of calls", seen["calls"]["p50"], note)
    yield (*row[:-1], "for comparison")


def batches(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell in batches of 32 from eight connections, committed to SQLite."""
    what = "SQLite, durable, batches of 32, 8 connections"
    seen = on_sqlite(options, connections=8, batch=32)
    target = Target(10_000, unit="/s", at_least=True)
    note = f"{waits(seen)}; {bounds(seen)}"
    yield target.row(f"{what}: decisions asked and told", seen["rate"], note)


def postgres(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell from 64 connections to two processes, committed to PostgreSQL."""
    rate, calls = Target(1200, unit="/s", at_least=True), Target(60, unit="ms")
    what = "PostgreSQL, two processes, 64 connections"
    if missing := lacking():
        yield rate.row(what, math.nan, f"not run: no {missing[0]} here")
        return
    with database(options.folder) as server:
        seen = measured(options, server.get_uri(), 2, {"postgres": [server.get_pid()]})
    yield rate.row(f"{what}: ask + tell round trips", seen["rate"], bounds(seen))
    yield calls.row(f"{what}: 99 % of calls within", seen["calls"]["p99"], waits(seen))


MEASURES = (durable, alone, batches, postgres)


def on_sqlite(options: argparse.Namespace, **plan: int) -> dict[str, Any]:
    return measured(options, f"sqlite:///{file_in(options.folder)}", 1, {}, **plan)


def measured(
    options: argparse.Namespace,
    url: str,
    processes: int,
    watched: dict[str, list[int]],
    **plan: int,
) -> dict[str, Any]:
    """Return what the load generator saw of a service, once the ledger agrees with it."""
    before = fsync_ms(options.folder)
    with serving(url, processes) as services:
        token = next(one.token for one in services if one.token)
        create(services[0], token)
        words = {
            "addresses": [(one.host, one.port) for one in services], "token": token,
            "campaign": NAME, "seconds": options.seconds, "warm_up": 1.0,
            "outcomes": [(cost, round(float(cost) * 1e6), reward) for cost, reward in OUTCOMES],
            "watched": {**watched, "server": [one.process.pid for one in services]}, **plan,
        }  # fmt: skip
        line, text = [sys.executable, str(GENERATOR)], json.dumps(words)
        time_out = options.seconds + 120
        done = subprocess.run(line, input=text, stdout=subprocess.PIPE, text=True, timeout=time_out)
        if done.returncode:
            raise SystemExit("the load generator failed: there is no rate")
    seen: dict[str, Any] = json.loads(done.stdout)
    check(url, seen)
    seen["fsync"] = before, fsync_ms(options.folder)
    return seen


@dataclass(frozen=True)
class Running:
    """A service in a process of its own; only the first one of a store has a token."""

    process: subprocess.Popen[str]
    host: str
    port: int
    token: str


@contextmanager
def serving(url: str, count: int) -> Iterator[list[Running]]:
    """Start services on a store, one after the other; stop them as an operator would."""
    line = [sys.executable, "-m", "bursar", "serve", "--port", "0", "--log-level", "warning"]
    line += ["--storage", url]
    processes: list[subprocess.Popen[str]] = []
    try:
        services = []
        for _ in range(count):
            process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
            processes.append(process)
            services.append(started(process, first=not services))
        yield services
    except BaseException:
        for process in processes:
            process.kill()
        raise
    finally:
        for process in processes:
            process.terminate()
        codes = [process.wait(END) for process in processes]
    if any(codes):
        raise SystemExit(f"a service ended with {codes}; there is no rate")


def started(process: subprocess.Popen[str], first: bool) -> Running:
    """Wait until a service says where it is, and read its first key if it makes one."""
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")  # it has ended

    threading.Thread(target=listen, daemon=True).start()
    address, token, until = None, "", time.monotonic() + START
    while address is None or (first and not token):
        line = lines.get(timeout=max(until - time.monotonic(), 0.001))
        if not line:
            raise SystemExit("the service did not start")
        address = address or ADDRESS.search(line)
        token = line.strip() if line.startswith("bursar_") else token
    return Running(process, address[1], int(address[2]), token)


def create(service: Running, token: str) -> None:
    arms = [{"key": key, "max_cost": most} for key, most in ARMS.items()]
    body = json.dumps({"name": NAME, "budget": BUDGET, "arms": arms}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    address = f"http://{service.host}:{service.port}/v1/campaigns"
    urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=30).close()


def check(url: str, seen: dict[str, Any]) -> None:
    """Hold what callers were told against the log; a rate that lost something is none."""
    campaign = Campaign(NAME, storage=url)
    campaign.verify()  # every hash, and every choice
    kinds = Counter(event.kind for event in campaign.events())
    spent = campaign.coin.units("spent", campaign.spent)
    wrong = []
    for what, there, told in (
        ("decisions", kinds["asked"], seen["asked"]),
        ("outcomes", kinds["told"], seen["told"]),
        ("units spent", spent, seen["units"]),
    ):
        if there != told:
            wrong.append(f"the log has {there:,} {what}, callers know of {told:,}")
    if campaign.spent + campaign.held > campaign.budget:
        wrong.append(f"spent {campaign.spent} + held {campaign.held} > budget {campaign.budget}")
    campaign.close()
    if wrong:
        raise SystemExit(f"no rate, since the money is wrong: {'; '.join(wrong)}")


def waits(seen: dict[str, Any]) -> str:
    """Say how long calls and round trips took."""
    calls, trips = seen["calls"], seen["trips"]
    note = f"calls: half within {calls['p50']:.1f} ms, 99 % within {calls['p99']:.1f}"
    return f"{note}; round trips: {trips['p50']:.1f}, {trips['p99']:.1f}"


def bounds(seen: dict[str, Any]) -> str:
    """Say what may have bounded a rate: the disk, or cores, and who used them."""
    before, after = seen["fsync"]
    note = f"{min(seen['each_second']):,.0f} to {max(seen['each_second']):,.0f} in a second"
    note += f"; fsync {before:.2f} ms before, {after:.2f} after"
    cores = dict(seen["cores"])
    if not cores:
        return note
    free, stolen, everything = (cores.pop(name) for name in ("free", "stolen", "all"))
    cores["elsewhere"] = max(everything - sum(cores.values()), 0.0)
    if stolen > 0.05:
        cores["stolen by the host"] = stolen
    used = ", ".join(f"{name} {share:.2f}" for name, share in cores.items() if share >= 0.005)
    return f"{note}; of {os.cpu_count()} cores free {free:.2f}, {used}"


def main() -> None:
    """Measure, print, and write Markdown if asked to."""
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.folder = Path(folder)
        about = f"{machine()}\nfsync of 4 KiB in {options.folder.parent}: "
        about += f"median {fsync_ms(options.folder, 200):.2f} ms"
        out = Console(width=200)
        out.print(about, "\n", highlight=False)
        rows: list[Row] = []
        for measure in MEASURES:
            if options.only and measure.__name__ not in options.only:
                continue
            print(f"measuring: {measure.__doc__}", file=sys.stderr, flush=True)
            rows += [(*row[:2], *row[3:]) for row in measure(options)]  # there are no aims
    text = show(out, ("what", "must", "measured", "verdict"), rows)
    if options.markdown:
        options.markdown.write_text(f"{about}\n\n{text}".replace("\n", "  \n", 2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=5.0, help="that each rate is measured for")
    add("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to measure")
    add("--only", nargs="*", choices=[m.__name__ for m in MEASURES], help="of the measures")
    add("--markdown", type=Path, help="write the table to this file too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
