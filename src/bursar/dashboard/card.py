"""A campaign at a glance: its light, its money, where it goes, and what is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from bursar.campaign import ArmView, Campaign, Decision, Estimate, Forecast
from bursar.dashboard.bars import Split, split
from bursar.formatting import (
    format_ago,
    format_count,
    format_money,
    format_number,
    format_percent,
    format_time,
    pluralize,
)
from bursar.service.series import Series

if TYPE_CHECKING:
    from bursar.campaign.views import Status

__all__ = [
    "STATES",
    "CampaignLook",
    "Card",
    "Earning",
    "Trouble",
    "best_arm",
    "burn",
    "card",
    "earning",
    "end",
    "is_stuck",
    "lately",
    "look",
]

# ==== dashboard.look
# One look at a campaign: everything that a page shows of it, taken together.

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class CampaignLook:
    """What a campaign was at one moment."""

    status: Status
    arms: list[ArmView]
    forecast: Forecast
    holds: list[Decision]  # oldest first
    alarms: list[str]
    lately: float | None  # reward per unit of cost over the last tenth of what was spent
    now: datetime

    @property
    def stuck(self) -> list[Decision]:
        """Open decisions that should have had an outcome by now."""
        return [one for one in self.holds if is_stuck(one, self.now)]

    @property
    def smallest_hold(self) -> Decimal | None:
        """What the cheapest ask reserves."""
        return min((arm.hold for arm in self.arms if arm.state == "active"), default=None)


def look(campaign: Campaign, series: Series | None = None) -> CampaignLook:
    """Look at a campaign; waits for its ledger, so call it in a thread."""
    return CampaignLook(
        campaign.status(),
        campaign.arms(),
        campaign.forecast(),
        campaign.holds(),
        campaign.alarms,
        None if series is None else lately(series),
        datetime.now(UTC),
    )


def is_stuck(one: Decision, now: datetime) -> bool:
    """Tell whether a decision waits for an hour, or for half of the time it has."""
    return now - one.at >= min(_HOUR, (one.expires_at - one.at) / 2)


def lately(series: Series) -> float | None:
    """Return reward per unit of cost over the last tenth of what was spent."""
    if not series.complete:
        return None  # the end of what was read is not now
    rows = series.thinned(400)
    if not rows or rows[-1].spent <= 0:
        return None
    end = rows[-1]
    start = next((one for one in reversed(rows) if one.spent <= 0.9 * end.spent), None)
    before = (start.spent, start.reward) if start is not None else (0, 0.0)
    cost = float(series.coin.amount(end.spent - before[0]))
    return (end.reward - before[1]) / cost if cost > 0.0 else None


# ==== dashboard.pace
# How fast money goes, and when it will be gone.

_PACES = ((3.0 / 24.0, 1440.0, "a minute"), (3.0, 24.0, "an hour"), (math.inf, 1.0, "a day"))


def burn(look: CampaignLook) -> str:
    """Return how fast money goes: a day, or less if it will not last for many."""
    ahead = look.forecast
    if look.status.state != "active":
        return "nothing now"
    if ahead.rate is None:
        return "nothing lately"
    days = math.inf
    if ahead.exhausted is not None:
        days = (ahead.exhausted - look.now).total_seconds() / 86_400.0
    part, unit = next((part, unit) for most, part, unit in _PACES if days <= most)
    return f"{format_number(ahead.rate.value / part)} {look.status.currency} {unit}".replace(
        "  ", " "
    )


def end(look: CampaignLook) -> tuple[str, str]:
    """Return when the budget will be used up, and between which dates that is."""
    ahead = look.forecast
    if look.status.state in ("exhausted", "overdrawn"):
        return "used up", "raise the budget to go on"
    if look.status.state != "active":
        return "stands still", f"it is {look.status.state}"
    if ahead.exhausted is None:
        return "no end in sight", "nothing was spent lately"
    early, late = ahead.exhausted_early, ahead.exhausted_late
    short = _short(ahead.exhausted, look.now)
    if early is None or late is None:
        return short, ""
    return short, _span(early, late, look.now)


def _short(at: datetime, now: datetime) -> str:
    """Return a date; with the time of day if it is near."""
    near = abs((at - now).total_seconds()) < 3 * 86_400
    return at.strftime("%Y-%m-%d %H:%M UTC" if near else "%Y-%m-%d")


def _span(early: datetime, late: datetime, now: datetime) -> str:
    """Return between which times something will be, as short as it can be said."""
    first, last = _short(early, now), _short(late, now)
    if first == last:
        return ""
    if early.date() == late.date():
        return f"{early:%H:%M} to {late:%H:%M} UTC"
    return f"{early:%Y-%m-%d} to {late:%Y-%m-%d}"


# ==== dashboard.earning
# What money brings: now, and against the best single arm seen so far.

_ENOUGH = 10  # outcomes before an arm can be called the best


@dataclass(frozen=True)
class Earning:
    """Reward per unit of cost, and how that compares.

    Attributes
    ----------
    now, best : str
        Reward per unit of cost lately, and that of the best arm seen.
    arm : str
        The best arm; "" if none can be told yet.
    tone : str
        yes, part, no or open: as good as the best arm, below, far below, not known.
    words : str
        The comparison in a sentence.
    lost : str
        What always playing the best arm would have brought more, with its interval.
    """

    now: str
    best: str
    arm: str
    tone: str
    words: str
    lost: str


def best_arm(arms: list[ArmView]) -> tuple[str, Estimate] | None:
    """Return the arm of the highest reward per cost, among those with enough outcomes."""
    known = [(one.key, one.ratio) for one in arms if one.ratio is not None and one.plays >= _ENOUGH]
    return max(known, key=lambda pair: pair[1].value, default=None)


def earning(look: CampaignLook) -> Earning:
    """Return what the money of a campaign brings."""
    spent, unit = float(look.status.spent), look.status.currency or "unit"
    overall = look.status.reward / spent if spent > 0.0 else None
    now = look.lately if look.lately is not None else overall  # all of it, until more is read
    best = best_arm(look.arms)
    if now is None:
        return Earning("–", "–", "", "open", "Nothing was spent yet.", "")
    if best is None:
        return Earning(
            format_number(now), "–", "", "open", "Too few outcomes to name a best arm.", ""
        )
    key, ratio = best
    lost = _lost(look, ratio, spent)
    told = f"{format_number(now)} per {unit} lately; the best arm seen, {key}, {format_number(ratio.value)}"
    if ratio.value <= 0.0:
        return Earning(
            format_number(now),
            format_number(ratio.value),
            key,
            "open",
            f"{told} (estimated).",
            lost,
        )
    share = now / ratio.value
    if now >= ratio.low:
        tone, verdict = "yes", "as good as the best arm seen"
    else:
        tone = "part" if share >= 0.5 else "no"
        verdict = f"{format_percent(max(share, 0.0))} of the best arm seen"
    words = f"{verdict[:1].upper()}{verdict[1:]} (estimated): {told}."
    return Earning(format_number(now), format_number(ratio.value), key, tone, words, lost)


def _lost(look: CampaignLook, ratio: Estimate, spent: float) -> str:
    ends = [
        max(end * spent - look.status.reward, 0.0) for end in (ratio.value, ratio.low, ratio.high)
    ]
    return (
        f"about {format_number(ends[0])} ({format_number(ends[1])} to {format_number(ends[2])}),"
        " estimated against the best arm seen so far"
    )


STATES = {
    "active": ("yes", "Running"),
    "paused": ("part", "Paused"),
    "exhausted": ("open", "Budget used up"),
    "overdrawn": ("no", "Overdrawn"),
    "unreconciled": ("no", "To be reconciled"),
    "closed": ("open", "Closed"),
}
"""What states are called on the pages, and their colour."""


@dataclass(frozen=True)
class Trouble:
    """Something that an operator should look at; ``no`` is worse than ``part``."""

    tone: str
    text: str


@dataclass(frozen=True)
class Card:
    """A campaign at a glance, as texts."""

    name: str
    tone: str
    state: str
    currency: str
    budget: str
    spent: str
    held: str
    available: str
    overdrawn: bool
    bar: Split
    burn: str
    end: str
    end_note: str
    left: str
    earning: Earning
    stuck: int
    open: str
    overrun: str
    asks: str
    max_asks: str
    last: str
    last_at: str
    troubles: tuple[Trouble, ...]


def card(look: CampaignLook) -> Card:
    """Return a campaign at a glance."""
    status, ahead = look.status, look.forecast
    tone, word = STATES.get(status.state, ("open", status.state))
    shown = partial(format_money, currency=status.currency)
    earned = earning(look)
    until, note = end(look)
    return Card(
        name=status.name,
        tone=tone,
        state=word,
        currency=status.currency,
        budget=shown(status.budget),
        spent=shown(status.spent),
        held=shown(status.held),
        available=shown(status.available),
        overdrawn=status.available < 0,
        bar=split(status.budget, status.spent, status.held),
        burn=burn(look),
        end=until,
        end_note=note,
        left=shown(ahead.unusable),
        earning=earned,
        stuck=len(look.stuck),
        open=format_count(len(look.holds)),
        overrun=shown(status.overrun) if status.overrun else "",
        asks=format_count(status.asks),
        max_asks=format_count(max(status.max_asks, 0)),
        last=format_ago(status.at, look.now),
        last_at=format_time(status.at),
        troubles=tuple(_troubles(look, earned)),
    )


def _troubles(look: CampaignLook, earned: Earning) -> list[Trouble]:
    status = look.status
    found = []
    if status.state == "overdrawn":
        over = format_money(-status.available, status.currency)
        found.append(Trouble("no", f"Overdrawn by {over}; nothing more is granted."))
    if status.state == "unreconciled":
        found.append(Trouble("no", "Restored from a backup: say what was spent since."))
    found.extend(Trouble("no", f"Alarm: {text}") for text in look.alarms)
    if status.overrun:
        over = format_money(status.overrun, status.currency)
        found.append(Trouble("part", f"Costs exceeded their holds by {over} in all."))
    if look.stuck:
        are = "is" if len(look.stuck) == 1 else "are"
        found.append(Trouble("part", f"{pluralize(len(look.stuck), 'hold')} {are} stuck."))
    if earned.tone == "no" and status.state == "active":
        found.append(Trouble("part", earned.words))
    return found
