"""A setting: a family of problems, one draw of it a repetition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from bursar.errors import InvalidInput
from bursar.problems import Problem
from bursar.settings import draws, facebook, store
from bursar.settings.ads import Ads

__all__ = ["Setting", "ads_of"]

_SYNTHETIC = {
    "Bernoulli": draws.bernoulli,
    "generalized Bernoulli": draws.generalized,
    "Beta": draws.beta,
}
_ADS = {"Bernoulli": draws.bernoulli_ad, "Beta": draws.beta_ad}


@dataclass(frozen=True)
class Setting:
    """One of the paper's settings, as data.

    Attributes
    ----------
    name : str
        For example ``S-Br-10``; ``S-Br-10:authors`` with the authors' choices.
    kind : {"synthetic", "ads", "changing", "family"}
        Drawn at random, made of the Facebook ads, drawn at random and changing while the budget is
        spent, or drawn at random in other ways than the paper's (the last two are not of it).
    distribution : str
        Of rewards and costs: ``Bernoulli``, ``generalized Bernoulli`` or ``Beta``; families may
        have others.
    arms : tuple of int
        Number of arms of each problem of a repetition; for ads, with the paper's file.
    source : str
        Where the setting comes from, and how it is drawn.
    variant : {"bursar", "authors"}
        ``authors`` repeats what the published experiments did and bursar does not: means of
        generalized Bernoulli arms are stated as 0.8 of the truth, and means of FB-Bt are
        multiplied by 0.99 twice (docs/deviations.md, rows 11 and 13). All else is the same.
    """

    name: str
    kind: Literal["synthetic", "ads", "changing", "family"]
    distribution: str
    arms: tuple[int, ...]
    source: str
    variant: Literal["bursar", "authors"] = "bursar"

    coin: ClassVar[float] = 1.0  # what a cost of 1 is in the user's money
    prize: ClassVar[float] = 1.0  # what a reward of 1 is in the user's units

    def __str__(self) -> str:
        return self.name

    @property
    def needs_data(self) -> bool:
        """Whether the setting is made of a file that the user must get."""
        return self.kind == "ads"

    def identity(self, data: str | PathLike[str] | Ads | None = None) -> str:
        """Return a text that changes whenever the problems of the setting may."""
        return f"{self.name} {ads_of(data).digest()}" if self.needs_data else self.name

    def authors(self) -> Setting:
        """Return the setting with the authors' choices, as ``NAME:authors`` does."""
        if self.variant == "authors":
            return self
        return replace(self, name=f"{self.name}:authors", variant="authors")

    def problems(
        self, repetition: int, data: str | PathLike[str] | Ads | None = None
    ) -> list[Problem]:
        """Return the problems of a repetition: one, or one a campaign of ads.

        Parameters
        ----------
        repetition : int
            0, 1, …; the same number gives the same problems, those of the published experiments.
        data : path or Ads, optional
            The Facebook ads, for settings made of them: a CSV or ZIP file, or what
            :func:`bursar.settings.facebook.load` returned. By default the copy that
            ``bursar data facebook-ads`` keeps. Synthetic settings do not look at it.

        Examples
        --------
        >>> from bursar.settings import setting
        >>> (problem,) = setting("S-Br-10").problems(repetition=0)
        >>> problem.name, problem.arms, problem.best, round(problem.min_cost, 3)
        ('S-Br-10', 10, 0, 0.013)
        """
        if int(repetition) != repetition or repetition < 0:
            raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
        rng = np.random.default_rng(int(repetition))
        authors = self.variant == "authors"
        if self.kind == "synthetic":
            draw = _SYNTHETIC[self.distribution]
            return [draw(rng, arms, self.name, authors) for arms in self.arms]
        make = _ADS[self.distribution]
        # one generator for all campaigns in turn
        return [make(rng, campaign, authors) for campaign in ads_of(data).campaigns()]


def ads_of(data: str | PathLike[str] | Ads | None) -> Ads:
    """Return the ads of a path, read once; of the kept copy by default."""
    if isinstance(data, Ads):
        return data
    path = store.find(data)
    state = path.stat()
    return _load(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _load(path: Path, changed: int, size: int) -> Ads:
    """Read a file once for all repetitions; a changed file is read again."""
    return facebook.load(path)
