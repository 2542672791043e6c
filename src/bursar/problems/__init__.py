"""Problems: what the arms of a game bring and cost, and how outcomes are drawn."""

from bursar.problems.base import Problem
from bursar.problems.bernoulli import Bernoulli
from bursar.problems.beta import Beta
from bursar.problems.empirical import Empirical
from bursar.problems.generalized import GeneralizedBernoulli
from bursar.problems.nonstationary import Nonstationary
from bursar.problems.sampled import Sampled

__all__ = [
    "Bernoulli",
    "Beta",
    "Empirical",
    "GeneralizedBernoulli",
    "Nonstationary",
    "Problem",
    "Sampled",
]
