"""What bursar is measured against: other libraries, and ω-UCB as plain Python objects.

As a script it prints what one decision, choose and update, of each library takes, as JSON. It runs
in an environment of its own (``.venv-peers``, made by ``make bench`` from ``peers.txt``), without
bursar. A library that does not run says why and does not stop the others.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

ARMS = 10, 100, 1000
SECONDS = 0.3  # of measuring one policy at one number of arms

Step = Callable[[float, float], None]


def microseconds(step: Step, warm: int) -> float:
    """Return what a call of ``step(reward, cost)`` takes, after ``warm`` calls; best of three."""
    draw = random.Random(1)
    coins = [(float(draw.random() < 0.4), float(draw.random() < 0.6)) for _ in range(1 << 12)]
    for i in range(warm):
        step(*coins[i % len(coins)])
    size, taken = 1, 0.0
    while (taken := _seconds(step, coins[:size])) < SECONDS / 8 and size < len(coins):
        size *= 2
    return min(taken, *(_seconds(step, coins[:size]) for _ in range(2))) / size * 1e6


def _seconds(step: Step, coins: list[tuple[float, float]]) -> float:
    start = time.perf_counter()
    for reward, cost in coins:
        step(reward, cost)
    return time.perf_counter() - start


def others() -> float:
    """Return the seconds that all but this process and its children computed; 0 if unknown."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, irq, soft, steal = map(int, stat.read_text().split()[1:9])
    busy = user + nice + system + irq + soft + steal
    return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def mabwiser(arms: int) -> dict[str, Step]:
    module = import_module("mabwiser.mab")
    names = list(range(arms))

    def stepper(policy: Any) -> Step:
        mab = module.MAB(names, policy)
        mab.fit(names, [k % 2 for k in names])
        return lambda reward, cost: mab.partial_fit([mab.predict()], [int(reward)])

    learn = module.LearningPolicy
    return {"UCB": stepper(learn.UCB1(alpha=1.0)), "Thompson": stepper(learn.ThompsonSampling())}


def river(arms: int) -> dict[str, Step]:
    bandit, proba = import_module("river.bandit"), import_module("river.proba")
    names = list(range(arms))

    def stepper(policy: Any) -> Step:
        return lambda reward, cost: policy.update(policy.pull(names), reward)

    thompson = bandit.ThompsonSampling(reward_obj=proba.Beta(seed=1), seed=1)
    return {"UCB": stepper(bandit.UCB(delta=1.0, seed=1)), "Thompson": stepper(thompson)}


def smpybandits(arms: int) -> dict[str, Step]:
    special = import_module("scipy.special")
    # SciPy 1.14 took away this name, imported by SMPyBandits for a policy that is not played here
    special.btdtri = special.betaincinv
    policies = import_module("SMPyBandits.Policies")

    def stepper(policy: Any) -> Step:
        policy.startGame()
        return lambda reward, cost: policy.getReward(policy.choice(), reward)

    return {"UCB": stepper(policies.UCB(arms)), "Thompson": stepper(policies.Thompson(arms))}


PEERS = {"MABWiser": mabwiser, "River": river, "SMPyBandits": smpybandits}


def measure(peer: str) -> dict[str, Any]:
    """Return microseconds by policy and arms, or the error that prevents it."""
    taken: dict[str, dict[int, float]] = {}
    try:
        for arms in ARMS:
            print(f"measuring {peer}, K = {arms} …", file=sys.stderr, flush=True)
            with Path(os.devnull).open("w") as quiet, contextlib.redirect_stdout(quiet):
                for policy, step in PEERS[peer](arms).items():
                    taken.setdefault(policy, {})[arms] = microseconds(step, arms + 10)
        return {"version": version(peer), "us": taken}
    except Exception as error:  # whatever an old library does on a new Python
        return {"error": f"{type(error).__name__}: {error}"}


def table(python: Path) -> tuple[list[tuple[str, ...]], str]:
    """Run this script in the peers' environment; return the rows of a table, and a remark."""
    if not python.exists():
        return [], f"MABWiser, River and SMPyBandits not measured: no {python}; run make bench"
    done = subprocess.run([python, __file__], stdout=subprocess.PIPE, text=True, check=True)
    rows = []
    for peer, result in json.loads(done.stdout).items():
        if "error" in result:
            rows.append((peer, f"did not run: {result['error']}", *("-" for _ in ARMS)))
        for policy, taken in result.get("us", {}).items():
            cells = (f"{taken[str(arms)]:,.1f}" for arms in ARMS)
            rows.append((f"{peer} {result['version']}", policy, *cells))
    return rows, "The peers' policies know rewards only, no costs and no budget."


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


def twin_of_omega(rho: float, outcomes: list[list[list[float]]], plays: int) -> list[int]:
    """Play ω-UCB on given (reward, cost) of each arm, every arm updated at every play."""
    arms = [TwinArm() for _ in outcomes]
    choices = []
    for t in range(plays):
        k = t
        if t >= len(arms):
            z2 = 2.0 * rho * math.log(t + 1.0)
            for arm in arms:
                arm.update(z2)
            k = max(range(len(arms)), key=lambda a: arms[a].index)
        arm = arms[k]
        reward, cost = outcomes[k][arm.plays]
        arm.plays, arm.reward, arm.cost = arm.plays + 1, arm.reward + reward, arm.cost + cost
        choices.append(k)
    return choices


if __name__ == "__main__":
    print(json.dumps({peer: measure(peer) for peer in PEERS}))
