"""Experiments as data: declared, run in units that survive, kept as Parquet parts."""

from bursar.experiments.catalog import (
    families_experiment,
    full,
    less_regret_experiment,
    nonstationary_experiment,
    quick,
)
from bursar.experiments.experiment import FINE_SHARES, Experiment, experiment
from bursar.experiments.runner import ExperimentRun, run
from bursar.experiments.toml import read, text

__all__ = [
    "FINE_SHARES",
    "Experiment",
    "ExperimentRun",
    "experiment",
    "families_experiment",
    "full",
    "less_regret_experiment",
    "nonstationary_experiment",
    "quick",
    "read",
    "run",
    "text",
]
