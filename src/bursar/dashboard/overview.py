"""The first page: all campaigns, and whether money is being lost.

A summary is everything that pages show of a campaign, read at one moment.
"""

import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from starlette.responses import Response

from bursar.campaign import ArmView, Campaign, Decision, Estimate, Forecast
from bursar.campaign.views import Status
from bursar.dashboard.render import Page
from bursar.errors import CorruptLedger, NewerSchema
from bursar.service.keys import Key
from bursar.service.series import Series
from bursar.service.service import Service

_LOG = logging.getLogger("bursar.dashboard")
_MAX_CAMPAIGNS = 100
_SAFE_STATES = ("active", "exhausted", "closed")
_MAX_AGE = timedelta(seconds=20)  # then an unchanged campaign is read again, as its holds age
_TONES = ("bad", "warning", "good", "neutral")  # in the order of the page
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
class Performance:
    """Recent reward per unit of cost, compared with the best arm so far."""

    ratio: float | None = None  # None if nothing was spent
    best: ArmView | None = None  # None if there are too few outcomes
    tone: str = "neutral"  # good (as much as the best arm), warning, bad (less than half)
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
        enough = [
            pair
            for pair in known
            if pair[1].plays + (pair[1].history.plays if pair[1].history else 0)
            >= _BEST_ARM_OUTCOMES
        ]
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
        spent, best = float(self.status.spent), self.best_arm
        if spent <= 0.0:
            return Performance()
        # the mean of the whole campaign until its recent history is read
        ratio = self.status.reward / spent if self.recent_ratio is None else self.recent_ratio
        if best is None or best.ratio is None:
            return Performance(ratio)
        if best.ratio.value <= 0.0:
            tone = "neutral"
        elif ratio >= best.ratio.low:
            tone = "good"
        else:
            tone = "warning" if ratio / best.ratio.value >= 0.5 else "bad"
        missed = best.ratio.map(lambda ratio: max(ratio * spent - self.status.reward, 0.0))
        return Performance(ratio, best, tone, missed)

    @cached_property
    def alerts(self) -> list[tuple[str, str]]:
        """What an operator should look at: tone and topic; "bad" comes before "warning"."""
        state = self.status.state
        conditions = (
            ("bad", "overdrawn", state == "overdrawn"),
            ("bad", "unreconciled", state == "unreconciled"),
            # one of them is about overruns, which are expected of quantile holds
            ("bad", "alarms", len(self.alarms) > bool(self.status.overrun)),
            ("warning", "overruns", self.status.overrun),
            ("warning", "stuck holds", self.stuck_holds),
            ("warning", "performance", state == "active" and self.performance.tone == "bad"),
        )
        return [(tone, topic) for tone, topic, is_met in conditions if is_met]

    @property
    def worst_alert(self) -> str:
        """Tone of the worst alert, or ``""``."""
        return self.alerts[0][0] if self.alerts else ""


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


# the newest summary of each campaign by service, because reading one costs far more than its row
_SUMMARIES: WeakKeyDictionary[Service, dict[str, CampaignSummary]] = WeakKeyDictionary()


async def show_overview(page: Page) -> Response:
    """Show the campaigns that a key can see."""
    campaigns, unreadable, hidden = await page.run_heavy(_load_summaries, page.service, page.key)
    campaigns.sort(key=lambda one: (not one.alerts, _TONES.index(one.badge[0]), one.name))
    values: dict[str, Any] = {"campaigns": campaigns, "unreadable": unreadable, "hidden": hidden}
    if page.is_live:
        return page.render_parts(("overview_top", "overview_cards"), **values)
    return page.render("overview", section="overview", **values)


def _load_summaries(service: Service, key: Key) -> tuple[list[CampaignSummary], list[str], int]:
    """Return the campaigns for the page, those that cannot be read, and the number of the rest.

    Campaigns that exceed their budget or are in an unusual state come first, then those with the
    newest events.
    """
    summaries = _SUMMARIES.setdefault(service, {})
    rows = [row for row in service.store.campaign_rows() if key.sees(row.name)]
    rows.sort(
        key=lambda row: (row.budget >= row.spent + row.held, row.state in _SAFE_STATES, -row.ts)
    )
    shown, now = rows[:_MAX_CAMPAIGNS], datetime.now(UTC)
    for row in shown:
        before = summaries.get(row.name)
        if before is None or before.status.seq != row.seq or now - before.now > _MAX_AGE:
            try:
                series = service.series.get(row.name, pieces=2)
                summaries[row.name] = summarize(service.campaign(row.name), series)
            except (CorruptLedger, NewerSchema) as error:  # must not hide the other campaigns
                _LOG.error("%s cannot be read: %s", row.name, error)
                summaries.pop(row.name, None)
    readable = [summaries[row.name] for row in shown if row.name in summaries]
    unreadable = [row.name for row in shown if row.name not in summaries]
    return readable, unreadable, len(rows) - len(shown)
