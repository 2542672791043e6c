"""Settings that change while the budget is spent: how their worlds are drawn.

Their names begin with C: ``C-abrupt-10`` has ten arms, ``C-abrupt-10:changes=8`` eight changes. The
worlds of a repetition are drawn step by step from numbers of their own, so that a world of two
changes begins as the world of one change does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.errors import InvalidInput, UnknownSetting, nearest
from bursar.problems import Nonstationary, Problem
from bursar.settings.setting import Setting
from bursar.validation import Floats

__all__ = ["CHANGING", "WAYS", "NonstationarySetting", "nonstationary_setting"]

LEAST = 0.1
"""A lower bound of all mean costs, in which budgets are counted whatever changes."""

_MOMENTS = 1000  # steps in which slow changes go
_NAME = re.compile(r"C-([a-z]+)-(\d+)")
_SWING = 0.4  # how far seasons move a mean reward, at most


Means = tuple[Floats, Floats, Floats, Floats | None]  # start, rewards, costs, fatigue


class Way(NamedTuple):
    """A way to change: its option, what that is by default, and the story in a sentence."""

    option: str
    usual: float
    whole: bool
    about: str
    draw: Callable[[int, int, float], Means]  # repetition, arms, option


@dataclass(frozen=True)
class NonstationarySetting(Setting):
    """A family of worlds that change: one draw a repetition."""

    way: str = "abrupt"
    amount: float = 0.0

    def identity(self, data: Any = None) -> str:
        """Return a text that changes whenever the problems of the setting may."""
        return f"{self.name} {self.amount!r}"

    def authors(self) -> Setting:
        """Refuse: the paper's authors have no worlds that change."""
        raise UnknownSetting(f"{self.name} has no option 'authors'; it is not of the paper")

    def problems(self, repetition: int, data: Any = None) -> list[Problem]:
        """Return the one problem of a repetition; ``data`` is not looked at."""
        if int(repetition) != repetition or repetition < 0:
            raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
        drawn = WAYS[self.way].draw(int(repetition), self.arms[0], self.amount)
        return [Nonstationary(*drawn, min_cost=LEAST, name=self.name)]


def _means(repetition: int, arms: int, part: int, dearest: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([repetition, part])
    return rng.uniform(0.0, 1.0, arms), rng.uniform(LEAST, dearest, arms)


def _abrupt(repetition: int, arms: int, changes: float) -> Means:
    count = int(changes)
    points = np.random.default_rng([repetition, 0, 1]).uniform(0.0, 1.0, count)
    rewards, costs = zip(*(_means(repetition, arms, i) for i in range(count + 1)), strict=True)
    return np.append(0.0, np.sort(points)), np.array(rewards), np.array(costs), None


def _drift(repetition: int, arms: int, turns: float) -> Means:
    count = int(turns)
    start = np.arange(_MOMENTS) / _MOMENTS
    ends = [np.array(_means(repetition, arms, i)) for i in range(count + 1)]
    leg = np.minimum((start * count).astype(int), count - 1)
    share = (start * count - leg)[:, None]
    pairs = np.array(ends)  # turns x (reward, cost) x arms
    means = [(1.0 - share) * pairs[leg, i] + share * pairs[leg + 1, i] for i in (0, 1)]
    return start, means[0], means[1], None


def _season(repetition: int, arms: int, periods: float) -> Means:
    reward, cost = _means(repetition, arms, 0)
    rng = np.random.default_rng([repetition, 0, 2])
    phase, swing = rng.uniform(0.0, 1.0, arms), rng.uniform(0.0, _SWING, arms)
    start = np.arange(_MOMENTS) / _MOMENTS
    wave = swing * np.sin(2.0 * np.pi * (periods * start[:, None] + phase))
    return start, np.clip(reward + wave, 0.0, 1.0), np.tile(cost, (_MOMENTS, 1)), None


def _price(repetition: int, arms: int, times: float) -> Means:
    reward, cost = _means(repetition, arms, 0, dearest=0.5)
    best = int(np.argmax(reward / cost))
    later = cost.copy()
    later[best] = min(max(times * cost[best], LEAST), 1.0)
    return np.array([0.0, 0.5]), np.array([reward, reward]), np.array([cost, later]), None


def _fatigue(repetition: int, arms: int, rate: float) -> Means:
    reward, cost = _means(repetition, arms, 0)
    tires = np.random.default_rng([repetition, 0, 3]).uniform(0.0, 2.0 * rate, arms)
    return np.zeros(1), reward[None, :], cost[None, :], tires


WAYS: dict[str, Way] = {
    "abrupt": Way(
        "changes", 4, True,
        "all means are drawn anew at so many random shares of the budget", _abrupt,
    ),
    "drift": Way(
        "turns", 1, True,
        "all means move in straight lines to newly drawn ones, so many times", _drift,
    ),
    "season": Way(
        "periods", 2, False,
        "mean rewards swing by up to 0.4, each arm at its own time, so many periods", _season,
    ),
    "price": Way(
        "times", 2, False,
        "at half of the budget the best arm costs so many times as much", _price,
    ),
    "fatigue": Way(
        "rate", 4, False,
        "an arm's mean reward fades by exp(-rate x the share of the budget spent on it),"
        " rates U(0, 2 rate)", _fatigue,
    ),
}  # fmt: skip
"""All ways to change."""


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
    if found is None or found[1] not in WAYS or int(found[2]) < 2:
        raise UnknownSetting(f"no setting named {base!r}{nearest(base, CHANGING)}")
    way = WAYS[found[1]]
    key, equals, text = rest.partition("=")
    if colon and (key != way.option or not equals):
        hint = nearest(key, [way.option]) or f"; it has {way.option}=…"
        raise UnknownSetting(f"{base} has no option {key!r}{hint}")
    amount = _amount(base, way, text) if colon else float(way.usual)
    arms = int(found[2])
    source = f"bursar; mean rewards U(0, 1), mean costs U({LEAST:g}, 1); {way.about}"
    how = f"({way.option}={amount:g})"
    return NonstationarySetting(
        name, "changing", "Bernoulli", (arms,), f"{source} {how}", way=found[1], amount=amount
    )


def _amount(base: str, way: Way, text: str) -> float:
    least = 1 if way.option == "turns" else 0
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not least <= amount <= 1000 or (way.whole and not amount.is_integer()):
        kind = "a whole number" if way.whole else "a number"
        raise UnknownSetting(
            f"{base}: {way.option} must be {kind} from {least} to 1000, got {text!r}"
        )
    return amount


CHANGING: dict[str, NonstationarySetting] = {
    name: nonstationary_setting(name) for name in (f"C-{way}-10" for way in WAYS)
}
"""The settings that change, each with ten arms and its usual speed."""
