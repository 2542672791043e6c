r"""Discounted ω-UCB and ω*-UCB: every play counts, older ones less.

.. math:: \Omega_k = \omega^r_{k+} / \omega^c_{k-}, \qquad z^2 = 2\rho\log(1 + \sum_k n_k)

A play that i plays ago was made has the weight :math:`\gamma^i`; :math:`n_k` is the sum of weights
of an arm, means and variances are weighted. So :math:`\sum_k n_k = (1-\gamma^N)/(1-\gamma)`, and
γ = 1 gives ω-UCB itself, choice by choice. An arm that is not played loses weight and gets a wider
interval at every play of another one: it is tried again, sooner or later, without being forced.

Fading changes neither means nor variances, only :math:`n_k`; weights share one scale, and to fade
them all is to fade the scale. The index of an arm that is not played never falls, so its index at a
later time is a bound until then: arms whose bound is below the best are not looked at.

The intervals are those of Heyden, Arzamasov, Fouché & Böhm (2024), KDD '24; the weights are those
of Garivier & Moulines (2011). On upper-confidence bound policies for switching bandit problems.
ALT. https://arxiv.org/abs/0805.3415
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax, first_unplayed
from bursar.jit.compile import compiled
from bursar.jit.rng import Stream
from bursar.policies.base import Domain, Domains, PolicyContext
from bursar.policies.omega import OmegaStarUCB, OmegaUCB, star_index

# the memory: a head, eight numbers an arm, and room for an index an arm
_ALL_PLAYED, _LEADER, _SCALE, _TIME, _END, _SCALE_AT_END, _NOW_AT_END, _HEAD = range(8)
_N, _REWARD, _COST, _REWARD_M2, _COST_M2, _WEIGHT, _BOUND, _UNTIL, _ARM = range(9)
_SKIPPED = -1.0  # in place of an index, which is never negative
_SLACK = 1.0 + 1e-12  # bounds are rounded up by more than an evaluation can err
_SMALL = 1e-100  # a scale that is smaller restarts at 1
_FADED, _LATER = 0.02, 0.1  # how much fades, and by how much the game grows, while bounds hold


class Params(NamedTuple):
    """Those of `bursar.policies.omega.Params`, and the discount with its logarithm."""

    rho: float
    min_samples: float
    eta_min: float
    reward_offset: float
    cost_offset: float
    gamma: float
    log_gamma: float


@compiled
def clock(p: Any, plays: float) -> float:
    """Return z², the same for all arms."""
    total = plays
    if p.gamma < 1.0:
        total = -math.expm1(plays * p.log_gamma) / (1.0 - p.gamma)
    z2: float = 2.0 * p.rho * math.log1p(total)
    return z2


@compiled
def _index(p: Any, own: Floats, scale: float, now: float) -> float:
    """Return an arm's index at a time, given by the scale of weights then and z²."""
    n = own[_WEIGHT] * scale
    if n <= 0.0:  # so long ago that no double holds its weight
        return math.inf
    r, c = own[_REWARD] / own[_N], own[_COST] / own[_N]
    return star_index(p, n, r, c, own[_REWARD_M2] / own[_N], own[_COST_M2] / own[_N], now)


@compiled
def _pass_time(p: Any, memory: Floats, arms: int, plays: float) -> None:
    """Fade all weights up to now by fading their scale; restart at 1 before it is too small."""
    if memory[_SCALE] == 0.0:
        memory[_SCALE] = 1.0
    gone = plays - memory[_TIME]
    if gone != 0.0:
        memory[_SCALE] *= p.gamma if gone == 1.0 else p.gamma**gone
        memory[_TIME] = plays
    if memory[_SCALE] < _SMALL:
        for k in range(arms):
            memory[_HEAD + _ARM * k + _WEIGHT] *= memory[_SCALE]
        memory[_SCALE], memory[_END] = 1.0, -1.0


