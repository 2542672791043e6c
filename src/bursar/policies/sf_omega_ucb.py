r"""Scale-free ω-UCB: intervals without ranges, for prices that differ by orders of magnitude.

ω-UCB divides costs by the largest possible one. If prices range from 0.0001 to 25, nearly all costs
are then nearly 0, and every arm looks nearly free. This policy needs no range of costs.

*The bound.* Theorem 1 of the paper with m = 0 and :math:`\eta = \sigma^2/(\bar x(M - \bar x))` says

.. math:: (\bar x - \mu)^2 = \tfrac{z^2}{n}\sigma^2\,\frac{\mu(M - \mu)}{\bar x(M - \bar x)}
          \;\xrightarrow{M\to\infty}\; (\bar x - \mu)^2 = a\,\bar x\mu, \qquad
          a = \tfrac{z^2}{n}\,\frac{\sigma^2}{\bar x^2}.

Its roots are :math:`\bar x\,(1 + a/2 \pm \sqrt{a + a^2/4})`; their product is :math:`\bar x^2`. The
lower one is positive and scales with the data (`scale_free_lower`).

*The smallest range.* Values in [0, u] with mean :math:`\mu` have at most the variance
:math:`\mu(u - \mu)`. The smallest u that allows the variance seen is
:math:`u = \sum x^2/\sum x`. In [0, u] the variance is the largest possible (:math:`\eta = 1`), so
n plays are n Bernoulli trials of size u that succeed with probability :math:`q = \mu/u`. Rewards of
0 or 1 have u = 1, rewards of 0 or 7 have u = 7, steady prices have q near 1. The index is that of
`pooled-gittins` for trials,

.. math:: \frac{u_r}{u_c}\,\sup\{x/y : A\,kl(\tilde q_r, x) + C\,kl(\tilde q_c, y) \le z^2/2\},

and never above the largest reward over the lower bound of the cost. For 0/1 data it is the
likelihood-ratio form of ω-UCB's interval; for small q the divergence is scale-free as well.

*What arms share.* The relative variance of costs :math:`\sigma^2/\mu^2` is averaged over arms and
counts as three plays of each. The logarithms of the mean costs have a mean and a spread, towards
which an arm with few plays is shrunk. Straight lines through the logarithms predict, from an arm's
cost, the size u of its rewards and how often they come; that counts as 1/`_SPREAD` successes. So a
cheap arm that earned nothing is not hoped for longer than the dear ones suggest.

*How far to hope.* z is the boundary of optimal stopping, as in `pooled-gittins`, for the plays that
the rest of the budget pays for. Of a horizon in which the arm may succeed H times, the share
H/(H + `_SHORT`) counts: a short one is too short to learn many arms one by one.

*First tries.* An arm that was never tried costs about its declared maximum times the share that
others cost of theirs, or what other arms cost, whichever predicts better. The cheapest is tried
next, if the largest reward over the lower bound of that guess beats all indices.

Constants were chosen on worlds made from some real tables; docs/real-costs.md (2026).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled
from bursar.policies.base import POSITIVE, Policy, PolicyContext
from bursar.policies.pooled_gittins import hope, largest_ratio

_PLAYS = 3.0  # what the relative variance of all arms counts in that of one
_SPREAD = 0.5  # relative variance of the chance of success between arms of one cost
_SHORT = 100.0  # successes
_SHARE = 0.5  # successes that the predicted size of rewards counts
_RIDGE_SIZE, _RIDGE_CHANCE = 0.3, 2.0  # squared deviations that speak for lines without slope
_FEWEST = 0.5  # trials of the prior
_NEAR = 1e-4  # a chance of success stays that far from 1, a relative variance from 0

# beyond these, products are no doubles: mean costs and sizes of rewards, relative variances, plays
_LEAST, _WIDEST, _LONGEST = 1e-300, 1e12, 1e200
_MOST = 30.0  # plays of an arm that count in the line for the chance of success
_STEPS = 4  # of Newton's method for it

Now = tuple[float, float, float, float, float, float, float, float]


class Params(NamedTuple):
    horizon: float
    budget: float
    reward_offset: float


@compiled
def scale_free_lower(mean: float, a: float) -> float:
    """Return the lower root, without cancellation.

    >>> round(scale_free_lower(2.0, 0.5), 12)
    1.0
    """
    return mean / (1.0 + 0.5 * a + math.sqrt(a + 0.25 * a * a))


@compiled
def scale_free_upper(mean: float, a: float) -> float:
    """Return the upper root.

    >>> round(scale_free_upper(2.0, 0.5), 12)
    4.0
    """
    return mean * (1.0 + 0.5 * a + math.sqrt(a + 0.25 * a * a))


@compiled
def _spread(values: Floats) -> tuple[float, float]:
    """Return mean and variance of logarithms over arms; one arm of variance 1 is added."""
    if values.size == 0:
        return 0.0, 1.0
    mean = values.mean()
    return mean, (1.0 + ((values - mean) ** 2).sum()) / (1.0 + values.size)


@compiled
def _relative(variance: float, mean: float) -> float:
    """Return the relative variance; mean² may underflow."""
    return min(variance / mean / mean, _WIDEST)


@compiled
def pooled(arms: Arms) -> tuple[float, float, float, float, float, float, float]:
    """Return what is known of arms in general.

    The relative variance of costs, mean and variance of the logarithm of mean costs, and height
    and slope of two lines: for the logarithm of the size of rewards and for that of the chance of
    success, against the logarithm of the mean cost.
    """
    known = arms[(arms["n"] > 0.0) & (arms["cost"] > 0.0)]
    logs = np.log(known["cost"] / known["n"])
    centre, spread = _spread(logs)
    x, successes = logs - centre, np.zeros(known.size)
    weights = squares = 1.0
    s0 = s1 = s2 = y0 = y1 = 0.0
    for k in range(known.size):
        arm = known[k]
        n, mean = arm.n, arm.cost / arm.n
        if n > 1.0:
            weight = _PLAYS * (n - 1.0) / (n - 1.0 + _PLAYS)
            weights += weight
            squares += weight * _relative(arm.cost_m2 / (n - 1.0), mean)
        if arm.reward > 0.0:
            size = max(arm.reward_m2 / arm.reward + arm.reward / n, _LEAST)
            successes[k] = arm.reward / size
            weight, y = successes[k] / (successes[k] + 1.0), math.log(size)
            s0 += weight
            s1 += weight * x[k]
            s2 += weight * x[k] * x[k]
            y0 += weight * y
            y1 += weight * x[k] * y
    height = slope = 0.0
    if s0 > 0.0:
        slope = (y1 - s1 * y0 / s0) / (max(s2 - s1 * s1 / s0, 0.0) + _RIDGE_SIZE)
        height = (y0 - slope * s1) / s0
    # arms that cost nothing yet are not in it, so a small spread may only mean few plays
    spread = max(spread, 1.0)
    return squares / weights, centre, spread, height, slope, *_fit_chance(known, x, successes)


@compiled
def _fit_chance(arms: Arms, x: Floats, successes: Floats) -> tuple[float, float]:
    """Return height and slope of the line for the logarithm of the chance of success.

    Maximum likelihood for binomial counts, with half a success in one trial added at the centre.
    """
    total, plays = 0.5, 1.0
    for k in range(arms.size):
        share = min(arms[k].n, _MOST) / arms[k].n
        total += share * successes[k]
        plays += share * arms[k].n
    height, slope = math.log(total / plays), 0.0
    for _ in range(_STEPS):
        chance = math.exp(min(height, 0.0))
        gap, gap_slope = 0.5 - chance, -_RIDGE_CHANCE * slope
        h00, h01, h11 = chance, 0.0, _RIDGE_CHANCE
        for k in range(arms.size):
            n = arms[k].n
            chance = math.exp(min(height + slope * x[k], 0.0))
            weight = min(n, _MOST) / n / (1.05 - chance)
            miss, curve = weight * (successes[k] - n * chance), weight * n * chance
            gap += miss
            gap_slope += miss * x[k]
            h00 += curve
            h01 += curve * x[k]
            h11 += curve * x[k] * x[k]
        size = h00 * h11 - h01 * h01
        if size <= 1e-300:
            break
        height += min(max((h11 * gap - h01 * gap_slope) / size, -1.0), 1.0)
        slope += min(max((h00 * gap_slope - h01 * gap) / size, -1.0), 1.0)
    return height, slope


@compiled
def clock(p: Params, plays: float) -> Now:
    """Return what is left of the budget before the first play, and what is known of arms then."""
    return p.budget, 1.0, 0.0, 1.0, 0.0, 0.0, -math.log(2.0), 0.0


@compiled
def _cost_of(n: float, c: float, vc: float, now: Now) -> tuple[float, float, float]:
    """Return logarithm, precision and relative variance of an arm's cost, shrunk to the others."""
    general, centre, spread = now[1], now[2], now[3]
    if c <= 0.0:  # it may still cost what others cost
        weight = general / spread
        share = weight / (n + weight)
        return centre + math.log(share), 1.0 / spread, general / share
    own = (_PLAYS * general + n * _relative(vc, c)) / (_PLAYS + n - 1.0)
    own = max(own, _NEAR)
    precision = n / own + 1.0 / spread
    return (n / own * math.log(c) + centre / spread) / precision, precision, own


