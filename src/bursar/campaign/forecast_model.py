"""What is to come, by the numbers: many futures drawn from what is known of the arms.

The mean of an arm is drawn from a Beta distribution over its range: mean as observed (half a
success and half a failure added, as Jeffreys), spread as observed (one play of the largest variance
added). For Bernoulli arms that is the Bayesian posterior. A policy that learns will move plays from
the shares of lately to the arm that turns out best, nobody knows how many: any share of them is
equally likely. What single plays scatter around their means is added as normal noise, by the
central limit theorem of renewal processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.campaign.events import ASKED, LAPSED, RELEASED, VOIDED
from bursar.campaign.views import Statistics
from bursar.estimate import Estimate
from bursar.ledger import Event
from bursar.validation import Floats

__all__ = [
    "DAY",
    "ForecastModel",
    "Known",
    "RecentActivity",
    "SpendCourse",
    "fit_forecast_model",
    "make_course",
    "read_recent_activity",
]

# ==== campaign.course
# The course of what is left: stretches of money, each with the arms that it goes to.
#
# Arms share the money as they did lately, until they no longer fit into what is left or into their
# cap; then the others share it alone. When none of them is left the best of the arms that still fit
# takes over.

_PARTS = 32  # stretches that a forecast tells apart


class SpendCourse(NamedTuple):
    """Stretches of money in the order they are spent, and who gets them."""

    money: Floats  # of each stretch
    weights: Floats  # stretch by arm: shares of plays
    margin: int  # the stretch that one more unit of budget would make longer
    rest: float  # what fits no arm at the end

    def thinned(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return money and weights with small stretches joined, as many plays of each arm."""
        ends = np.cumsum(self.money)
        bins = np.minimum(_PARTS * (ends - self.money) // max(ends[-1:].sum(), 1e-300), _PARTS - 1)
        plays = (self.money / (self.weights @ costs))[:, None] * self.weights
        _, starts = np.unique(bins, return_index=True)
        if not starts.size:
            return self.money, self.weights
        joined = np.add.reduceat(plays, starts, axis=0)
        money = np.add.reduceat(self.money, starts)
        some = money > 0.0
        return money[some], joined[some] / joined[some].sum(axis=1, keepdims=True)


def make_course(
    left: float,
    shares: Floats,
    holds: Floats,
    rooms: Floats,
    costs: Floats,
    squares: Floats,
    ratios: Floats,
) -> SpendCourse:
    """Return the course for what is left.

    ``shares`` of the arms lately; ``holds`` and ``rooms`` (infinite without a cap) of money;
    ``costs`` and ``squares`` the means of costs and squared costs; ``ratios`` reward per cost, NaN
    if nothing is known. Arms that may not be chosen have infinite holds.
    """
    money: list[float] = []
    rows: list[Floats] = []
    margin = None
    rooms = rooms.copy()
    able = (holds <= left) & (holds <= rooms)
    while able.any():
        weights = _shared(shares, able, ratios)
        price = weights @ costs
        spends = weights * costs / price  # share of the money
        played = weights > 0.0
        until_holds = np.where(played, left - holds, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            until_caps = np.where(played, (rooms - holds) / spends, np.inf)
        step = max(min(until_holds.min(), until_caps.min()), 0.0)
        if margin is None and until_holds.min() <= until_caps.min():
            margin = len(money)
        stops = played & (np.minimum(until_holds, until_caps) <= step)
        last = not (able & ~stops).any()
        if last:  # the last play begins where its hold just fits, and goes beyond
            step += min(0.5 * (weights @ squares) / price, float(holds[played].max()))
        money.append(step)
        rows.append(weights)
        left -= step
        rooms -= spends * step
        able &= ~stops & (holds <= left) & (holds <= rooms)
    return SpendCourse(
        np.array(money),
        np.array(rows).reshape(-1, shares.size),
        len(money) - 1 if margin is None else margin,
        max(left, 0.0),
    )


def _shared(shares: Floats, able: NDArray[np.bool_], ratios: Floats) -> Floats:
    weights = np.where(able, shares, 0.0)
    if weights.sum() > 0.0:
        return np.asarray(weights / weights.sum())
    known = able & ~np.isnan(ratios)
    if known.any():
        weights[np.argmax(np.where(known, ratios, -np.inf))] = 1.0
        return weights
    return np.asarray(able / np.count_nonzero(able), dtype=np.float64)


# ==== campaign.recent
# What the newest part of the log tells: who was asked, how fast money went, what goes together.

DAY = 86_400_000_000  # µs
_PAIRS = 30  # costs and rewards of an arm before they tell how they go together


class RecentActivity(NamedTuple):
    """Decisions of the last days, one number each, the oldest first."""

    arm: Floats
    gap: Floats  # days until the next one, or until now
    cost: Floats  # in the user's units; NaN while it is not known
    reward: Floats

    def shares(self, arms: int) -> Floats:
        """Return the share of each arm."""
        counts = np.bincount(self.arm.astype(np.intp), minlength=arms).astype(np.float64)
        return np.asarray(counts / max(counts.sum(), 1.0))

    def covariance(self, arm: int) -> float:
        """Return that of reward and cost of an arm; 0 if too little is known."""
        mine = (self.arm == arm) & ~np.isnan(self.cost) & ~np.isnan(self.reward)
        if np.count_nonzero(mine) < _PAIRS:
            return 0.0
        return float(np.cov(self.reward[mine], self.cost[mine], bias=True)[0, 1])

    def rate(self, costs: Floats) -> tuple[float, float, float] | None:
        """Return money a day, its standard error, and the variance of a gap; None without any.

        Decisions without a cost count with the mean ``costs`` of their arm. The error is that of a
        ratio of two means: it sees bursts, but neither nights nor weekends.
        """
        spent = np.where(np.isnan(self.cost), costs[self.arm.astype(np.intp)], self.cost)
        if spent.size < 2 or spent.sum() <= 0.0 or self.gap.sum() <= 0.0:
            return None
        rate = float(spent.sum() / self.gap.sum())
        apart = float(np.var(spent - rate * self.gap, ddof=1))
        error = float(np.sqrt(apart / spent.size) / self.gap.mean())
        return rate, error, apart / rate**2


def read_recent_activity(
    events: Iterable[Event], now: int, days: float, unit: float
) -> RecentActivity:
    """Return the decisions of the last days that were not given back."""
    found: dict[str, list[float]] = {}
    for event in events:
        body = event.body
        if event.kind == ASKED and event.ts >= now - days * DAY:
            found[event.decision] = [event.ts, body["arm"], np.nan, np.nan]
        elif event.decision in found:
            row = found[event.decision]
            if event.kind in (VOIDED, RELEASED):
                del found[event.decision]
            elif event.kind == LAPSED:
                row[2] = body["charge"] * unit
            else:
                row[2] = body["cost"] * unit if "cost" in body else row[2]
                brought = body.get("reward")
                row[3] = row[3] if brought is None else brought
    table = np.array(list(found.values())).reshape(-1, 4)
    times = np.append(table[:, 0], max(now, table[-1, 0] if len(table) else 0))
    return RecentActivity(table[:, 1], np.diff(times) / DAY, table[:, 2], table[:, 3])


_DRAWS = 1000


class Known(NamedTuple):
    """What a forecast starts from, taken while the campaign stood still; money in user's units."""

    table: Statistics
    recent: RecentActivity
    left: float  # of the budget, open holds counted as left
    holds: Floats  # infinite for arms that may not be chosen
    rooms: Floats
    unsettled: Floats  # decisions of each arm that wait for their cost
    pending: Floats  # and those that wait for anything
    day_cap: float
    learns: bool  # whether the policy looks at outcomes
    seed: int


class ForecastModel(NamedTuple):
    """What is expected, with 90% intervals."""

    plays: Estimate | None
    reward: Estimate | None
    rate: Estimate | None  # money a day
    days: Estimate | None  # until nothing fits
    value: Estimate  # reward of one more unit of budget
    margin: int  # the arm that most of it goes to
    course: SpendCourse


class _Means(NamedTuple):
    """Draws of the means of each arm, their centre and the variance of single values."""

    draws: Floats
    centre: Floats
    variance: Floats


def fit_forecast_model(known: Known, days: float | None) -> ForecastModel:
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
    course = make_course(left, *inputs)
    beyond = course if course.money.size else make_course(_plenty(known.holds), *inputs)
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
        return ForecastModel(None, None, speed, lasts, value, margin, course)
    money, weights = course.thinned(c)
    each = _plays(money, weights, rewards.draws, costs.draws, moved, limit)
    plays, reward = _brought(random, each, rewards, costs, recent, known.pending)
    return ForecastModel(plays, reward, speed, lasts, value, margin, course)


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


def _value(course: SpendCourse, r: Floats, c: Floats, moved: Floats) -> tuple[Estimate, int]:
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
    recent: RecentActivity,
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