@compiled
def update_memory(
    p: Any, arms: Arms, game: Game, memory: Floats, k: int, reward: float, cost: float
) -> None:
    """Fade an arm up to now and count its play: Welford's update with weights."""
    _pass_time(p, memory, arms.size, float(game[0].plays))
    own = memory[_HEAD + _ARM * k : _HEAD + _ARM * (k + 1)]
    before_reward = own[_REWARD] / own[_N] if own[_N] > 0.0 else reward
    before_cost = own[_COST] / own[_N] if own[_N] > 0.0 else cost
    kept = own[_WEIGHT] * memory[_SCALE] / own[_N] if own[_N] > 0.0 else 0.0
    own[_N] = kept * own[_N] + 1.0
    own[_REWARD] = min(kept * own[_REWARD] + reward, own[_N])
    own[_COST] = min(kept * own[_COST] + cost, own[_N])
    change = (reward - before_reward) * (reward - own[_REWARD] / own[_N])
    own[_REWARD_M2] = kept * own[_REWARD_M2] + change
    change = (cost - before_cost) * (cost - own[_COST] / own[_N])
    own[_COST_M2] = kept * own[_COST_M2] + change
    own[_WEIGHT], own[_UNTIL] = own[_N] / memory[_SCALE], -1.0
    memory[_LEADER] = float(k)


@compiled
def _look_ahead(p: Any, memory: Floats, plays: float) -> None:
    """Set the time until which bounds hold, the same for all arms."""
    ahead = max(_LATER * plays, 1.0)
    if p.gamma < 1.0:
        ahead = min(ahead, max(_FADED / (1.0 - p.gamma), 1.0))
    memory[_END] = plays + math.floor(ahead)
    memory[_SCALE_AT_END] = memory[_SCALE] * p.gamma ** math.floor(ahead)
    memory[_NOW_AT_END] = clock(p, memory[_END])


@compiled
def choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    size = arms.size
    if memory[_ALL_PLAYED] == 0.0:
        unplayed = first_unplayed(arms)
        if unplayed >= 0:
            return unplayed
        memory[_ALL_PLAYED] = 1.0
    plays = float(game[0].plays)
    _pass_time(p, memory, size, plays)
    if plays > memory[_END]:
        _look_ahead(p, memory, plays)
    first = _HEAD + _ARM * size
    scores = memory[first : first + size]
    now, scale, end = clock(p, plays), memory[_SCALE], memory[_END]
    leader = int(memory[_LEADER])
    own = memory[_HEAD + _ARM * leader : _HEAD + _ARM * (leader + 1)]
    best = _index(p, own, scale, now)
    scores[leader] = best
    for k in range(size):
        if k == leader:
            continue
        at = _HEAD + _ARM * k
        if memory[at + _UNTIL] == end and memory[at + _BOUND] < best:
            scores[k] = _SKIPPED
            continue
        own = memory[at : at + _ARM]
        scores[k] = _index(p, own, scale, now)
        best = max(best, scores[k])
        if own[_UNTIL] != end:
            own[_BOUND] = _index(p, own, memory[_SCALE_AT_END], memory[_NOW_AT_END]) * _SLACK
            own[_UNTIL] = end
    return argmax(scores, game, stream)


@dataclass(frozen=True)
class DiscountedOmegaUCB(OmegaUCB):
    """ω-UCB with plays that fade by ``gamma`` at every play, for nonstationary problems."""

    gamma: float = 0.999

    name, title = "d-omega-ucb", "D-ω-UCB"
    source = "bursar, after Heyden et al., KDD 2024, and Garivier & Moulines, ALT 2011"
    formula = (
        "upper(mean reward) / lower(mean cost), a play i plays ago with weight gamma^i,\n"
        "Theorem 1 with eta = 1, n the sum of an arm's weights, z² = 2 rho log(1 + sum of all n)"
    )
    domains: ClassVar[Domains] = (
        ("gamma", Domain("in (0, 1]; 1 forgets nothing", lambda gamma: 0.0 < gamma <= 1.0)),
    )
    example_params = ({"gamma": 0.999}, {"gamma": 0.95}, {"gamma": 1.0})
    always_shown = ("rho", "gamma")
    clock = staticmethod(clock)
    choose = staticmethod(choose)
    update_memory = staticmethod(update_memory)

    def memory_size(self, arms: int) -> int:
        return _HEAD + (_ARM + 1) * arms

    def kernel_params(self, context: PolicyContext) -> Any:
        return Params(*super().kernel_params(context), self.gamma, math.log(self.gamma))


@dataclass(frozen=True)
class DiscountedOmegaStarUCB(DiscountedOmegaUCB, OmegaStarUCB):
    """ω*-UCB with plays that fade by ``gamma`` at every play, for nonstationary problems."""

    name, title = "d-omega-star-ucb", "D-ω*-UCB"
    formula = (
        "upper(mean reward) / lower(mean cost), a play i plays ago with weight gamma^i,\n"
        "Theorem 1 with n the sum of an arm's weights, z² = 2 rho log(1 + sum of all n) and\n"
        "eta = variance / ((high - mean)(mean - low)) once n >= min_samples, 1 before"
    )
