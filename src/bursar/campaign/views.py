"""Views of a campaign: its status and its arms at one moment, as frozen records."""

import math
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from bursar.arrays import Floats
from bursar.campaign.decision import to_datetime
from bursar.campaign.records import OPEN, ArmChange, ArmHistory, changes_of, history_of
from bursar.campaign.state import State
from bursar.estimate import Estimate
from bursar.formatting import format_money, format_number, join_words, pluralize, to_plain
from bursar.theory import z_from_alpha
from bursar.theory.intervals import eta, interval

_Z = z_from_alpha(0.05)


class CampaignView:
    """A record that a campaign returns; its fields are the members of its JSON."""

    def as_dict(self) -> dict[str, Any]:
        """Return the record as plain data, ready for JSON."""
        data: dict[str, Any] = to_plain(self)
        return data


@dataclass(frozen=True, kw_only=True, repr=False)
class Status(CampaignView):
    """A campaign at one moment; all numbers belong together.

    Attributes
    ----------
    name, policy, currency : str
        As the campaign was created.
    state : str
        active, paused, overdrawn, exhausted, unreconciled or closed.
    exponent : int
        Decimals of its money.
    budget, spent, held, available, overrun : Decimal
        Its money.
    day_cap, day_spent, day_held : Decimal
        The money of today (UTC); the cap is None if there is none.
    arms, open, asks : int
        Arms that are not retired, decisions without an outcome, decisions made.
    max_asks : int
        Decisions of the cheapest arm that fit into the available money.
    reward : float
        The total reward.
    version, seq : int
        Numbers of the last change of rules and of the last event.
    at : datetime
        Time of the last event.
    oldest_hold : datetime or None
        When the oldest open hold was made.
    reward_range : (float, float)
        The least and the most that one decision can earn.
    hold : str
        The rule that sets what an ask reserves.
    overruns : int
        Costs above their holds, of all arms; not those within the maximum of an arm that exceeded
        only what their caller had asked to hold.
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
    overruns: int = 0

    def __repr__(self) -> str:
        spent, budget = format_money(self.spent), format_money(self.budget, self.currency)
        return f"<Status {self.name}: {self.state}, {spent} of {budget} spent, {self.open} open>"


def make_status(state: State, now: int) -> Status:
    """Return the status of a campaign."""
    config, amount = state.config, state.config.coin.amount
    today = state.day_balance(now)
    held = [decision.ts for decision in state.decisions.values() if decision.money in OPEN]
    holds = [state.hold_of(k) for k, arm in enumerate(state.arms) if arm.state == "active"]
    least = min(holds, default=0)
    return Status(
        name=state.name,
        state=state.state,
        policy=config.policy,
        currency=config.coin.currency,
        exponent=config.coin.exponent,
        budget=amount(state.budget),
        spent=amount(state.spent),
        held=amount(state.held),
        available=amount(state.available),
        overrun=amount(state.overrun),
        day_cap=None if today.cap is None else amount(today.cap),
        day_spent=amount(today.spent),
        day_held=amount(today.held),
        arms=sum(arm.state != "retired" for arm in state.arms),
        open=len(state.decisions),
        asks=state.asks,
        max_asks=max(state.available, 0) // least if least else 0,
        reward=state.reward,
        version=state.version,
        seq=state.seq,
        at=to_datetime(state.ts),
        oldest_hold=to_datetime(min(held)) if held else None,
        reward_range=config.reward_range,
        hold=config.hold,
        overruns=sum(arm.overruns for arm in state.arms),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class ArmView(CampaignView):
    """An arm of a campaign.

    Attributes
    ----------
    key : str
        Its name.
    state : str
        active, paused or retired.
    max_cost, hold : Decimal
        The most that a decision can cost, and what an ask reserves now.
    asks, open, plays, overruns : int
        Decisions; those without an outcome; those learned from; costs above their hold.
        Past outcomes are in none of them.
    spent, held, cap : Decimal
        Its money; the cap is None if it has none.
    reward, cost, ratio : Estimate or None
        Means with 95% intervals (Theorem 1), and reward per unit of cost (Theorem 2), with past
        outcomes; None before the first outcome. Bounds of the ratio are infinite while the cost
        may be 0.
    share_of_asks, share_of_spend : float or None
        Its share of all decisions, and of all money spent on arms.
    last : datetime or None
        When it was last chosen.
    overrun_probability : float or None
        Probability that the next cost exceeds the hold if costs stay the same, for holds that are
        a quantile; None for holds of the most.
    changed : tuple of ArmChange
        The newest detected change of its mean cost and of its mean reward, latest first.
    history : ArmHistory or None
        Past outcomes that count beside its own, see :meth:`bursar.Campaign.learn_from`.
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
    history: ArmHistory | None = None

    def __repr__(self) -> str:
        earns = "" if self.ratio is None else f", {format_number(self.ratio.value)} per unit spent"
        return f"<ArmView {self.key}: {self.state}, {pluralize(self.plays, 'play')}{earns}>"


