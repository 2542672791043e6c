"""A forecast of the rest of a campaign's budget: many simulated futures, and sentences about them.

The mean of an arm is drawn from a Beta distribution over its range: mean as observed (half a
success and half a failure added, as Jeffreys), spread as observed (one play of the largest variance
added). For Bernoulli arms that is the Bayesian posterior. A policy that learns will move plays from
the recent shares of the arms to the arm that turns out best; how many is unknown, so every share of
them is equally likely. The scatter of single plays around their means is added as normal noise, by
the central limit theorem of renewal processes.

Money is spent in phases. Arms share it as they did recently, until an arm no longer fits into what
is left or into its cap; then the others share it alone. When none of them is left, the best of the
arms that still fit takes over.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.campaign.decision import to_datetime
from bursar.campaign.events import ASKED, RELEASED, VOIDED
from bursar.campaign.records import OPEN, ArmChange, DecisionRecord, changes_of, make_record
from bursar.campaign.transaction import Transaction
from bursar.campaign.views import CampaignView, Column, Statistics
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.formatting import format_money, format_number, join_words, pluralize
from bursar.ledger import Event, Store
from bursar.validation import check_number

_RECENT = 7.0  # days
_RECENT_EVENTS = 10_000  # at most
_DAY = 86_400_000_000  # µs
_LAST = 253_402_300_799 * 1_000_000  # the end of the year 9999, the last that a datetime can hold
_DRAWS = 1000  # futures
_FEWEST_DRAWS, _MOST_CELLS = 100, 1_000_000  # of campaigns with more than a thousand arms
_LEVEL = 0.9  # of the intervals
_PHASES = 32  # that a forecast distinguishes
_MOST_STEPS = 256  # of the plan, after which arms that stop at nearly the same time stop together
_PAIRS = 30  # fewest pairs of cost and reward for a covariance
_MOST_CHANGES = 3  # arms that changed, with a sentence each


@dataclass(frozen=True, kw_only=True, repr=False)
class Forecast(CampaignView):
    """What to expect if things go on as in the last 7 days, with 90% intervals.

    Attributes
    ----------
    days : float or None
        How far it looks ahead; None if it looks until no arm fits.
    state : str
        The campaign's state now.
    plays, reward : Estimate or None
        Further decisions, and what they and the open ones will earn; None if nothing is known.
    rate : Estimate or None
        Money spent per day; None if nothing was spent recently.
    exhausted, exhausted_early, exhausted_late : datetime or None
        When no arm will fit any more.
    best : str or None
        The arm of the highest reward per cost so far.
    best_needs : Decimal or None
        The least that must be left for it to fit.
    then : tuple of str
        Arms that still fit when it no longer does.
    unusable, unusable_most : Decimal
        What will be left at the end that no arm can use: about, and at most.
    value_of_unit : Estimate or None
        What one more unit of budget would earn.
    margin : str or None
        The arm that most of it would be spent on.
    sentences : tuple of str
        The forecast in words.
    """

    days: float | None
    state: str
    plays: Estimate | None
    reward: Estimate | None
    rate: Estimate | None
    exhausted: datetime | None
    exhausted_early: datetime | None
    exhausted_late: datetime | None
    best: str | None
    best_needs: Decimal | None
    then: tuple[str, ...]
    unusable: Decimal
    unusable_most: Decimal
    value_of_unit: Estimate | None
    margin: str | None
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        return f"<Forecast: {self}>"

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in self.sentences)}</ul>"


class RecentActivity:
    """Decisions of the last days that were not voided or released, the oldest first."""

    def __init__(self, events: Iterable[Event], now: int, days: float, unit: float) -> None:
        found: dict[str, DecisionRecord] = {}
        for event in events:
            if event.kind == ASKED and event.ts >= now - days * _DAY:
                found[event.decision] = make_record(event)
            elif event.kind in (VOIDED, RELEASED):
                found.pop(event.decision, None)
            elif event.decision in found:
                found[event.decision].apply(event)
        kept = list(found.values())
        times = [one.ts for one in kept]
        self.arm = np.array([one.arm for one in kept], dtype=np.intp)
        # days until the next one, or until now
        self.gap = np.diff(np.array([*times, max([now, *times[-1:]])], dtype=np.float64)) / _DAY
        # in the user's units; NaN while it is unknown
        self.cost = np.array([np.nan if one.money in OPEN else one.charged * unit for one in kept])
        self.reward = np.array([np.nan if one.reward is None else one.reward for one in kept])

    def shares(self, arms: int) -> Floats:
        """Return the share of each arm."""
        counts = np.bincount(self.arm, minlength=arms).astype(np.float64)
        return np.asarray(counts / max(counts.sum(), 1.0))

    def covariance(self, arm: int) -> float:
        """Return the covariance of an arm's reward and cost; 0 if too little is known."""
        mine = (self.arm == arm) & ~np.isnan(self.cost) & ~np.isnan(self.reward)
        if np.count_nonzero(mine) < _PAIRS:
            return 0.0
        return float(np.cov(self.reward[mine], self.cost[mine], bias=True)[0, 1])

    def rate(self, costs: Floats) -> tuple[float, float, float] | None:
        """Return money per day, its standard error, and the variance of a gap; None without any.

        Decisions without a cost count with the mean ``costs`` of their arm. The error is that of a
        ratio of two means: it sees bursts, but neither nights nor weekends.
        """
        spent = np.where(np.isnan(self.cost), costs[self.arm], self.cost)
        if spent.size < 2 or spent.sum() <= 0.0 or self.gap.sum() <= 0.0:
            return None
        rate = float(spent.sum() / self.gap.sum())
        apart = float(np.var(spent - rate * self.gap, ddof=1))
        error = float(np.sqrt(apart / spent.size) / self.gap.mean())
        return rate, error, apart / rate**2


