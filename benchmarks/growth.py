"""How regret grows with the budget: python benchmarks/growth.py [--repetitions N].

A policy that knows its budget plays another game for each one, so every budget is a run of its own:
a tenth of the paper's to a hundred times it. Regret that grows like log B rises by the same amount
with each factor of ten; in the long run by no less than the lower bound does (Bernoulli arms).
"""

from __future__ import annotations

import argparse
import os
import platform
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

import bursar
from bursar import theory
from bursar.arrays import Floats
from bursar.paper.analysis.games import final_regret

POLICIES = ("omega-star-ucb:rho=0.25", "pooled-gittins")
SETTINGS = ("S-Br-10", "S-Bt-10", "X-br-low-25", "X-uniform-20")
BUDGETS = (15_000, 150_000, 1_500_000, 15_000_000)


def main() -> None:
    """Play every budget and print how regret rises."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=16)
    repetitions = parser.parse_args().repetitions
    where = f"{platform.machine()}, {os.cpu_count()} cores, {datetime.now(UTC):%Y-%m-%d}"
    print(f"{where}, {repetitions} repetitions, mean ± standard error")
    head = "".join(f"{f'{budget:,}':>18}" for budget in BUDGETS)
    print(f"budget, in plays of the cheapest arm\n{'':<22}{head}")
    for setting in SETTINGS:
        print(setting)
        for policy, columns in _played(setting, repetitions).items():
            print(f"  {policy.partition(':')[0]:<20}" + _cells(columns), flush=True)
            print(f"    {'rises by':<18}{'':>18}" + _cells([b - a for a, b in pairwise(columns)]))
        slope = _slope(setting, repetitions)
        if slope is not None:
            print(f"    {'in the long run by':<18}{slope:>35,.0f} or more, for any policy")


def _played(setting: str, repetitions: int) -> dict[str, list[Floats]]:
    found: dict[str, list[Floats]] = {policy: [] for policy in POLICIES}
    for budget in BUDGETS:
        result = bursar.simulate(POLICIES, setting, repetitions, budget_plays=budget, shares=[1.0])
        for policy in POLICIES:
            found[policy].append(final_regret(result, setting, policy))
    return found


def _cells(columns: list[Floats]) -> str:
    words = [f"{x.mean():,.0f} ± {x.std(ddof=1) / np.sqrt(x.size):,.0f}" for x in columns]
    return "".join(f"{one:>18}" for one in words)


def _slope(setting: str, repetitions: int) -> float | None:
    """Return by how much the lower bound rises with a factor of ten; None if it is not known."""
    problems = [bursar.setting(setting).problems(i)[0] for i in range(repetitions)]
    if not all(isinstance(problem, bursar.Bernoulli) for problem in problems):
        return None
    ends = [theory.lower_bound(np.array([1.0, 10.0]), p.reward, p.cost) for p in problems]
    return float(np.mean([end[1] - end[0] for end in ends]))


if __name__ == "__main__":
    main()