@compiled
def _reward_of(n: float, r: float, vr: float, x: float, now: Now) -> tuple[float, float, float]:
    """Return the size of an arm's rewards, its trials with the prior's, and their mean."""
    predicted = max(math.exp(min(now[4] + now[5] * (x - now[2]), 0.0)), _LEAST)
    weight = _SHARE * (min(r, predicted) if r > 0.0 else predicted)
    size = max((n * (vr + r * r) + weight * predicted) / (n * r + weight), _LEAST)
    usual = math.exp(min(now[6] + now[7] * (x - now[2]), -0.01))
    prior = max((1.0 - usual) / (usual * _SPREAD) - 1.0, _FEWEST)
    trials = n + prior
    return size, trials, min((n * r / size + prior * usual) / trials, 1.0 - _NEAR)


@compiled
def _hope(p: Params, n: float, plays: float, chance: float) -> float:
    """Return z for a horizon of ``plays`` plays."""
    plays = min(plays, _LONGEST)
    successes = plays * min(chance / (1.0 - chance), 1.0)
    return hope(n, plays * (successes / (successes + _SHORT)))


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: Now) -> float:
    log_cost, precision, relative = _cost_of(n, c, vc, now)
    cost = max(math.exp(log_cost), _LEAST)
    size, trials, chance = _reward_of(n, r, vr, log_cost, now)
    z = _hope(p, n, p.horizon * now[0] / cost, chance)
    found = 1.0 / (1.0 + relative)  # the chance with which a trial costs something
    lift = largest_ratio(trials, chance, precision * relative, found, z) * found / chance
    most = max(1.0 + p.reward_offset, 0.0) / scale_free_lower(cost, z * z / precision)
    if p.reward_offset == 0.0:
        return min(size * chance * lift / cost, most)
    # rewards that do not start at 0: the reward alone is raised, and not beyond its range
    return min((p.reward_offset + min(size * chance * lift, 1.0)) / cost, most)


