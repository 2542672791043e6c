"""Conformance checks: run ``check_policy(MyPolicy())`` on a policy of your own.

Each check plays small games and raises :class:`bursar.errors.NonConforming` with what it found.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from bursar.errors import NonConforming
from bursar.jit.compile import as_records, interpreted
from bursar.jit.rng import new_stream
from bursar.policies import Learner, Policy, kernels
from bursar.policies.slug import parse

__all__ = ["CHECKS", "check_policy"]

_BUDGET, _MIN_COST = 200.0, 0.05
_REWARD = np.array([0.55, 0.25, 0.7, 0.4, 0.6])
_COST = np.array([0.3, 0.5, 0.65, 0.2, 0.8])


def check_policy(policy: Policy) -> None:
    """Raise if a policy breaks a rule that simulation and live campaigns rely on.

    Examples
    --------
    >>> import bursar
    >>> check_policy(bursar.policy("ucb-sc-plus"))
    """
    if not isinstance(policy, Policy):
        raise NonConforming(f"policy must be a bursar.Policy, got {policy!r}; subclass it")
    for check in CHECKS:
        try:
            check(policy)
        except NonConforming:
            raise
        except Exception as error:  # any exception of a user's policy is a finding
            name = getattr(policy, "name", type(policy).__name__)
            reason = str(error).strip().split("\n")[0]
            rule = (check.__doc__ or "").split("\n")[0]
            raise NonConforming(
                f"{name}: {type(error).__name__}: {reason} (checking: {rule})"
            ) from error


def check_same_seed_same_run(policy: Policy) -> None:
    """The same seed gives the same choices, also to a copy of the policy."""
    first, again = (_choices(_start(p), 200) for p in (policy, policy.but()))
    _expect(policy, first == again, "two games with the same seed differ")


def check_slug_round_trip(policy: Policy) -> None:
    """The policy made from ``str(policy)`` equals it."""
    again = parse(str(policy), {policy.name: type(policy)})
    _expect(policy, again == policy, f"its slug gives a different policy, {again!r}")


def check_every_arm_tried(policy: Policy) -> None:
    """Every arm is played."""
    learner = _start(policy)
    _choices(learner, 400)
    missing = np.flatnonzero(learner.plays_per_arm == 0).tolist()
    _expect(policy, not missing, f"arms {missing} of 5 were not tried in 400 plays")


def check_renamed_arms(policy: Policy) -> None:
    """Renaming the arms does not change how often each is chosen."""
    policy = policy.but(ties="random")  # the first of several equal arms depends on names
    order = np.array([3, 0, 4, 1, 2])
    before = _shares(policy, np.arange(5))
    after = _shares(policy, order)
    moved = {int(order[k]): share for k, share in after.items()}
    worst = max(abs(before.get(k, 0.0) - moved.get(k, 0.0)) for k in range(5))
    problem = f"renaming the arms changes the choice: shares {before} became {moved}"
    _expect(policy, worst < 0.12, problem)


def check_fair_ties(policy: Policy) -> None:
    """Arms with the same record are chosen equally often."""
    shares = _shares(policy.but(ties="random"), np.zeros(5, dtype=int))
    worst = max(abs(share - 0.2) for share in shares.values())
    problem = f"five arms with the same record are chosen unequally: shares {shares}"
    _expect(policy, worst < 0.12, problem)


def check_extreme_outcomes(policy: Policy) -> None:
    """Choices are valid with free arms, arms that earn nothing, and a single arm."""
    for arms in sorted({policy.round_size, policy.round_size + 1, 5}):
        for reward, cost in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)):
            learner = _start(policy, arms)
            for _ in range(60):
                arm = learner.choose()
                where = f"with {arms} arms of reward {reward} and cost {cost}"
                _expect(policy, 0 <= arm < arms, f"{where} it chose arm {arm}")
                learner.record(arm, reward, cost)


def check_index_is_a_number(policy: Policy) -> None:
    """The index is never NaN or negative, even at the edges of all ranges."""
    if policy.index is None:
        return
    edge = np.array([0.0, 1e-300, 1e-12, 0.3, 1.0 - 1e-12, 1.0])
    for plays, plays_of_arm in ((1, [1]), (2, [1, 2]), (1e9, [1, 2, 30, 1e9]), (1e12, [1, 1e9])):
        r, c, n = (a.ravel() for a in np.meshgrid(edge, edge, np.array(plays_of_arm, float)))
        for share in (0.0, 0.5, 1.0):
            got = _indices(policy, n, r, c, share, plays)
            bad = np.flatnonzero(~(got >= 0.0))
            if bad.size:
                k = bad[0]
                state = f"n={n[k]:g}, mean reward {r[k]:g}, mean cost {c[k]:g}, plays={plays:g}"
                _expect(policy, False, f"its index is {got[k]} at {state}")


def check_index_grows_while_not_played(policy: Policy) -> None:
    """The index of a monotone policy never falls while other arms are played."""
    if policy.index is None or not policy.monotone:
        return
    rng = np.random.default_rng(0)
    n = rng.integers(1, 500, 400).astype(float)
    r, c = rng.uniform(size=(2, 400))
    before = _indices(policy, n, r, c, 0.5, 500.0)
    for plays in (501.0, 1000.0, 1e5, 1e9):
        after = _indices(policy, n, r, c, 0.5, plays)
        fell = np.flatnonzero(after < before * (1.0 - 1e-12))
        problem = f"it is monotone, but {fell.size} of 400 indices fell by play {plays:g}"
        _expect(policy, not fell.size, problem)
        before = after


def check_compiled_equals_python(policy: Policy) -> None:
    """Compiled code makes the same choices as the same functions in plain Python."""
    compiled, twin = _start(policy), _start(policy)
    twin._decide = interpreted(kernels.of(type(policy), "decide"))
    twin._learn = interpreted(kernels.of(type(policy), "learn"))
    twin.arms, twin.game = as_records(twin.arms), as_records(twin.game)
    ours = _choices(compiled, 150)
    with np.errstate(all="ignore"):  # compiled code does not warn about division by 0 either
        theirs = _choices(twin, 150)
    differ = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    _expect(policy, not differ, f"compiled and Python choices differ from play {differ[:1]} on")


CHECKS: tuple[Callable[[Policy], None], ...] = (
    check_slug_round_trip,
    check_index_is_a_number,
    check_extreme_outcomes,
    check_same_seed_same_run,
    check_every_arm_tried,
    check_index_grows_while_not_played,
    check_renamed_arms,
    check_fair_ties,
    check_compiled_equals_python,
)


def _start(policy: Policy, arms: int = 5, seed: int = 3) -> Learner:
    return policy.learner(arms, seed=seed, budget=_BUDGET, min_cost=_MIN_COST)


def _choices(learner: Learner, plays: int) -> list[int]:
    """Play with continuous outcomes in [0, 1] that depend only on the arm and the play number."""
    noise = np.random.default_rng(5).uniform(-0.2, 0.2, size=(plays, 2))
    chosen = []
    for drift in noise:
        arm = learner.choose()
        learner.record(arm, _REWARD[arm] + drift[0], _COST[arm] + drift[1])
        chosen.append(arm)
    return chosen


def _shares(policy: Policy, order: Any, draws: int = 300) -> dict[int, float]:
    """Return how often each arm is chosen from a state with the arms in the given order."""
    counted: Counter[int] = Counter()
    saved = []
    for shift in range(5):
        learner = _start(policy)
        _round_robin(learner, order, shift, 20 * policy.round_size)
        # early on, policies may alternate between arms by name
        learner.game["spent"] = 0.75 * _BUDGET
        saved.append((learner.arms.copy(), learner.game.copy(), learner.memory.copy()))
    for draw in range(draws):
        learner.arms[:], learner.game[:], learner.memory[:] = saved[draw % 5]
        learner.stream[:] = new_stream(draw)
        for _ in range(policy.round_size):
            arm = learner.choose()
            counted[arm] += 1
            learner.record(arm, 1.0, 1.0)
    return {k: counted[k] / (draws * policy.round_size) for k in range(5)}


def _round_robin(learner: Learner, order: Any, shift: int, rounds: int) -> None:
    """Play all arms equally often in one order, independent of names; equal arms alternate.

    For a policy that forgets, what was played last is part of an arm's record.
    """
    sequence = sorted(range(5), key=lambda k: (order[k], (k + shift) % 5))
    for i in range(rounds):  # zeros and ones, because BTS would randomize anything else
        for k in sequence:
            reward, cost = _REWARD[order[k]] * rounds, _COST[order[k]] * rounds
            learner.record(k, float(i < reward), float(i < cost))


def _indices(policy: Policy, n: Any, r: Any, c: Any, share: float, plays: float) -> Any:
    """Return the indices of arms whose variance is a share of the largest possible one."""
    if "min_cost" in policy.unmet_needs:
        policy = policy.but(min_cost=_MIN_COST)
    return policy.indices(
        n=n,
        mean_reward=r,
        mean_cost=c,
        plays=int(plays),
        var_reward=share * r * (1.0 - r),
        var_cost=share * c * (1.0 - c),
        budget=_BUDGET,
    )


def _expect(policy: Policy, holds: bool, problem: str) -> None:
    if not holds:
        raise NonConforming(f"{policy}: {problem}")
