"""How regret grows with the budget: python benchmarks/growth.py [--repetitions N].

A policy that knows its budget plays another game for each one, so every budget is a run of its own:
a tenth of the paper's to a hundred times it. Regret that grows like log B rises by the same amount
with each factor of ten.
"""

from __future__ import annotations

import argparse
import platform
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

import bursar
from bursar.analysis import games

POLICIES = ("omega-star-ucb:rho=0.25", "pooled-gittins")
SETTINGS = ("S-Br-10", "S-Bt-10", "X-br-low-25", "X-uniform-20")
BUDGETS = (15_000, 150_000, 1_500_000, 15_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=16)
    repetitions = parser.parse_args().repetitions
    today = datetime.now(UTC).date()
    print(f"{platform.processor() or platform.machine()}, {today}, {repetitions} repetitions")
    head = "".join(f"{f'{budget:,}':>22}" for budget in BUDGETS)
    print(f"\nmean regret ± standard error, by budget in plays of the cheapest arm\n{'':<16}{head}")
    for setting in SETTINGS:
        found = {policy: [] for policy in POLICIES}
        for budget in BUDGETS:
            result = bursar.simulate(
                POLICIES, setting, repetitions, budget_plays=budget, shares=[1.0]
            )
            for policy in POLICIES:
                found[policy].append(games.final(result, setting, policy))
        print(setting)
        for policy, columns in found.items():
            means = [column.mean() for column in columns]
            errors = [column.std(ddof=1) / np.sqrt(column.size) for column in columns]
            words = [f"{m:,.0f} ± {e:,.0f}" for m, e in zip(means, errors, strict=True)]
            print(f"  {policy.partition(':')[0]:<14}" + "".join(f"{one:>22}" for one in words))
            rises = [f"{b - a:+,.0f}" for a, b in pairwise(means)]
            print(f"  {'':<14}{'':>22}" + "".join(f"{one:>22}" for one in rises), flush=True)


if __name__ == "__main__":
    main()
