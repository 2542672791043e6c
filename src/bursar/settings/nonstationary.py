"""Nonstationary settings, whose means change while the budget is spent.

Their names begin with C: ``C-abrupt-10`` has ten arms, ``C-abrupt-10:changes=8`` eight changes. The
means of each step are drawn from a seed of their own, so that a problem with two changes begins as
the problem with one change does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.errors import UnknownSetting, suggest
from bursar.problems import Nonstationary, Problem
from bursar.settings.base import Setting

MIN_COST = 0.1
"""A lower bound on all mean costs: the unit of budgets, which no change affects."""

_STEPS = 1000  # steps of gradual changes
_NAME = re.compile(r"C-([a-z]+)-(\d+)")
_SWING = 0.4  # the largest seasonal change of a mean reward


Means = tuple[Floats, Floats, Floats, Floats | None]  # start, rewards, costs, fatigue


class Change(NamedTuple):
    """A kind of change: its option, the option's default, and a description."""

    option: str
    default: float
    whole: bool
    about: str
    draw: Callable[[int, int, float], Means]  # repetition, arms, option


@dataclass(frozen=True)
class NonstationarySetting(Setting):
    """A family of problems whose means change while the budget is spent."""

    change: str = "abrupt"
    amount: float = 0.0

    def identity(self, data: Any = None) -> str:
        """Return a text that changes when the problems of the setting may."""
        return f"{self.name} {self.amount!r}"

    def _draw(self, repetition: int, data: Any) -> list[Problem]:
        drawn = CHANGES[self.change].draw(repetition, self.arms[0], self.amount)
        return [Nonstationary(*drawn, min_cost=MIN_COST, name=self.name)]


def _draw_means(
    repetition: int, arms: int, part: int, max_cost: float = 1.0
) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([repetition, part])
    return rng.uniform(0.0, 1.0, arms), rng.uniform(MIN_COST, max_cost, arms)


def _draw_abrupt(repetition: int, arms: int, changes: float) -> Means:
    count = int(changes)
    points = np.random.default_rng([repetition, 0, 1]).uniform(0.0, 1.0, count)
    rewards, costs = zip(*(_draw_means(repetition, arms, i) for i in range(count + 1)), strict=True)
    return np.append(0.0, np.sort(points)), np.array(rewards), np.array(costs), None


def _draw_drift(repetition: int, arms: int, turns: float) -> Means:
    count = int(turns)
    start = np.arange(_STEPS) / _STEPS
    ends = [np.array(_draw_means(repetition, arms, i)) for i in range(count + 1)]
    leg = np.minimum((start * count).astype(int), count - 1)
    share = (start * count - leg)[:, None]
    pairs = np.array(ends)  # turns x (reward, cost) x arms
    means = [(1.0 - share) * pairs[leg, i] + share * pairs[leg + 1, i] for i in (0, 1)]
    return start, means[0], means[1], None


def _draw_season(repetition: int, arms: int, periods: float) -> Means:
    reward, cost = _draw_means(repetition, arms, 0)
    rng = np.random.default_rng([repetition, 0, 2])
    phase, swing = rng.uniform(0.0, 1.0, arms), rng.uniform(0.0, _SWING, arms)
    start = np.arange(_STEPS) / _STEPS
    wave = swing * np.sin(2.0 * np.pi * (periods * start[:, None] + phase))
    return start, np.clip(reward + wave, 0.0, 1.0), np.tile(cost, (_STEPS, 1)), None


def _draw_price(repetition: int, arms: int, times: float) -> Means:
    reward, cost = _draw_means(repetition, arms, 0, max_cost=0.5)
    best = int(np.argmax(reward / cost))
    later = cost.copy()
    later[best] = min(max(times * cost[best], MIN_COST), 1.0)
    return np.array([0.0, 0.5]), np.array([reward, reward]), np.array([cost, later]), None


def _draw_fatigue(repetition: int, arms: int, rate: float) -> Means:
    reward, cost = _draw_means(repetition, arms, 0)
    rates = np.random.default_rng([repetition, 0, 3]).uniform(0.0, 2.0 * rate, arms)
    return np.zeros(1), reward[None, :], cost[None, :], rates


CHANGES: dict[str, Change] = {
    "abrupt": Change(
        "changes", 4, True,
        "all means are drawn again at this number of random shares of the budget", _draw_abrupt,
    ),
    "drift": Change(
        "turns", 1, True,
        "all means move linearly to newly drawn ones, this number of times", _draw_drift,
    ),
    "season": Change(
        "periods", 2, False,
        "mean rewards swing by up to 0.4, each arm at its own phase, for this number of periods",
        _draw_season,
    ),
    "price": Change(
        "times", 2, False,
        "at half of the budget the cost of the best arm is multiplied by this factor", _draw_price,
    ),
    "fatigue": Change(
        "rate", 4, False,
        "an arm's mean reward fades by exp(-rate x the share of the budget spent on it),"
        " rates U(0, 2 rate)", _draw_fatigue,
    ),
}  # fmt: skip
"""All kinds of change."""


def nonstationary_setting(name: str) -> NonstationarySetting:
    """Return the setting of a name such as ``C-abrupt-10`` or ``C-season-50:periods=8``.

    Examples
    --------
    >>> nonstationary_setting("C-abrupt-10:changes=8").amount
    8.0
    >>> nonstationary_setting("C-abrupt-10:change=8")
    Traceback (most recent call last):
    bursar.errors.UnknownSetting: C-abrupt-10 has no option 'change'; did you mean 'changes'?
    """
    base, colon, rest = name.partition(":")
    found = _NAME.fullmatch(base)
    if found is None or found[1] not in CHANGES or int(found[2]) < 2:
        raise UnknownSetting(f"no setting named {base!r}{suggest(base, NONSTATIONARY)}")
    change = CHANGES[found[1]]
    key, equals, text = rest.partition("=")
    if colon and (key != change.option or not equals):
        hint = suggest(key, [change.option]) or f"; it has {change.option}=…"
        raise UnknownSetting(f"{base} has no option {key!r}{hint}")
    amount = _parse_amount(base, change, text) if colon else float(change.default)
    arms = int(found[2])
    source = f"bursar; mean rewards U(0, 1), mean costs U({MIN_COST:g}, 1); {change.about}"
    return NonstationarySetting(
        name,
        "changing",
        "Bernoulli",
        (arms,),
        f"{source} ({change.option}={amount:g})",
        change=found[1],
        amount=amount,
    )


def _parse_amount(base: str, change: Change, text: str) -> float:
    least = 1 if change.option == "turns" else 0
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not least <= amount <= 1000 or (change.whole and not amount.is_integer()):
        kind = "a whole number" if change.whole else "a number"
        raise UnknownSetting(
            f"{base}: {change.option} must be {kind} from {least} to 1000, got {text!r}"
        )
    return amount


NONSTATIONARY: dict[str, NonstationarySetting] = {
    name: nonstationary_setting(name) for name in (f"C-{change}-10" for change in CHANGES)
}
"""The nonstationary settings, each with ten arms and the default of its option."""
