"""A forecast of the rest of a campaign's budget: the policy plays on in simulated worlds.

What the rest of the budget earns, and where, comes from :mod:`bursar.campaign.projection`: in each
of many worlds that fit the outcomes so far, the campaign's own policy goes on learning. When the
budget will be used up comes from :mod:`bursar.campaign.activity`: the pace since it last changed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from html import escape

import numpy as np

from bursar.arrays import Floats
from bursar.campaign.activity import (
    DAY,
    RECENT_DAYS,
    RECENT_EVENTS,
    Pace,
    RateChange,
    RecentActivity,
)
from bursar.campaign.decision import to_datetime
from bursar.campaign.projection import (
    Limits,
    Player,
    Projection,
    count_worlds,
    draw_worlds,
    project,
)
from bursar.campaign.records import Arm, ArmChange, NoticedChange, changes_of
from bursar.campaign.transaction import Transaction
from bursar.campaign.views import CampaignView, Column, Statistics
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.formatting import format_money, format_number, join_words, pluralize
from bursar.ledger import Event
from bursar.validation import check_number

_LAST = 253_402_300_799 * 1_000_000  # the end of the year 9999, the last that a datetime can hold
_LEVEL = 0.9  # of the intervals
_LIKELY = 0.8  # of the interval whose coverage was measured
# the part of the worlds that contains the truth that often: they are not as varied as the world is
_PARTS = {_LEVEL: 0.97, _LIKELY: 0.9}
_MOST_CHANGES = 3  # arms that changed, with a sentence each


@dataclass(frozen=True, kw_only=True, repr=False)
class Forecast(CampaignView):
    """What to expect if the policy goes on learning and the pace stays, with 90% intervals.

    Attributes
    ----------
    days : float or None
        How far it looks ahead; None if it looks until no arm fits.
    state : str
        The campaign's state now.
    plays, reward : Estimate or None
        Further decisions, and what they and the open ones will earn; None if nothing is known.
    reward_80 : Estimate or None
        The same reward with an 80% interval: the one whose coverage was measured.
    rate : Estimate or None
        Money spent per day since the rate last changed; None if nothing was spent recently.
    rate_since : datetime or None
        When the rate last changed suddenly; None if it did not in the last 7 days.
    rate_before : float or None
        Money spent per day before.
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
    reward_80: Estimate | None = None
    rate_since: datetime | None = None
    rate_before: float | None = None

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        return f"<Forecast: {self}>"

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in self.sentences)}</ul>"


