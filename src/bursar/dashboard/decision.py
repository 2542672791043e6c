"""The page of a decision: why this arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import Decision, Explanation, Option
from bursar.dashboard.events import Story, of_decision
from bursar.dashboard.render import base_of, render
from bursar.formatting import format_count, format_money, format_number, format_percent, format_time
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["Length", "Why", "decision_page", "lengths", "why"]

# ==== dashboard.why
# Why an arm was chosen, as a page shows it.

_HOW = {
    "index": "by the largest index",
    "first": "because nothing was known of it",
    "drawn": "drawn by the policy",
    "explored": "at random, by the campaign’s rule to explore",
    "only": "because no other arm could be chosen",
    "fallback": "at random, because the policy failed",
}
_STATUS = {
    "chosen": ("yes", "Chosen"),
    "open": ("open", "Possible"),
    "unaffordable": ("no", "Did not fit"),
    "paused": ("part", "Paused"),
    "retired": ("open", "Retired"),
    "excluded": ("open", "Not asked for"),
}


@dataclass(frozen=True)
class Length:
    """A number and how long its bar is, of 100."""

    text: str
    width: float


@dataclass(frozen=True)
class Why:
    """A decision explained, as texts and bars."""

    decision: str
    arm: str
    words: str
    how: str
    verified: bool
    open: bool
    has_index: bool
    has_parts: bool
    options: tuple[dict[str, Any], ...]
    facts: tuple[tuple[str, str], ...]


def why(told: Explanation, one: Decision, currency: str) -> Why:
    """Return an explanation for the page."""
    options = told.options
    index = lengths([option.index for option in options])
    reward = lengths([option.reward_bound for option in options])
    cost = lengths([option.cost_bound for option in options])
    return Why(
        told.decision,
        told.arm,
        " ".join(told.sentences),
        _HOW.get(told.how, told.how),
        told.verified,
        one.money in ("held", "confirmed"),
        any(found is not None for found in index),
        any(found is not None for found in reward),
        tuple(
            _option(*row, told.arm) for row in zip(options, index, reward, cost, strict=True)
        ),
        _why_facts(told, one, currency),
    )  # fmt: skip


def lengths(column: Sequence[float | None]) -> list[Length | None]:
    """Return bars for numbers, on one scale; what is not bounded fills it.

    >>> [one.width for one in lengths([1.0, 2.0, math.inf])]
    [50.0, 100.0, 100.0]
    """
    most = max((abs(one) for one in column if one is not None and math.isfinite(one)), default=0.0)
    found: list[Length | None] = []
    for one in column:
        if one is None:
            found.append(None)
        elif math.isinf(one):
            found.append(Length("not bounded yet", 100.0))
        else:
            found.append(
                Length(format_number(one), round(100.0 * abs(one) / most, 2) if most else 0.0)
            )
    return found


def _option(
    option: Option, index: Length | None, reward: Length | None, cost: Length | None, arm: str
) -> dict[str, Any]:
    tone, status = _STATUS[option.status]
    ratio = option.arm.ratio
    return {
        "key": option.key,
        "chosen": option.key == arm,
        "tone": tone,
        "status": status,
        "why": option.why,
        "tried": format_count(option.tried),
        "index": index,
        "reward": reward,
        "cost": cost,
        "ratio": "–" if ratio is None else format_number(ratio.value),
    }


def _why_facts(told: Explanation, one: Decision, currency: str) -> tuple[tuple[str, str], ...]:
    likely = "nobody can tell" if told.propensity is None else format_percent(told.propensity)
    rows = [
        ("Decision", told.decision),
        ("Made", format_time(told.at)),
        ("Held", format_money(told.hold, currency)),
        ("Available before", format_money(told.available, currency)),
        ("Money", one.money),
        ("Cost", "not told yet" if one.cost is None else format_money(one.cost, currency)),
        ("Reward", f"{one.reward_state}" if one.reward is None else format_number(one.reward)),
        ("How likely it was", likely),
        ("Number in the log", format_count(told.seq)),
        ("Seed", str(told.seed)),
        ("Policy", told.policy),
    ]
    if one.context:
        rows.append(
            ("Context", ", ".join(f"{name}: {value}" for name, value in one.context.items()))
        )
    return tuple(rows)


async def decision_page(service: Service, request: Request) -> Response:
    """Show why a decision was what it was."""
    name: str = request.path_params["name"]
    id: str = request.path_params["id"]
    key = require(request, "read", name)
    facts = await service.run_in_thread(_facts, service, name, id)
    return render(
        service, request, "why", name=name, base=base_of(name),
        **(facts | {"may_admin": key.allows("admin", name)}),
    )  # fmt: skip


def _facts(service: Service, name: str, id: str) -> dict[str, Any]:
    campaign = service.campaign(name)
    one = campaign.decision(id)
    story = Story(campaign.coin, [arm.key for arm in campaign.arms()])
    return {
        "why": why(campaign.explain(id), one, campaign.coin.currency),
        "events": [story.line(event) for event in of_decision(service.store, name, id)],
    }
