"""Play one policy on one problem until its budget is spent."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bursar.errors import InvalidInput
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.problems import Bernoulli, Nonstationary, Problem
from bursar.simulation.game import columns_for, run
from bursar.simulation.nonstationary_loop import Source
from bursar.simulation.tape import Tape
from bursar.validation import check_int, check_positive

_END = np.ones(1)  # the only share of the budget that is looked at


@dataclass(frozen=True, kw_only=True)
class Run:
    """The outcome of a game: plays, spend, reward and regret."""

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
    problem: Problem,
    budget: float,
    seed: int = 0,
    *,
    ties: str | None = None,
    record: bool = False,
    max_plays: int | None = None,
) -> Run:
    """Play until the spend reaches the budget; the last play may exceed it, as in the paper.

    Regret is the sum of mean cost times the gap to the best ratio.

    Parameters
    ----------
    policy : Policy or str
        A policy or its slug. If it needs to know the budget or a lower bound on the mean costs, it
        gets them.
    problem : Problem
        The arms.
    budget : float
        Play while the spend is below it.
    seed : int
        The same seed gives the same game. What arms yield and what the policy draws are separate
        streams.
    ties : {"random", "first"}, optional
        In place of the policy's own rule.
    record : bool
        Keep the arm of every play in ``Run.choices``.
    max_plays : int, optional
        Stop after this many plays even if some of the budget is left.

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
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"problem must be a problem such as bursar.Bernoulli, got {problem!r};"
            " bursar.simulate takes the names of settings"
        )
    chosen = policy_of(policy)
    if ties is not None:
        chosen = chosen.but(ties=ties)
    if isinstance(problem, Bernoulli | Nonstationary):
        world: Source | Tape = Source(problem, (seed,), shared=True)
    else:
        world = Tape(problem, (seed,), columns_for([chosen]))
    game = run(chosen, world, budget, _END, (seed,), record=record, max_plays=max_plays)
    world.close()
    plays, spent, regret = game.checkpoints[-1].tolist()
    if not isinstance(problem, Nonstationary):  # summed over arms: exact in any order of plays
        regret = float(game.plays_per_arm.astype(np.float64) @ problem.regret)
    return Run(
        policy=str(chosen),
        seed=seed,
        plays=int(plays),
        spent=spent,
        reward=game.reward,
        regret=regret,
        plays_per_arm=game.plays_per_arm,
        choices=game.choices,
    )
