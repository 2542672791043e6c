"""bursar: budgeted multi-armed bandits, where every play costs and only paying teaches."""

from bursar import errors, theory
from bursar.intervals import eta, interval, ratio_bound
from bursar.play import Run, play
from bursar.policies import POLICIES, Learner, Policy, policy
from bursar.problems import (
    Bernoulli,
    Beta,
    Empirical,
    GeneralizedBernoulli,
    Problem,
    Sampled,
)
from bursar.result import Result
from bursar.settings import SETTINGS, Setting, setting, settings
from bursar.simulate import simulate
from bursar.version import __version__

__all__ = [
    "POLICIES",
    "SETTINGS",
    "Bernoulli",
    "Beta",
    "Empirical",
    "GeneralizedBernoulli",
    "Learner",
    "Policy",
    "Problem",
    "Result",
    "Run",
    "Sampled",
    "Setting",
    "__version__",
    "errors",
    "eta",
    "interval",
    "play",
    "policy",
    "ratio_bound",
    "setting",
    "settings",
    "simulate",
    "theory",
]