@compiled
def scores(p: Params, arms: Arms, game: Game) -> Floats:
    """Return all indices; of the arms that were never tried only that of the next one is not -inf.

    It is inf if that arm is to be tried now.
    """
    now = (max(game[0].budget - game[0].spent, 0.0), *pooled(arms))
    out = np.full(arms.size, -math.inf)
    for k in range(arms.size):
        arm = arms[k]
        n = arm.n
        if n > 0.0:
            out[k] = index(
                p, n, arm.reward / n, arm.cost / n, arm.reward_m2 / n, arm.cost_m2 / n, now
            )
    score_untried(p, arms, now, out)
    return out


@compiled
def score_untried(p: Params, arms: Arms, now: Now, out: Floats) -> None:
    """Set the scores of the cheapest arms that were never tried, if they are to be tried now."""
    known = arms[(arms["n"] > 0.0) & (arms["cost"] > 0.0)]
    centre, spread = _spread(np.log(known["cost"] / known["n"]))
    known = known[known["cap"] > 0.0]
    share, share_spread = _spread(np.log(known["cost"] / known["n"] / known["cap"]))
    if known.size == 0:  # maxima compare arms with each other, and say nothing of what they cost
        share = centre - _spread(np.log(arms["cap"][arms["cap"] > 0.0]))[0]
    weight = 1.0 / (spread * spread)
    weight_cap = 1.0 / (share_spread * share_spread)
    best, least = -math.inf, math.inf
    for k in range(arms.size):
        best = max(best, out[k])
        if arms[k].n == 0.0:
            least = min(least, _guess(arms[k].cap, centre, share, weight, weight_cap))
    if least == math.inf:
        return
    if best > -math.inf:
        z = hope(1.0, min(p.horizon * now[0] / max(math.exp(least), _LEAST), _LONGEST))
        # where costs scatter much, those of a few plays say little of what arms cost
        variance = min(spread, share_spread) + now[1] / _PLAYS
        most = math.exp(min(z * math.sqrt(variance) - least, 700.0))
        if max(1.0 + p.reward_offset, 0.0) * most <= best:
            return
    for k in range(arms.size):
        if arms[k].n == 0.0 and _guess(arms[k].cap, centre, share, weight, weight_cap) == least:
            out[k] = math.inf


@compiled
def _guess(cap: float, centre: float, share: float, weight: float, weight_cap: float) -> float:
    """Return the logarithm of the cost of an arm that was never tried."""
    if cap <= 0.0:
        return centre
    return (weight * centre + weight_cap * (math.log(cap) + share)) / (weight + weight_cap)


@dataclass(frozen=True)
class ScaleFreeOmegaUCB(Policy):
    """Scale-free ω-UCB, which knows the budget and needs no range of costs.

    ``horizon`` multiplies what is left of the budget: more is more cautious.
    """

    horizon: float = 1.0

    name, title = "sf-omega-ucb", "SF-ω-UCB"
    year = 2026
    source = "bursar 2026, docs/real-costs.md; after Heyden et al., KDD 2024, and Lai, 1987"
    formula = (
        "(u_r/u_c) sup x/y with A kl(q_r, x) + C kl(q_c, y) <= z²/2; u = sum x² / sum x, the\n"
        "smallest range in which the variance is the largest possible; z as in pooled-gittins"
    )
    domains = (("horizon", POSITIVE),)
    example_params = ({}, {"horizon": 0.5})
    needs = ("budget",)
    scale_free = True
    tries_all = False
    index = staticmethod(index)
    clock = staticmethod(clock)
    scores = staticmethod(scores)

    def kernel_params(self, context: PolicyContext) -> Params:
        offset = context.scale.reward_low / context.scale.reward_width
        return Params(self.horizon, self._known(context, "budget"), offset)

    def _now(self, p: Any, plays: float, arms: Arms, spent: float) -> Any:
        return (max(p.budget - spent, 0.0), *pooled(arms))
