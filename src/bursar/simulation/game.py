"""One game: a policy plays the arms of a tape or a source until its budget is spent.

Index policies whose index never falls take the lazy loop, b-greedy and BTS have loops of their own,
a policy with a ``choose_cached`` takes the plain loop with that in place of a look at all arms, and
everything can be played by the plain loop, which looks at all arms at every play.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.jit.arms import new_arms, new_game
from bursar.jit.compile import specialize
from bursar.jit.rng import Stream, new_stream
from bursar.policies import Policy, kernels
from bursar.policies.base import Scale
from bursar.simulation import lazy_loop, plain_loop, thompson_loop
from bursar.simulation.lazy_loop import new_tree
from bursar.simulation.nonstationary_loop import Source
from bursar.simulation.plain_loop import DONE, PAUSED, SHORT, Finish, Play
from bursar.simulation.tape import COLUMNS, SQUARES, SUMS, Tape

POLICY_STREAM = 0
"""The policy's own stream of a seed, apart from what the arms yield."""

_CHUNK = 1 << 16  # plays between returns to Python, so that Ctrl-C works


@dataclass(frozen=True)
class Game:
    """The outcome of one game."""

    checkpoints: Floats  # shares x 3: plays, spend and regret at each share of the budget
    reward: float
    plays_per_arm: NDArray[np.int64] = field(repr=False)
    choices: NDArray[np.int32] | None = field(repr=False, default=None)

    @property
    def plays(self) -> NDArray[np.int64]:
        """Plays at each share of the budget."""
        return self.checkpoints[:, 0].astype(np.int64)

    @property
    def spent(self) -> Floats:
        """Spend at each share of the budget."""
        return self.checkpoints[:, 1]

    @property
    def regret(self) -> Floats:
        """Regret at each share of the budget."""
        return self.checkpoints[:, 2]


def run(
    policy: Policy,
    world: Tape | Source,
    budget: float,
    shares: Floats,
    seed: tuple[int, ...],
    *,
    loop: str = "auto",
    overspend: str = "last",
    record: bool = False,
    max_plays: int | None = None,
) -> Game:
    """Play a game; ``loop`` is "auto" (the fastest) or "plain", for a tape."""
    problem = world.problem
    p = policy.kernel_params(policy.make_context(problem.arms, budget, problem.min_cost, Scale()))
    state = new_game(budget, policy.ties, overspend == "never")
    stream = new_stream(*seed, POLICY_STREAM)
    checkpoints = np.zeros((shares.size, 3))
    recorded = np.append(shares * budget, np.inf), checkpoints
    if isinstance(world, Tape):
        play, finish = _begin(policy, world, loop)
    else:
        play, finish = world.begin(policy)
    choices = _play_chunks(
        lambda choices: play(p, state, recorded, choices, stream), state, record, max_plays
    )
    regret, reward, n = finish()
    missed = slice(int(state["level"][0]), None)  # shares that the game did not reach
    checkpoints[missed] = state["plays"][0], state["spent"][0], regret
    return Game(checkpoints, float(reward), n.astype(np.int64), choices)


def _begin(policy: Policy, tape: Tape, loop: str) -> tuple[Play, Finish]:
    """Start a game on a tape."""
    n = np.zeros(tape.problem.arms)
    kernel, own = make_loop(policy, loop, n.size)
    regrets = tape.problem.regret  # computed at each look: once is enough

    def play(p: Any, state: Any, recorded: Any, choices: Any, stream: Stream) -> int:
        end: int = kernel(p, *tape.arrays, n, state, *own, regrets, *recorded, choices, stream)
        if end == SHORT:
            tape.extend(int(state["short"][0]))
        return end

    def finish() -> tuple[float, float, Floats]:
        return float(n @ regrets), tape.rows[tape.start + n.astype(np.int64), 0].sum(), n

    return play, finish


def _play_chunks(
    play: Callable[[NDArray[np.int32]], int], state: Any, record: bool, max_plays: int | None
) -> NDArray[np.int32] | None:
    """Call a loop until its game is over; return all choices if they are recorded."""
    limited = record or max_plays is not None
    choices = np.empty(0, dtype=np.int32)
    recorded, done, end = [choices], 0, PAUSED
    while end != DONE and (max_plays is None or done < max_plays):
        if limited and end == PAUSED:
            size = _CHUNK if max_plays is None else min(_CHUNK, max_plays - done)
            choices = np.empty(size, dtype=np.int32)
        end = play(choices)
        if limited and end != SHORT:
            filled = int(state["filled"][0])
            done, state["filled"] = done + filled, 0
            if record:
                recorded.append(choices[:filled])
    return np.concatenate(recorded) if record else None


def fastest_loop(policy: Policy) -> str:
    """Return the name of the fastest loop that plays a policy."""
    if policy.choose_cached is not None:
        return "cached"
    return policy.shortcut or ("lazy" if policy.lazy else "plain")


def columns_for(policies: Iterable[Policy]) -> int:
    """Return how many columns of a tape these policies read."""
    needs = [COLUMNS if p.trials else SQUARES if p.uses_variance else SUMS for p in policies]
    return max(needs, default=SUMS)


def make_loop(policy: Policy, name: str, arms: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a compiled loop and its own arrays, for a game of ``arms`` arms."""
    cls: Any = type(policy)
    if name == "auto":
        name = fastest_loop(policy)
    own: tuple[Any, ...]
    if name == "plain":
        own = new_arms(arms), np.zeros(policy.memory_size(arms))
    elif name != fastest_loop(policy):
        raise InvalidInput(f"{policy.name} has no {name!r} loop; choose 'auto' or 'plain'")
    elif name == "cached":
        own = new_arms(arms), np.zeros(policy.cache_size(arms))
    elif name == "greedy":
        own = new_tree(arms), np.zeros(arms), np.full(1, -1, dtype=np.int64)
    elif name == "thompson":
        own = thompson_loop.new_memory(arms)
    else:
        awake, value = np.empty(arms, dtype=np.int64), np.empty(arms)
        own = new_tree(arms), np.full(arms, 0.01), awake, value
    return _kernel(cls, name), own


@cache
def _kernel(cls: Any, loop: str) -> Any:
    if loop == "greedy":
        return specialize(lazy_loop.play_greedy, cls.name)
    if loop == "thompson":
        return specialize(thompson_loop.play, cls.name)
    if loop == "lazy":
        moments = {"ddof": float(cls.ddof), "uses_variance": cls.uses_variance}
        evaluate = specialize(lazy_loop.evaluate, cls.name, index=cls.index, **moments)
        worst = cls.worst or specialize(lazy_loop.worst, cls.name, index=cls.index)
        parts = {"evaluate": evaluate, "clock": cls.clock}
        parts["certify"] = specialize(lazy_loop.certify, cls.name, **parts)
        parts["decide"] = specialize(lazy_loop.decide, cls.name, **parts)
        return specialize(lazy_loop.play, cls.name, worst=worst, **parts, **moments)
    own = {"uses_variance": cls.uses_variance, "trials": cls.trials, "has_memory": True}
    if loop == "cached":
        own |= {"choose": cls.choose_cached, "update_memory": cls.update_cache}
        return specialize(plain_loop.play, f"{cls.name}.cached", **own)
    found = kernels.functions(cls)
    own |= {name: found[name] for name in ("choose", "update_memory")}
    own["has_memory"] = cls.update_memory is not None
    return specialize(plain_loop.play, cls.name, **own)
