"""A setting: a family of problems, of which each repetition draws one or more.

The paper's problems are drawn in the order in which its authors draw them: the parameters of
repetition *i* come from ``numpy.random.default_rng(i)``, so that results compare with the published
ones problem by problem. Arms are sorted by reward per cost, the best first.
"""

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bursar.arrays import Floats
from bursar.errors import InvalidInput, UnknownSetting
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem
from bursar.settings import facebook
from bursar.settings.facebook import Ads

Data = str | PathLike[str] | Ads | None
Rng = np.random.Generator
_VALUES = 5  # of a generalized Bernoulli arm: 0, 1/4, …, 1
_TOP = 5.0  # parameters of Beta arms are uniform on (0, 5)


@dataclass(frozen=True)
class Setting:
    """A named family of problems: one of the paper's, or the base of other families.

    Attributes
    ----------
    name : str
        For example ``S-Br-10``; ``S-Br-10:authors`` with the authors' choices.
    kind : {"synthetic", "ads", "changing", "family"}
        Drawn at random, made of the Facebook ads, drawn at random and nonstationary, or drawn at
        random in ways that the paper does not use (the last two are not from the paper).
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

    def identity(self, data: Data = None) -> str:
        """Return a text that changes when the problems of the setting may."""
        return f"{self.name} {load_ads(data).digest()}" if self.needs_data else self.name

    def authors(self) -> Self:
        """Return the setting with the authors' choices, as ``NAME:authors`` does."""
        if self.kind not in ("synthetic", "ads"):
            raise UnknownSetting(f"{self.name} has no option 'authors'; it is not from the paper")
        if self.variant == "authors":
            return self
        return replace(self, name=f"{self.name}:authors", variant="authors")

    def problems(self, repetition: int, data: Data = None) -> list[Problem]:
        """Return the problems of a repetition: one, or one per campaign of ads.

        Parameters
        ----------
        repetition : int
            0, 1, …; the same number gives the same problems, those of the published experiments.
        data : path or Ads, optional
            The Facebook ads, for settings made of them: a CSV or ZIP file, or what
            :func:`bursar.settings.facebook.load` returned. By default the copy that
            ``bursar data facebook-ads`` keeps. Other settings ignore it.

        Examples
        --------
        >>> from bursar.settings import setting
        >>> (problem,) = setting("S-Br-10").problems(repetition=0)
        >>> problem.name, problem.arms, problem.best, round(problem.min_cost, 3)
        ('S-Br-10', 10, 0, 0.013)
        """
        return self._draw(check_repetition(repetition), data)

    def _draw(self, repetition: int, data: Data) -> list[Problem]:
        rng = np.random.default_rng(repetition)
        authors = self.variant == "authors"
        if self.kind == "synthetic":
            draw = _SYNTHETIC[self.distribution]
            return [draw(rng, arms, self.name, authors) for arms in self.arms]
        campaigns = load_ads(data).campaigns()
        if self.distribution == "Bernoulli":
            return list(campaigns)
        # one generator for all campaigns, one after the other
        return [_draw_beta_ads(rng, campaign, authors) for campaign in campaigns]


def load_table(name: str) -> dict[str, dict[str, Any]]:
    """Return a TOML file of the package: the fields of settings, by their names."""
    return tomllib.loads(files("bursar.settings").joinpath(name).read_text(encoding="utf-8"))


def check_repetition(repetition: int) -> int:
    """Return the number of a repetition, or raise InvalidInput."""
    if int(repetition) != repetition or repetition < 0:
        raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
    return int(repetition)


def load_ads(data: Data) -> Ads:
    """Return the ads of a path, by default of the kept copy; a file is read once."""
    if isinstance(data, Ads):
        return data
    path = facebook.find_file(data)
    state = path.stat()
    return _load_file(path.resolve(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _load_file(path: Path, changed: int, size: int) -> Ads:
    """Read a file once for all repetitions; a changed file is read again."""
    return facebook.load(path)


def _draw_bernoulli(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw uniform means; costs of at least 0.01, since the budget is a multiple of the least."""
    reward = rng.uniform(0.0, 1.0, arms)
    cost = rng.uniform(0.01, 1.0, arms)
    order = np.argsort(cost / reward)
    return Bernoulli(reward[order], cost[order], name)


def _draw_generalized(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw probabilities of the five values as normalised uniforms.

    The authors divide by 5 values where the largest is 4/4: their means are 0.8 of the truth.
    """
    reward = rng.uniform(size=(arms, _VALUES))
    cost = rng.uniform(size=(arms, _VALUES))
    drawn = GeneralizedBernoulli(reward, cost)
    order = np.argsort(drawn.cost / drawn.reward)
    factor = 0.8 if authors else 1.0
    return GeneralizedBernoulli(reward[order], cost[order], name, mean_factor=factor)


def _draw_beta(rng: Rng, arms: int, name: str, authors: bool) -> Problem:
    """Draw both parameters of rewards and costs uniformly."""
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, arms) for _ in range(4))
    drawn = Beta(alpha_r, beta_r, alpha_c, beta_c)
    order = np.argsort(drawn.cost / drawn.reward)
    return Beta(alpha_r[order], beta_r[order], alpha_c[order], beta_c[order], name)


def _draw_beta_ads(rng: Rng, campaign: Bernoulli, authors: bool) -> Problem:
    """Draw Beta parameters, then change one of each pair so that the campaign's mean holds.

    The authors first multiply the means by 0.99 once more.
    """
    factor = 0.99 if authors else 1.0
    alpha_r, alpha_c, beta_r, beta_c = (rng.uniform(0.0, _TOP, campaign.arms) for _ in range(4))
    return Beta(
        *_match_mean(alpha_r, beta_r, campaign.reward * factor),
        *_match_mean(alpha_c, beta_c, campaign.cost * factor),
        campaign.name,
    )


def draw_click_costs(rng: Rng, mean: Floats) -> tuple[Floats, Floats]:
    """Draw both parameters of Beta costs with the given means, in (0, 1), as FB-Bt does."""
    return _match_mean(rng.uniform(0.0, _TOP, mean.size), rng.uniform(0.0, _TOP, mean.size), mean)


def _match_mean(alpha: Floats, beta: Floats, mean: Floats) -> tuple[Floats, Floats]:
    small = mean <= 0.5  # keep the parameter that must be the larger of the two
    return (
        np.where(small, beta * mean / (1.0 - mean), alpha),
        np.where(small, beta, alpha * (1.0 - mean) / mean),
    )


_SYNTHETIC = {
    "Bernoulli": _draw_bernoulli,
    "generalized Bernoulli": _draw_generalized,
    "Beta": _draw_beta,
}
