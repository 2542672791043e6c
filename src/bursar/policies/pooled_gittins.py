r"""Pooled Gittins: hope that ends with the budget, and variances that arms share.

The index of an arm is the largest reward per cost that is still worth hoping for:

.. math:: \sup\{x/y : A\,kl(\tilde r, x) + C\,kl(\tilde c, y) \le z^2/2\}

A = n/eta + 2 counts an arm's plays as Bernoulli trials of the same variance, with two trials at the
mean of all arms before the first; eta is the variance over the largest possible, shrunk to that of
all arms. z is the boundary of optimal stopping with n plays done and as many left as the rest of
the budget pays for: the Gittins index with a finite horizon. An arm is tried again as long as the
rest of the budget could pay it back. The parts are in :mod:`bursar.policies.gittins_index`.

Derivation and measurements: docs/less-regret.md (2026). The boundary is that of Lai (1987), Annals
of Statistics 15(3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream
from bursar.policies.base import POSITIVE, Policy, PolicyContext
from bursar.policies.gittins_index import (
    COUNT,
    add_up,
    allows,
    eta,
    hope,
    largest_ratio,
    pooled,
    share_of,
)

_TRIALS = 2.0  # of the prior
_ABOVE = 1.0 + 1e-9  # old indices are rounded up by more than an evaluation can err

# what the simulation keeps: sums over arms, the pool, the arm played last and the best of the
# others; then for each arm what it adds to the sums, a bound of its index, and the index if new
_POOL, _LEADER, _RIVAL, _HEAD = COUNT, COUNT + 4, COUNT + 5, COUNT + 6
_BOUND, _VALUE, _ARM = COUNT, COUNT + 1, COUNT + 2

Now = tuple[float, float, float, float, float]


class Params(NamedTuple):
    horizon: float
    pool: float
    budget: float


@compiled
def clock(p: Params, plays: float) -> Now:
    """Return what is left of the budget before the first play, and what is known of arms then."""
    return p.budget, 1.0, 1.0, 0.5, 0.5


@compiled
def trials(n: float, mean: float, spread: float, centre: float) -> tuple[float, float]:
    """Return how many Bernoulli trials a sample is worth, and their mean, the prior's with them."""
    own = n / spread
    return own + _TRIALS, (own * mean + _TRIALS * centre) / (own + _TRIALS)


@compiled
def region(
    p: Params, n: float, r: float, c: float, vr: float, vc: float, now: Now
) -> tuple[float, float, float, float, float]:
    """Return trials and mean of rewards, trials and mean of costs, and z."""
    left, general_r, general_c, centre_r, centre_c = now
    eta_r = eta(n, r, vr, general_r, centre_r)
    eta_c = eta(n, c, vc, general_c, centre_c)
    weight_r, mean_r = trials(n, r, eta_r, centre_r)
    weight_c, mean_c = trials(n, c, eta_c, centre_c)
    played = n + 0.5 * _TRIALS * (eta_r + eta_c)  # a trial of the prior is worth eta plays
    return weight_r, mean_r, weight_c, mean_c, hope(played, p.horizon * left / mean_c)


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: Now) -> float:
    return largest_ratio(*region(p, n, r, c, vr, vc, now))


@compiled
def _pool(p: Params, sums: Floats, arms: float) -> tuple[float, float, float, float]:
    return pooled(sums, arms) if p.pool else (1.0, 1.0, 0.5, 0.5)


@compiled
def _index_of(p: Params, arm: Any, now: Now) -> float:
    n = arm.n
    return index(p, n, arm.reward / n, arm.cost / n, arm.reward_m2 / n, arm.cost_m2 / n, now)


@compiled
def _beats(p: Params, arm: Any, now: Now, rival: float) -> bool:
    """Return whether an arm's index is above a number; yes is certain, no is not."""
    n, r, c = arm.n, arm.reward / arm.n, arm.cost / arm.n
    return allows(*region(p, n, r, c, arm.reward_m2 / n, arm.cost_m2 / n, now), rival * _ABOVE)


