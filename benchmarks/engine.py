"""How fast games are: the engine against its targets, and one decision beside other libraries.

All numbers of one run of this script; ratios travel between machines better than nanoseconds.
Run it with ``make bench``; ``make bench ARGS="--full --large --data ads.csv"`` for everything.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numba
import numpy as np
from peers import ARMS, microseconds
from rich.console import Console
from rich.table import Table

import bursar
from bursar.engine.game import run
from bursar.engine.kernels import columns_for
from bursar.engine.tape import Tape
from bursar.errors import MissingData
from bursar.plan import BUDGET_PLAYS, SHARES
from bursar.settings.store import find

OMEGA = "omega-ucb:rho=0.25"
RHO = ("1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2")
OTHERS = ("ucb-b2", "b-greedy", "budget-ucb", "ucb-sc-plus", "m-ucb", "c-ucb", "i-ucb", "bts")
PAPER = [f"{name}:rho={rho}" for name in ("omega-ucb", "omega-star-ucb") for rho in RHO]
PAPER += OTHERS
SIZES = 10, 50, 100
SYNTHETIC = [f"{kind}-{arms}" for kind in ("S-Br", "S-GBr", "S-Bt") for arms in SIZES]
BUDGETS = {100: 80_000.0, 100_000: 250_000.0, 1_000_000: 2_500_000.0}  # for long horizons
PEERS = Path(__file__).parent.parent / ".venv-peers/bin/python"
HEADER = ("what", "must", "aim", "measured", "verdict")

Row = tuple[str, str, str, str, str]
Measure = Callable[[argparse.Namespace], Iterator[Row]]


@dataclass(frozen=True)
class Target:
    """What a number must reach and aims at: at most that, or at least if it is a speed-up."""

    must: float
    aim: float = math.nan
    unit: str = "x"
    at_least: bool = False

    def row(self, what: str, value: float, note: str = "") -> Row:
        sign = 1.0 if self.at_least else -1.0
        met = "met" if math.isnan(self.aim) else "must met"
        verdict = "MISSED" if sign * value < sign * self.must else met
        if sign * value >= sign * self.aim:
            verdict = "aim met"
        measured = f"{self._text(value)} ({note})" if note else self._text(value)
        return what, self._text(self.must), self._text(self.aim), measured, verdict

    def skipped(self, what: str, why: str) -> Row:
        return what, self._text(self.must), self._text(self.aim), why, "not run"

    def _text(self, value: float) -> str:
        if math.isnan(value):
            return "-"
        digits = 0 if value == int(value) or value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f}{'' if self.unit == 'x' else ' '}{self.unit}"


def paper(options: argparse.Namespace) -> Iterator[Row]:
    """The whole paper: all settings, 24 configurations, 100 repetitions."""
    settings, missing = list(SYNTHETIC), " without FB-Br and FB-Bt: no ads, give --data"
    try:
        options.data = find(options.data)
        settings, missing = [*settings, "FB-Br", "FB-Bt"], ""
    except MissingData:
        if options.data is not None:
            raise
    repetitions = 100 if options.full else options.repetitions
    bursar.simulate(PAPER, "S-Br-10", 1, budget_plays=100)  # compiles
    taken = _seconds(
        lambda: bursar.simulate(PAPER, settings, repetitions, data=options.data, progress=_progress)
    )
    note = f"{len(settings)} settings{missing}; "
    note += "all run" if options.full else f"extrapolated from {repetitions} repetitions"
    what = f"whole paper, 100 repetitions, {len(PAPER)} configurations, {os.cpu_count()} cores"
    yield Target(600, 180, "s").row(what, taken * 100 / repetitions, note)


def against_twin(options: argparse.Namespace) -> Iterator[Row]:
    """ω-UCB on S-Br against plain Python."""
    for arms, target in ((10, Target(2e3, 2e4, "x", True)), (100, Target(1e4, 1e5, "x", True))):
        ours, tapes = _loop_ns(OMEGA, arms, repeats=5)
        plain = sum(_twin_ns(tape, 3000) for tape in tapes) / len(tapes)
        note = f"{ours:.1f} ns against {plain / 1000:,.1f} µs a play"
        yield target.row(f"ω-UCB, K = {arms}, against a plain-Python twin", plain / ours, note)


def lazy_against_plain(options: argparse.Namespace) -> Iterator[Row]:
    """Our loops against our own compiled look at all arms."""
    for slug, name, target in (
        (OMEGA, "ω-UCB", Target(10, 100, "x", True)),
        ("bts", "BTS", Target(3, 10, "x", True)),
    ):
        ours, tapes = _loop_ns(slug, 100, repeats=3)
        plain, _ = _loop_ns(slug, 100, "plain", tapes=tapes)
        note = f"{ours:.1f} against {plain:,.0f} ns a play"
        yield target.row(f"{name}, K = 100, against its plain compiled form", plain / ours, note)


def many_arms(options: argparse.Namespace) -> Iterator[Row]:
    """What a play costs with 100,000 arms over one with 100."""
    few, many = _horizon(100), _horizon(100_000)
    plays = f"{few['plays']:.1e} and {many['plays']:.1e} plays"
    for kind, words in (("again", "tapes drawn"), ("first", "tapes drawn on the way")):
        ns = [game[kind] / game["plays"] * 1e9 for game in (few, many)]
        yield Target(15, 5).row(
            f"a play at K = 100,000 over one at K = 100, {words}",
            ns[1] / ns[0],
            f"{ns[1]:,.1f} over {ns[0]:,.1f} ns; {plays}",
        )


def million_arms(options: argparse.Namespace) -> Iterator[Row]:
    """A million arms in a process of their own, to see its memory."""
    what = "K = 1,000,000, ω-UCB: "
    memory, seconds = Target(2, unit="GB"), Target(math.inf, 10, "s")
    if not options.large:
        yield memory.skipped(what + "memory", "not run (use --large)")
        return
    command = [sys.executable, __file__, "--child"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    except subprocess.SubprocessError as error:
        yield memory.row(what + "memory", math.inf, str(error)[:80])
        return
    game = json.loads(done.stdout)
    yield memory.row(what + "memory", game["bytes"] / 1e9, f"{game['plays']:.1e} plays")
    note = f"{game['again']:.1f} s with tapes drawn"
    yield seconds.row(what + "seconds with drawing tapes", game["first"], note)


def threads(options: argparse.Namespace) -> Iterator[Row]:
    """Two threads against one."""
    policies = [OMEGA, "omega-star-ucb:rho=0.25", "ucb-b2", "budget-ucb", "bts"]
    one, two = (
        min(
            _seconds(lambda j=jobs: bursar.simulate(policies, "S-Br-50", 40, jobs=j))
            for _ in range(2)
        )
        for jobs in (1, 2)
    )
    yield Target(1.7, 1.9, "x", True).row(
        "two threads against one", one / two, f"{one:.1f} s against {two:.1f} s"
    )


def one_decision(options: argparse.Namespace) -> Iterator[Row]:
    """Choose and record from Python."""
    yield Target(10, 2, "µs").row("choose + record from Python, K = 100", _decision_us(OMEGA, 100))


def start(options: argparse.Namespace) -> Iterator[Row]:
    """The first command after installation, and the second."""
    command = [sys.executable, "-m", "bursar", "simulate", "S-Br-10", "--repetitions", "1"]
    command += ["--policy", "omega-star-ucb:rho=0.25"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for words, must in (("cold start of bursar simulate", 10), ("its second start", 2)):
            taken = _seconds(
                lambda: subprocess.run(command, env=environment, capture_output=True, check=True)
            )
            yield Target(must, unit="s").row(words, taken)


MEASURES: tuple[Measure, ...] = (
    paper, against_twin, lazy_against_plain, many_arms, million_arms, threads, one_decision, start,
)  # fmt: skip


class TwinArm:
    """An arm as an object that computes its own index, by the textbook form of Wilson's bounds."""

    def __init__(self) -> None:
        self.plays, self.reward, self.cost, self.index = 0, 0.0, 0.0, math.inf

    def update(self, z2: float) -> None:
        floor = self._bound(self.cost / self.plays, z2, -1.0) if self.cost > 0.0 else 0.0
        ceiling = self._bound(self.reward / self.plays, z2, 1.0)
        self.index = ceiling / floor if floor > 0.0 else math.inf

    def _bound(self, mean: float, z2: float, side: float) -> float:
        n = self.plays
        half = math.sqrt(z2 * (mean * (1.0 - mean) / n + z2 / (4.0 * n * n)))
        return (mean + z2 / (2.0 * n) + side * half) / (1.0 + z2 / n)


