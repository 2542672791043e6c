"""The page of a campaign, and the numbers of its charts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bursar.dashboard import arm_row
from bursar.dashboard.card import card
from bursar.dashboard.frame import base_of, render, seen
from bursar.dashboard.history import older
from bursar.dashboard.holds import holds
from bursar.dashboard.look import Look, look
from bursar.dashboard.spelling import count, moment, money, percent
from bursar.dashboard.story import Story
from bursar.service.answer import encode
from bursar.service.auth import require
from bursar.service.series import Series
from bursar.service.service import Service

__all__ = ["campaign_page", "series_data"]

_LIVE = (
    "campaign_top", "campaign_money", "campaign_numbers", "campaign_arms", "campaign_holds",
    "campaign_events",
)  # fmt: skip
_EVENTS = 12
_POINTS = 12  # rows of the table beside the chart
_ACTS = {"active": ("pause", "Pause"), "paused": ("resume", "Resume")}


async def campaign_page(service: Service, request: Request) -> Response:
    """Show a campaign, or only what of it changes."""
    name: str = request.path_params["name"]
    key = require(request, "read", name)
    query = request.query_params
    sort = query.get("sort", "ratio")
    sort = sort if sort in arm_row.COLUMNS else "ratio"
    facts = await service.look(
        _facts, service, name, sort, query.get("down", "1") != "0", query.get("older", "0")
    )
    facts |= {"may_admin": key.allows("admin", name)}
    facts["heads"] = arm_row.heads(facts["base"], sort, facts["down"], facts["may_admin"])
    if not seen(request):
        return render(service, request, "campaign", **facts)
    parts = [bytes(render(service, request, one, oob=True, **facts).body) for one in _LIVE]
    return HTMLResponse(b"\n".join(parts))


def _facts(service: Service, name: str, sort: str, down: bool, age: str) -> dict[str, Any]:
    campaign, series = service.campaign(name), service.series.of(name)
    now = look(campaign, series)
    status = now.status
    arms, scales = arm_row.rows(now, sort, down)
    story = Story(campaign.coin, [arm.key for arm in now.arms])
    newest, _ = older(service.store, name, status.seq + 1, _EVENTS, lambda event: True)
    stored = status.state if status.state not in ("exhausted", "overdrawn") else "active"
    acts = [_ACTS[stored]] if stored in _ACTS else []
    return {
        "base": base_of(name),
        "card": card(now),
        "ahead": " ".join(now.forecast.sentences),
        "sort": sort,
        "down": down,
        "older": age,
        "arms": arms,
        "scales": scales,
        "arms_left_out": max(len(now.arms) - arm_row.MOST, 0),
        "holds": holds(now, age),
        "events": [story.line(event) for event in newest],
        "points": _points(series, status.currency),
        "chart_words": _chart_words(now),
        "share_words": _share_words(now),
        "version_of": status.version,
        "budget_plain": f"{status.budget:f}",
        "day_cap": "" if status.day_cap is None else f"{status.day_cap.normalize():f}",
        "acts": [{"verb": verb, "label": label} for verb, label in acts],
        "closable": stored != "closed",
        "unreconciled": stored == "unreconciled",
    }


def _points(series: Series, currency: str) -> list[dict[str, str]]:
    amount = series.coin.amount
    return [
        {
            "at": moment(datetime.fromtimestamp(one.end / 1e6, UTC)),
            "spent": money(amount(one.spent), currency),
            "held": money(amount(one.held), currency),
            "budget": money(amount(one.budget), currency),
        }
        for one in series.thinned(_POINTS)
    ]


def _chart_words(now: Look) -> str:
    status = now.status
    return (
        f"{money(status.spent, status.currency)} spent and {money(status.held, status.currency)}"
        f" held of {money(status.budget, status.currency)} after {count(status.asks)} decisions."
    )


def _share_words(now: Look) -> str:
    told = sorted(now.arms, key=lambda arm: arm.asks, reverse=True)[:8]
    return ", ".join(f"{arm.key}: {percent(arm.share_of_asks)} of all asks" for arm in told)


async def series_data(service: Service, request: Request) -> Response:
    """Return the history that the charts draw; unchanged since the last time: 304."""
    name: str = request.path_params["name"]
    require(request, "read", name)
    await service.find(name)
    series = await service.look(service.series.of, name)
    tag = f'"{series.flow.seq}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    body = encode(await service.look(series.as_dict, 1000))
    return Response(body, media_type="application/json", headers=headers)
