"""How fast games are: the engine against its targets, and one decision beside other libraries.

All numbers of one run of this script; ratios travel between machines better than nanoseconds.
Run it with ``make bench``; ``make bench ARGS="--full --large --data ads.csv"`` for everything.
"""

from __future__ import annotations

import argparse
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
from peers import ARMS, microseconds, others, table, twin_of_omega
from rich.console import Console
from rich.table import Table

import bursar
from bursar.errors import MissingData
from bursar.settings.facebook import find_file
from bursar.simulation import BUDGET_PLAYS
from bursar.simulation.game import columns_for, run
from bursar.simulation.result import SHARES
from bursar.simulation.tape import Tape

OMEGA = "omega-ucb:rho=0.25"
PAPER = [f"{p}:rho={2.0**i}" for p in ("omega-ucb", "omega-star-ucb") for i in range(-6, 2)]
PAPER += ["ucb-b2", "b-greedy", "budget-ucb", "ucb-sc-plus", "m-ucb", "c-ucb", "i-ucb", "bts"]
SYNTHETIC = [f"{kind}-{arms}" for kind in ("S-Br", "S-GBr", "S-Bt") for arms in (10, 50, 100)]
BUDGETS = {100: 80_000.0, 100_000: 135_000.0, 1_000_000: 1_350_000.0}  # long: 3e6, 3e6, 3e7 plays
PEERS = Path(__file__).parent.parent / ".venv-peers/bin/python"

Row = tuple[str, ...]
Taken = tuple[float, int]  # seconds and plays


@dataclass(frozen=True)
class Target:
    """What a number must reach and aims at: at most that, or at least if it is a speed-up."""

    must: float
    aim: float = math.nan
    unit: str = "x"
    at_least: bool = False

    def row(self, what: str, value: float, note: str = "") -> Row:
        sign = 1.0 if self.at_least else -1.0
        aim, must = (sign * value >= sign * goal for goal in (self.aim, self.must))
        below = "must met" if math.isfinite(self.must) else "aim missed"
        verdict = "aim met" if aim else below if must else "MISSED"
        measured = self._text(value) + (f" ({note})" if note else "")
        if math.isnan(value):
            measured, verdict = note, "not run"
        return what, self._text(self.must), self._text(self.aim), measured, verdict

    def _text(self, value: float) -> str:
        if not math.isfinite(value):
            return "-"
        digits = 0 if value == int(value) or value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{digits}f}{'' if self.unit == 'x' else ' '}{self.unit}"


def paper(options: argparse.Namespace) -> Iterator[Row]:
    """The whole paper: all settings, 24 configurations, 100 repetitions."""
    settings, places = SYNTHETIC, "9 settings without FB-Br and FB-Bt: no ads, give --data"
    try:
        options.data = find_file(options.data)
        settings, places = [*SYNTHETIC, "FB-Br", "FB-Bt"], "11 settings"
    except MissingData:
        if options.data is not None:
            raise
    repetitions = 100 if options.full else options.repetitions
    bursar.simulate(PAPER, "S-Br-10", 1, budget_plays=100)  # compiles
    more = {"data": options.data, "progress": _progress}
    taken = _seconds(lambda: bursar.simulate(PAPER, settings, repetitions, **more))
    how = "all run" if options.full else f"extrapolated from {repetitions} repetitions"
    what = f"whole paper, 100 repetitions, {len(PAPER)} configurations, {os.cpu_count()} cores"
    yield Target(600, 180, "s").row(what, taken * 100 / repetitions, f"{places}; {how}")


def against_twin(options: argparse.Namespace) -> Iterator[Row]:
    """ω-UCB on S-Br against plain Python."""
    for arms, target in ((10, Target(2e3, 2e4, "x", True)), (100, Target(1e4, 1e5, "x", True))):
        ours, tapes = _loop_ns(OMEGA, arms, repeats=5)
        plain = sum(_twin_ns(tape) for tape in tapes) / len(tapes)
        note = f"{ours:.1f} ns against {plain / 1000:,.1f} µs a play"
        yield target.row(f"ω-UCB, K = {arms}, against a plain-Python twin", plain / ours, note)


