"""How long a run would take: from what its folder already took, or from a measured reference."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from time import thread_time
from typing import Any

import numpy as np

from bursar.engine.match import match
from bursar.experiments.experiment import Experiment
from bursar.experiments.runner import DRAWING, Work
from bursar.experiments.store import safe_name
from bursar.plan import BUDGET_PLAYS
from bursar.policies import policy
from bursar.settings import setting

__all__ = ["estimate", "probe", "reference"]


def estimate(what: Experiment, work: Work) -> float:
    """Return the core-seconds that the missing units would take, about.

    Units like those that the folder holds take what those took. Others take what the reference
    took (``benchmarks/paper.py --reference`` measures it), by the ratio of a probe there and here;
    a policy or setting that is not in it takes the mean of the others.
    """
    known: dict[tuple[str, str], list[float]] = {}
    for (_, slug), part in work.have.items():
        known.setdefault((part.path.parent.name, slug), []).append(part.seconds[slug])
    pace = probe() / reference()["probe"] * what.plan.budget_plays / BUDGET_PLAYS
    total = 0.0
    for task in work.missing:
        for slug in task.policies:
            measured = known.get((safe_name(task.setting), slug))
            total += float(np.mean(measured)) if measured else pace * _expected(task.setting, slug)
        total += pace * _expected(task.setting, DRAWING)
    return total


def _expected(place: str, slug: str) -> float:
    """Return the reference's seconds a unit."""
    table: dict[str, dict[str, float]] = reference()["seconds"]
    rows = [table[place]] if place in table else list(table.values())
    found = [row[slug] for row in rows if slug in row]
    others = [value for row in rows for name, value in row.items() if name != DRAWING]
    return float(np.mean(found or others))


@cache
def reference() -> dict[str, Any]:
    """Return the measured seconds a unit by setting and policy, with machine and date."""
    read = files("bursar.experiments").joinpath("reference.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(read)
    return loaded


def probe() -> float:
    """Return the seconds of a few small games on this machine, machine code being ready."""
    (problem,) = setting("S-Br-50").problems(0)
    players = [policy("omega-ucb:rho=0.25"), policy("ucb-sc-plus")]
    taken = []
    for _ in range(4):  # the first also compiles
        start = thread_time()
        for _game in match(problem, players, BUDGET_PLAYS * problem.min_cost, (1.0,), (0, 0, 0)):
            pass
        taken.append(thread_time() - start)
    return min(taken[1:])
