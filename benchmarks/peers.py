"""One decision, choose and update, of other bandit libraries from Python; printed as JSON.

It runs in an environment of its own (``.venv-peers``, made by ``make bench`` from ``peers.txt``)
and knows nothing of bursar. A library that does not run says why and does not stop the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
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
            with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):  # noqa: PTH123
                for policy, step in PEERS[peer](arms).items():
                    taken.setdefault(policy, {})[arms] = microseconds(step, arms + 10)
        return {"version": version(peer), "us": taken}
    except Exception as error:  # whatever an old library does on a new Python
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    print(json.dumps({peer: measure(peer) for peer in PEERS}))
