"""The paper's evaluation as data (Heyden et al. 2024, Sec. 5): its grid, in two sizes."""

from __future__ import annotations

from bursar.experiments.experiment import Experiment, experiment
from bursar.plan import Data
from bursar.settings import settings

__all__ = ["ALSO", "COMPETITORS", "MAIN", "PAPER", "RHOS", "full", "quick"]

RHOS = tuple(2.0**i for i in range(-6, 2))
COMPETITORS = (
    "bts", "ucb-sc-plus", "budget-ucb", "b-greedy", "c-ucb", "i-ucb", "m-ucb", "ucb-b2",
)  # fmt: skip
"""Policies of others in the paper's figures; ucb-b2 in the version of KDD '24."""
PAPER = (
    *(f"omega-ucb:rho={rho}" for rho in RHOS),
    *(f"omega-star-ucb:rho={rho}" for rho in RHOS),
    *COMPETITORS,
)
"""The 24 configurations of the paper."""
MAIN = (
    "omega-star-ucb:rho=0.25", "omega-ucb:rho=0.25", "omega-star-ucb:rho=1", "omega-ucb:rho=1",
    *COMPETITORS, "uniform",
)  # fmt: skip
ALSO = (
    "kl-ucb-sc-plus", "eps-first", "kube", "fractional-kube", "ucb-bv1", "ucb-bv2", "pd-bwk",
    "mrcb", "pooled-gittins", "uniform",
)  # fmt: skip
"""The other policies of the package: those that the paper names but did not play, and ours."""


def quick(data: Data = None, repetitions: int = 30, seed: int = 0) -> Experiment:
    """Return the main policies on all settings for which there is data: minutes on two cores."""
    title = "Which policy spends a budget best? The paper in brief"
    return _paper("quick", title, MAIN, data, repetitions, seed)


def full(
    data: Data = None, repetitions: int = 100, seed: int = 0, all_policies: bool = False
) -> Experiment:
    """Return the paper's evaluation: 24 configurations, 100 repetitions, 11 settings.

    Without ``data``, the ads, it is the nine synthetic settings. ``all_policies`` adds those which
    the paper names but did not play, and the package's own.
    """
    policies = (*PAPER, *ALSO) if all_policies else PAPER
    title = "Which policy spends a budget best? The whole paper"
    return _paper("full", title, policies, data, repetitions, seed)


def _paper(
    name: str, title: str, policies: tuple[str, ...], data: Data, repetitions: int, seed: int
) -> Experiment:
    places = [one for one in settings() if data is not None or not one.needs_data]
    return experiment(
        name, title, policies=policies, settings=places, repetitions=repetitions,
        data=data, seed=seed,
    )  # fmt: skip
