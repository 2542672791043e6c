"""A setting: a family of problems, one draw of it a repetition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from bursar.errors import InvalidInput
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem
from bursar.settings import facebook
from bursar.settings.facebook import AdCampaign, Ads
from bursar.validation import Floats

__all__ = [
    "Setting",
    "ads_of",
    "bernoulli",
    "bernoulli_ad",
    "beta",
    "beta_ad",
    "click_costs",
    "generalized",
]

# ==== settings.draws
# How the problem of a repetition is drawn: in the order in which the paper's authors draw it.
#
# The parameters of repetition *i* come from ``numpy.random.default_rng(i)``, so that results compare
# with the published ones problem by problem. Arms are sorted best reward per cost first.

Rng = np.random.Generator
_VALUES = 5  # of a generalized Bernoulli arm: 0, 1/4, …, 1
_TOP = 5.0  # parameters of Beta arms are uniform on (0, 5)


def bernoulli(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw uniform means; costs from 0.01 up, since the budget is a multiple of the least."""
    reward = rng.uniform(0.0, 1.0, arms)
    cost = rng.uniform(0.01, 1.0, arms)
    order = np.argsort(cost / reward)
    return Bernoulli(reward[order], cost[order], name)


def generalized(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw chances of the five values as normalised uniforms.

    The authors divide by 5 values where the largest is 4/4: their means are 0.8 of the truth.
    """
    reward = rng.uniform(size=(arms, _VALUES))
    cost = rng.uniform(size=(arms, _VALUES))
    drawn = GeneralizedBernoulli(reward, cost)
    order = np.argsort(drawn.cost / drawn.reward)
    factor = 0.8 if authors else 1.0
    return GeneralizedBernoulli(reward[order], cost[order], name, mean_factor=factor)


def beta(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw both parameters of rewards and costs uniformly."""
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, arms) for _ in range(4))
    drawn = Beta(alpha_r, beta_r, alpha_c, beta_c)
    order = np.argsort(drawn.cost / drawn.reward)
    return Beta(alpha_r[order], beta_r[order], alpha_c[order], beta_c[order], name)


def bernoulli_ad(rng: Rng, campaign: AdCampaign, authors: bool) -> Problem:
    """Take the means of a campaign; nothing is drawn."""
    return Bernoulli(campaign.reward, campaign.cost, campaign.name)


def beta_ad(rng: Rng, campaign: AdCampaign, authors: bool) -> Problem:
    """Draw Beta parameters, then change one of each pair so that the campaign's mean holds.

    The authors multiply the means by 0.99 once more before that.
    """
    factor = 0.99 if authors else 1.0
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, campaign.arms) for _ in range(4))
    return Beta(
        *_matched(alpha_r, beta_r, campaign.reward * factor),
        *_matched(alpha_c, beta_c, campaign.cost * factor),
        campaign.name,
    )


def click_costs(rng: Rng, mean: Floats) -> tuple[Floats, Floats]:
    """Draw both parameters of Beta costs with the given means, in (0, 1), as FB-Bt does."""
    return _matched(rng.uniform(0.0, _TOP, mean.size), rng.uniform(0.0, _TOP, mean.size), mean)


def _matched(alpha: Floats, beta: Floats, mean: Floats) -> tuple[Floats, Floats]:
    small = mean <= 0.5  # keep the parameter that is to be the larger one: the other is below it
    return (
        np.where(small, beta * mean / (1.0 - mean), alpha),
        np.where(small, beta, alpha * (1.0 - mean) / mean),
    )


_SYNTHETIC = {
    "Bernoulli": bernoulli,
    "generalized Bernoulli": generalized,
    "Beta": beta,
}
_ADS = {"Bernoulli": bernoulli_ad, "Beta": beta_ad}


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
    path = facebook.find_file(data)
    state = path.stat()
    return _load(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _load(path: Path, changed: int, size: int) -> Ads:
    """Read a file once for all repetitions; a changed file is read again."""
    return facebook.load(path)
