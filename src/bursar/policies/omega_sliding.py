r"""Sliding-window ω-UCB and ω*-UCB: the last w plays of all arms count, older ones are forgotten.

.. math:: \Omega_k = \omega^r_{k+} / \omega^c_{k-}, \qquad z^2 = 2\rho\log\min(N + 1, w)

with the plays, means and variances of each arm among the last w plays. An arm that has none left
comes first. A window longer than the game gives ω-UCB itself, choice by choice.

A play changes two arms, the one that was played and the one whose play leaves the window. Once the
window is full the radius stands still, so all other indices stay what they are and are kept.

The intervals are those of Heyden, Arzamasov, Fouché & Böhm (2024), KDD '24; the window is that of
Garivier & Moulines (2011). On upper-confidence bound policies for switching bandit problems. ALT.
https://arxiv.org/abs/0805.3415
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

MOST = 10_000_000
"""The longest window: its plays are kept, three numbers each."""

# the memory: a head, five numbers an arm, an index an arm, and the plays of the window in a ring
_FILLED, _NEXT, _COUNT, _NOW, _AGE, _ALL_PLAYED, _HEAD = 0, 1, 2, 3, 4, 5, 6
_N, _REWARD, _COST, _REWARD_M2, _COST_M2, _ARM = 0, 1, 2, 3, 4, 5
_STALE = -1.0  # in place of an index, which is never negative


class Params(NamedTuple):
    """Those of `bursar.policies.omega.Params`, and the window."""

    rho: float
    min_samples: float
    eta_min: float
    reward_offset: float
    cost_offset: float
    window: float


@compiled
def clock(p: Any, plays: float) -> float:
    """Return z², the same for all arms."""
    z2: float = 2.0 * p.rho * math.log1p(min(plays, p.window - 1.0))
    return z2


@compiled
def _enter(memory: Floats, arms: int, k: int, reward: float, cost: float) -> None:
    """Count a play of an arm, as `bursar.jit.arms.add` does."""
    own = memory[_HEAD + _ARM * k : _HEAD + _ARM * (k + 1)]
    before_reward = own[_REWARD] / own[_N] if own[_N] > 0.0 else reward
    before_cost = own[_COST] / own[_N] if own[_N] > 0.0 else cost
    own[_N] += 1.0
    own[_REWARD] += reward
    own[_COST] += cost
    own[_REWARD_M2] += (reward - before_reward) * (reward - own[_REWARD] / own[_N])
    own[_COST_M2] += (cost - before_cost) * (cost - own[_COST] / own[_N])
    memory[_HEAD + _ARM * arms + k] = _STALE


@compiled
def _leave(memory: Floats, arms: int, k: int, reward: float, cost: float) -> None:
    """Forget a play of an arm: `_enter` undone, but for rounding."""
    own = memory[_HEAD + _ARM * k : _HEAD + _ARM * (k + 1)]
    memory[_HEAD + _ARM * arms + k] = _STALE
    if own[_N] <= 1.0:
        own[:] = 0.0
        return
    before_reward, before_cost = own[_REWARD] / own[_N], own[_COST] / own[_N]
    own[_N] -= 1.0
    own[_REWARD] = min(max(own[_REWARD] - reward, 0.0), own[_N])
    own[_COST] = min(max(own[_COST] - cost, 0.0), own[_N])
    change = (reward - before_reward) * (reward - own[_REWARD] / own[_N])
    own[_REWARD_M2] = max(own[_REWARD_M2] - change, 0.0)
    change = (cost - before_cost) * (cost - own[_COST] / own[_N])
    own[_COST_M2] = max(own[_COST_M2] - change, 0.0)


@compiled
def _recount(memory: Floats, arms: int, window: int) -> None:
    """Recount the plays of a full window, the oldest first, so that rounding does not add up."""
    ring = _HEAD + (_ARM + 1) * arms
    memory[_HEAD : _HEAD + _ARM * arms] = 0.0
    for i in range(window):
        at = ring + 3 * ((int(memory[_NEXT]) + i) % window)
        _enter(memory, arms, int(memory[at]), memory[at + 1], memory[at + 2])


@compiled
def update_memory(
    p: Any, arms: Arms, game: Game, memory: Floats, k: int, reward: float, cost: float
) -> None:
    """Let a play enter the window, and the oldest leave it."""
    size, window = arms.size, int(p.window)
    at = _HEAD + (_ARM + 1) * size + 3 * int(memory[_NEXT])
    if memory[_FILLED] >= p.window:
        _leave(memory, size, int(memory[at]), memory[at + 1], memory[at + 2])
    else:
        memory[_FILLED] += 1.0
    memory[at], memory[at + 1], memory[at + 2] = float(k), reward, cost
    memory[_NEXT] = memory[_NEXT] + 1.0 if memory[_NEXT] + 1.0 < p.window else 0.0
    _enter(memory, size, k, reward, cost)
    if memory[_FILLED] >= p.window:
        memory[_AGE] += 1.0
        if memory[_AGE] >= p.window:
            memory[_AGE] = 0.0
            _recount(memory, size, window)


@compiled
def choose(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream) -> int:
    size = arms.size
    if memory[_ALL_PLAYED] == 0.0:
        unplayed = first_unplayed(arms)
        if unplayed >= 0:
            return unplayed
        memory[_ALL_PLAYED] = 1.0
    first = _HEAD + _ARM * size
    scores = memory[first : first + size]
    count = min(float(game[0].plays), p.window - 1.0)
    if memory[_COUNT] != count + 1.0:
        memory[_COUNT], memory[_NOW] = count + 1.0, clock(p, count)
        scores[:] = _STALE
    for k in range(size):
        if scores[k] < 0.0:
            own = memory[_HEAD + _ARM * k : _HEAD + _ARM * (k + 1)]
            n = own[_N]
            if n > 0.0:
                vr, vc = own[_REWARD_M2] / n, own[_COST_M2] / n
                scores[k] = star_index(p, n, own[_REWARD] / n, own[_COST] / n, vr, vc, memory[_NOW])
            else:
                scores[k] = math.inf
    return argmax(scores, game, stream)


@dataclass(frozen=True)
class SlidingOmegaUCB(OmegaUCB):
    """ω-UCB over the last ``window`` plays of all arms, for nonstationary problems."""

    window: int = 2000

    name, title = "sw-omega-ucb", "SW-ω-UCB"
    source = "bursar, after Heyden et al., KDD 2024, and Garivier & Moulines, ALT 2011"
    formula = (
        "upper(mean reward) / lower(mean cost) over the last window plays, Theorem 1 with eta = 1,"
        "\nz² = 2 rho log(min(N + 1, window)); infinite if none of them is the arm's"
    )
    domains: ClassVar[Domains] = (
        ("window", Domain(f"from 1 to {MOST:,} plays", lambda window: 1 <= window <= MOST)),
    )
    example_params = ({"window": 2000}, {"window": 60})
    always_shown = ("rho", "window")
    monotone = False  # a lucky play that leaves the window lowers the index
    clock = staticmethod(clock)
    choose = staticmethod(choose)
    update_memory = staticmethod(update_memory)

    def memory_size(self, arms: int) -> int:
        return _HEAD + (_ARM + 1) * arms + 3 * self.window

    def kernel_params(self, context: PolicyContext) -> Any:
        return Params(*super().kernel_params(context), float(self.window))


@dataclass(frozen=True)
class SlidingOmegaStarUCB(SlidingOmegaUCB, OmegaStarUCB):
    """ω*-UCB over the last ``window`` plays of all arms, for nonstationary problems."""

    name, title = "sw-omega-star-ucb", "SW-ω*-UCB"
    formula = (
        "upper(mean reward) / lower(mean cost) over the last window plays, Theorem 1 with\n"
        "z² = 2 rho log(min(N + 1, window)) and eta = variance / ((high - mean)(mean - low))\n"
        "once n >= min_samples, 1 before; infinite if none of the plays is the arm's"
    )
