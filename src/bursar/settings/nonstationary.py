"""Nonstationary settings, whose means change while the budget is spent.

Their names begin with C: ``C-abrupt-10`` has ten arms, ``C-abrupt-10:changes=8`` eight changes. The
means of each step are drawn from a seed of their own, so that a problem with two changes begins as
the problem with one change does.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.errors import UnknownSetting, suggest
from bursar.problems import Nonstationary, Problem
from bursar.settings.base import Setting, load_table

MIN_COST = 0.1
"""A lower bound on all mean costs: the unit of budgets, which no change affects."""

_STEPS = 1000  # steps of gradual changes
_NAME = re.compile(r"C-([a-z]+)-(\d+)")
_SWING = 0.4  # the largest seasonal change of a mean reward


Means = tuple[Floats, Floats, Floats, Floats | None]  # start, rewards, costs, fatigue


class Change(NamedTuple):
    """A kind of change: its option, the option's default and domain, and a description."""

    option: str
    default: float
    least: float
    whole: bool
    about: str


CHANGES = {name: Change(**fields) for name, fields in load_table("nonstationary.toml").items()}
"""All kinds of change."""


@dataclass(frozen=True)
class NonstationarySetting(Setting):
    """A family of problems whose means change while the budget is spent."""

    change: str = "abrupt"
    amount: float = 0.0

    def _draw(self, repetition: int, data: Any) -> list[Problem]:
        drawn = _DRAWS[self.change](repetition, self.arms[0], self.amount)
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


_DRAWS: dict[str, Callable[[int, int, float], Means]] = {  # of repetition, arms, option
    "abrupt": _draw_abrupt,
    "drift": _draw_drift,
    "season": _draw_season,
    "price": _draw_price,
    "fatigue": _draw_fatigue,
}


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
    means = f"mean rewards U(0, 1), mean costs U({MIN_COST:g}, 1)"
    source = f"bursar; {means}; {change.about} ({change.option}={amount:g})"
    return NonstationarySetting(
        name, "changing", "Bernoulli", (arms,), source, change=found[1], amount=amount
    )


def _parse_amount(base: str, change: Change, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not change.least <= amount <= 1000 or (change.whole and not amount.is_integer()):
        kind = "a whole number" if change.whole else "a number"
        raise UnknownSetting(
            f"{base}: {change.option} must be {kind} from {change.least} to 1000, got {text!r}"
        )
    return amount


NONSTATIONARY: dict[str, NonstationarySetting] = {
    name: nonstationary_setting(name) for name in (f"C-{change}-10" for change in CHANGES)
}
"""The nonstationary settings, each with ten arms and the default of its option."""
