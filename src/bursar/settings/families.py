"""Families of problems that are not the paper's: on some a policy was chosen, others it never saw.

Their names begin with X: ``X-br-low-25`` has 25 arms. The problem of repetition *i* is drawn from
``numpy.random.default_rng([number, i])`` with the family's own number. Arms stay in the order in
which they are drawn: the best arm may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bursar.errors import InvalidInput, UnknownSetting, nearest
from bursar.problems import Problem
from bursar.settings import family_draws as chosen
from bursar.settings import family_draws as unseen
from bursar.settings.family_draws import Column, Draw, beta_means, log_uniform, uniform
from bursar.settings.setting import Setting

__all__ = ["FAMILIES", "TABLE", "Family", "FamilySetting", "family"]

# ==== settings.family_table
# The families of problems that are not the paper's, one entry each.
#
# Numbers from 101 on are of families that took no part when a policy was chosen.


class Family(NamedTuple):
    """A family: the number of which its problems are drawn, and what they are."""

    number: int
    distribution: str
    about: str
    draw: Draw


def _br(number: int, about: str, reward: Column, cost: Column) -> Family:
    return Family(number, "Bernoulli", about, chosen.bernoulli(reward, cost))


TABLE: dict[str, Family] = {
    "X-br-2": _br(
        1, "mean rewards and costs U(0.3, 0.7)", uniform(0.3, 0.7), uniform(0.3, 0.7)),
    "X-br-3": _br(
        2, "mean rewards Beta(2, 2), mean costs U(0.2, 1)", beta_means(2, 2), uniform(0.2, 1)),
    "X-br-low-25": _br(
        3, "mean rewards U(0, 0.3), mean costs U(0.05, 0.5)", uniform(0, 0.3), uniform(0.05, 0.5)),
    "X-br-log-40": _br(
        4, "mean rewards log-uniform(0.02, 1), mean costs log-uniform(0.01, 1)",
        log_uniform(0.02, 1), log_uniform(0.01, 1)),
    "X-br-200": _br(
        5, "mean rewards Beta(1, 3), mean costs Beta(2, 2)", beta_means(1, 3), beta_means(2, 2)),
    "X-uniform-20": Family(
        6, "uniform", "both ends U(0, 1), costs from 0.02 up", chosen.uniform_arms),
    "X-triangle-60": Family(
        7, "triangular", "from 0 to 1, modes U(0, 1)", chosen.triangular),
    "X-exp-30": Family(
        8, "exponential below 1", "rates log-uniform(1/e, e³)", chosen.exponential),
    "X-three-15": Family(
        9, "generalized Bernoulli", "values 0, 1/2, 1, their chances Dirichlet(1/2)",
        chosen.three_values),
    "X-rare-40": Family(
        10, "Beta or 0, uniform",
        "rewards Beta(3, 3) with a chance log-uniform(0.018, 0.61), else 0; costs within 30% of"
        " U(0.1, 0.6)", chosen.rare),
    "X-together-25": Family(
        11, "Bernoulli, uniform",
        "mean rewards a / (a + b) with U(0.5, 4); ends of costs U(0.05, 0.95), higher where there"
        " is a reward", chosen.correlated(together=True)),
    "X-against-10": Family(
        12, "Bernoulli, uniform",
        "mean rewards a / (a + b) with U(0.5, 4); ends of costs U(0.05, 0.95), lower where there"
        " is a reward", chosen.correlated(together=False)),
    "X-stable-50": Family(
        13, "Beta", "all parameters U(4, 40)", chosen.beta(4, 40)),
    "X-extreme-20": Family(
        14, "Beta", "all parameters U(0.1, 1)", chosen.beta(0.1, 1)),
    "X-mixed-30": Family(
        15, "Bernoulli or Beta, uniform",
        "mean rewards U(0.05, 0.9), mean costs log-uniform(0.03, 1), costs within 20% of the mean",
        chosen.mixed),
    "X-br-1000": _br(
        16, "mean rewards U(0, 1), mean costs U(0.1, 1)", uniform(0, 1), uniform(0.1, 1)),
    "X-close-5": _br(
        101, "mean rewards and costs U(0.4, 0.6)", uniform(0.4, 0.6), uniform(0.4, 0.6)),
    "X-br-rare-30": _br(
        102, "mean rewards log-uniform(0.001, 0.1), mean costs U(0.2, 1)",
        log_uniform(0.001, 0.1), uniform(0.2, 1)),
    "X-scatter-80": Family(
        103, "Beta", "means logistic N(0, 1) within [0.02, 0.98], alpha + beta log-uniform(1, 30)",
        unseen.scatter),
    "X-censored-15": Family(
        104, "clipped normal",
        "clipped into [0, 1]; locations U(0, 1), of costs U(0.1, 1), deviations U(0.05, 0.4)",
        unseen.clipped),
    "X-two-kinds-100": Family(
        105, "Beta", "alpha + beta = 10; half with mean rewards U(0.05, 0.2) and costs"
        " U(0.05, 0.15), half with U(0.6, 0.9) and U(0.4, 0.9)", unseen.two_kinds),
    "X-fixed-price-20": Family(
        106, "Bernoulli, constant", "mean rewards U(0, 1), constant costs U(0.05, 1)",
        unseen.fixed_price),
    "X-lognormal-40": Family(
        107, "Beta, lognormal", "rewards with means U(0.1, 0.9) and alpha + beta = 5; costs capped"
        " at 1, medians log-uniform(0.02, 0.3), sigma U(0.3, 1.2)", unseen.lognormal),
    "X-copula-12": Family(
        108, "Kumaraswamy", "all parameters U(0.5, 5); with a chance of 0.8 reward and cost are the"
        " same quantile of their distributions", unseen.copula),
    "X-extreme-500": Family(
        109, "Beta", "all parameters U(0.1, 1)", chosen.beta(0.1, 1)),
    "X-needle-300": Family(
        110, "Bernoulli", "mean rewards U(0.2, 0.5), mean costs U(0.4, 0.9), but 0.9 and 0.1 of one"
        " arm", unseen.needle),
}  # fmt: skip


_HELD_OUT = 101  # the first number of families that took no part when a policy was chosen


@dataclass(frozen=True)
class FamilySetting(Setting):
    """A family of problems other than the paper's: one draw a repetition.

    Attributes
    ----------
    number : int
        The family's own, of which its problems are drawn.
    held_out : bool
        Whether the family took no part when a policy was chosen.
    """

    number: int = 0
    held_out: bool = False

    def identity(self, data: Any = None) -> str:
        """Return a text that changes whenever the problems of the setting may."""
        return f"{self.name} {self.number}"

    def authors(self) -> Setting:
        """Refuse: the paper's authors do not have these families."""
        raise UnknownSetting(f"{self.name} has no option 'authors'; it is not of the paper")

    def problems(self, repetition: int, data: Any = None) -> list[Problem]:
        """Return the one problem of a repetition; ``data`` is not looked at."""
        if int(repetition) != repetition or repetition < 0:
            raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
        rng = np.random.default_rng([self.number, int(repetition)])
        return [TABLE[self.name].draw(rng, self.arms[0], self.name)]


def family(name: str) -> FamilySetting:
    """Return the setting of a name such as ``X-br-low-25``.

    Examples
    --------
    >>> family("X-needle-300").held_out
    True
    >>> family("X-br-lo-25")
    Traceback (most recent call last):
    bursar.errors.UnknownSetting: no setting named 'X-br-lo-25'; did you mean 'X-br-low-25'?
    """
    base, colon, option = name.partition(":")
    if base not in FAMILIES:
        raise UnknownSetting(f"no setting named {base!r}{nearest(base, FAMILIES)}")
    if colon:
        raise UnknownSetting(f"{base} has no option {option!r}; it is not of the paper")
    return FAMILIES[base]


def _setting(name: str, row: Family) -> FamilySetting:
    arms, held_out = int(name.rpartition("-")[2]), row.number >= _HELD_OUT
    source = f"bursar{', held out' if held_out else ''}; {row.about}"
    return FamilySetting(
        name, "family", row.distribution, (arms,), source, number=row.number, held_out=held_out
    )


FAMILIES: dict[str, FamilySetting] = {name: _setting(name, row) for name, row in TABLE.items()}
"""All families: first those on which a policy was chosen, then those held out."""
