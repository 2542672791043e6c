"""Experiments as data: declared, run in units that survive, kept as Parquet parts."""

from bursar.experiments.changing import changing
from bursar.experiments.experiment import FINE_SHARES, Experiment, experiment
from bursar.experiments.less_regret import families, less_regret
from bursar.experiments.paper import full, quick
from bursar.experiments.runner import Outcome, run
from bursar.experiments.toml import read, text

__all__ = [
    "FINE_SHARES",
    "Experiment",
    "Outcome",
    "changing",
    "experiment",
    "families",
    "full",
    "less_regret",
    "quick",
    "read",
    "run",
    "text",
]
