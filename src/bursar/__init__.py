"""bursar: budgeted multi-armed bandits, where every play costs and only paying teaches."""

from bursar import errors, theory
from bursar.intervals import eta, interval, ratio_bound
from bursar.play import Run, play
from bursar.policies import POLICIES, Learner, Policy, policy
from bursar.problems import Bernoulli
from bursar.version import __version__

__all__ = [
    "POLICIES",
    "Bernoulli",
    "Learner",
    "Policy",
    "Run",
    "__version__",
    "errors",
    "eta",
    "interval",
    "play",
    "policy",
    "ratio_bound",
    "theory",
]
