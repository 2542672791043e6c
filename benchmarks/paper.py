"""How long the whole paper takes: wall time, core time and plays a second, by policy and setting.

``python benchmarks/paper.py --data ads.csv`` plays two repetitions of everything and says what 100
would take; ``--full`` plays all of them. Part of ``make bench``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bursar.experiments import Experiment, ExperimentRun, load_experiment, run
from bursar.experiments.cells import Cell, CellResult, compute_cell
from bursar.experiments.runner import make_thread_engine, time_probe
from bursar.settings.facebook import find_file, find_kept_file
from bursar.simulation.simulate import warm_up

REFERENCE = Path(__file__).parent.parent / "src/bursar/experiments/reference.json"


def main() -> None:
    options = arguments()
    out = Console(width=120)
    data = options.data
    if data is not None or find_kept_file() is not None:
        data = str(find_file(data))
    repetitions = 100 if options.full else options.repetitions
    what = load_experiment("full", data, repetitions, all_policies=options.all_policies)
    warm_up(what.plan.policies)
    begun, used = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as place:
        outcome = run(what, Path(place), progress=_progress)
    wall, core = time.perf_counter() - begun, time.process_time() - used
    places = len(what.plan.settings)
    out.print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}")
    out.print(
        f"{places} settings, {len(what.plan.policies)} configurations, {repetitions} repetitions:"
        f" {wall:,.1f} s on the wall, {core:,.1f} core-seconds, {outcome.counts.plays:,} plays,"
        f" {outcome.counts.plays / wall / 1e6:,.1f} million plays a second"
    )
    if repetitions != 100:
        out.print(f"100 repetitions would take about {wall * 100 / repetitions:,.0f} s")
    if data is None:
        out.print("without FB-Br and FB-Bt, three quarters of the work: give --data")
    for key in ("policy", "setting"):
        out.print(_table(outcome, key))
    if options.engines:
        out.print(_engines())
    if options.reference:
        _write_reference(outcome, repetitions)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the Facebook ads, for FB-Br and FB-Bt")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="all 100 repetitions")
    parser.add_argument("--all-policies", action="store_true", help="those of the package, too")
    parser.add_argument("--engines", action="store_true", help="threads beside processes")
    parser.add_argument("--reference", action="store_true", help="keep the times for --dry-run")
    return parser.parse_args()


def _table(outcome: ExperimentRun, key: str) -> Table:
    plays: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for row in outcome.timings:
        name = str(row[key])
        plays[name] += int(row["plays"])
        seconds[name] += float(row["seconds"])
    table = Table(key, "plays", "core-seconds", "share", "ns a play", "million plays / s", box=None)
    whole = sum(seconds.values())
    for name in sorted(seconds, key=lambda n: -seconds[n]):
        count, spent = plays[name], seconds[name]
        pace = (f"{spent / count * 1e9:,.1f}", f"{count / spent / 1e6:,.1f}") if count else ("", "")
        table.add_row(name, f"{count:,}", f"{spent:,.2f}", f"{spent / whole:.1%}", *pace)
    return table


def _engines() -> Table:
    """Threads beside processes, which load machine code again and send their results back."""
    what = load_experiment("full", repetitions=6)
    table = Table("engine", "seconds", box=None)
    pool = ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))

    def processes(given: Experiment, cells: Iterable[Cell], stop: Any) -> Iterator[CellResult]:
        for future in as_completed([pool.submit(compute_cell, given, cell) for cell in cells]):
            yield future.result()

    threads = make_thread_engine()
    for name, engine in (("threads", threads), ("processes", processes), ("threads", threads),
                         ("processes, warm", processes)):  # fmt: skip
        with tempfile.TemporaryDirectory() as place:
            begun = time.perf_counter()
            run(what, Path(place), engine=engine)
            table.add_row(name, f"{time.perf_counter() - begun:.1f}")
    pool.shutdown()
    return table


def _write_reference(outcome: ExperimentRun, repetitions: int) -> None:
    seconds: dict[str, dict[str, float]] = defaultdict(dict)
    for row in outcome.timings:
        each = float(f"{float(row['seconds']) / repetitions:.3g}")
        seconds[str(row["setting"])][str(row["policy"])] = each
    content = {
        "what": "core-seconds per repetition; 'outcomes' is the drawing of outcomes",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "probe": float(f"{time_probe():.3g}"),
        "seconds": seconds,
    }
    REFERENCE.write_text(json.dumps(content, indent=1) + "\n")


def _progress(counts: Any, unit: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{counts.total - counts.left}/{counts.total} ", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
