"""A first look: a few policies on one problem, many games each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean, stdev

from bursar.errors import InvalidInput
from bursar.play import Run, play
from bursar.problems import Bernoulli

__all__ = ["POLICIES_SHOWN", "Row", "compare"]

POLICIES_SHOWN = (
    "omega-star-ucb:rho=0.25",
    "omega-ucb:rho=0.25",
    "omega-ucb:rho=1",
    "bts",
    "ucb-sc-plus",
    "m-ucb",
    "b-greedy",
    "budget-ucb",
    "eps-first",
    "uniform",
)


@dataclass(frozen=True)
class Row:
    """What one policy came to, over all its games."""

    policy: str
    regret: float
    regret_error: float  # standard error of the mean
    reward: float
    best_share: float  # plays of the best arm
    games: int


def compare(
    problem: Bernoulli,
    budget: float,
    repetitions: int,
    seed: int = 0,
    policies: tuple[str, ...] = POLICIES_SHOWN,
    on_game: Callable[[Run], None] = lambda run: None,
) -> list[Row]:
    """Play each policy ``repetitions`` times; return a row each, the least regret first."""
    if repetitions < 2:
        raise InvalidInput(
            f"repetitions must be 2 or more to tell luck from skill, got {repetitions}"
        )
    rows = [
        _row(slug, problem.best, list(_games(slug, problem, budget, repetitions, seed, on_game)))
        for slug in policies
    ]
    return sorted(rows, key=lambda row: row.regret)


def _games(
    slug: str,
    problem: Bernoulli,
    budget: float,
    repetitions: int,
    seed: int,
    on_game: Callable[[Run], None],
) -> Iterator[Run]:
    for repetition in range(repetitions):
        run = play(slug, problem, budget, seed=seed + repetition)
        on_game(run)
        yield run


def _row(slug: str, best: int, runs: list[Run]) -> Row:
    regrets = [run.regret for run in runs]
    return Row(
        slug,
        fmean(regrets),
        stdev(regrets) / len(runs) ** 0.5,
        fmean(run.reward for run in runs),
        fmean(float(run.plays_per_arm[best]) / run.plays for run in runs),
        len(runs),
    )
