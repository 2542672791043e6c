"""The course of what is left: stretches of money, each with the arms that it goes to.

Arms share the money as they did lately, until they no longer fit into what is left or into their
cap; then the others share it alone. When none of them is left the best of the arms that still fit
takes over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.checks import Floats

__all__ = ["Course", "course_of"]

_PARTS = 32  # stretches that a forecast tells apart


class Course(NamedTuple):
    """Stretches of money in the order they are spent, and who gets them."""

    money: Floats  # of each stretch
    weights: Floats  # stretch by arm: shares of plays
    margin: int  # the stretch that one more unit of budget would make longer
    rest: float  # what fits no arm at the end

    def thinned(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return money and weights with small stretches joined, as many plays of each arm."""
        ends = np.cumsum(self.money)
        bins = np.minimum(_PARTS * (ends - self.money) // max(ends[-1:].sum(), 1e-300), _PARTS - 1)
        plays = (self.money / (self.weights @ costs))[:, None] * self.weights
        _, starts = np.unique(bins, return_index=True)
        if not starts.size:
            return self.money, self.weights
        joined = np.add.reduceat(plays, starts, axis=0)
        money = np.add.reduceat(self.money, starts)
        some = money > 0.0
        return money[some], joined[some] / joined[some].sum(axis=1, keepdims=True)


def course_of(
    left: float,
    shares: Floats,
    holds: Floats,
    rooms: Floats,
    costs: Floats,
    squares: Floats,
    ratios: Floats,
) -> Course:
    """Return the course for what is left.

    ``shares`` of the arms lately; ``holds`` and ``rooms`` (infinite without a cap) of money;
    ``costs`` and ``squares`` the means of costs and squared costs; ``ratios`` reward per cost, NaN
    if nothing is known. Arms that may not be chosen have infinite holds.
    """
    money: list[float] = []
    rows: list[Floats] = []
    margin = None
    rooms = rooms.copy()
    able = (holds <= left) & (holds <= rooms)
    while able.any():
        weights = _shared(shares, able, ratios)
        price = weights @ costs
        spends = weights * costs / price  # share of the money
        played = weights > 0.0
        until_holds = np.where(played, left - holds, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            until_caps = np.where(played, (rooms - holds) / spends, np.inf)
        step = max(min(until_holds.min(), until_caps.min()), 0.0)
        if margin is None and until_holds.min() <= until_caps.min():
            margin = len(money)
        stops = played & (np.minimum(until_holds, until_caps) <= step)
        last = not (able & ~stops).any()
        if last:  # the last play begins where its hold just fits, and goes beyond
            step += min(0.5 * (weights @ squares) / price, float(holds[played].max()))
        money.append(step)
        rows.append(weights)
        left -= step
        rooms -= spends * step
        able &= ~stops & (holds <= left) & (holds <= rooms)
    return Course(
        np.array(money),
        np.array(rows).reshape(-1, shares.size),
        len(money) - 1 if margin is None else margin,
        max(left, 0.0),
    )


def _shared(shares: Floats, able: NDArray[np.bool_], ratios: Floats) -> Floats:
    weights = np.where(able, shares, 0.0)
    if weights.sum() > 0.0:
        return np.asarray(weights / weights.sum())
    known = able & ~np.isnan(ratios)
    if known.any():
        weights[np.argmax(np.where(known, ratios, -np.inf))] = 1.0
        return weights
    return np.asarray(able / np.count_nonzero(able), dtype=np.float64)
