"""Units of work: one repetition of one setting, for the policies that are still missing there."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from bursar.checks import Floats
from bursar.experiments.experiment import Experiment
from bursar.problems import Problem
from bursar.simulate import rounds
from bursar.version import __version__

__all__ = ["Failure", "Part", "Task", "cell", "code_digest", "compute", "digest", "tasks"]

_SOURCES = ("arms", "bounds", "compiled", "divergence", "horizon", "region", "stream", "simulate",
            "engine", "policies", "problems", "settings")  # fmt: skip


class Task(NamedTuple):
    """What one unit is to compute."""

    which: int
    setting: str
    repetition: int
    cell: str  # digest of all that the numbers depend on, but for the policy
    policies: tuple[str, ...]


class Failure(NamedTuple):
    """A game that could not be played, and all that is needed to repeat it."""

    setting: str
    repetition: int
    policy: str
    cell: str
    seed: int
    error: str
    traceback: str


class Part(NamedTuple):
    """The games of a unit: problems x policies x shares x (plays, spent, regret)."""

    task: Task
    problems: list[str]
    optima: list[float]
    policies: list[str]  # those that did not fail
    values: Floats
    seconds: list[float]  # a policy
    drawing: float
    failures: list[Failure]


def digest(*parts: Any) -> str:
    """Return a short name for content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


@cache
def code_digest() -> str:
    """Return the version of what computes: bursar, its sources, numpy and numba."""
    home = Path(__file__).parent.parent
    found = hashlib.sha256(f"{__version__} {np.__version__} {numba.__version__}".encode())
    for name in _SOURCES:
        place = home / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            found.update(file.relative_to(home).as_posix().encode() + file.read_bytes())
    return found.hexdigest()[:20]


def cell(what: Experiment, which: int, repetition: int, identity: str) -> str:
    """Return the key of a repetition of a setting: what its numbers depend on, but the policy."""
    todo = what.plan
    own = [(name, hashlib.sha256(content).hexdigest()) for name, content in what.code]
    budget = ["money", todo.budget] if todo.budget is not None else ["plays", todo.budget_plays]
    return digest(
        identity, repetition, todo.seed, budget, todo.shares, todo.overspend, code_digest(), own
    )


def identity_of(what: Experiment, which: int) -> str:
    """Return a text that changes whenever the problems of a setting may."""
    place = what.plan.settings[which]
    if isinstance(place, Problem):
        return f"{type(place).__name__} {digest(place.name, repr(place))}"
    return place.identity(what.plan.data)


def tasks(what: Experiment) -> Iterator[Task]:
    """Yield all units: repetition by repetition, so that a stopped run is even over settings."""
    todo = what.plan
    slugs = tuple(map(str, todo.policies))
    places = range(len(todo.settings))
    identities = [identity_of(what, which) for which in places]
    for repetition in range(todo.repetitions):
        for which in reversed(places):  # the ads are the longest: last they would keep one core
            key = cell(what, which, repetition, identities[which])
            yield Task(which, todo.settings[which].name or "problem", repetition, key, slugs)


def compute(what: Experiment, task: Task) -> Part:
    """Play a unit; what fails is told, and the rest goes on."""
    chosen = [p for p in what.plan.policies if str(p) in task.policies]
    names: list[str] = []
    optima: list[float] = []
    blocks: list[list[Floats]] = []
    lost: dict[str, Failure] = {}
    seconds = dict.fromkeys(map(str, chosen), 0.0)
    drawing = 0.0

    def failed(slug: str, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        what_went = f"{type(error).__name__}: {error}"
        seed = what.plan.seed
        lost[slug] = Failure(task.setting, task.repetition, slug, task.cell, seed, what_went, text)

    try:
        for name, optimum, games in rounds(what.plan, task.which, task.repetition, chosen):
            names.append(name if name not in names else f"{name} #{len(names)}")
            optima.append(optimum)
            blocks.append([])
            for policy, game in zip(chosen, games, strict=True):
                blocks[-1].append(game.noted)
                seconds[str(policy)] += game.seconds
                drawing += game.drawing
                if game.error is not None:
                    failed(str(policy), game.error)
    except Exception as error:
        for policy in chosen:
            failed(str(policy), error)
    kept = [i for i, policy in enumerate(chosen) if str(policy) not in lost]
    values = np.array([[block[i] for i in kept] for block in blocks if kept])
    slugs = [str(chosen[i]) for i in kept]
    shape = (len(names) if kept else 0, len(kept), len(what.plan.shares), 3)
    return Part(
        task, names, optima, slugs, values.reshape(shape),
        [seconds[slug] for slug in slugs], drawing, list(lost.values()),
    )  # fmt: skip