@compiled
def scores(p: Params, arms: Arms, game: Game) -> Floats:
    """Return all indices; together, because arms learn from each other."""
    own, sums = np.empty(COUNT), np.empty(COUNT)
    add_up(arms, own, sums)
    general = _pool(p, sums, float(arms.size))
    now = (max(game[0].budget - game[0].spent, 0.0), *general)
    out = np.empty(arms.size)
    for k in range(arms.size):
        out[k] = _index_of(p, arms[k], now)
    return out


@compiled
def update_cache(
    p: Params, arms: Arms, game: Game, memory: Floats, k: int, reward: float, cost: float
) -> None:
    """Keep the sums over all arms up to date."""
    own = memory[_HEAD + _ARM * k : _HEAD + _ARM * (k + 1)]
    for i in range(COUNT):
        memory[i] -= own[i]
    share_of(arms[k], own)
    for i in range(COUNT):
        memory[i] += own[i]
    own[_BOUND] = math.inf


@compiled
def choose_cached(p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    """Return the arm of the largest of `scores`, looking only at arms that may have it.

    The index of an arm that is not played falls, for the budget does. So an old index bounds it, as
    long as what is known of arms in general stays the same.
    """
    size, plays = arms.size, game[0].plays
    if plays < size:
        return int(plays)
    general = _pool(p, memory, float(size))
    now = (max(game[0].budget - game[0].spent, 0.0), *general)
    new = plays == size
    for i in range(4):
        new = new or memory[_POOL + i] != general[i]
        memory[_POOL + i] = general[i]
    leader = int(memory[_LEADER])
    if not new and _beats(p, arms[leader], now, memory[_RIVAL]):
        return leader
    return _look(p, arms, game, memory, stream, now, new)


@compiled
def _look(
    p: Params, arms: Arms, game: Game, memory: Floats, stream: Stream, now: Now, new: bool
) -> int:
    """Evaluate arms, the one of the largest bound first, until no other can be better."""
    size = arms.size
    table = memory[_HEAD:].reshape((size, _ARM))
    best = -math.inf
    for k in range(size):
        table[k, _VALUE] = -math.inf
        if new:
            table[k, _VALUE] = value = _index_of(p, arms[k], now)
            table[k, _BOUND] = value * _ABOVE
    while not new:
        at, bound = -1, best
        for k in range(size):
            if table[k, _BOUND] >= bound and table[k, _VALUE] == -math.inf:
                at, bound = k, table[k, _BOUND]
        if at < 0:
            break
        table[at, _VALUE] = value = _index_of(p, arms[at], now)
        table[at, _BOUND] = value * _ABOVE
        best = max(best, value)
    arm = argmax(table[:, _VALUE].copy(), game, stream)
    rival = -math.inf
    for k in range(size):
        if k != arm:
            rival = max(rival, table[k, _BOUND])
    memory[_LEADER], memory[_RIVAL] = float(arm), rival
    return arm


@dataclass(frozen=True)
class PooledGittins(Policy):
    """Pooled Gittins, which knows the budget.

    ``horizon`` multiplies what is left of the budget: more is more cautious. Without ``pool`` arms
    do not learn from each other.
    """

    horizon: float = 2.0
    pool: bool = True

    name = "pooled-gittins"
    title = "Pooled Gittins"
    year = 2026
    source = "bursar 2026, docs/less-regret.md; boundary of Lai, Annals of Statistics 1987"
    formula = (
        "sup x/y with A kl(r, x) + C kl(c, y) <= z²/2, A and C effective trials, z the boundary\n"
        "of optimal stopping for the plays done and those that the rest of the budget pays for"
    )
    domains = (("horizon", POSITIVE),)
    example_params = ({}, {"horizon": 0.5}, {"pool": False})
    needs = ("budget",)
    index = staticmethod(index)
    clock = staticmethod(clock)
    scores = staticmethod(scores)
    choose_cached = staticmethod(choose_cached)
    update_cache = staticmethod(update_cache)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.horizon, float(self.pool), self._known(context, "budget"))

    def cache_size(self, arms: int) -> int:
        return _HEAD + _ARM * arms

    def _now(self, p: Any, plays: float, arms: Arms, spent: float) -> Any:
        played = arms[arms["n"] > 0.0]  # an arm without plays says nothing of arms in general
        own, sums = np.empty(COUNT), np.empty(COUNT)
        add_up(played, own, sums)
        return (max(p.budget - spent, 0.0), *_pool(p, sums, float(played.size)))