def _twin_ns(tape: Tape, plays: int) -> float:
    """Play a tape with objects, all of them updated at each play; check that it plays as we do."""
    problem = tape.problem
    chosen = run(
        bursar.policy(f"{OMEGA},ties=first"), tape, BUDGET_PLAYS * problem.min_cost, np.ones(1),
        (0,), record=True,
    ).choices  # fmt: skip
    rows = [tape.rows[s : s + n, :2] for s, n in zip(tape.start, tape.length, strict=True)]
    outcomes = [np.diff(row, axis=0).tolist() for row in rows]
    arms = [TwinArm() for _ in rows]
    choices: list[int] = []

    def game() -> None:
        for t in range(plays):
            if t >= len(arms):
                z2 = 2.0 * 0.25 * math.log(t + 1.0)
                for arm in arms:
                    arm.update(z2)
            k = t if t < len(arms) else max(range(len(arms)), key=lambda a: arms[a].index)
            arm, (reward, cost) = arms[k], outcomes[k][arms[k].plays]
            arm.plays, arm.reward, arm.cost = arm.plays + 1, arm.reward + reward, arm.cost + cost
            choices.append(k)

    taken = _seconds(game)
    if choices != chosen[:plays].tolist():
        print(f"the twin plays otherwise on {problem.name}", file=sys.stderr)
    return taken / plays * 1e9


