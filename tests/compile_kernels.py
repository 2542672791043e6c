"""Compile the kernels of every policy into Numba's cache, in as many processes as there are cores.

Workers of pytest that start with an empty cache would each compile the kernels they share.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import numpy as np
from extent import extent

import bursar
from bursar.errors import BursarError
from bursar.problems import Nonstationary
from bursar.simulation.game import run
from bursar.simulation.nonstationary_loop import Source
from bursar.simulation.tape import Tape

SHARES = np.array([0.5, 1.0])
STILL = bursar.Bernoulli([0.8, 0.3], [0.4, 0.5])
# in worlds that change: every policy that chooses or learns in a way of its own, and two of those
# that have only an index of their own; the other loops play them all
IN_CHANGING_WORLDS = [
    name
    for name, cls in bursar.POLICIES.items()
    if cls.choose or cls.scores or name in extent(("omega-ucb", "omega-star-ucb"), (name,))
]
MOVING = Nonstationary([0, 0.5], reward=[[0.8, 0.3], [0.2, 0.3]], cost=[[0.4, 0.5], [0.4, 0.5]])


def compile_kernels(name: str) -> None:
    """Play a little with a policy in each of the ways that have kernels of their own."""
    policy = next(iter(bursar.POLICIES[name].examples()))
    for loop in ("plain", "auto"):
        run(policy, Tape(STILL, (1, 2)), 10.0, SHARES, (1, 2), loop=loop, record=True)
    if name in IN_CHANGING_WORLDS:
        run(policy, Source(MOVING, (1, 2)), 10.0, SHARES, (1, 2), record=True)
    with suppress(BursarError):  # it may need to know more than a learner is told here
        bursar.play(policy, STILL, 10.0)
        learner = policy.learner(2)
        for arm in (learner.choose(), 0, 1):
            learner.record(arm, 0.5, 0.5)
    with suppress(BursarError):  # it may be one that campaigns refuse
        campaign = bursar.Campaign(name, "1.00", {"a": "0.1", "b": "0.1"}, str(policy), explore=0.1)
        for _ in range(3):
            campaign.tell(campaign.ask(), cost="0.05", reward=0.5)
        campaign.forecast()
        campaign.explain(campaign.ask())


def main() -> None:
    """Compile for all policies; say how long it took."""
    start = time.monotonic()
    names = sorted(bursar.POLICIES, key=lambda name: name != "mrcb")  # it takes longest
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(names))) as processes:
        for _ in processes.map(compile_kernels, names):
            pass
    sys.stderr.write(f"kernels compiled or found in {time.monotonic() - start:.0f} s\n")


if __name__ == "__main__":
    main()