class _Phases(NamedTuple):
    """Phases of spending in their order, and the arms that the money goes to."""

    money: Floats  # of each phase
    weights: Floats  # phase by arm: shares of plays
    margin: int  # the phase that one more unit of budget would make longer
    rest: float  # what fits no arm at the end

    def count_plays(self, costs: Floats) -> Floats:
        """Return how many plays each phase has."""
        return np.asarray(self.money / (self.weights @ costs))

    def merge_small(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return money and weights with small phases merged, with as many plays of each arm."""
        if not self.money.size:
            return self.money, self.weights
        ends = np.cumsum(self.money)
        bins = _PHASES * (ends - self.money) // max(ends[-1], 1e-300)
        plays = self.count_plays(costs)[:, None] * self.weights
        _, starts = np.unique(np.minimum(bins, _PHASES - 1), return_index=True)
        joined = np.add.reduceat(plays, starts, axis=0)
        money = np.add.reduceat(self.money, starts)
        some = money > 0.0
        return money[some], joined[some] / joined[some].sum(axis=1, keepdims=True)


def count_draws(arms: int) -> int:
    """Return how many futures are drawn; fewer for very many arms, since each draws all of them."""
    return max(_FEWEST_DRAWS, min(_DRAWS, _MOST_CELLS // max(arms, 1)))


class _Means:
    """Draws of the means of each arm, their centre, and the variance of single values."""

    def __init__(self, random: np.random.Generator, n: Floats, known: Column) -> None:
        low, width = known.low, known.high - known.low
        x = (known.mean - low) / width
        most = x * (1.0 - x)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = known.variance / (np.square(width) * most)
        eta = np.where(most > 0.0, np.minimum(share, 1.0), 1.0)
        eta = (n * eta + 1.0) / (n + 1.0)
        a, b = n / eta * x + 0.5, n / eta * (1.0 - x) + 0.5
        draws = random.beta(a[:, None], b[:, None], (n.size, count_draws(n.size)))
        draws = np.maximum(draws, 1e-12)  # a cost of exactly 0 would buy infinitely many plays
        share = a / (a + b)
        wide = np.broadcast_to(width, n.shape)
        self.centre: Floats = low + wide * share
        # arm by future; the first future is the centre
        self.draws = np.column_stack((self.centre, low + wide[:, None] * draws))
        self.variance: Floats = np.square(width) * eta * share * (1.0 - share)


class ForecastModel:
    """What a forecast is made from, taken at one moment, and futures that are drawn from it.

    Money is in the user's units. Futures are drawn by :meth:`draw` and not before, and events are
    read before, because the campaign waits while a model is made. ``recent`` are its newest events,
    as far as they were read.
    """

    def __init__(self, transaction: Transaction, recent: Sequence[Event] = ()) -> None:
        state, now = transaction.state, transaction.now
        unit = 10.0**-state.config.coin.exponent
        since = max(state.seq - len(transaction.events) - _RECENT_EVENTS, 0)
        read = recent[-1].seq if recent else since
        newer = transaction.writer.events_after(max(since, read))
        events = [*(one for one in recent if one.seq > since), *newer, *transaction.events]
        self.state, self.now, self.config = state.state, now, state.config
        self.statistics = Statistics(state)
        self.recent = RecentActivity(events, now, _RECENT, unit)
        self.left = (state.available + state.held) * unit  # open holds counted as left
        self.keys = list(state.keys)
        self.needs = {  # units, of arms that may be chosen
            arm.key: state.hold_of(number)
            for number, arm in enumerate(state.arms)
            if arm.state == "active" and state.stored != "closed"
        }
        self.holds = np.array([self.needs.get(key, np.inf) * unit for key in self.keys])
        # what is left of caps
        self.rooms = np.array([arm.money.within(np.inf) * unit for arm in state.arms])
        self.unsettled = np.array([arm.open for arm in state.arms], dtype=np.float64)
        self.pending = np.array(state.learner.open, dtype=np.float64)  # without an outcome
        self.day_cap = np.inf if state.day_cap is None else state.day_cap * unit
        self.learns = state.learner.policy.learns
        self.changes = [
            (arm.key, changes_of(arm)[0])
            for arm in state.arms
            if arm.state != "retired"
            and any(one.ts >= now - _RECENT * _DAY for one in arm.changed.values())
        ]

    def draw(self) -> None:
        """Draw what the arms cost and earn, and the share of plays that move to the best one."""
        table = self.statistics
        self.random = np.random.default_rng([self.config.seed, int(table.n.sum())])
        self.rewards = _Means(self.random, table.n, table.reward)
        self.costs = _Means(self.random, table.n, table.cost)
        draws = self.rewards.draws.shape[1] - 1
        self.moved = np.zeros(draws + 1)
        if self.learns:
            self.moved = np.append(0.5, self.random.random(draws))

    def find_best(self) -> str | None:
        """Return the arm of the most reward per cost so far among those that may be chosen."""
        table = self.statistics
        usable = np.flatnonzero((table.n > 0.0) & np.isfinite(self.holds))
        if not usable.size:
            return None
        ratios = table.reward.mean[usable] / np.maximum(table.cost.mean[usable], 1e-300)
        return self.keys[int(usable[np.argmax(ratios)])]

    def plan_phases(self, left: float) -> _Phases:
        """Return the phases in which the money that is left will be spent."""
        holds, rooms, c = self.holds, self.rooms.copy(), self.costs.centre
        squares = self.costs.variance + c**2
        shares = self.recent.shares(c.size)
        money: list[float] = []
        rows: list[Floats] = []
        margin = None
        able = (holds <= left) & (holds <= rooms)
        while able.any():
            weights = self._share_plays(shares, able)
            price = weights @ c
            spends = weights * c / price  # share of the money
            played = weights > 0.0
            until_holds = np.where(played, left - holds, np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                until_caps = np.where(played, (rooms - holds) / spends, np.inf)
            step = max(min(until_holds.min(), until_caps.min()), 0.0)
            if len(money) >= _MOST_STEPS:
                step = max(step, left / _PHASES)
            if margin is None and until_holds.min() <= until_caps.min():
                margin = len(money)
            stops = played & (np.minimum(until_holds, until_caps) <= step)
            if not (able & ~stops).any():  # the last play begins where its hold just fits
                step += min(0.5 * (weights @ squares) / price, float(holds[played].max()))
            money.append(step)
            rows.append(weights)
            left -= step
            rooms -= spends * step
            able &= ~stops & (holds <= left) & (holds <= rooms)
        margin = len(money) - 1 if margin is None else margin
        weights = np.array(rows).reshape(-1, shares.size)
        return _Phases(np.array(money), weights, margin, max(left, 0.0))

    def _share_plays(self, shares: Floats, able: NDArray[np.bool_]) -> Floats:
        weights = np.where(able, shares, 0.0)
        if weights.sum() > 0.0:
            return np.asarray(weights / weights.sum())
        known = able & (self.statistics.n > 0.0)
        if known.any():
            ratios = self.rewards.centre / self.costs.centre
            weights[np.argmax(np.where(known, ratios, -np.inf))] = 1.0
            return weights
        return np.asarray(able / np.count_nonzero(able), dtype=np.float64)

    def draw_speeds(
        self, phases: _Phases
    ) -> tuple[Estimate | None, Estimate | None, Floats | None]:
        """Return money per day, the days until it is spent, and futures of the first.

        All are None if nothing was spent recently; then only an empty budget has an end, now.
        """
        recent, total = self.recent.rate(self.costs.centre), float(phases.money.sum())
        if recent is None:
            return None, Estimate(0.0, 0.0, 0.0) if total == 0.0 else None, None
        rate, error, gap_variance = recent
        draws = self.moved.size - 1
        speeds = rate * np.exp(error / rate * self.random.standard_normal(draws))
        speeds = np.minimum(np.append(rate, speeds), self.day_cap)
        plays = float(phases.count_plays(self.costs.centre).sum())
        days = total / speeds
        days[1:] += np.sqrt(plays * gap_variance) * self.random.standard_normal(draws)
        return _estimate(speeds), _estimate(np.maximum(days, 0.0)), speeds

    def _move_to_best(self, weights: Floats) -> Floats:
        """Return shares of plays, arm by future, after some have moved to the best of the arms."""
        mine = np.flatnonzero(weights)
        best = mine[np.argmax(self.rewards.draws[mine] / self.costs.draws[mine], axis=0)]
        shares = np.outer(weights, 1.0 - self.moved)
        shares[best, np.arange(self.moved.size)] += self.moved
        return np.asarray(shares)

    def value_unit(self, phases: _Phases) -> tuple[Estimate | None, str | None]:
        """Return what one more unit of budget earns, and the arm that most of it goes to."""
        if not phases.money.size:  # no arm fits any more: plan with enough for every arm
            fit = self.holds[np.isfinite(self.holds)]
            phases = self.plan_phases(2.0 * float(fit.max()) if fit.size else 0.0)
        if not phases.money.size:
            return None, None
        mix, c = self._move_to_best(phases.weights[phases.margin]), self.costs.draws
        worth = (mix * self.rewards.draws).sum(axis=0) / (mix * c).sum(axis=0)
        return _estimate(worth), self.keys[int(np.argmax(mix[:, 0] * c[:, 0]))]

    def _count_plays(self, phases: _Phases, limit: Floats | float) -> Floats:
        """Return plays, arm by future, when at most ``limit`` of the money is spent."""
        each, start = np.zeros_like(self.costs.draws), 0.0
        for amount, row in zip(*phases.merge_small(self.costs.centre), strict=True):
            shares = self._move_to_best(row)
            price = (shares * self.costs.draws).sum(axis=0)
            each += shares * (np.clip(limit - start, 0.0, amount) / price)
            start += amount
        return each

    def draw_outcomes(self, phases: _Phases, limit: Floats | float) -> tuple[Estimate, Estimate]:
        """Return the number of plays and their reward, with the scatter of single plays."""
        rewards, costs, pending = self.rewards, self.costs, self.pending
        each, scatter = self._count_plays(phases, limit), self.random.standard_normal
        draws = self.moved.size - 1
        count, earned = each.sum(axis=0), (each * rewards.draws).sum(axis=0)
        typical, mean_r, mean_c = each[:, 0], rewards.centre, costs.centre
        spent = float(typical @ mean_c)
        if spent > 0.0:
            price, worth = spent / count[0], earned[0] / spent
            covariance = self.recent.covariance
            joint = np.array([covariance(k) if n else 0.0 for k, n in enumerate(typical)])
            apart = rewards.variance + worth**2 * costs.variance - 2.0 * worth * joint
            apart = np.maximum(apart, 0.0) + np.square(mean_r - worth * mean_c)
            steps = np.sqrt(typical @ (costs.variance + np.square(mean_c - price))) / price
            count[1:] = np.maximum(count[1:] + steps * scatter(draws), 0.0)
            earned[1:] += np.sqrt(typical @ apart) * scatter(draws)
        earned += pending @ rewards.draws
        earned[1:] += np.sqrt(pending @ rewards.variance) * scatter(draws)
        return _estimate(count), _estimate(earned)


def read_recent_events(store: Store, name: str) -> list[Event]:
    """Return the events that a forecast looks at."""
    since = max(store.last_seq(name) - _RECENT_EVENTS, 0)
    return [event for event, _ in store.read(name, since)]


def make_forecast(model: ForecastModel, days: float | None) -> Forecast:
    """Return the forecast for all of the budget, or for some days."""
    if days is not None and not 0.0 < check_number("days", days) < 1e6:
        raise InvalidInput(f"days must be a number above 0, or None for all, got {days!r}")
    model.draw()
    phases = model.plan_phases(model.left - float(model.unsettled @ model.costs.centre))
    rate, lasts, speeds = model.draw_speeds(phases)
    plays = reward = value = margin = None
    if model.statistics.n.any():
        value, margin = model.value_unit(phases)
        if days is None:
            plays, reward = model.draw_outcomes(phases, np.inf)
        elif speeds is not None:
            plays, reward = model.draw_outcomes(phases, speeds * days)
    best, amount = model.find_best(), model.config.coin.amount
    least = 0 if best is None else model.needs[best]
    rest = round(phases.rest * 10**model.config.coin.exponent)
    ends = [None] * 3 if lasts is None else [_add_days(model.now, end) for end in astuple(lasts)]
    forecast = Forecast(
        days=days,
        state=model.state,
        plays=plays,
        reward=reward,
        rate=rate,
        exhausted=ends[0],
        exhausted_early=ends[1],
        exhausted_late=ends[2],
        best=best,
        best_needs=None if best is None else amount(least),
        then=tuple(key for key, need in model.needs.items() if need < least),
        unusable=amount(rest),
        unusable_most=amount(max(rest, min(model.needs.values(), default=0))),
        value_of_unit=value,
        margin=margin,
        sentences=(),
    )
    sentences = _write_sentences(forecast, model, goes_on=phases.money.size > 0)
    return replace(forecast, sentences=tuple(sentences))


def _add_days(now: int, days: float) -> datetime | None:
    then = now + days * _DAY
    return to_datetime(then) if then < _LAST else None


def _estimate(futures: Floats) -> Estimate:
    """Return the first future with the interval of the others, moved into it."""
    found = Estimate.from_draws(futures[0], futures[1:], _LEVEL)
    return replace(found, value=min(max(found.value, found.low), found.high))


# the sentences


def _write_sentences(forecast: Forecast, model: ForecastModel, goes_on: bool) -> Iterator[str]:
    if forecast.state in ("paused", "unreconciled", "closed"):
        yield f"The campaign is {forecast.state}."
    if not model.statistics.n.any():
        yield "Nothing is known yet: no decision has an outcome."
        return
    reward, waits = _format_estimate(forecast.reward), bool(model.pending.any())
    left = format_money(forecast.unusable, model.config.coin.currency)
    if goes_on:
        if forecast.plays is not None:
            within = "" if forecast.days is None else f" within {format_number(forecast.days)} days"
            included = ", open decisions included" if waits else ""
            plays = _format_estimate(forecast.plays, "{:,.0f}".format)
            yield f"About {plays} more plays{within} will earn about {reward}{included}."
        yield from _describe_time(forecast, model.now)
        if forecast.best is not None:
            yield f"{_describe_end(forecast, model)}; about {left} will be left over."
    else:
        yield f"No arm is affordable with the {left} that will be left."
        if waits and forecast.reward is not None:
            yield f"Open decisions will earn about {reward}."
    if forecast.value_of_unit is not None:
        value = _format_estimate(forecast.value_of_unit)
        yield (
            f"One more unit of budget would earn about {value}, most of it spent on"
            f" {forecast.margin}."
        )
    yield from _describe_changes(model.changes)


def _describe_time(forecast: Forecast, now: int) -> Iterator[str]:
    if forecast.rate is None:
        yield (
            f"Nothing was spent in the last {_RECENT:g} days, so it is unknown when the budget will"
            " be used up."
        )
    elif forecast.exhausted is not None:
        days = (forecast.exhausted.timestamp() * 1e6 - now) / _DAY
        form = "%Y-%m-%d" if days >= 3.0 else "%Y-%m-%d %H:%M"
        early, late = forecast.exhausted_early, forecast.exhausted_late
        ends = f"{early:{form}} to {late:{form}}" if early and late else "or much later"
        rate = format_number(forecast.rate.value)
        yield f"At {rate} per day the budget lasts until {forecast.exhausted:{form}} ({ends})."


def _describe_end(forecast: Forecast, model: ForecastModel) -> str:
    then, needs = forecast.then, model.config.coin.format(model.needs[forecast.best or ""])
    if not then:
        return f"Below {needs} no arm is affordable"
    others = join_words(then) if len(then) < 4 else f"{len(then)} other arms"
    are = "is" if len(then) == 1 else "are"
    return f"Below {needs} {forecast.best} is no longer affordable, but {others} {are}"


def _describe_changes(changes: list[tuple[str, ArmChange]]) -> Iterator[str]:
    """Name the arms that changed: the forecast was made from their means."""
    for key, change in changes[:_MOST_CHANGES]:
        effect = "it is learned from scratch" if change.reset else "this forecast mixes both"
        yield (
            f"The mean {change.what} of {key} went from {format_number(change.before)} to"
            f" {format_number(change.after)} recently; {effect}."
        )
    if len(changes) > _MOST_CHANGES:
        yield f"{pluralize(len(changes) - _MOST_CHANGES, 'other arm')} changed recently, too."


def _format_estimate(
    estimate: Estimate | None, form: Callable[[float], str] = format_number
) -> str:
    if estimate is None:
        return ""
    return f"{form(estimate.value)} ({form(estimate.low)} to {form(estimate.high)})"
