"""How fast policies that forget are, beside ω-UCB: ``python benchmarks/forgetting.py``.

Games of `bursar.play`: every play a whole decision, no lazy loop. The best of three runs.
"""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import bursar

PLAYS = 200_000
SLUGS = (
    "omega-ucb:rho=0.25",
    "omega-star-ucb:rho=0.25",
    "sw-omega-ucb:rho=0.25,window=2000",
    "sw-omega-star-ucb:rho=0.25,window=2000",
    "d-omega-ucb:rho=0.25,gamma=0.9995",
    "d-omega-star-ucb:rho=0.25,gamma=0.9995",
    "uniform",
)


def main() -> None:
    """Measure and print a table in Markdown."""
    load = os.getloadavg()[0]
    print(
        f"{_processor()}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC,", end=""
    )
    print(f" load {load:.2f}\n\n| policy | ns a play, K = 10 | K = 100 |\n|---|---:|---:|")
    for slug in SLUGS:
        print(f"| `{slug}` | {_ns(slug, 10):,.0f} | {_ns(slug, 100):,.0f} |", flush=True)


def _ns(slug: str, arms: int) -> float:
    problem = bursar.Bernoulli.random(arms, 1, cost_low=0.01)
    bursar.play(slug, problem, 1e9, max_plays=2 * arms)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        bursar.play(slug, problem, 1e9, max_plays=PLAYS)
        taken.append(time.perf_counter() - start)
    return min(taken) / PLAYS * 1e9


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    named = (line.split(":")[1].strip() for line in lines if "model name" in line)
    return next(named, platform.processor() or "unknown processor")


if __name__ == "__main__":
    main()
