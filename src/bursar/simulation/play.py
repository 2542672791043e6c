"""Play a policy on a problem until its budget is spent: the plain loop, compiled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bursar.errors import InvalidInput
from bursar.jit.rng import new_stream
from bursar.policies import Policy, kernels
from bursar.policies import policy as policy_of
from bursar.problems import Bernoulli
from bursar.validation import check_int, check_positive

__all__ = ["Run", "play"]

_POLICY, _WORLD = 0, 1  # streams of one seed: what the policy draws, what the arms yield
_CHUNK = 1 << 16  # plays between returns to Python, so that Ctrl-C works


@dataclass(frozen=True)
class Run:
    """What a game came to."""

    policy: str
    seed: int
    plays: int
    spent: float
    reward: float
    regret: float
    plays_per_arm: NDArray[np.int64] = field(repr=False)
    choices: NDArray[np.int32] | None = field(repr=False, default=None)


def play(
    policy: Policy | str,
    problem: Bernoulli,
    budget: float,
    seed: int = 0,
    *,
    ties: str | None = None,
    record: bool = False,
    max_plays: int | None = None,
) -> Run:
    """Play until the spend reaches the budget; the last play may exceed it, as in the paper.

    Parameters
    ----------
    policy : Policy or str
        A policy or its slug. If it needs the budget or a lower bound on the mean costs, it is told.
    problem : Bernoulli
        The arms.
    budget : float
        Play while the spend is below it.
    seed : int
        Same seed, same game. What the arms yield and what the policy draws are streams apart.
    ties : {"random", "first"}, optional
        In place of the policy's own rule.
    record : bool
        Keep the arm of every play in ``Run.choices``.
    max_plays : int, optional
        Stop after so many plays, whatever is left of the budget.

    Returns
    -------
    Run
        Plays, spend, reward and regret: the sum of mean cost times the gap to the best ratio.

    Examples
    --------
    >>> problem = Bernoulli(reward=[0.9, 0.5], cost=[0.3, 0.5])
    >>> run = play("omega-star-ucb:rho=0.25", problem, budget=100, seed=1)
    >>> run.spent, bool(run.plays_per_arm[0] > 5 * run.plays_per_arm[1])
    (100.0, True)
    """
    check_positive("budget", budget, "give what may be spent")
    if max_plays is not None:
        check_int("max_plays", max_plays, 0, "or None for no limit")
    if not isinstance(problem, Bernoulli):
        raise InvalidInput(
            f"problem must be a bursar.Bernoulli, got {problem!r}; use bursar.simulate"
        )
    chosen = policy_of(policy)
    if ties is not None:
        chosen = chosen.but(ties=ties)
    learner = chosen.learner(
        problem.arms, seed=(seed, _POLICY), budget=budget, min_cost=problem.min_cost
    )
    world = new_stream(seed, _WORLD)
    kernel = kernels.of(type(chosen), "play")
    kept: list[NDArray[np.int32]] = []
    plays = 0
    while max_plays is None or plays < max_plays:
        size = _CHUNK if max_plays is None else min(_CHUNK, max_plays - plays)
        choices = np.empty(size, dtype=np.int32)
        done = kernel(
            learner.kernel_params,
            learner.arms,
            learner.game,
            learner.memory,
            learner.stream,
            world,
            problem.reward,
            problem.cost,
            choices,
        )
        plays += done
        if record:
            kept.append(choices[:done])
        if done < size:
            break
    return Run(
        str(chosen),
        seed,
        plays,
        learner.spent,
        learner.earned,
        float(learner.arms["n"] @ problem.regret),
        learner.plays_per_arm,
        np.concatenate(kept) if kept else (np.empty(0, np.int32) if record else None),
    )
