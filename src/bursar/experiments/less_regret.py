"""The experiments on less regret: files of the package, each in two sizes."""

from __future__ import annotations

from importlib.resources import as_file, files

from bursar.experiments.experiment import Experiment
from bursar.experiments.toml import read
from bursar.plan import Data, Place
from bursar.problems import Problem
from bursar.settings.families import FamilySetting

__all__ = ["families", "less_regret"]

_QUICK = 20  # repetitions


def less_regret(
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


def families(repetitions: int | None = None, seed: int = 0, quick: bool = False) -> Experiment:
    """Return both policies on all families that are not the paper's.

    ``quick`` has fewer repetitions, and only the families on which the policy was chosen.
    """
    what = _file("families.toml", repetitions, seed, quick)
    return what.but(settings=tuple(filter(_chosen_on, what.plan.settings))) if quick else what


def _file(name: str, repetitions: int | None, seed: int, quick: bool) -> Experiment:
    with as_file(files("bursar.experiments").joinpath(name)) as path:
        what = read(path)
    usual = _QUICK if quick else what.plan.repetitions
    return what.but(repetitions=repetitions or usual, seed=seed)


def _chosen_on(place: Place | Problem) -> bool:
    return isinstance(place, FamilySetting) and not place.held_out
