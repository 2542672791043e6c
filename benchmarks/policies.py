"""How fast a decision is: every policy, compiled, beside the same functions run as plain Python.

All numbers of one run of this script; ratios travel between machines better than nanoseconds.
Run it with ``make bench``.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime

import numba
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bursar
from bursar.jit.compile import interpreted
from bursar.policies import kernels

PLAYS = {10: 200_000, 100: 30_000}


def main() -> None:
    """Measure and print."""
    out = Console(width=120)
    processor = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line),
        platform.processor() or "unknown processor",
    )
    out.print(
        f"bursar {bursar.__version__}, Python {platform.python_version()}, numpy {np.__version__},"
        f" numba {numba.__version__}\n{processor}, {os.cpu_count()} cores,"
        f" {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n"
        f"import bursar: {_import_seconds():.2f} s (second start)\n",
        highlight=False,
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("policy")
    for column in (
        "ns a play, K=10", "K=100", "compiled / Python, K=10", "choose + record from Python, µs",
        "first call, s",
    ):  # fmt: skip
        table.add_column(column, justify="right")
    for name in track(list(bursar.POLICIES), "measuring", console=Console(stderr=True)):
        policy = bursar.policy(name)
        first = _seconds(lambda p=policy: _play(p, 10, 20))
        ten, hundred = (_play_ns(policy, arms) for arms in (10, 100))
        table.add_row(
            name,
            f"{ten:,.0f}",
            f"{hundred:,.0f}",
            f"{_python_ns(policy) / ten:,.0f}x",
            f"{_decision_us(policy, 100):.1f}",
            f"{first:.2f}",
        )
    out.print(table)


def _play(policy: bursar.Policy, arms: int, plays: int) -> None:
    bursar.play(
        policy, bursar.Bernoulli.random(arms, 1, cost_low=0.01), budget=1e9, max_plays=plays
    )


def _play_ns(policy: bursar.Policy, arms: int) -> float:
    plays = PLAYS[arms] // (20 if policy.name in ("bts", "kl-ucb-sc-plus") else 1)
    _play(policy, arms, 2 * arms)
    return min(_seconds(lambda: _play(policy, arms, plays)) for _ in range(3)) / plays * 1e9


def _python_ns(policy: bursar.Policy, plays: int = 60) -> float:
    """A play of the same functions, uncompiled."""
    learner = policy.learner(10, budget=1e9, min_cost=0.01)
    for k in range(10):
        learner.record(k, 1.0, 1.0)
    choose = interpreted(kernels.of(type(policy), "decide"))
    learn = interpreted(kernels.of(type(policy), "learn"))
    arms, game = (a.view(np.recarray) for a in (learner.arms, learner.game))
    p = learner.kernel_params

    def games() -> None:
        for _ in range(plays):
            k = choose(p, arms, game, learner.memory, learner.stream)
            learn(p, arms, game, learner.memory, k, 1.0, 1.0, learner.stream)

    with np.errstate(all="ignore"):
        games()  # what stays compiled (random numbers) compiles now
        return _seconds(games) / plays * 1e9


def _decision_us(policy: bursar.Policy, arms: int, decisions: int = 3000) -> float:
    learner = policy.learner(arms, budget=1e9, min_cost=0.01)
    for k in range(arms):
        learner.record(k, 1.0, 1.0)

    def decide() -> None:
        for _ in range(decisions):
            learner.record(learner.choose(), 1.0, 1.0)

    return _seconds(decide) / decisions * 1e6


def _import_seconds() -> float:
    command = [sys.executable, "-c", "import bursar"]
    return min(_seconds(lambda: subprocess.run(command, check=True)) for _ in range(3))


def _seconds(function: object) -> float:
    start = time.perf_counter()
    function()  # type: ignore[operator]
    return time.perf_counter() - start


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:  # noqa: PTH123  (not a file of ours)
            return file.readlines()
    except OSError:
        return []


if __name__ == "__main__":
    main()
