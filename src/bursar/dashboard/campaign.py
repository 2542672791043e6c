"""The pages of a campaign and of its decisions, and the history that charts draw."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from bursar.campaign import ArmView, Decision, Estimate
from bursar.campaign.explanation import Explanation, Option
from bursar.dashboard import events
from bursar.dashboard.overview import CampaignSummary, is_stuck, summarize
from bursar.dashboard.render import Page, parse_count
from bursar.service.responses import encode

_LIVE_PARTS = (
    "campaign_top", "campaign_money", "campaign_numbers", "campaign_arms", "campaign_holds",
    "campaign_events",
)  # fmt: skip
_MAX_ARMS = 100
_MAX_HOLDS = 50
_EVENTS = 12
_CHART_ROWS = 12  # of the table beside the chart
_CHART_POINTS = 1000


class ArmColumn(NamedTuple):
    """A column of the table of arms: its label, and what it is sorted by."""

    label: str
    sort_key: Callable[[ArmView], Any]
    is_number: bool = False


def _value(estimate: Estimate | None) -> float:
    return -math.inf if estimate is None else estimate.value


COLUMNS = {
    "key": ArmColumn("Arm", lambda arm: arm.key),
    "state": ArmColumn("State", lambda arm: arm.state),
    "asks": ArmColumn("Share of asks", lambda arm: arm.asks, True),
    "spent": ArmColumn("Share of spend", lambda arm: arm.spent, True),
    "plays": ArmColumn("Outcomes", lambda arm: arm.plays, True),
    "reward": ArmColumn("Mean reward", lambda arm: _value(arm.reward)),
    "cost": ArmColumn("Mean cost", lambda arm: _value(arm.cost)),
    "ratio": ArmColumn("Reward per cost", lambda arm: _value(arm.ratio)),
    "last": ArmColumn("Last chosen", lambda arm: arm.last.timestamp() if arm.last else 0.0),
}
"""The columns of the table of arms, by the name that a link sorts by."""


async def show_campaign(page: Page) -> Response:
    """Show a campaign, or only the parts of its page that change."""
    query = page.query
    sort = query.get("sort", "")
    view: dict[str, Any] = {
        "sort": sort if sort in COLUMNS else "ratio",
        "down": query.get("down", "1") != "0",
        "older": parse_count(query.get("older", "")) or 0,
    }
    values = view | await page.run_heavy(_load_campaign, page, view)
    if page.is_live:
        return page.render_parts(_LIVE_PARTS, **values)
    return page.render("campaign", **values)


def _load_campaign(page: Page, view: dict[str, Any]) -> dict[str, Any]:
    service, name = page.service, page.name
    campaign, series = service.campaign(name), service.series.get(name)
    summary = summarize(campaign, series)
    status = summary.status
    arms = sorted(summary.arms, key=COLUMNS[view["sort"]].sort_key, reverse=view["down"])
    holds = filter_holds(summary, view["older"])
    newest, _ = events.read_backwards(service.store, name, status.seq + 1, _EVENTS)
    return {
        "campaign": summary,
        "status": status,
        "arms": arms[:_MAX_ARMS],
        "hidden_arms": max(len(arms) - _MAX_ARMS, 0),
        "columns": COLUMNS,
        "holds": holds[:_MAX_HOLDS],
        "hidden_holds": max(len(holds) - _MAX_HOLDS, 0),
        "is_stuck": is_stuck,
        "events": newest,
        "describer": events.EventDescriber(campaign.coin, [arm.key for arm in summary.arms]),
        "coin": series.coin,
        "buckets": series.thin(_CHART_ROWS),
    }


def filter_holds(summary: CampaignSummary, age: int) -> list[Decision]:
    """Return the open holds that are at least that many seconds old, oldest first."""
    return [one for one in summary.holds if (summary.now - one.at).total_seconds() >= age]


async def show_decision(page: Page) -> Response:
    """Show why a decision was made."""
    return page.render("decision", **await page.run_heavy(_load_decision, page, page.params["id"]))


def _load_decision(page: Page, id: str) -> dict[str, Any]:
    campaign = page.service.campaign(page.name)
    explanation = campaign.explain(id)
    return {
        "decision": campaign.decision(id),
        "explanation": explanation,
        "options": select_options(explanation),
        "currency": campaign.coin.currency,
        "events": events.load_decision_events(page.service.store, page.name, id),
        "describer": events.EventDescriber(campaign.coin, events.load_arm_keys(campaign)),
    }


def select_options(explanation: Explanation) -> Sequence[Option]:
    """Return all arms of an explanation; of very many, the chosen one and its best rivals."""
    if len(explanation.options) <= _MAX_ARMS:
        return explanation.options
    rank = {"chosen": 0, "open": 1}
    return sorted(
        explanation.options, key=lambda one: (rank.get(one.status, 2), -(one.index or 0.0))
    )[:_MAX_ARMS]


async def send_series(page: Page) -> Response:
    """Send the history that the charts draw, or 304 if the browser has it."""
    await page.service.find_campaign(page.name)
    series = await page.run_heavy(page.service.series.get, page.name)
    tag = f'"{series.totals.seq}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if page.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    body = encode(await page.run(series.as_dict, _CHART_POINTS))
    return Response(body, media_type="application/json", headers=headers)
