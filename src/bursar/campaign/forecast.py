"""What a campaign may expect of the rest of its budget: as data, and in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from bursar.campaign.forecast_model import (
    DAY,
    ForecastModel,
    Known,
    fit_forecast_model,
    read_recent_activity,
)
from bursar.campaign.records import ArmChange, changes_of
from bursar.campaign.transaction import Transaction
from bursar.campaign.views import make_statistics
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.formatting import format_number, join_words, to_plain
from bursar.money import Coin
from bursar.validation import check_number

__all__ = ["Forecast", "ForecastInput", "make_forecast", "make_forecast_input"]


@dataclass(frozen=True)
class Forecast:
    """What is to come if things go on as in the last 7 days; intervals are of 90%.

    Attributes
    ----------
    days : float or None
        How far it looks; None: until nothing fits.
    state : str
        What the campaign is now.
    plays, reward : Estimate or None
        Further decisions, and what they and the open ones will bring; None if nothing is known.
    rate : Estimate or None
        Money spent a day; None if nothing was spent lately.
    exhausted, exhausted_early, exhausted_late : datetime or None
        When nothing will fit any more.
    best : str or None
        The arm of the highest reward per cost so far.
    best_needs : Decimal or None
        The least that must be left for it to fit.
    then : tuple of str
        Arms that still fit when it no longer does.
    unusable, unusable_most : Decimal
        What will be left at the end that no arm can use: about, and at most.
    value_of_unit : Estimate or None
        What one more unit of budget would bring.
    margin : str or None
        The arm that most of it would go to.
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

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = to_plain(self)
        return found

    def __str__(self) -> str:
        return " ".join(self.sentences)


# ==== campaign.foreseeing
# How a forecast is made: what is known, taken in one moment, and the words for what follows.

RECENT = 7.0  # days
_TOLD = 3  # arms that changed, in a sentence each
_EVENTS = 10_000  # of the log that count as recent at most
_LAST = 253_402_300_799 * 1_000_000  # the end of the year 9999, the last that dates can tell


@dataclass(frozen=True)
class ForecastInput:
    """What a forecast is made from, taken in one moment."""

    known: Known
    keys: tuple[str, ...]
    needs: tuple[int, ...]
    able: tuple[bool, ...]
    state: str
    now: int
    coin: Coin
    changes: tuple[tuple[str, ArmChange], ...]  # of the last days, by the key of the arm


def make_forecast_input(transaction: Transaction) -> ForecastInput:
    """Take what a forecast needs; quick, because the campaign stands still meanwhile."""
    state, unit = transaction.state, 10.0**-transaction.state.config.coin.exponent
    events = [
        *transaction.writer.events_after(max(state.seq - len(transaction.events) - _EVENTS, 0)),
        *transaction.events,
    ]
    needs = tuple(state.hold_of(k) for k in range(len(state.arms)))
    able = tuple(arm.state == "active" and state.stored != "closed" for arm in state.arms)
    rooms = [arm.money.room() for arm in state.arms]
    known = Known(
        make_statistics(state, trust=False),
        read_recent_activity(events, transaction.now, RECENT, unit),
        (state.available + state.held) * unit,
        np.where(able, np.array(needs) * unit, np.inf),
        np.array([np.inf if room is None else room * unit for room in rooms]),
        np.array([arm.open for arm in state.arms], dtype=np.float64),
        np.array(state.learner.open, dtype=np.float64),
        np.inf if state.day_cap is None else state.day_cap * unit,
        state.learner.policy.learns,
        state.config.seed,
    )
    keys = tuple(arm.key for arm in state.arms)
    since = transaction.now - RECENT * DAY
    changes = tuple(
        (arm.key, changes_of(arm)[0])
        for arm in state.arms
        if arm.state != "retired" and any(one.ts >= since for one in arm.changed.values())
    )
    return ForecastInput(
        known, keys, needs, able, state.state, transaction.now, state.config.coin, changes
    )


def make_forecast(facts: ForecastInput, days: float | None) -> Forecast:
    """Return the forecast."""
    if days is not None and not 0.0 < check_number("days", days) < 1e6:
        raise InvalidInput(f"days must be a number above 0, or None for all, got {days!r}")
    outlook, coin, table = fit_forecast_model(facts.known, days), facts.coin, facts.known.table
    able = [
        (key, need)
        for key, need, may in zip(facts.keys, facts.needs, facts.able, strict=True)
        if may
    ]
    best, needs = _best(facts)
    unusable = round(outlook.course.rest * 10**coin.exponent)
    margin = outlook.margin if table.n.any() else -1
    found = Forecast(
        days, facts.state, outlook.plays, outlook.reward, outlook.rate,
        _date(facts.now, outlook.days, "value"), _date(facts.now, outlook.days, "low"),
        _date(facts.now, outlook.days, "high"),
        best,
        None if best is None else coin.amount(needs),
        tuple(key for key, need in able if best is not None and need < needs),
        coin.amount(unusable),
        coin.amount(max([unusable, *([min(need for _, need in able)] if able else [])])),
        outlook.value if margin >= 0 else None,
        facts.keys[margin] if margin >= 0 else None,
        (),
    )  # fmt: skip
    return replace(found, sentences=tuple(_sentences(found, facts, outlook, unusable)))


