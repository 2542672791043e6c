"""What is to come, by the numbers: many futures drawn from what is known of the arms.

The mean of an arm is drawn from a Beta distribution over its range: mean as observed (half a
success and half a failure added, as Jeffreys), spread as observed (one play of the largest variance
added). For Bernoulli arms that is the Bayesian posterior. A policy that learns will move plays from
the shares of lately to the arm that turns out best, nobody knows how many: any share of them is
equally likely. What single plays scatter around their means is added as normal noise, by the
central limit theorem of renewal processes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bursar.campaign.course import Course, course_of
from bursar.campaign.recent import Recent
from bursar.campaign.statistic import Estimate, Statistics
from bursar.checks import Floats

__all__ = ["Known", "Outlook", "outlook_of"]

_DRAWS = 1000


class Known(NamedTuple):
    """What a forecast starts from, taken while the campaign stood still; money in user's units."""

    table: Statistics
    recent: Recent
    left: float  # of the budget, open holds counted as left
    holds: Floats  # infinite for arms that may not be chosen
    rooms: Floats
    unsettled: Floats  # decisions of each arm that wait for their cost
    pending: Floats  # and those that wait for anything
    day_cap: float
    learns: bool  # whether the policy looks at outcomes
    seed: int


class Outlook(NamedTuple):
    """What is expected, with 90% intervals."""

    plays: Estimate | None
    reward: Estimate | None
    rate: Estimate | None  # money a day
    days: Estimate | None  # until nothing fits
    value: Estimate  # reward of one more unit of budget
    margin: int  # the arm that most of it goes to
    course: Course


class _Means(NamedTuple):
    """Draws of the means of each arm, their centre and the variance of single values."""

    draws: Floats
    centre: Floats
    variance: Floats


def outlook_of(known: Known, days: float | None) -> Outlook:
    """Return what is to come, in all or within some days."""
    table, recent = known.table, known.recent
    random = np.random.default_rng([known.seed, int(table.n.sum())])
    low, high = table.reward_range
    rewards = _means(random, table.n, table.reward, table.reward_variance, low, high - low)
    costs = _means(random, table.n, table.cost, table.cost_variance, 0.0, table.top)
    c, r = costs.centre, rewards.centre
    left = known.left - float(known.unsettled @ c)
    ratios = np.where(table.n > 0.0, r / c, np.nan)
    shares = recent.shares(c.size)
    inputs = shares, known.holds, known.rooms, c, costs.variance + c**2, ratios
    course = course_of(left, *inputs)
    beyond = course if course.money.size else course_of(_plenty(known.holds), *inputs)
    moved = np.append(0.5, random.random(_DRAWS)) if known.learns else np.zeros(_DRAWS + 1)
    rewards, costs = _with_centre(rewards), _with_centre(costs)
    value, margin = _value(beyond, rewards.draws, costs.draws, moved)
    rate = recent.rate(c)
    total = float(course.money.sum())
    limit: Floats | float = np.inf
    if rate is None:
        speed, lasts = None, Estimate(0.0, 0.0, 0.0) if total == 0.0 else None
    else:
        speeds = np.minimum(
            rate[0] * np.exp(rate[1] / rate[0] * random.standard_normal(_DRAWS)), known.day_cap
        )
        slow = min(rate[0], known.day_cap)
        speed = _estimate(slow, speeds)
        scatter = np.sqrt(float((course.money / (course.weights @ c)).sum()) * rate[2])
        lasts = _estimate(
            total / slow, np.maximum(total / speeds + scatter * random.standard_normal(_DRAWS), 0.0)
        )
        if days is not None:
            limit = np.append(slow, speeds) * days
    if (days is not None and rate is None) or not table.n.any():
        return Outlook(None, None, speed, lasts, value, margin, course)
    money, weights = course.thinned(c)
    each = _plays(money, weights, rewards.draws, costs.draws, moved, limit)
    plays, reward = _brought(random, each, rewards, costs, recent, known.pending)
    return Outlook(plays, reward, speed, lasts, value, margin, course)


