"""Families of problems that are not the paper's: on some a policy was chosen, others it never saw.

Their names begin with X: ``X-br-low-25`` has 25 arms. The problem of repetition *i* is drawn from
``numpy.random.default_rng([number, i])`` with the family's own number. Arms stay in the order in
which they are drawn: the best arm may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.errors import InvalidInput, UnknownSetting, nearest
from bursar.problems import Problem
from bursar.settings.family_table import TABLE, Family
from bursar.settings.setting import Setting

__all__ = ["FAMILIES", "FamilySetting", "family"]

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