def _best(facts: ForecastInput) -> tuple[str | None, int]:
    """Return the arm of the most reward per cost so far among those in play, and what it needs."""
    table = facts.known.table
    in_play = np.flatnonzero((table.n > 0.0) & np.array(facts.able))
    if not in_play.size:
        return None, 0
    ratios = table.reward[in_play] / np.maximum(table.cost[in_play], 1e-300)
    best = int(in_play[np.argmax(ratios)])
    return facts.keys[best], facts.needs[best]


def _date(now: int, days: Estimate | None, end: str) -> datetime | None:
    if days is None:
        return None
    then = now + getattr(days, end) * DAY
    return datetime.fromtimestamp(then / 1e6, UTC) if then < _LAST else None


def _sentences(
    found: Forecast, facts: ForecastInput, outlook: ForecastModel, unusable: int
) -> Iterator[str]:
    if found.state in ("paused", "unreconciled", "closed"):
        yield f"The campaign is {found.state}."
    if not facts.known.table.n.any():
        yield "Nothing is known yet: no decision has an outcome."
        return
    waits = bool(facts.known.pending.any())
    left = facts.coin.format(unusable)
    if not outlook.course.money.size:
        yield f"No arm fits into the {left} that will be left."
        if waits and found.reward is not None:
            yield f"Open decisions will bring about {_between(found.reward)}."
    else:
        yield from _plays(found, waits)
        yield from _time(found, outlook)
        yield from _end(found, facts, left)
    if found.value_of_unit is not None:
        yield (
            f"One more unit of budget would bring about {_between(found.value_of_unit)},"
            f" most of it spent on {found.margin}."
        )
    yield from _changes(facts)


def _changes(facts: ForecastInput) -> Iterator[str]:
    """Say which arms are not what they were: what is to come was worked out from their means."""
    for key, change in facts.changes[:_TOLD]:
        means = "it is learned anew" if change.reset else "this forecast mixes both"
        yield (
            f"The mean {change.what} of {key} went from {format_number(change.before)} to"
            f" {format_number(change.after)} lately: {means}."
        )
    more = len(facts.changes) - _TOLD
    if more > 0:
        yield f"So did that of {more:,} other {'arm' if more == 1 else 'arms'}."


def _plays(found: Forecast, waits: bool) -> Iterator[str]:
    if found.plays is not None and found.reward is not None:
        when = "" if found.days is None else f" within {format_number(found.days)} days"
        yield (
            f"About {_count(found.plays)} more plays{when} will bring about"
            f" {_between(found.reward)}{', open decisions included' if waits else ''}."
        )


def _time(found: Forecast, outlook: ForecastModel) -> Iterator[str]:
    if found.rate is None:
        yield (
            f"Nothing was spent in the last {RECENT:g} days, so nobody can tell when the budget"
            " will be used up."
        )
    elif found.exhausted is not None:
        form = "%Y-%m-%d" if outlook.days and outlook.days.value >= 3.0 else "%Y-%m-%d %H:%M"
        early, late = found.exhausted_early, found.exhausted_late
        ends = f"{early:{form}} to {late:{form}}" if early and late else "or much later"
        speed = format_number(found.rate.value)
        yield f"At {speed} a day it lasts until {found.exhausted:{form}} ({ends})."


def _end(found: Forecast, facts: ForecastInput, left: str) -> Iterator[str]:
    if found.best is None:
        return
    needs = facts.coin.format(facts.needs[facts.keys.index(found.best)])
    if found.then:
        others = join_words(found.then) if len(found.then) < 4 else f"{len(found.then)} other arms"
        then = f"then {others} still {'fits' if len(found.then) == 1 else 'fit'}"
    else:
        then = "and then nothing does"
    yield (
        f"{found.best} fits until less than {needs} is left, {then};"
        f" about {left} will be left over."
    )


def _count(one: Estimate) -> str:
    return f"{one.value:,.0f} ({one.low:,.0f} to {one.high:,.0f})"


def _between(one: Estimate) -> str:
    return f"{format_number(one.value)} ({format_number(one.low)} to {format_number(one.high)})"