def _means(
    random: np.random.Generator,
    n: Floats,
    mean: Floats,
    variance: Floats,
    low: float,
    width: float | Floats,
) -> _Means:
    x = (mean - low) / width
    most = x * (1.0 - x)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = np.where(most > 0.0, np.minimum(variance / (np.square(width) * most), 1.0), 1.0)
    eta = (n * eta + 1.0) / (n + 1.0)
    a, b = n / eta * x + 0.5, n / eta * (1.0 - x) + 0.5
    draws = random.beta(a[:, None], b[:, None], (n.size, _DRAWS))
    centre = a / (a + b)
    spread = np.square(width) * eta * centre * (1.0 - centre)
    wide = np.broadcast_to(width, n.shape)
    # a cost of exactly nothing would buy plays without end
    draws = np.maximum(draws, 1e-12)
    return _Means(low + wide[:, None] * draws, low + wide * centre, spread)


def _plenty(holds: Floats) -> float:
    """Return money for a course when nothing fits any more: enough for every arm."""
    fit = holds[np.isfinite(holds)]
    return 2.0 * float(fit.max()) if fit.size else 0.0


def _with_centre(means: _Means) -> _Means:
    """Put the centre before the draws: the first of all futures is the expected one."""
    return means._replace(draws=np.column_stack((means.centre, means.draws)))


def _mix(weights: Floats, r: Floats, c: Floats, moved: Floats) -> Floats:
    """Return shares of plays, arm by future, after some have moved to the best of the arms."""
    mine = np.flatnonzero(weights)
    best = mine[np.argmax(r[mine] / c[mine], axis=0)]
    shares = np.outer(weights, 1.0 - moved)
    shares[best, np.arange(moved.size)] += moved
    return np.asarray(shares)


def _value(course: Course, r: Floats, c: Floats, moved: Floats) -> tuple[Estimate, int]:
    if not course.money.size:
        return Estimate(0.0, 0.0, 0.0), -1
    mix = _mix(course.weights[course.margin], r, c, moved)
    worth = (mix * r).sum(axis=0) / (mix * c).sum(axis=0)
    return _estimate(worth[0], worth[1:]), int(np.argmax(mix[:, 0] * c[:, 0]))


def _plays(
    money: Floats, weights: Floats, r: Floats, c: Floats, moved: Floats, limit: Floats | float
) -> Floats:
    """Return plays, arm by future, when at most ``limit`` of the money is spent."""
    each, start = np.zeros_like(r), 0.0
    for amount, row in zip(money, weights, strict=True):
        shares = _mix(row, r, c, moved)
        each += shares * (np.clip(limit - start, 0.0, amount) / (shares * c).sum(axis=0))
        start += amount
    return each


def _brought(
    random: np.random.Generator,
    each: Floats,
    rewards: _Means,
    costs: _Means,
    recent: Recent,
    pending: Floats,
) -> tuple[Estimate, Estimate]:
    """Return the number of plays and what they bring, with what single plays scatter."""
    r = rewards.draws
    count, brought = each.sum(axis=0), (each * r).sum(axis=0)
    typical, mean_r, mean_c = each[:, 0], rewards.centre, costs.centre
    spent = float(typical @ mean_c)
    if spent > 0.0:
        price, worth = spent / count[0], brought[0] / spent
        together = np.array([recent.covariance(k) if n else 0.0 for k, n in enumerate(typical)])
        scatter = rewards.variance + worth**2 * costs.variance - 2.0 * worth * together
        scatter = np.maximum(scatter, 0.0) + np.square(mean_r - worth * mean_c)
        steps = np.sqrt(typical @ (costs.variance + np.square(mean_c - price))) / price
        count[1:] = np.maximum(count[1:] + steps * random.standard_normal(_DRAWS), 0.0)
        brought[1:] += np.sqrt(typical @ scatter) * random.standard_normal(_DRAWS)
    brought += pending @ r
    brought[1:] += np.sqrt(pending @ rewards.variance) * random.standard_normal(_DRAWS)
    return _estimate(count[0], count[1:]), _estimate(brought[0], brought[1:])


def _estimate(value: float, draws: Floats) -> Estimate:
    low, high = np.quantile(draws, [0.05, 0.95])
    return Estimate(float(min(max(value, low), high)), float(low), float(high))