@dataclass(frozen=True, kw_only=True)
class LearnedHistory(CampaignView):
    """Past outcomes that were learned, or were learned before.

    Attributes
    ----------
    source : str
        Where they come from.
    weight : float
        How many plays each counts as.
    arms, outcomes : tuple of str, int
        The arms that were learned about now, and the number of their outcomes.
    unknown : tuple of str
        Arms of the table that the campaign does not have.
    left_out : int
        Rows without an arm, a reward or a cost.
    replayed : bool
        Whether the table was learned before, so that nothing happened.
    seq : int
        Number of the event that learned them.
    """

    source: str
    weight: float
    arms: tuple[str, ...]
    outcomes: int
    unknown: tuple[str, ...]
    left_out: int
    replayed: bool
    seq: int

    def __str__(self) -> str:
        if self.replayed:
            return f"{self.source} was learned before, in event {self.seq:,}; nothing changed."
        what = pluralize(self.outcomes, "past outcome")
        weight = "" if self.weight == 1.0 else f" with weight {self.weight:g}"
        text = f"Learned {what} of {pluralize(len(self.arms), 'arm')} from {self.source}{weight}."
        if self.unknown:
            text += f" Unknown arms were left out: {join_words(self.unknown)}."
        if self.left_out:
            text += f" Rows without an arm, a reward or a cost were left out: {self.left_out:,}."
        return text


def copy_arms(state: State) -> State:
    """Return a state whose arms no longer change: commands need not wait while they are shown."""
    copied, learner = copy(state), copy(state.learner)
    copied.arms = [replace(arm, money=copy(arm.money), costs=[*arm.costs]) for arm in state.arms]
    copied.tables = [*state.tables]
    learner.arms, learner.open = learner.arms.copy(), [*learner.open]
    copied.learner = learner
    return copied


def make_arm_views(state: State) -> list[ArmView]:
    """Return all arms of a campaign, retired ones too, in the order they were added."""
    if not state.arms:
        return []
    table = Statistics(state)
    rewards, costs, ratios = table.estimate()
    amount, quantile = cache(state.config.coin.amount), state.config.quantile
    total = sum(arm.money.spent for arm in state.arms)
    past = [history_of(arm, state.tables) for arm in state.arms]
    return [
        ArmView(
            key=arm.key,
            state=arm.state,
            max_cost=amount(arm.max_cost),
            asks=arm.asks,
            open=state.learner.open[number],
            plays=round(plays - (0.0 if known is None else known.plays)),
            spent=amount(arm.money.spent),
            held=amount(arm.money.held),
            cap=None if arm.money.cap is None else amount(arm.money.cap),
            reward=rewards[number] if plays else None,
            cost=costs[number] if plays else None,
            ratio=ratios[number] if plays else None,
            share_of_asks=arm.asks / state.asks if state.asks else None,
            share_of_spend=arm.money.spent / total if total else None,
            last=to_datetime(arm.last) if arm.last else None,
            overruns=arm.overruns,
            hold=amount(arm.max_cost if quantile is None else state.hold_of(number)),
            overrun_probability=None if quantile is None else _overrun(state, number, quantile),
            changed=changes_of(arm) if arm.changed else (),
            history=known,
        )
        for number, (arm, plays, known) in enumerate(
            zip(state.arms, table.n.tolist(), past, strict=True)
        )
    ]