def lazy_against_plain(options: argparse.Namespace) -> Iterator[Row]:
    """Our loops against our own compiled look at all arms."""
    omega, bts = Target(10, 100, "x", True), Target(3, 10, "x", True)
    for slug, name, target in ((OMEGA, "ω-UCB", omega), ("bts", "BTS", bts)):
        ours, tapes = _loop_ns(slug, 100, repeats=3)
        plain, _ = _loop_ns(slug, 100, "plain", tapes=tapes)
        note = f"{ours:.1f} against {plain:,.0f} ns a play"
        yield target.row(f"{name}, K = 100, against its plain compiled form", plain / ours, note)


def many_arms(options: argparse.Namespace) -> Iterator[Row]:
    """What a play costs with 100,000 arms over one with 100."""
    few, many = _horizon(100), _horizon(100_000)
    plays = f"{few['plays']:.1e} and {many['plays']:.1e} plays"
    for kind, words in (("again", "drawn tapes"), ("first", "tapes drawn on the way")):
        ns = [game[kind] / game["plays"] * 1e9 for game in (few, many)]
        what = f"a play at K = 100,000 over one at K = 100, {words}"
        note = f"{ns[1]:,.1f} over {ns[0]:,.1f} ns; {plays}"
        yield Target(15, 5).row(what, ns[1] / ns[0], note)


def million_arms(options: argparse.Namespace) -> Iterator[Row]:
    """A million arms in a process of their own, to see its memory."""
    what = "K = 1,000,000, ω-UCB: "
    memory, seconds = Target(2, unit="GB"), Target(math.inf, 10, "s")
    if not options.large:
        yield memory.row(what + "memory", math.nan, "not run (use --large)")
        return
    how = {"stdout": subprocess.PIPE, "timeout": 900, "check": True}
    try:
        done = subprocess.run([sys.executable, __file__, "--child"], **how)
    except subprocess.SubprocessError as error:
        yield memory.row(what + "memory", math.inf, str(error)[:80])
        return
    game = json.loads(done.stdout)
    yield memory.row(what + "memory", game["KiB"] * 1024 / 1e9, f"{game['plays']:.1e} plays")
    note = f"{game['again']:.1f} s on drawn tapes"
    yield seconds.row(what + "time, tapes drawn on the way", game["first"], note)


def threads(options: argparse.Namespace) -> Iterator[Row]:
    """Two threads against one."""
    policies = [OMEGA, "omega-star-ucb:rho=0.25", "ucb-b2", "budget-ucb", "bts"]
    games = [lambda j=jobs: bursar.simulate(policies, "S-Br-50", 80, jobs=j) for jobs in (1, 2)]
    one, two = (min(_seconds(game) for _ in range(2)) for game in games)
    target, note = Target(1.7, 1.9, "x", True), f"{one:.1f} s against {two:.1f} s"
    yield target.row("two threads against one", one / two, note)


def waits(options: argparse.Namespace) -> Iterator[Row]:
    """What users wait for: one decision, the first command after installation, the second."""
    yield Target(10, 2, "µs").row("choose + record from Python, K = 100", _decision_us(OMEGA, 100))
    command = [sys.executable, "-m", "bursar", "simulate", "S-Br-10", "--repetitions", "1"]
    command += ["--policy", "omega-star-ucb:rho=0.25"]
    with tempfile.TemporaryDirectory() as folder:
        how = {"env": {**os.environ, "NUMBA_CACHE_DIR": folder}, "stdout": subprocess.DEVNULL}
        for words, must in (("cold start of bursar simulate", 10), ("its second start", 2)):
            taken = _seconds(lambda: subprocess.run(command, check=True, **how))
            yield Target(must, unit="s").row(words, taken)


MEASURES = paper, against_twin, lazy_against_plain, many_arms, million_arms, threads, waits


def _twin_ns(tape: Tape, plays: int = 3000) -> float:
    """Play a tape with Python objects; say so if they do not choose as we do."""
    policy, budget = bursar.policy(f"{OMEGA},ties=first"), BUDGET_PLAYS * tape.problem.min_cost
    ours = run(policy, tape, budget, np.ones(1), (0,), record=True).choices[:plays]
    rows = [tape.rows[s : s + n, :2] for s, n in zip(tape.start, tape.length, strict=True)]
    outcomes = [np.diff(row, axis=0).tolist() for row in rows]
    begin = time.perf_counter()
    choices = twin_of_omega(0.25, outcomes, plays)
    taken = time.perf_counter() - begin
    if choices != ours.tolist():
        raise SystemExit(f"the twin plays otherwise on {tape.problem.name}")
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
    _game(policy, tapes[0], 5.0, loop)  # compiles
    best = [
        min(_game(policy, t, BUDGET_PLAYS * t.problem.min_cost, loop) for _ in range(repeats))
        for t in tapes
    ]
    return sum(taken for taken, _ in best) / sum(plays for _, plays in best) * 1e9, tapes