class ForecastModel:
    """What a forecast is made from, taken at one moment.

    Money is in the user's units. Little is computed here, because the campaign waits meanwhile;
    events up to the last of ``recent`` were read before for the same reason.
    """

    def __init__(self, transaction: Transaction, recent: Sequence[Event] = ()) -> None:
        state, now = transaction.state, transaction.now
        self.unit = unit = 10.0**-state.config.coin.exponent
        since = max(state.seq - len(transaction.events) - RECENT_EVENTS, 0)
        read = recent[-1].seq if recent else since
        newer = transaction.writer.events_after(max(since, read))
        self.events = [*(one for one in recent if one.seq > since), *newer, *transaction.events]
        self.state, self.now, self.config = state.state, now, state.config
        self.statistics = Statistics(state)
        self.player = Player.of(state.learner)
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
        changed = [arm for arm in state.arms if _changed_recently(arm, now)]
        self.changes = [(arm.key, changes_of(arm)[0]) for arm in changed if arm.state != "retired"]
        self.kept = {  # changes whose arm was not learned from the start again
            state.keys[arm.key]: one
            for arm in changed
            for one in arm.changed.values()
            if not one.reset
        }
        self.seed = [self.config.seed, int(self.statistics.n.sum())]

    @cached_property
    def recent(self) -> RecentActivity:
        """The decisions of the last days."""
        return RecentActivity(self.events, self.now, RECENT_DAYS, self.unit)

    @property
    def usual_costs(self) -> Floats:
        """What a decision of each arm costs on average; half of the maximum if it is not known."""
        table = self.statistics
        return np.where(table.n > 0.0, table.cost.mean, 0.5 * np.asarray(table.cost.high))

    def draw(self) -> None:
        """Draw the worlds in which the policy plays on."""
        self.random = np.random.default_rng(self.seed)
        n, reward, cost = self.statistics.n, self.statistics.reward, self.statistics.cost
        for arm, change in self.kept.items():
            n, reward, cost = self._renew(arm, change, n, reward, cost)
        self.reward_range = reward.low, float(np.max(reward.high))
        worlds = count_worlds(self.player.policy, n.size)
        together = self.recent.correlation()
        self.worlds = draw_worlds(self.random, worlds, n, reward, cost, together)

    def _renew(
        self, arm: int, change: NoticedChange, n: Floats, reward: Column, cost: Column
    ) -> tuple[Floats, Column, Column]:
        """Return statistics in which the mean that changed is that of the outcomes since."""
        rewards, costs = self.recent.since(arm, change.ts)
        newer = costs if change.what == "cost" else rewards
        size, column = change.newer + newer.size, cost if change.what == "cost" else reward
        mean, variance, n = column.mean.copy(), column.variance.copy(), n.copy()
        before, n[arm] = mean[arm], size
        mean[arm] = (change.newer * change.after + newer.sum()) / size
        # as much scatter as before, over the squared mean
        variance[arm] *= (mean[arm] / before) ** 2 if before else 1.0
        column = column._replace(mean=mean, variance=variance)
        return (n, reward, column) if change.what == "cost" else (n, column, cost)

    def find_change(self) -> RateChange | None:
        """Return the newest sudden change of the rate of spending."""
        return self.recent.find_change(self.usual_costs)

    def find_best(self) -> str | None:
        """Return the arm of the most reward per cost so far among those that may be chosen."""
        table = self.statistics
        usable = np.flatnonzero((table.n > 0.0) & np.isfinite(self.holds))
        if not usable.size:
            return None
        ratios = table.reward.mean[usable] / np.maximum(table.cost.mean[usable], 1e-300)
        return self.keys[int(usable[np.argmax(ratios)])]

    def play_on(
        self, left: float, plays: Floats | float = np.inf, money: Floats | float = np.inf
    ) -> Projection:
        """Return what happens in each world until no arm fits, or so much was played or spent."""
        worlds = self.worlds.reward.shape[0]
        most, spent = np.full(worlds, plays), np.full(worlds, money)
        limits = Limits(left, self.holds, self.rooms, most, spent, self.config.explore)
        return project(self.player, self.worlds, limits, self.seed[1])

    def rewards(self, found: Projection) -> Floats:
        """Return the reward of each world, that of open decisions with it."""
        low, width = self.reward_range[0], self.reward_range[1] - self.reward_range[0]
        means, eta = self.worlds.reward, self.worlds.eta
        scatter = np.sqrt((eta * means * (1.0 - means)) @ self.pending)
        open_ = means @ self.pending + scatter * self.random.standard_normal(scatter.size)
        plays = found.plays + self.pending.sum()
        return np.asarray(low * plays + width * (found.reward + open_))

    def value_unit(self, found: Projection) -> tuple[Estimate | None, str | None]:
        """Return what one more unit of budget earns, and the arm that most of it goes to."""
        if not found.plays.any():  # no arm fits any more: play on with enough for every arm
            fit = self.holds[np.isfinite(self.holds)]
            found = self.play_on(2.0 * float(fit.max()) if fit.size else 0.0)
        some = found.tail[:, 0] > 0.0
        if not some.any():
            return None, None
        plays, earned, money = (found.tail[some, 0], found.tail[some, 1], found.tail[some, 2:])
        low, width = self.reward_range[0], self.reward_range[1] - self.reward_range[0]
        worth = (low * plays + width * earned) / money.sum(axis=1)
        return _estimate(worth), self.keys[int(np.argmax(money.sum(axis=0)))]

    def draw_gaps(self, pace: Pace) -> tuple[Floats, Floats]:
        """Return the rate of spending and the days between decisions in each world."""
        drawn = self.random.standard_normal(self.worlds.reward.shape[0])
        rates = pace.rate * np.exp(pace.rate_error / pace.rate * drawn)
        return np.minimum(rates, self.day_cap), pace.gap * np.exp(
            -pace.gap_error / pace.gap * drawn
        )

    def draw_days(self, found: Projection, pace: Pace, gaps: Floats) -> Floats:
        """Return in how many days no arm will fit."""
        scatter = np.sqrt(found.plays * pace.gap_variance)
        days = found.plays * gaps + scatter * self.random.standard_normal(gaps.size)
        return np.maximum(days, found.spent / self.day_cap)


