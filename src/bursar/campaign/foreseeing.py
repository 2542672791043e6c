"""How a forecast is made: what is known, taken in one moment, and the words for what follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from bursar.campaign.arm_change import ArmChange, changes_of
from bursar.campaign.forecast import Forecast
from bursar.campaign.outlook import Known, Outlook, outlook_of
from bursar.campaign.recent import DAY, recent_of
from bursar.campaign.statistic import Estimate, statistics_of
from bursar.campaign.turn import Turn
from bursar.campaign.wording import listed, number
from bursar.checks import real
from bursar.errors import InvalidInput
from bursar.money import Coin

__all__ = ["Facts", "facts_of", "forecast_of"]

RECENT = 7.0  # days
_TOLD = 3  # arms that changed, in a sentence each
_EVENTS = 10_000  # of the log that count as recent at most
_LAST = 253_402_300_799 * 1_000_000  # the end of the year 9999, the last that dates can tell


@dataclass(frozen=True)
class Facts:
    """What a forecast is made from, taken in one moment."""

    known: Known
    keys: tuple[str, ...]
    needs: tuple[int, ...]
    able: tuple[bool, ...]
    state: str
    now: int
    coin: Coin
    changes: tuple[tuple[str, ArmChange], ...]  # of the last days, by the key of the arm


def facts_of(turn: Turn) -> Facts:
    """Take what a forecast needs; quick, because the campaign stands still meanwhile."""
    state, unit = turn.state, 10.0**-turn.state.config.coin.exponent
    events = [*turn.session.after(max(state.seq - len(turn.events) - _EVENTS, 0)), *turn.events]
    needs = tuple(state.hold_of(k) for k in range(len(state.arms)))
    able = tuple(arm.state == "active" and state.stored != "closed" for arm in state.arms)
    rooms = [arm.money.room() for arm in state.arms]
    known = Known(
        statistics_of(state, trust=False),
        recent_of(events, turn.now, RECENT, unit),
        (state.available + state.held) * unit,
        np.where(able, np.array(needs) * unit, np.inf),
        np.array([np.inf if room is None else room * unit for room in rooms]),
        np.array([arm.open for arm in state.arms], dtype=np.float64),
        np.array(state.brain.open, dtype=np.float64),
        np.inf if state.day_cap is None else state.day_cap * unit,
        state.brain.policy.name != "uniform",
        state.config.seed,
    )
    keys = tuple(arm.key for arm in state.arms)
    since = turn.now - RECENT * DAY
    changes = tuple(
        (arm.key, changes_of(arm)[0])
        for arm in state.arms
        if arm.state != "retired" and any(one.ts >= since for one in arm.changed.values())
    )
    return Facts(known, keys, needs, able, state.state, turn.now, state.config.coin, changes)


def forecast_of(facts: Facts, days: float | None) -> Forecast:
    """Return the forecast."""
    if days is not None and not 0.0 < real("days", days) < 1e6:
        raise InvalidInput(f"days must be a number above 0, or None for all, got {days!r}")
    outlook, coin, table = outlook_of(facts.known, days), facts.coin, facts.known.table
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


def _best(facts: Facts) -> tuple[str | None, int]:
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


def _sentences(found: Forecast, facts: Facts, outlook: Outlook, unusable: int) -> Iterator[str]:
    if found.state in ("paused", "unreconciled", "closed"):
        yield f"The campaign is {found.state}."
    if not facts.known.table.n.any():
        yield "Nothing is known yet: no decision has an outcome."
        return
    waits = bool(facts.known.pending.any())
    left = facts.coin.shown(unusable)
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


def _changes(facts: Facts) -> Iterator[str]:
    """Say which arms are not what they were: what is to come was worked out from their means."""
    for key, change in facts.changes[:_TOLD]:
        means = "it is learned anew" if change.reset else "this forecast mixes both"
        yield (
            f"The mean {change.what} of {key} went from {number(change.before)} to"
            f" {number(change.after)} lately: {means}."
        )
    more = len(facts.changes) - _TOLD
    if more > 0:
        yield f"So did that of {more:,} other {'arm' if more == 1 else 'arms'}."


def _plays(found: Forecast, waits: bool) -> Iterator[str]:
    if found.plays is not None and found.reward is not None:
        when = "" if found.days is None else f" within {number(found.days)} days"
        yield (
            f"About {_count(found.plays)} more plays{when} will bring about"
            f" {_between(found.reward)}{', open decisions included' if waits else ''}."
        )


def _time(found: Forecast, outlook: Outlook) -> Iterator[str]:
    if found.rate is None:
        yield (
            f"Nothing was spent in the last {RECENT:g} days, so nobody can tell when the budget"
            " will be used up."
        )
    elif found.exhausted is not None:
        form = "%Y-%m-%d" if outlook.days and outlook.days.value >= 3.0 else "%Y-%m-%d %H:%M"
        early, late = found.exhausted_early, found.exhausted_late
        ends = f"{early:{form}} to {late:{form}}" if early and late else "or much later"
        speed = number(found.rate.value)
        yield f"At {speed} a day it lasts until {found.exhausted:{form}} ({ends})."


def _end(found: Forecast, facts: Facts, left: str) -> Iterator[str]:
    if found.best is None:
        return
    needs = facts.coin.shown(facts.needs[facts.keys.index(found.best)])
    if found.then:
        others = listed(found.then) if len(found.then) < 4 else f"{len(found.then)} other arms"
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
    return f"{number(one.value)} ({number(one.low)} to {number(one.high)})"
