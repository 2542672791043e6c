"""How an arm stands: what it was given, what it cost and brought, and what that may mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from bursar.campaign.arm_change import ArmChange, changes_of
from bursar.campaign.plain import plain
from bursar.campaign.state import State
from bursar.campaign.statistic import Estimate, Statistics, per_cost, statistics_of
from bursar.checks import Floats
from bursar.theory import z_from_alpha

__all__ = ["ArmView", "arm_views"]

_Z = z_from_alpha(0.05)


@dataclass(frozen=True)
class ArmView:
    """An arm of a campaign.

    Attributes
    ----------
    key, state : str
        Its name; active, paused or retired.
    max_cost, hold : Decimal
        The most it can cost; what an ask of it reserves now.
    asks, open, plays, overruns : int
        Decisions for it; those that wait for an outcome; those learned from; costs above holds.
    spent, held, cap : Decimal
        Its money; the cap is None if it has none.
    reward, cost, ratio : Estimate or None
        Means with 95% intervals (Theorem 1), and reward per unit of cost (Theorem 2); None before
        the first outcome. Bounds of the ratio are infinite while the cost may be 0.
    share_of_asks, share_of_spend : float or None
        Its part of all decisions and of all that was spent on arms.
    last : datetime or None
        When it was chosen last.
    overrun_probability : float or None
        Chance that the next cost exceeds the hold if costs go on as before, for holds that are a
        quantile; None for holds of the most.
    changed : tuple of ArmChange
        The newest change of its mean cost and of its mean reward that was noticed, latest first.
    """

    key: str
    state: str
    max_cost: Decimal
    asks: int
    open: int
    plays: int
    spent: Decimal
    held: Decimal
    cap: Decimal | None
    reward: Estimate | None
    cost: Estimate | None
    ratio: Estimate | None
    share_of_asks: float | None
    share_of_spend: float | None
    last: datetime | None
    overruns: int
    hold: Decimal
    overrun_probability: float | None
    changed: tuple[ArmChange, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = plain(self)
        return found


def arm_views(state: State) -> list[ArmView]:
    """Return all arms of a campaign, retired ones too, in the order they were added."""
    table = statistics_of(state)
    if not state.arms:
        return []
    rewards, costs, ratios = _estimates(table)
    amount, quantile = cache(state.config.coin.amount), state.config.quantile
    total = sum(arm.money.spent for arm in state.arms)
    views = []
    for number, (arm, plays) in enumerate(zip(state.arms, table.n.tolist(), strict=True)):
        money = arm.money
        views.append(
            ArmView(
                arm.key,
                arm.state,
                amount(arm.max_cost),
                arm.asks,
                state.brain.open[number],
                int(plays),
                amount(money.spent),
                amount(money.held),
                None if money.cap is None else amount(money.cap),
                rewards[number] if plays else None,
                costs[number] if plays else None,
                ratios[number] if plays else None,
                arm.asks / state.asks if state.asks else None,
                money.spent / total if total else None,
                datetime.fromtimestamp(arm.last / 1e6, UTC) if arm.last else None,
                arm.overruns,
                amount(arm.max_cost if quantile is None else state.hold_of(number)),
                None if quantile is None else _overrun(state, number, quantile),
                changes_of(arm) if arm.changed else (),
            )
        )
    return views


def _estimates(table: Statistics) -> tuple[list[Estimate], list[Estimate], list[Estimate]]:
    r_low, r_high = table.rewards(_Z)
    c_low, c_high = table.costs(_Z)
    # a loss per cost is largest where the cost is smallest: the signs decide which end counts
    low = per_cost(r_low, np.where(r_low < 0.0, c_low, c_high))
    high = np.where(
        (r_high >= 0.0) & (c_low <= 0.0),
        np.inf,
        per_cost(r_high, np.where(r_high < 0.0, c_high, c_low)),
    )
    ratio = per_cost(table.reward, table.cost)
    return (
        _rows(table.reward, r_low, r_high),
        _rows(table.cost, c_low, c_high),
        _rows(ratio, low, high),
    )


def _rows(value: Floats, low: Floats, high: Floats) -> list[Estimate]:
    columns = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*row) for row in columns]


def _overrun(state: State, number: int, quantile: float) -> float:
    """Return the chance of a cost above the hold: n + 1 costs are in any order equally likely."""
    arm = state.arms[number]
    if state.hold_of(number) == arm.max_cost:
        return 0.0
    n = len(arm.costs)
    return 1.0 - math.ceil(quantile * n) / (n + 1)
