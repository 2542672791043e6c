"""Problems: rewards and costs of the arms of a game, and how outcomes are drawn."""

from bursar.problems.base import Problem
from bursar.problems.bernoulli import Bernoulli, GeneralizedBernoulli
from bursar.problems.beta import Beta
from bursar.problems.distributions import Empirical, Sampled
from bursar.problems.nonstationary import Nonstationary

__all__ = [
    "Bernoulli",
    "Beta",
    "Empirical",
    "GeneralizedBernoulli",
    "Nonstationary",
    "Problem",
    "Sampled",
]
