"""The page of a campaign, and the numbers of its charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bursar.campaign import ArmView, Decision, Estimate
from bursar.dashboard.bars import IntervalChart, intervals
from bursar.dashboard.card import CampaignLook, best_arm, card, is_stuck, look
from bursar.dashboard.events import Story, older
from bursar.dashboard.render import base_of, render, seen
from bursar.formatting import (
    format_ago,
    format_count,
    format_money,
    format_number,
    format_percent,
    format_time,
    pluralize,
)
from bursar.service.auth import require
from bursar.service.responses import encode
from bursar.service.series import Series
from bursar.service.service import Service

__all__ = [
    "AGES",
    "COLUMNS",
    "MOST",
    "ColumnHeading",
    "campaign_page",
    "chosen",
    "heads",
    "holds",
    "rows",
    "series_data",
    "ticked",
]

# ==== dashboard.arm_row
# The table of arms: rows as texts and drawn intervals, in the order that was asked for.

MOST = 100
"""Rows that a page shows; the table can be sorted by what matters."""

_STATES = {
    "active": ("yes", "Active"),
    "paused": ("part", "Paused"),
    "retired": ("open", "Retired"),
}
_ARM_ROW_ACTS = {
    "active": (("pause", "Pause"), ("retire", "Retire")),
    "paused": (("resume", "Resume"), ("retire", "Retire")),
    "retired": (),
}


def _value(one: Estimate | None) -> float:
    return -math.inf if one is None else one.value


COLUMNS: dict[str, tuple[str, Callable[[ArmView], Any], bool]] = {
    "key": ("Arm", lambda arm: arm.key, False),
    "state": ("State", lambda arm: arm.state, False),
    "asks": ("Share of asks", lambda arm: arm.asks, True),
    "spent": ("Share of spend", lambda arm: arm.spent, True),
    "plays": ("Outcomes", lambda arm: arm.plays, True),
    "reward": ("Mean reward", lambda arm: _value(arm.reward), False),
    "cost": ("Mean cost", lambda arm: _value(arm.cost), False),
    "ratio": ("Reward per cost", lambda arm: _value(arm.ratio), False),
    "last": ("Last chosen", lambda arm: arm.last.timestamp() if arm.last else 0.0, False),
}
"""Columns by name: what they are called, what they sort by, whether they are numbers."""


@dataclass(frozen=True)
class ColumnHeading:
    """The head of a column: a link that sorts by it."""

    name: str
    label: str
    address: str
    sorted: str  # ascending, descending or ""
    right: bool


def heads(base: str, sort: str, down: bool, with_acts: bool) -> list[ColumnHeading]:
    """Return the heads of the table; a second click turns the order round."""
    found = []
    for name, (label, _, right) in COLUMNS.items():
        mine = name == sort
        turned = not down if mine else name not in ("key", "state")
        order = ("descending" if down else "ascending") if mine else ""
        address = f"{base}?sort={name}&down={int(turned)}"
        found.append(ColumnHeading(name, label, address, order, right))
    return [*found, ColumnHeading("acts", "Change", "", "", False)] if with_acts else found


def rows(
    look: CampaignLook, sort: str, down: bool
) -> tuple[list[dict[str, Any]], dict[str, IntervalChart]]:
    """Return the rows in order, and the scales that their intervals are drawn on."""
    by = COLUMNS[sort][1] if sort in COLUMNS else COLUMNS["ratio"][1]
    arms = sorted(look.arms, key=by, reverse=down)[:MOST]
    scales = {
        name: intervals([getattr(arm, name) for arm in arms])
        for name in ("reward", "cost", "ratio")
    }
    best = best_arm(look.arms)
    return [
        _row(arm, look, best[0] if best else "") | {
            name: scale.rows[place] for name, scale in scales.items()
        }
        for place, arm in enumerate(arms)
    ], scales  # fmt: skip


def _row(arm: ArmView, look: CampaignLook, best: str) -> dict[str, Any]:
    tone, state = _STATES[arm.state]
    currency = look.status.currency
    return {
        "key": arm.key,
        "tone": tone,
        "state": state,
        "best": arm.key == best,
        "max_cost": format_money(arm.max_cost, currency),
        "share_of_asks": format_percent(arm.share_of_asks),
        "share_of_spend": format_percent(arm.share_of_spend),
        "spent": format_money(arm.spent, currency),
        "plays": format_count(arm.plays),
        "open": format_count(arm.open),
        "last": format_ago(arm.last, look.now),
        "last_at": format_time(arm.last),
        "changed": [
            f"Mean {one.what} changed from {format_number(one.before)} to {format_number(one.after)},"
            f" noticed {format_ago(one.at, look.now)}" + ("; learned anew" if one.reset else "")
            for one in arm.changed
        ],
        "acts": [{"verb": verb, "label": label} for verb, label in _ARM_ROW_ACTS[arm.state]],
    }


# ==== dashboard.holds
# Open holds as a page lists them: oldest first, with those that are stuck marked.

AGES = {"0": "All", "60": "1 minute", "600": "10 minutes", "3600": "1 hour", "86400": "1 day"}
"""Ages in seconds that can be filtered by."""

_SHOWN = 50


def chosen(look: CampaignLook, older: str) -> list[Decision]:
    """Return the holds that are as old as was asked for, oldest first."""
    age = int(older) if older in AGES else 0
    return [one for one in look.holds if (look.now - one.at).total_seconds() >= age]


def holds(look: CampaignLook, older: str) -> dict[str, Any]:
    """Return the table of open holds."""
    found, currency = chosen(look, older), look.status.currency
    shown = found[:_SHOWN]
    stuck = len(look.stuck)
    words = (
        f"{pluralize(len(look.holds), 'decision')} {'waits' if len(look.holds) == 1 else 'wait'} for"
        f" an outcome and {'holds' if len(look.holds) == 1 else 'hold'}"
        f" {format_money(look.status.held, currency)}; {format_count(stuck) if stuck else 'none'} stuck."
    )
    return {
        "total": len(look.holds),
        "shown": len(shown),
        "words": words,
        "more": f"{format_count(len(found) - _SHOWN)} more are not shown." if len(found) > _SHOWN else "",
        "ages": [
            {"value": value, "label": label if value == "0" else f"older than {label}",
             "chosen": value == (older if older in AGES else "0")}
            for value, label in AGES.items()
        ],
        "rows": [_holds_row(one, look) for one in shown],
    }  # fmt: skip


def _holds_row(one: Decision, look: CampaignLook) -> dict[str, Any]:
    return {
        "id": one.id,
        "short": one.id if len(one.id) <= 16 else f"{one.id[:8]}…{one.id[-6:]}",
        "arm": one.arm,
        "hold": format_money(one.hold, look.status.currency),
        "at": format_time(one.at),
        "age": format_ago(one.at, look.now),
        "expires": format_time(one.expires_at),
        "stuck": is_stuck(one, look.now),
    }


def ticked(fields: Mapping[str, str], mark: str = "hold:") -> list[str]:
    """Return the decisions that were ticked in the form.

    >>> ticked({"hold:a": "1", "reason": "x"})
    ['a']
    """
    return [name.removeprefix(mark) for name in fields if name.startswith(mark)]


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
    sort = sort if sort in COLUMNS else "ratio"
    facts = await service.run_in_thread(
        _facts, service, name, sort, query.get("down", "1") != "0", query.get("older", "0")
    )
    facts |= {"may_admin": key.allows("admin", name)}
    facts["heads"] = heads(facts["base"], sort, facts["down"], facts["may_admin"])
    if not seen(request):
        return render(service, request, "campaign", **facts)
    parts = [bytes(render(service, request, one, oob=True, **facts).body) for one in _LIVE]
    return HTMLResponse(b"\n".join(parts))


def _facts(service: Service, name: str, sort: str, down: bool, age: str) -> dict[str, Any]:
    campaign, series = service.campaign(name), service.series.get(name)
    now = look(campaign, series)
    status = now.status
    arms, scales = rows(now, sort, down)
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
        "arms_left_out": max(len(now.arms) - MOST, 0),
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
            "at": format_time(datetime.fromtimestamp(one.end / 1e6, UTC)),
            "spent": format_money(amount(one.spent), currency),
            "held": format_money(amount(one.held), currency),
            "budget": format_money(amount(one.budget), currency),
        }
        for one in series.thinned(_POINTS)
    ]


def _chart_words(now: CampaignLook) -> str:
    status = now.status
    return (
        f"{format_money(status.spent, status.currency)} spent and {format_money(status.held, status.currency)}"
        f" held of {format_money(status.budget, status.currency)} after {format_count(status.asks)} decisions."
    )


def _share_words(now: CampaignLook) -> str:
    told = sorted(now.arms, key=lambda arm: arm.asks, reverse=True)[:8]
    return ", ".join(f"{arm.key}: {format_percent(arm.share_of_asks)} of all asks" for arm in told)


async def series_data(service: Service, request: Request) -> Response:
    """Return the history that the charts draw; unchanged since the last time: 304."""
    name: str = request.path_params["name"]
    require(request, "read", name)
    await service.find_campaign(name)
    series = await service.run_in_thread(service.series.get, name)
    tag = f'"{series.flow.seq}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    body = encode(await service.run_in_thread(series.as_dict, 1000))
    return Response(body, media_type="application/json", headers=headers)
