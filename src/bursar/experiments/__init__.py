"""Experiments: grids of settings, policies and repetitions, run so that they can be resumed."""

from bursar.experiments.cells import FINE_SHARES, Experiment, experiment
from bursar.experiments.runner import ExperimentRun, run
from bursar.experiments.toml import format_experiment, load_experiment, read_experiment

__all__ = [
    "FINE_SHARES",
    "Experiment",
    "ExperimentRun",
    "experiment",
    "format_experiment",
    "load_experiment",
    "read_experiment",
    "run",
]
