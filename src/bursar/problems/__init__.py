"""Problems: rewards and costs of the arms of a game, and how outcomes are drawn."""

from bursar.problems.base import Problem
from bursar.problems.bernoulli import Bernoulli
from bursar.problems.beta import Beta
from bursar.problems.distributions import Sampled
from bursar.problems.empirical import Empirical
from bursar.problems.generalized_bernoulli import GeneralizedBernoulli
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
