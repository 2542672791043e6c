"""Play policies on settings, many repetitions each, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar, cast

from bursar.errors import InvalidInput
from bursar.policies import Policy
from bursar.simulation.match import MatchResult, match, warm_up
from bursar.simulation.result import BUDGET_PLAYS, SHARES, Data, Named, Plan, Result, Unit, plan

__all__ = ["in_threads", "rounds", "simulate", "units", "workers_of"]

T = TypeVar("T")
R = TypeVar("R")
_NO_MORE = object()


def simulate(
    policies: str | Policy | Iterable[str | Policy],
    settings: Named | Iterable[Named],
    repetitions: int = 100,
    *,
    budget_plays: float = BUDGET_PLAYS,
    shares: Sequence[float] = SHARES,
    data: Data = None,
    seed: int = 0,
    jobs: int | None = None,
    overspend: str = "last",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Result:
    """Play each policy on each setting and return plays, spend and regret over the budget.

    Parameters
    ----------
    policies : slug, Policy, or several
        Who plays.
    settings : name, Setting, Problem, or several
        On what: settings of the paper such as ``"S-Br-10"``, or problems of one's own.
    repetitions : int
        Games of each; repetition i of a setting of the paper is the authors' problem of seed i.
    budget_plays : float
        The budget, in units of the smallest mean cost; 150,000 in the paper.
    shares : sequence of float
        Shares of the budget at which plays, spend and regret are recorded.
    data : path, optional
        The Facebook ads, for the settings FB-Br and FB-Bt.
    seed : int
        Same seed, same result, whatever ``jobs`` and the order of policies. All policies meet the
        same outcomes: the n-th play of an arm brings and costs the same.
    jobs : int, optional
        Threads; all cores by default. Compiled loops do not hold Python's lock.
    overspend : {"last", "never"}
        Whether the last play may exceed the budget, as in the paper, or the game ends before a play
        that might.
    progress : callable, optional
        Called with the numbers of finished and of all units of work.

    Examples
    --------
    >>> result = simulate(["omega-ucb:rho=0.25", "uniform"], "S-Br-10", 3, budget_plays=1000)
    >>> [row["policy"] for row in result.summary() if row["budget_share"] == 1.0]
    ['omega-ucb:rho=0.25', 'uniform']
    """
    todo = plan(policies, settings, repetitions, budget_plays, shares, data, seed, overspend)
    total = len(todo.settings) * todo.repetitions
    done: list[Unit] = []
    progress(0, total)
    for unit in units(todo, jobs):
        done.append(unit)
        progress(len(done), total)
    return Result.of(todo, done)


def units(todo: Plan, jobs: int | None = None) -> Iterator[Unit]:
    """Play a plan and yield its units as they are finished, in any order."""
    workers = workers_of(jobs)
    warm_up(todo.policies)
    yield from in_threads(lambda task: _unit(todo, *task), todo.tasks(), workers)


def workers_of(jobs: int | None) -> int:
    """Return how many threads to use: all cores, unless it is said."""
    workers = (os.cpu_count() or 1) if jobs is None else jobs
    if workers < 1:
        raise InvalidInput(f"jobs must be 1 or more, got {jobs!r}")
    return workers


def in_threads(
    work: Callable[[T], R],
    tasks: Iterable[T],
    workers: int,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[R]:
    """Do work on tasks and yield results as they come; once told to stop, only what runs."""
    waiting = iter(tasks)
    pool = ThreadPoolExecutor(workers)
    running: set[Future[R]] = set()
    try:
        while True:
            while len(running) <= workers and not stop():  # a long queue would keep Ctrl-C waiting
                task = next(waiting, _NO_MORE)
                if task is _NO_MORE:
                    break
                running.add(pool.submit(work, cast(T, task)))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def rounds(
    todo: Plan, which: int, repetition: int, policies: Sequence[Policy] | None = None
) -> Iterator[tuple[str, float, Iterator[MatchResult]]]:
    """Yield name, optimum and games of each problem of a repetition, in the setting's own money.

    All policies on all problems of a repetition: they share its tapes, which are then freed.
    """
    place, problems = todo.place(which, repetition)
    coin, prize = (1.0, 1.0) if place is None else (place.coin, place.prize)
    for number, problem in enumerate(problems):
        budget = todo.budget_plays * problem.min_cost
        if todo.budget is not None:
            budget = todo.budget / coin
        best = problem.rate
        key = todo.seed, repetition, number
        games = match(problem, policies or todo.policies, budget, todo.shares, key, todo.overspend)
        yield problem.name or "problem", budget * best * prize, _in_money(games, coin, prize)


def _in_money(games: Iterator[MatchResult], coin: float, prize: float) -> Iterator[MatchResult]:
    for game in games:
        yield game._replace(checkpoints=game.checkpoints * (1.0, coin, prize))


def _unit(todo: Plan, which: int, repetition: int) -> Unit:
    unit = Unit(which, repetition, [], [], [])
    for name, optimum, games in rounds(todo, which, repetition):
        unit.problems.append(name)
        unit.optima.append(optimum)
        for played in games:
            if played.error is not None:
                raise played.error
            unit.games.append(played.checkpoints)
    return unit
