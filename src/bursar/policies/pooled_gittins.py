r"""Pooled Gittins: hope that ends with the budget, and variances that arms share.

The index of an arm is the largest reward per cost that is still worth hoping for:

.. math:: \sup\{x/y : A\,kl(\tilde r, x) + C\,kl(\tilde c, y) \le z^2/2\}

A = n/eta + 2 counts an arm's plays as Bernoulli trials of the same variance, with two trials at the
mean of all arms before the first; eta is the variance over the largest possible, shrunk to that of
all arms. z is the boundary of optimal stopping with n plays done and as many left as the rest of
the budget pays for: the Gittins index with a finite horizon. An arm is tried again as long as the
rest of the budget could pay it back.

Derivation and measurements: docs/less-regret.md (2026).

*How far to hope.* One arm yields a normal drift of unknown mean :math:`\theta` per play against an
alternative that yields 0. It was played n times, m plays are left, and it may be given up at any
time. Play on as long as the posterior mean is above :math:`-z\sigma/\sqrt n`: the boundary z
depends on the share t = n/(n + m) of the horizon that is over, and on nothing else (Chernoff & Ray
1965, Lai 1987). It is the finite-horizon Gittins index of the arm, in standard deviations above its
mean. As t goes to 0, :math:`z^2 = 2\log(1/t) - \log\log(1/t) - \log 16\pi + o(1)`; there is no
closed form.
The knots are the solution of the optimal stopping problem by backward induction, extrapolated to
steps of no length; `tests/policies/test_horizon.py` solves it again. Between plays that cannot be
divided the boundary is lower by :math:`0.5826/\sqrt n` (Chernoff & Petkau 1986).

*The largest ratio.* On the edge of the region the point of the largest ratio is known but for one
number: with :math:`y = c\,e^{-u}` the multiplier is :math:`\mu = C(c - y)/(1 - y)` and
:math:`x = (r + \mu/A)/(1 + \mu/A)`. So one equation in u is left, whose square root is nearly a
straight line: Newton's method, kept within a bracket. For normal data it is Fieller's interval.

*The pooled variance.* An arm with few plays says little about its own variance, but arms of one
problem resemble each other: 0/1 rewards are 0/1 for all of them, and stable prices are stable. So
the ratio :math:`\eta` of the variance to the largest one, m(1 - m), is averaged over arms and the
average counts as three plays of each arm. The mean of all arms' means counts as two Bernoulli
trials (for a single arm, a fair coin). This is an empirical Bayes estimate; Smyth (2004), Stat.
Appl. Genet. Mol. Biol. 3(1), shrinks variances in this way for genes with three samples each.

Two roundings make it fast. What an arm adds is rounded to 2⁻³⁰, so that sums are exact in any order
and one play changes them in place. The averages are rounded to 9%, so that most plays do not
change them at all, and what was computed from them for other arms still holds.

Lai (1987). Adaptive treatment allocation and the multi-armed bandit problem. Annals of Statistics
15(3). https://doi.org/10.1214/aos/1176350495
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game, argmax
from bursar.jit.compile import compiled
from bursar.jit.divergence import bernoulli_kl
from bursar.jit.rng import Stream
from bursar.policies.base import POSITIVE, Policy, PolicyContext

STEP = 0.25  # of sqrt(log(1/t)), in which the boundary is nearly a straight line
KNOTS = np.array([
    0.0, 0.164, 0.330, 0.513, 0.718, 0.954, 1.227, 1.539, 1.889, 2.269, 2.667, 3.073, 3.479, 3.879,
    4.273, 4.662, 5.046, 5.427, 5.806, 6.183, 6.558,
])  # fmt: skip
WHOLE_PLAYS = 0.5826  # -zeta(1/2)/sqrt(2 pi)
_LAST = STEP * (len(KNOTS) - 1)
_LOG_16_PI = math.log(16.0 * math.pi)
_REST = float(KNOTS[-1]) - math.sqrt(2.0 * _LAST**2 - 2.0 * math.log(_LAST) - _LOG_16_PI)


@compiled
def hope(played: float, left: float) -> float:
    """Return z for these numbers of plays done and left; it falls as the plays run out.

    >>> [round(hope(n, 1e5), 2) for n in (1.0, 10.0, 1e3, 1e5)]
    [3.52, 3.35, 2.1, 0.58]
    """
    root = math.sqrt(math.log1p(max(left, 0.0) / played))
    if root >= _LAST:
        log = root * root
        z = _REST + math.sqrt(2.0 * log - math.log(log) - _LOG_16_PI)
    else:
        at = int(root / STEP)
        z = KNOTS[at] + (root / STEP - at) * (KNOTS[at + 1] - KNOTS[at])
    return max(z - WHOLE_PLAYS / math.sqrt(played), 0.0)


_EXACT = 1e-13
_FARTHEST = 700.0  # of u: a ratio beyond is hardly a double any more


@compiled
def allows(weight_r: float, r: float, weight_c: float, c: float, z: float, ratio: float) -> bool:
    """Return whether a point of that ratio is in the region: far less work than the largest.

    Among all points of a ratio the one of the least divergence is the root of a quadratic. Rounding
    can only make it another point of that ratio, so a yes is always right.
    """
    if ratio <= r / c:
        return z >= 0.0
    half = 0.5 * (weight_r * (ratio + r) + weight_c * (1.0 + c * ratio))
    last = weight_r * r + weight_c * c
    y = last / (half + math.sqrt(max(half * half - (weight_r + weight_c) * ratio * last, 0.0)))
    x = ratio * y
    if not (r <= x < 1.0 and y <= c):
        return False
    spent = weight_r * bernoulli_kl(r, x, 1.0 - x) + weight_c * bernoulli_kl(c, y, 1.0 - y)
    return 2.0 * spent < z * z


@compiled
def largest_ratio(weight_r: float, r: float, weight_c: float, c: float, z: float) -> float:
    """Return the supremum, for means inside (0, 1).

    >>> round(largest_ratio(100.0, 0.5, 100.0, 0.5, 0.0), 12)
    1.0
    >>> round(largest_ratio(1e8, 0.5, 1e8, 0.25, 2.0), 6)  # as normal: 2 (1 + 2e-4 sqrt(1 + 3))
    2.0008
    """
    ratio = r / c
    if z <= 0.0:
        return ratio
    part_c = (1.0 - c) / (weight_c * c)  # squared relative errors
    part_r = (1.0 - r) / (weight_r * r)
    u = z * part_c / math.sqrt(part_c + part_r)
    low, high = 0.0, math.inf
    for _ in range(100):
        y = c * math.exp(-u)
        rest_y = 1.0 - y
        gap = -c * math.expm1(-u)  # c - y
        mu = weight_c * gap / rest_y
        lift = mu / weight_r
        x, rest_x = (r + lift) / (1.0 + lift), (1.0 - r) / (1.0 + lift)
        level = weight_r * bernoulli_kl(r, x, rest_x) + weight_c * bernoulli_kl(c, y, rest_y)
        root = math.sqrt(2.0 * level)
        ratio = x / y
        if root > z:
            high = u
        else:
            low = u
            if low > _FARTHEST:
                return math.inf
        slope_mu = weight_c * y * (1.0 - c) / (rest_y * rest_y)
        slope_x = rest_x / (weight_r * (1.0 + lift)) * slope_mu / x  # of log x
        step = (z - root) * root / (mu * (1.0 + slope_x)) if mu > 0.0 else math.inf
        last, u = u, u + step
        if not low < u < high:
            u = 0.5 * (low + high) if high < math.inf else 2.0 * last
        if abs(u - last) <= _EXACT * last:
            break
    return ratio


COUNT = 6  # numbers that an arm adds
_PLAYS = 3.0  # what the average of all arms counts in the variance of one
_GRAIN = 2.0**30
_STEPS = 8.0  # an octave
_LEAST = 1e-6  # of eta: arms without any scatter
Pool = tuple[float, float, float, float]


@compiled
def share_of(arm: Any, out: Floats) -> None:
    """Write what an arm adds: weight and weighted eta of rewards and costs, and both means."""
    n = arm.n
    for i in range(COUNT):
        out[i] = 0.0
    if n <= 0.0:
        return
    r, c = arm.reward / n, arm.cost / n
    weight = _grain((n - 1.0) / (n - 1.0 + _PLAYS))
    if weight > 0.0 and 0.0 < r < 1.0:
        out[0] = weight
        out[1] = _grain(weight * min(arm.reward_m2 / ((n - 1.0) * r * (1.0 - r)), 1.0))
    if weight > 0.0 and 0.0 < c < 1.0:
        out[2] = weight
        out[3] = _grain(weight * min(arm.cost_m2 / ((n - 1.0) * c * (1.0 - c)), 1.0))
    out[4], out[5] = _grain(r), _grain(c)


@compiled
def _grain(x: float) -> float:
    return float(math.floor(x * _GRAIN + 0.5)) / _GRAIN


@compiled
def add_up(arms: Arms, own: Floats, sums: Floats) -> None:
    """Write the sums over all arms; ``own`` has room for what one adds."""
    for i in range(COUNT):
        sums[i] = 0.0
    for k in range(arms.size):
        share_of(arms[k], own)
        for i in range(COUNT):
            sums[i] += own[i]


@compiled
def pooled(sums: Floats, arms: float) -> Pool:
    """Return eta of rewards and of costs, and both means, of arms in general.

    One more arm is counted, of the largest variance and with mean 1/2.
    """
    return (
        _rounded((1.0 + sums[1]) / (1.0 + sums[0])),
        _rounded((1.0 + sums[3]) / (1.0 + sums[2])),
        _rounded((0.5 + sums[4]) / (1.0 + arms)),
        _rounded((0.5 + sums[5]) / (1.0 + arms)),
    )


@compiled
def _rounded(x: float) -> float:
    """Round to eighths of an octave, of x or of what is missing to 1, whichever is smaller."""
    if x >= 1.0:
        return 1.0
    near = x if x <= 0.5 else 1.0 - x
    near = min(math.pow(2.0, math.floor(_STEPS * math.log2(near) + 0.5) / _STEPS), 0.5)
    return near if x <= 0.5 else 1.0 - near


@compiled
def eta(n: float, mean: float, variance: float, general: float, centre: float) -> float:
    """Return an arm's variance over the largest possible; ``general`` is that of arms in general.

    The prior's trials, ``general`` plays, are in the sample here: but for rounding 0/1 data have
    eta 1, however few and even if all are equal.
    """
    size = n + general
    m = (n * mean + general * centre) / size
    most = m * (1.0 - m)
    squares = n * (variance + (mean - m) ** 2) + general * (
        (centre - m) ** 2 + centre * (1.0 - centre)
    )
    found = (_PLAYS * general * most + squares) / ((_PLAYS + n + 2.0 * general - 1.0) * most)
    return min(max(found, _LEAST), 1.0)


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

    name, title = "pooled-gittins", "Pooled Gittins"
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
