"""The experiment on worlds that change: a file of the package, in two sizes."""

from __future__ import annotations

from importlib.resources import as_file, files

from bursar.experiments.experiment import Experiment
from bursar.experiments.toml import read

__all__ = ["changing"]

_QUICK = 8  # repetitions


def changing(repetitions: int | None = None, seed: int = 0, quick: bool = False) -> Experiment:
    """Return every policy on every world that changes; ``quick`` has fewer repetitions."""
    with as_file(files("bursar.experiments").joinpath("changing.toml")) as path:
        what = read(path)
    if repetitions is None and quick:
        repetitions = _QUICK
    return what.but(repetitions=repetitions or what.plan.repetitions, seed=seed)