def _changed_recently(arm: Arm, now: int) -> bool:
    return any(one.ts >= now - RECENT_DAYS * DAY for one in arm.changed.values())


def make_forecast(model: ForecastModel, days: float | None) -> Forecast:
    """Return the forecast for all of the budget, or for some days."""
    if days is not None and not 0.0 < check_number("days", days) < 1e6:
        raise InvalidInput(f"days must be a number above 0, or None for all, got {days!r}")
    model.draw()
    pace, change = model.recent.pace(model.usual_costs), model.find_change()
    left = model.left - float(model.unsettled @ model.usual_costs)
    found = model.play_on(left)
    rate = lasts = plays = reward = likely = value = margin = None
    if not found.plays.any():  # nothing fits: the end is now
        lasts = Estimate(0.0, 0.0, 0.0)
    if pace is not None:
        rates, gaps = model.draw_gaps(pace)
        rate = Estimate.from_draws(min(pace.rate, model.day_cap), rates, _LEVEL)
        ends_in = model.draw_days(found, pace, gaps)
        lasts = Estimate.from_draws(float(np.median(ends_in)), ends_in, _LEVEL)
    if model.statistics.n.any():
        value, margin = model.value_unit(found)
        within: Projection | None = found
        if days is not None:
            within = None
            if pace is not None:
                within = model.play_on(left, days / gaps, min(left, model.day_cap * days))
        if within is not None:
            rewards = model.rewards(within)
            plays, reward = _estimate(within.plays), _estimate(rewards)
            likely = _estimate(rewards, _LIKELY)
    best, amount = model.find_best(), model.config.coin.amount
    least = 0 if best is None else model.needs[best]
    rest = round(float(np.median(left - found.spent)) * 10**model.config.coin.exponent)
    rest = max(rest, 0)
    ends = [None] * 3 if lasts is None else [_add_days(model.now, end) for end in astuple(lasts)]
    forecast = Forecast(
        days=days,
        state=model.state,
        plays=plays,
        reward=reward,
        reward_80=likely,
        rate=rate,
        rate_since=None if change is None else to_datetime(change.since),
        rate_before=None if change is None else change.before,
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
    sentences = _write_sentences(forecast, model, change, goes_on=bool(found.plays.any()))
    return replace(forecast, sentences=tuple(sentences))


def _add_days(now: int, days: float) -> datetime | None:
    then = now + days * DAY
    return to_datetime(then) if then < _LAST else None


def _estimate(values: Floats, level: float = _LEVEL) -> Estimate:
    """Return the median of the worlds with the interval of their central values."""
    return Estimate.from_draws(float(np.median(values)), values, _PARTS[level])


# the sentences


def _write_sentences(
    forecast: Forecast, model: ForecastModel, change: RateChange | None, goes_on: bool
) -> Iterator[str]:
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
        if change is not None:
            said = change.describe(model.config.coin, model.now)
            yield f"The rate of spending changed suddenly: {said}."
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
            f"Nothing was spent in the last {RECENT_DAYS:g} days, so it is unknown when the budget"
            " will be used up."
        )
    elif forecast.exhausted is not None:
        days = (forecast.exhausted.timestamp() * 1e6 - now) / DAY
        form = "%Y-%m-%d" if days >= 3.0 else "%Y-%m-%d %H:%M"
        early, late = forecast.exhausted_early, forecast.exhausted_late
        ends = f"{early:{form}} to {late:{form}}" if early and late else "or much later"
        rate = format_number(forecast.rate.value)
        yield f"At {rate} per day now, the budget lasts until {forecast.exhausted:{form}} ({ends})."


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
        effect = (
            "it is learned from scratch"
            if change.reset
            else "this forecast goes by the newer outcomes"
        )
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