def _horizon(arms: int) -> dict[str, float]:
    """Play long on uniform means: seconds with the drawing of the tape, and on the drawn tape."""
    policy = bursar.policy(OMEGA)
    _game(
        policy, Tape(bursar.Bernoulli([0.5], [0.5]), (0,), columns_for([policy])), 5.0
    )  # compiles
    problem = bursar.Bernoulli.random(arms, 1, cost_low=0.01)
    begin = time.perf_counter()
    tape = Tape(problem, (0, 0, 0), columns_for([policy]))
    _, plays = _game(policy, tape, BUDGETS[arms])
    first = time.perf_counter() - begin
    again = min(_game(policy, tape, BUDGETS[arms])[0] for _ in range(2))
    return {"plays": plays, "first": first, "again": again}


def _game(policy: bursar.Policy, tape: Tape, budget: float, loop: str = "auto") -> Taken:
    begin = time.perf_counter()
    game = run(policy, tape, budget, np.array(SHARES), (0,), loop=loop)
    return time.perf_counter() - begin, int(game.plays[-1])


def _decision_us(slug: str, arms: int) -> float:
    learner = bursar.policy(slug).learner(arms, budget=1e9, min_cost=0.01)
    return microseconds(lambda r, c: learner.record(learner.choose(), r, c), arms + 10)


def machine() -> str:
    """Say what was measured on what, and when."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    model = next((x.split(": ")[1] for x in lines if "model name" in x), platform.processor())
    git = ["git", "-C", str(PEERS.parents[2]), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    when, load = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", f"load {os.getloadavg()[0]:.2f}"
    versions = f"numpy {np.__version__}, numba {numba.__version__}"
    what = f"bursar {bursar.__version__} ({commit}), Python {platform.python_version()}, {versions}"
    return f"{what}\n{model}, {os.cpu_count()} cores, {when}, {load}"


def show(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Print a table, and return it as Markdown."""
    grid = Table(*header, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        grid.add_row(*row)
    out.print(grid, highlight=False)
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, print, and write Markdown if asked to."""
    options = _options()
    if options.child:
        game, used = _horizon(1_000_000), resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps({**game, "KiB": used.ru_maxrss}))
        return
    out, about = Console(width=160), machine()
    out.print(about, "\n", highlight=False)
    rows: list[Row] = []
    for measure in MEASURES:
        print(f"measuring: {measure.__doc__}", file=sys.stderr, flush=True)
        begin, elsewhere = time.perf_counter(), others()
        done = list(measure(options))
        busy = (others() - elsewhere) / (time.perf_counter() - begin)
        spoilt = f", but {busy:.1f} cores busy elsewhere" if busy > 0.1 else ""
        rows += [(*row[:-1], row[-1] + spoilt) for row in done]
    text = show(out, ("what", "must", "aim", "measured", "verdict"), rows)
    ours = {slug: [f"{_decision_us(slug, k):,.1f}" for k in ARMS] for slug in (OMEGA, "bts")}
    peers = [(f"bursar {bursar.__version__}", slug, *cells) for slug, cells in ours.items()]
    more, note = table(PEERS)
    header = ("one decision, µs", "policy", *(f"K = {arms:,}" for arms in ARMS))
    out.print()
    text += f"\n{show(out, header, peers + more)}\n{note}\n"
    out.print(note, highlight=False)
    if options.markdown:
        options.markdown.write_text(f"{about}\n\n{text}".replace("\n", "  \n", 1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--repetitions", type=int, default=2, help="of the paper, to extrapolate from")
    add("--full", action="store_true", help="run all 100 repetitions of the paper")
    add("--large", action="store_true", help="play a million arms too")
    add("--data", type=Path, help="the Facebook ads, if bursar data has none")
    add("--markdown", type=Path, help="write the tables to this file too")
    add("--child", action="store_true", help=argparse.SUPPRESS)  # a million arms, in this process
    return parser.parse_args()


def _progress(done: int, total: int) -> None:
    print(f"\r{done} of {total} ", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
