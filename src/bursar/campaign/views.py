"""How a campaign stands: its money and its rules, in one look."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bursar.campaign.records import OPEN, ArmChange, Balance, changes_of
from bursar.campaign.state import State, day_of
from bursar.estimate import Estimate
from bursar.theory import z_from_alpha
from bursar.theory.intervals import eta, interval
from bursar.validation import Floats

__all__ = [
    "ArmView",
    "Statistics",
    "Status",
    "make_arm_views",
    "make_statistics",
    "make_status",
    "per_cost",
    "to_plain",
]

# ==== campaign.statistic
# What was learned of all arms, in the user's units: one column a number.


class Statistics(NamedTuple):
    """Means and (biased) variances of each arm; ``top`` is the most that a cost can be."""

    n: Floats
    reward: Floats
    cost: Floats
    reward_variance: Floats
    cost_variance: Floats
    top: Floats
    reward_eta: Floats  # variance over the largest that the mean allows; 1 unless it is trusted
    cost_eta: Floats
    reward_range: tuple[float, float]

    def rewards(self, z: float) -> tuple[Floats, Floats]:
        """Return Theorem 1's bounds of the mean rewards."""
        low, high = interval(self.reward, self.n, z, self.reward_eta, *self.reward_range)
        return low, high

    def costs(self, z: float) -> tuple[Floats, Floats]:
        """Return Theorem 1's bounds of the mean costs."""
        low, high = interval(self.cost, self.n, z, self.cost_eta, 0.0, self.top)
        return low, high


def make_statistics(state: State, trust: bool = True) -> Statistics:
    """Return the columns; without ``trust`` no policy's variances narrow the intervals."""
    learner, unit = state.learner, 10.0**-state.config.coin.exponent
    scale, arms = learner.scale, learner.arms
    low, high = learner.reward_range
    n = arms["n"].copy()
    plays = np.maximum(n, 1.0)
    played = n > 0.0
    reward = np.where(played, scale.reward_low + scale.reward_width * (arms["reward"] / plays), low)
    cost = np.where(played, scale.cost_low + scale.cost_width * (arms["cost"] / plays), 0.0)
    reward_variance = arms["reward_m2"] / plays * scale.reward_width**2
    cost_variance = arms["cost_m2"] / plays * scale.cost_width**2
    most = [
        # a cost above its arm's most proves that most wrong
        arm.max_cost if not arm.overruns else max([arm.max_cost, *arm.costs])
        for arm in state.arms
    ]
    top = np.maximum(np.array(most, dtype=np.float64) * unit, cost)
    reward = np.clip(reward, low, high)  # sums of floats may leave the range by a digit
    least = learner.policy.interval_eta_min() if trust else None
    if least is not None:
        reward_eta = eta(reward, reward_variance, n, low, high, eta_min=least)
        cost_eta = eta(cost, cost_variance, n, 0.0, top, eta_min=least)
    else:
        reward_eta = cost_eta = np.ones_like(n)
    return Statistics(
        n, reward, cost, reward_variance, cost_variance, top, reward_eta, cost_eta, (low, high)
    )  # fmt: skip


def per_cost(reward: Floats, cost: Floats) -> Floats:
    """Return reward per cost; a free arm that brings something is worth infinitely much."""
    free = np.where(reward == 0.0, 0.0, np.copysign(np.inf, reward))
    return np.where(cost > 0.0, reward / np.where(cost > 0.0, cost, 1.0), free)


# ==== campaign.plain
# What campaigns show, as plain data: ready for JSON, money as decimal texts.


def to_plain(value: Any) -> Any:
    """Return a value as texts, numbers, lists and dictionaries; what is infinite becomes None.

    >>> to_plain({"spent": Decimal("1.50"), "bound": math.inf})
    {'spent': '1.50', 'bound': None}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no infinity
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_plain(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value


@dataclass(frozen=True)
class Status:
    """A campaign at one moment; all numbers belong together.

    Attributes
    ----------
    name, state, policy, currency : str
        As it was made; active, paused, overdrawn, exhausted, unreconciled or closed.
    exponent : int
        Decimals of its money.
    budget, spent, held, available, overrun : Decimal
        Its money.
    day_cap, day_spent, day_held : Decimal
        Of today (UTC); the cap is None if there is none.
    arms, open, asks : int
        Arms that are not retired, decisions that wait, decisions made.
    max_asks : int
        How many decisions of the cheapest arm fit into what is available.
    reward : float
        What was brought in all.
    version, seq : int
        Number of the last change of rules, and of the last event.
    at : datetime
        Time of the last event.
    oldest_hold : datetime or None
        When the oldest open hold was made.
    reward_range : (float, float)
        The least and most that one decision can bring.
    hold : str
        The rule of what an ask reserves.
    """

    name: str
    state: str
    policy: str
    currency: str
    exponent: int
    budget: Decimal
    spent: Decimal
    held: Decimal
    available: Decimal
    overrun: Decimal
    day_cap: Decimal | None
    day_spent: Decimal
    day_held: Decimal
    arms: int
    open: int
    asks: int
    max_asks: int
    reward: float
    version: int
    seq: int
    at: datetime
    oldest_hold: datetime | None
    reward_range: tuple[float, float]
    hold: str

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = to_plain(self)
        return found


def make_status(state: State, now: int) -> Status:
    """Return how a campaign stands."""
    config, amount = state.config, state.config.coin.amount
    today = state.days.get(day_of(now), Balance())
    held = [choice.ts for choice in state.decisions.values() if choice.money in OPEN]
    usable = [n for n, arm in enumerate(state.arms) if arm.state == "active"]
    least = min((state.hold_of(number) for number in usable), default=0)
    return Status(
        state.name, state.state, config.policy, config.coin.currency, config.coin.exponent,
        amount(state.budget), amount(state.spent), amount(state.held), amount(state.available),
        amount(state.overrun), None if state.day_cap is None else amount(state.day_cap),
        amount(today.spent), amount(today.held),
        sum(arm.state != "retired" for arm in state.arms), len(state.decisions), state.asks,
        max(state.available, 0) // least if least else 0, state.reward, state.version, state.seq,
        datetime.fromtimestamp(state.ts / 1e6, UTC),
        datetime.fromtimestamp(min(held) / 1e6, UTC) if held else None,
        config.reward_range, config.hold,
    )  # fmt: skip


# ==== campaign.arm_view
# How an arm stands: what it was given, what it cost and brought, and what that may mean.

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
        found: dict[str, Any] = to_plain(self)
        return found


def make_arm_views(state: State) -> list[ArmView]:
    """Return all arms of a campaign, retired ones too, in the order they were added."""
    table = make_statistics(state)
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
                state.learner.open[number],
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
