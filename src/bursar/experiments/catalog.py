"""The paper's evaluation as data (Heyden et al. 2024, Sec. 5): its grid, in two sizes."""

from __future__ import annotations

from importlib.resources import as_file, files

from bursar.experiments.experiment import Experiment, experiment
from bursar.experiments.toml import read
from bursar.problems import Problem
from bursar.settings import list_settings
from bursar.settings.families import FamilySetting
from bursar.simulation.result import Data, Place

__all__ = [
    "ALSO",
    "COMPETITORS",
    "MAIN",
    "PAPER",
    "RHOS",
    "families_experiment",
    "full",
    "less_regret_experiment",
    "nonstationary_experiment",
    "quick",
]

RHOS = tuple(2.0**i for i in range(-6, 2))
COMPETITORS = (
    "bts", "ucb-sc-plus", "budget-ucb", "b-greedy", "c-ucb", "i-ucb", "m-ucb", "ucb-b2",
)  # fmt: skip
"""Policies of others in the paper's figures; ucb-b2 in the version of KDD '24."""
PAPER = (
    *(f"omega-ucb:rho={rho}" for rho in RHOS),
    *(f"omega-star-ucb:rho={rho}" for rho in RHOS),
    *COMPETITORS,
)
"""The 24 configurations of the paper."""
MAIN = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "omega-star-ucb:rho=1", "omega-ucb:rho=1",
    *COMPETITORS, "uniform",
)  # fmt: skip
ALSO = (
    "kl-ucb-sc-plus", "eps-first", "kube", "fractional-kube", "ucb-bv1", "ucb-bv2", "pd-bwk",
    "mrcb", "pooled-gittins", "uniform",
)  # fmt: skip
"""The other policies of the package: those that the paper names but did not play, and ours."""


def quick(data: Data = None, repetitions: int = 30, seed: int = 0) -> Experiment:
    """Return the main policies on all settings for which there is data: minutes on two cores."""
    title = "Which policy spends a budget best? The paper in brief"
    return _paper("quick", title, MAIN, data, repetitions, seed)


def full(
    data: Data = None, repetitions: int = 100, seed: int = 0, all_policies: bool = False
) -> Experiment:
    """Return the paper's evaluation: 24 configurations, 100 repetitions, 11 settings.

    Without ``data``, the ads, it is the nine synthetic settings. ``all_policies`` adds those which
    the paper names but did not play, and the package's own.
    """
    policies = (*PAPER, *ALSO) if all_policies else PAPER
    title = "Which policy spends a budget best? The whole paper"
    return _paper("full", title, policies, data, repetitions, seed)


def _paper(
    name: str, title: str, policies: tuple[str, ...], data: Data, repetitions: int, seed: int
) -> Experiment:
    places = [one for one in list_settings() if data is not None or not one.needs_data]
    return experiment(
        name, title, policies=policies, settings=places, repetitions=repetitions,
        data=data, seed=seed,
    )  # fmt: skip


# ==== experiments.changing
# The experiment on worlds that change: a file of the package, in two sizes.

_QUICK = 8  # repetitions


def nonstationary_experiment(
    repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return every policy on every world that changes; ``quick`` has fewer repetitions."""
    with as_file(files("bursar.experiments").joinpath("changing.toml")) as path:
        what = read(path)
    if repetitions is None and quick:
        repetitions = _QUICK
    return what.but(repetitions=repetitions or what.plan.repetitions, seed=seed)


# ==== experiments.less_regret
# The experiments on less regret: files of the package, each in two sizes.

_LESS_REGRET_QUICK = 20  # repetitions


def less_regret_experiment(
    data: Data = None, repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return bursar's policy and the paper's best on the paper's settings.

    Without ``data``, the ads, the settings made of them are left out. ``quick`` has fewer
    repetitions.
    """
    what = _file("less-regret.toml", repetitions, seed, quick)
    places = what.plan.settings
    if data is None:
        places = tuple(one for one in places if not getattr(one, "needs_data", False))
    return what.but(settings=places, data=data)


def families_experiment(
    repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return both policies on all families that are not the paper's.

    ``quick`` has fewer repetitions, and only the families on which the policy was chosen.
    """
    what = _file("families.toml", repetitions, seed, quick)
    return what.but(settings=tuple(filter(_chosen_on, what.plan.settings))) if quick else what


def _file(name: str, repetitions: int | None, seed: int, quick: bool) -> Experiment:
    with as_file(files("bursar.experiments").joinpath(name)) as path:
        what = read(path)
    usual = _LESS_REGRET_QUICK if quick else what.plan.repetitions
    return what.but(repetitions=repetitions or usual, seed=seed)


def _chosen_on(place: Place | Problem) -> bool:
    return isinstance(place, FamilySetting) and not place.held_out
