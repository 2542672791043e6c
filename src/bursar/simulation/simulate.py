"""Play policies on settings, many repetitions each, on all cores.

A match is one problem of one repetition: several policies play it one after the other and meet the
same outcomes.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from time import thread_time
from typing import NamedTuple, TypeVar, cast

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.policies import Policy
from bursar.problems import Bernoulli, Nonstationary, Problem
from bursar.settings.base import Data
from bursar.simulation import BUDGET_PLAYS
from bursar.simulation.game import columns_for, run
from bursar.simulation.nonstationary_loop import Source
from bursar.simulation.result import SHARES, CellGames, Plan, Result, SettingLike, plan
from bursar.simulation.tape import Tape

T = TypeVar("T")
R = TypeVar("R")
_NO_MORE = object()


def simulate(
    policies: str | Policy | Iterable[str | Policy],
    settings: SettingLike | Iterable[SettingLike],
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
        The players.
    settings : name, Setting, Problem, or several
        Settings of the paper such as ``"S-Br-10"``, or problems of your own.
    repetitions : int
        Games of each; repetition i of a setting of the paper is the authors' problem of seed i.
    budget_plays : float
        The budget, in units of the smallest mean cost; 150,000 in the paper.
    shares : sequence of float
        Shares of the budget at which plays, spend and regret are recorded.
    data : path, optional
        The Facebook ads, for the settings FB-Br and FB-Bt.
    seed : int
        The same seed gives the same result for any ``jobs`` and any order of policies. All policies
        meet the same outcomes: the n-th play of an arm yields and costs the same.
    jobs : int, optional
        Threads; all cores by default. Compiled loops do not hold Python's lock.
    overspend : {"last", "never"}
        Whether the last play may exceed the budget, as in the paper, or the game ends before a play
        that might.
    progress : callable, optional
        Called with the numbers of finished and of all cells, the repetitions of a setting.

    Examples
    --------
    >>> result = simulate(["omega-ucb:rho=0.25", "uniform"], "S-Br-10", 3, budget_plays=1000)
    >>> [row["policy"] for row in result.summary() if row["budget_share"] == 1.0]
    ['omega-ucb:rho=0.25', 'uniform']
    """
    todo = plan(
        policies, settings, repetitions, budget_plays=budget_plays, shares=shares, data=data,
        seed=seed, overspend=overspend,
    )  # fmt: skip
    total = len(todo.settings) * todo.repetitions
    done: list[CellGames] = []
    progress(0, total)
    for cell in play_cells(todo, jobs):
        done.append(cell)
        progress(len(done), total)
    return Result.of(todo, done)


def play_cells(todo: Plan, jobs: int | None = None) -> Iterator[CellGames]:
    """Play a plan and yield its cells as they are finished, in any order."""
    workers = count_workers(jobs)
    warm_up(todo.policies)
    yield from map_in_threads(lambda cell: _play_cell(todo, *cell), todo.cells(), workers)


def count_workers(jobs: int | None) -> int:
    """Return the number of threads to use: that of all cores by default."""
    workers = (os.cpu_count() or 1) if jobs is None else jobs
    if workers < 1:
        raise InvalidInput(f"jobs must be 1 or more, got {jobs!r}")
    return workers


def map_in_threads(
    work: Callable[[T], R],
    tasks: Iterable[T],
    workers: int,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[R]:
    """Do work on tasks and yield results as they come; after ``stop``, only of those that run."""
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


class MatchResult(NamedTuple):
    """One game of a match: plays, spend and regret at each share, or why there are none."""

    checkpoints: Floats
    seconds: float  # of this thread, without the drawing of outcomes
    drawing: float
    error: Exception | None = None


def play_problems(
    todo: Plan, which: int, repetition: int, policies: Sequence[Policy] | None = None
) -> Iterator[tuple[str, float, Iterator[MatchResult]]]:
    """Yield name, optimum and games of each problem of a repetition, in the setting's own money.

    All policies on all problems of a repetition: they share its tapes, which are then freed.
    """
    setting, problems = todo.problems(which, repetition)
    coin, prize = (1.0, 1.0) if setting is None else (setting.coin, setting.prize)
    money = 1.0, coin, prize  # of plays, spend and regret
    for number, problem in enumerate(problems):
        budget = todo.budget_plays * problem.min_cost
        if todo.budget is not None:
            budget = todo.budget / coin
        key = todo.seed, repetition, number
        games = match(problem, policies or todo.policies, budget, todo.shares, key, todo.overspend)
        yield (
            problem.name or "problem",
            budget * problem.rate * prize,
            (game._replace(checkpoints=game.checkpoints * money) for game in games),
        )


def _play_cell(todo: Plan, which: int, repetition: int) -> CellGames:
    cell = CellGames(which, repetition, [], [], {str(policy): [] for policy in todo.policies})
    for name, optimum, games in play_problems(todo, which, repetition):
        cell.problems.append(name)
        cell.optima.append(optimum)
        for slug, played in zip(cell.games, games, strict=True):
            if played.error is not None:
                raise played.error
            cell.games[slug].append(played.checkpoints)
    return cell


def match(
    problem: Problem,
    policies: Sequence[Policy],
    budget: float,
    shares: Sequence[float],
    key: tuple[int, ...],
    overspend: str = "last",
) -> Iterator[MatchResult]:
    """Play each policy; one that fails does not keep the others from playing."""
    world = (
        Source(problem, key)
        if isinstance(problem, Nonstationary)
        else Tape(problem, key, columns_for(policies))
    )
    drawn = 0.0
    for policy in policies:
        start = thread_time()
        error: Exception | None = None
        try:
            game = run(policy, world, budget, np.array(shares), key, overspend=overspend)
            checkpoints = game.checkpoints
        except Exception as caught:
            checkpoints, error = np.empty((0, 3)), caught
        drawing, drawn = world.seconds - drawn, world.seconds
        yield MatchResult(checkpoints, thread_time() - start - drawing, drawing, error)
    world.close()


def warm_up(policies: Sequence[Policy]) -> None:
    """Play a short game with each policy, so that threads find its machine code ready."""
    for policy in policies:
        size = max(3, policy.round_size)
        tape = Tape(Bernoulli(np.full(size, 0.5), np.full(size, 0.5)), (0, 0, 0))
        run(policy, tape, 5.0, np.ones(1), (0,))
