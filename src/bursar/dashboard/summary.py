"""The summary of a campaign: everything that pages show of it, read at one moment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from bursar.campaign import ArmView, Campaign, Decision, Estimate, Forecast
from bursar.campaign.views import Status
from bursar.formatting import format_money, format_number, format_percent, pluralize
from bursar.service.series import Series

_HOUR = timedelta(hours=1)
_BEST_ARM_OUTCOMES = 10  # outcomes before an arm can be called the best
_STATES = {
    "active": ("good", "Running"),
    "paused": ("warning", "Paused"),
    "exhausted": ("neutral", "Budget used up"),
    "overdrawn": ("bad", "Overdrawn"),
    "unreconciled": ("bad", "Needs reconciliation"),
    "closed": ("neutral", "Closed"),
}  # the tone (a CSS class) and the label of each state
_PACES = ((3.0 / 24.0, 1440.0, "minute"), (3.0, 24.0, "hour"), (math.inf, 1.0, "day"))


@dataclass(frozen=True)
class Alert:
    """Something that an operator should look at; the tone "bad" is worse than "warning"."""

    tone: str
    text: str


@dataclass(frozen=True)
class Performance:
    """Recent reward per unit of cost, compared with the best arm so far."""

    ratio: float | None  # None if nothing was spent
    best: ArmView | None  # None if there are too few outcomes
    tone: str  # good (as much as the best arm), warning, bad (less than half) or neutral (unknown)
    sentence: str
    missed: Estimate | None = None  # reward that always playing the best arm would have added


@dataclass(frozen=True, kw_only=True)
class CampaignSummary:
    """A campaign at one moment; open holds are sorted by age, the oldest first."""

    status: Status
    arms: list[ArmView]
    forecast: Forecast
    holds: list[Decision]
    alarms: list[str]
    recent_ratio: float | None  # None if the history was not read to its end
    now: datetime

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return self.status.name

    @property
    def badge(self) -> tuple[str, str]:
        """Tone and label of the state."""
        return _STATES.get(self.status.state, ("neutral", self.status.state))

    @cached_property
    def stuck_holds(self) -> list[Decision]:
        """Open decisions that should have had an outcome by now."""
        return [one for one in self.holds if is_stuck(one, self.now)]

    @cached_property
    def best_arm(self) -> ArmView | None:
        """The arm with the highest reward per cost among those with enough outcomes."""
        known = [(arm.ratio.value, arm) for arm in self.arms if arm.ratio is not None]
        enough = [pair for pair in known if pair[1].plays >= _BEST_ARM_OUTCOMES]
        return max(enough, key=lambda pair: pair[0], default=(0.0, None))[1]

    @property
    def burn_rate(self) -> tuple[float, str]:
        """Spend per day, or per hour or minute if the budget will not last long, and the unit."""
        rate, end = self.forecast.rate, self.forecast.exhausted
        days = math.inf if end is None else (end - self.now).total_seconds() / 86_400.0
        parts, unit = next((parts, unit) for most, parts, unit in _PACES if days <= most)
        return (0.0 if rate is None else rate.value / parts), unit

    @cached_property
    def performance(self) -> Performance:
        """Recent reward per cost, compared with the best arm."""
        spent = float(self.status.spent)
        if spent <= 0.0:
            return Performance(None, None, "neutral", "Nothing has been spent yet.")
        # the mean of the whole campaign until its recent history is read
        ratio = self.status.reward / spent if self.recent_ratio is None else self.recent_ratio
        best = self.best_arm
        if best is None or best.ratio is None:
            return Performance(
                ratio, None, "neutral", "There are too few outcomes to identify the best arm."
            )
        unit = self.status.currency or "unit"
        recent = f"Recent decisions earned {format_number(ratio)} per {unit}"
        rival = f"the best arm, {best.key} (estimated at {format_number(best.ratio.value)})"
        if best.ratio.value <= 0.0:
            tone, sentence = "neutral", f"{recent}; {rival}, does not earn anything."
        elif ratio >= best.ratio.low:
            tone, sentence = "good", f"{recent}, as much as {rival}."
        else:
            share = max(ratio / best.ratio.value, 0.0)
            tone = "warning" if share >= 0.5 else "bad"
            sentence = f"{recent}, {format_percent(share)} of {rival}."
        missed = best.ratio.map(lambda ratio: max(ratio * spent - self.status.reward, 0.0))
        return Performance(ratio, best, tone, sentence, missed)

    @cached_property
    def alerts(self) -> list[Alert]:
        """What an operator should look at."""
        status, stuck = self.status, len(self.stuck_holds)
        found = []
        if status.state == "overdrawn":
            excess = format_money(-status.available, status.currency)
            found.append(Alert("bad", f"Overdrawn by {excess}; no further decisions are granted."))
        if status.state == "unreconciled":
            text = "Restored from a backup: enter what was spent since then to continue."
            found.append(Alert("bad", text))
        found.extend(Alert("bad", f"Alarm: {text}") for text in self.alarms)
        if status.overrun:
            excess = format_money(status.overrun, status.currency)
            found.append(Alert("warning", f"Costs exceeded their holds by {excess} in total."))
        if stuck:
            verb = "is" if stuck == 1 else "are"
            found.append(Alert("warning", f"{pluralize(stuck, 'hold')} {verb} stuck."))
        if self.performance.tone == "bad" and status.state == "active":
            found.append(Alert("warning", self.performance.sentence))
        return found


def summarize(campaign: Campaign, series: Series | None = None) -> CampaignSummary:
    """Read the summary of a campaign; blocks, so call it in a thread."""
    return CampaignSummary(
        status=campaign.status(),
        arms=campaign.arms(),
        forecast=campaign.forecast(),
        holds=campaign.holds(),
        alarms=campaign.alarms,
        recent_ratio=None if series is None else recent_reward_per_cost(series),
        now=datetime.now(UTC),
    )


def is_stuck(decision: Decision, now: datetime) -> bool:
    """Return whether a hold is open for an hour, or for half of its lifetime."""
    return now - decision.at >= min(_HOUR, (decision.expires_at - decision.at) / 2)


def recent_reward_per_cost(series: Series) -> float | None:
    """Return reward per unit of cost over the last tenth of what was spent."""
    buckets = series.thin(400)
    if not series.complete or not buckets or buckets[-1].spent <= 0:
        return None
    last = buckets[-1]
    first = next((one for one in reversed(buckets) if one.spent <= 0.9 * last.spent), None)
    spent, reward = (0, 0.0) if first is None else (first.spent, first.reward)
    cost = float(series.coin.amount(last.spent - spent))
    return (last.reward - reward) / cost if cost > 0.0 else None