def _loop_ns(
    slug: str, arms: int, loop: str = "auto", repeats: int = 1, tapes: Sequence[Tape] = ()
) -> tuple[float, Sequence[Tape]]:
    """Return ns a play of whole games on five problems of S-Br; tapes are drawn before."""
    policy = bursar.policy(slug)
    if not tapes:
        problems = [bursar.setting(f"S-Br-{arms}").problems(i)[0] for i in range(5)]
        tapes = [Tape(p, (0, i, 0), columns_for([policy])) for i, p in enumerate(problems)]
        for tape in tapes:
            _game(policy, tape, BUDGET_PLAYS * tape.problem.min_cost)
    _compile(policy, loop)
    best = [
        min(_game(policy, t, BUDGET_PLAYS * t.problem.min_cost, loop) for _ in range(repeats))
        for t in tapes
    ]
    return sum(taken for taken, _ in best) / sum(plays for _, plays in best) * 1e9, tapes


def _horizon(arms: int) -> dict[str, float]:
    """Play long on uniform means: seconds with the drawing of the tape, and on the drawn tape."""
    policy = bursar.policy(OMEGA)
    _compile(policy, "auto")
    problem = bursar.Bernoulli.random(arms, 1, cost_low=0.01)
    begin = time.perf_counter()
    tape = Tape(problem, (0, 0, 0), columns_for([policy]))
    _, plays = _game(policy, tape, BUDGETS[arms])
    first = time.perf_counter() - begin
    return {"plays": plays, "first": first, "again": _game(policy, tape, BUDGETS[arms])[0]}


def _game(
    policy: bursar.Policy, tape: Tape, budget: float, loop: str = "auto"
) -> tuple[float, int]:
    begin = time.perf_counter()
    game = run(policy, tape, budget, np.array(SHARES), (0,), loop=loop)
    return time.perf_counter() - begin, int(game.plays[-1])


def _compile(policy: bursar.Policy, loop: str) -> None:
    coins = Tape(bursar.Bernoulli([0.5, 0.4], [0.5, 0.6]), (0,), columns_for([policy]))
    run(policy, coins, 5.0, np.ones(1), (0,), loop=loop)


def _decision_us(slug: str, arms: int) -> float:
    learner = bursar.policy(slug).learner(arms, budget=1e9, min_cost=0.01)
    return microseconds(lambda r, c: learner.record(learner.choose(), r, c), arms + 10)


def beside_peers() -> tuple[list[tuple[str, ...]], str]:
    """One decision of bursar, then of the other libraries if their environment is there."""
    rows = [
        (f"bursar {bursar.__version__}", slug, *(f"{_decision_us(slug, k):,.1f}" for k in ARMS))
        for slug in (OMEGA, "bts")
    ]
    if not PEERS.exists():
        return rows, f"MABWiser, River and SMPyBandits not measured: no {PEERS}; run make bench"
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run([PEERS, script], stdout=subprocess.PIPE, text=True, check=True)
    for peer, result in json.loads(done.stdout).items():
        if "error" in result:
            rows.append((peer, f"did not run: {result['error']}", *("-" for _ in ARMS)))
        for policy, taken in result.get("us", {}).items():
            cells = (f"{taken[str(k)]:,.1f}" for k in ARMS)
            rows.append((f"{peer} {result['version']}", policy, *cells))
    return rows, "Rewards only, no costs or budget: the peers know none."


def machine() -> str:
    """Say what was measured on what, and when."""
    info = Path("/proc/cpuinfo")
    models = [line for line in info.open() if "model name" in line] if info.exists() else []
    model = models[0].split(":")[1].strip() if models else platform.processor() or "unknown"
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=PEERS.parents[2], capture_output=True,
        text=True, check=False,
    ).stdout.strip()  # fmt: skip
    load = ", ".join(f"{x:.2f}" for x in os.getloadavg())
    return (
        f"bursar {bursar.__version__} ({commit or 'no commit'}), Python"
        f" {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}\n"
        f"{model}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC,"
        f" load average {load}"
    )


def show(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Print a table, and return it as Markdown."""
    table = Table(*header, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*row)
    out.print(table, highlight=False)
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, print, and write Markdown if asked to."""
    options = _options()
    if options.child:
        peak = _horizon(1_000_000)
        peak["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(peak))
        return
    out, about = Console(width=160), machine()
    out.print(about, "\n", highlight=False)
    rows: list[Row] = []
    for measure in MEASURES:
        print(f"measuring: {measure.__doc__}", file=sys.stderr, flush=True)
        rows += measure(options)
        gc.collect()
    text = show(out, HEADER, rows)
    peers, note = beside_peers()
    header = ("one decision, µs", "policy", *(f"K = {arms:,}" for arms in ARMS))
    out.print()
    text += f"\n{show(out, header, peers)}\n{note}\n"
    out.print(note, highlight=False)
    if options.markdown:
        options.markdown.write_text(f"{about}\n\n{text}".replace("\n", "  \n", 1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2, help="of the paper, to extrapolate")
    parser.add_argument("--full", action="store_true", help="run all 100 repetitions")
    parser.add_argument("--large", action="store_true", help="play a million arms too")
    parser.add_argument("--data", type=Path, help="the Facebook ads, if bursar data has none")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file too")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _progress(done: int, total: int) -> None:
    print(f"\r{done} of {total} ", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