def _overrun(state: State, number: int, quantile: float) -> float:
    """Return the probability of a cost above the hold: all orders of n + 1 costs are alike."""
    arm = state.arms[number]
    if state.hold_of(number) == arm.max_cost:
        return 0.0
    n = len(arm.costs)
    return 1.0 - math.ceil(quantile * n) / (n + 1)


class Column(NamedTuple):
    """The rewards or the costs of all arms: means, (biased) variances, and the range of each."""

    mean: Floats
    variance: Floats
    low: float
    high: float | Floats

    def interval(self, n: Floats, eta_min: float | None) -> tuple[Floats, Floats]:
        """Return 95% intervals of the means; variances narrow them if ``eta_min`` is given."""
        spread: Floats = np.ones_like(n)
        if eta_min is not None:
            spread = eta(self.mean, self.variance, n, self.low, self.high, eta_min=eta_min)
        return interval(self.mean, n, _Z, spread, self.low, self.high)


class Statistics:
    """Plays, rewards and costs of all arms, in the user's units."""

    def __init__(self, state: State) -> None:
        learner, unit = state.learner, 10.0**-state.config.coin.exponent
        scale, arms = learner.scale, learner.arms
        low, high = learner.reward_range
        self.n: Floats = arms["n"].copy()
        played = self.n > 0.0
        plays = np.where(played, self.n, 1.0)  # past outcomes may count as less than one
        reward = scale.reward_low + scale.reward_width * (arms["reward"] / plays)
        cost = scale.cost_low + scale.cost_width * (arms["cost"] / plays)
        # sums of floats may leave the range by a digit
        reward = np.clip(np.where(played, reward, low), low, high)
        cost = np.where(played, cost, 0.0)
        most = [
            # an overrun proves that the most was wrong
            arm.max_cost if not arm.overruns else max([arm.max_cost, *arm.costs])
            for arm in state.arms
        ]
        top = np.maximum(np.array(most, dtype=np.float64) * unit, cost)
        if not learner.declared:  # then a cost above its maximum is learned in full
            over = np.array([arm.overruns > 0 for arm in state.arms])
            top = np.where(over, np.maximum(top, learner.largest), top)
        self.reward = Column(reward, arms["reward_m2"] / plays * scale.reward_width**2, low, high)
        self.cost = Column(cost, arms["cost_m2"] / plays * scale.cost_width**2, 0.0, top)
        self._eta_min = learner.policy.interval_eta_min()

    def estimate(self) -> tuple[list[Estimate], list[Estimate], list[Estimate]]:
        """Return reward and cost with Theorem 1's intervals, and their ratio with Theorem 2's."""
        r_low, r_high = self.reward.interval(self.n, self._eta_min)
        c_low, c_high = self.cost.interval(self.n, self._eta_min)
        # a loss per cost is largest where the cost is smallest: the signs decide which end counts
        low = per_cost(r_low, np.where(r_low < 0.0, c_low, c_high))
        high = np.where(
            (r_high >= 0.0) & (c_low <= 0.0),
            np.inf,
            per_cost(r_high, np.where(r_high < 0.0, c_high, c_low)),
        )
        columns = (
            (self.reward.mean, r_low, r_high),
            (self.cost.mean, c_low, c_high),
            (per_cost(self.reward.mean, self.cost.mean), low, high),
        )
        rewards, costs, ratios = (
            [Estimate(*row) for row in zip(*(end.tolist() for end in ends), strict=True)]
            for ends in columns
        )
        return rewards, costs, ratios


def per_cost(reward: Floats, cost: Floats) -> Floats:
    """Return reward per cost; infinite for a free arm that earns something."""
    free = np.where(reward == 0.0, 0.0, np.copysign(np.inf, reward))
    return np.where(cost > 0.0, reward / np.where(cost > 0.0, cost, 1.0), free)
