"""The table of arms: rows as texts and drawn intervals, in the order that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bursar.campaign import ArmView, Estimate
from bursar.dashboard.bar import Drawn, intervals
from bursar.dashboard.earning import best_arm
from bursar.dashboard.look import Look
from bursar.dashboard.spelling import ago, count, moment, money, number, percent

__all__ = ["COLUMNS", "MOST", "Head", "heads", "rows"]

MOST = 100
"""Rows that a page shows; the table can be sorted by what matters."""

_STATES = {
    "active": ("yes", "Active"),
    "paused": ("part", "Paused"),
    "retired": ("open", "Retired"),
}
_ACTS = {
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
class Head:
    """The head of a column: a link that sorts by it."""

    name: str
    label: str
    address: str
    sorted: str  # ascending, descending or ""
    right: bool


def heads(base: str, sort: str, down: bool, with_acts: bool) -> list[Head]:
    """Return the heads of the table; a second click turns the order round."""
    found = []
    for name, (label, _, right) in COLUMNS.items():
        mine = name == sort
        turned = not down if mine else name not in ("key", "state")
        order = ("descending" if down else "ascending") if mine else ""
        address = f"{base}?sort={name}&down={int(turned)}"
        found.append(Head(name, label, address, order, right))
    return [*found, Head("acts", "Change", "", "", False)] if with_acts else found


def rows(look: Look, sort: str, down: bool) -> tuple[list[dict[str, Any]], dict[str, Drawn]]:
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


def _row(arm: ArmView, look: Look, best: str) -> dict[str, Any]:
    tone, state = _STATES[arm.state]
    currency = look.status.currency
    return {
        "key": arm.key,
        "tone": tone,
        "state": state,
        "best": arm.key == best,
        "max_cost": money(arm.max_cost, currency),
        "share_of_asks": percent(arm.share_of_asks),
        "share_of_spend": percent(arm.share_of_spend),
        "spent": money(arm.spent, currency),
        "plays": count(arm.plays),
        "open": count(arm.open),
        "last": ago(arm.last, look.now),
        "last_at": moment(arm.last),
        "changed": [
            f"Mean {one.what} changed from {number(one.before)} to {number(one.after)},"
            f" noticed {ago(one.at, look.now)}" + ("; learned anew" if one.reset else "")
            for one in arm.changed
        ],
        "acts": [{"verb": verb, "label": label} for verb, label in _ACTS[arm.state]],
    }
