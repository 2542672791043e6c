"""Experiments: grids of settings, policies and repetitions, run so that they can be resumed."""

from bursar.experiments.base import FINE_SHARES, Experiment, experiment
from bursar.experiments.catalog import (
    families_experiment,
    full_experiment,
    less_regret_experiment,
    nonstationary_experiment,
    quick_experiment,
)
from bursar.experiments.runner import ExperimentRun, run
from bursar.experiments.toml import format_experiment, read_experiment

__all__ = [
    "FINE_SHARES",
    "Experiment",
    "ExperimentRun",
    "experiment",
    "families_experiment",
    "format_experiment",
    "full_experiment",
    "less_regret_experiment",
    "nonstationary_experiment",
    "quick_experiment",
    "read_experiment",
    "run",
]
