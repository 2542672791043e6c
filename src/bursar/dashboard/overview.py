"""The first page: all campaigns, and whether money is being lost."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from starlette.responses import Response

from bursar.dashboard.render import Page
from bursar.dashboard.summary import CampaignSummary, summarize
from bursar.errors import CorruptLedger, NewerSchema
from bursar.service.keys import Key
from bursar.service.service import Service

_LOG = logging.getLogger("bursar.dashboard")
_MAX_CAMPAIGNS = 100
_SAFE_STATES = ("active", "exhausted", "closed")
_MAX_AGE = timedelta(seconds=20)  # then an unchanged campaign is read again, as its holds age
_TONES = ("bad", "warning", "good", "neutral")  # in the order of the page

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
