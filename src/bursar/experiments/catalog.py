"""The packaged experiments: the paper's evaluation (Heyden et al. 2024, Sec. 5) and bursar's."""

from __future__ import annotations

from importlib.resources import as_file, files

from bursar.experiments.base import Experiment, experiment
from bursar.experiments.toml import read_experiment
from bursar.settings import list_settings
from bursar.settings.base import Data
from bursar.settings.families import FamilySetting

RHOS = tuple(2.0**i for i in range(-6, 2))
COMPETITORS = (
    "bts", "ucb-sc-plus", "budget-ucb", "b-greedy", "c-ucb", "i-ucb", "m-ucb", "ucb-b2",
)  # fmt: skip
"""The competitors in the paper's figures; ucb-b2 in the version of KDD '24."""
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
"""The other policies of the package: those that the paper names but did not run, and bursar's."""
_QUICK_REPETITIONS = {"changing.toml": 8, "less-regret.toml": 20, "families.toml": 20}


def quick_experiment(data: Data = None, repetitions: int = 30, seed: int = 0) -> Experiment:
    """Return the main policies on all settings that have data; it takes minutes on two cores."""
    title = "Which policy makes the best use of a budget? The paper in brief"
    return _make_paper_experiment("quick", title, MAIN, data, repetitions, seed)


def full_experiment(
    data: Data = None, repetitions: int = 100, seed: int = 0, all_policies: bool = False
) -> Experiment:
    """Return the paper's evaluation: 24 configurations, 100 repetitions, 11 settings.

    Without ``data``, the ads, only the nine synthetic settings are run. ``all_policies`` adds those
    that the paper names but did not run, and the package's own.
    """
    policies = (*PAPER, *ALSO) if all_policies else PAPER
    title = "Which policy makes the best use of a budget? The whole paper"
    return _make_paper_experiment("full", title, policies, data, repetitions, seed)


def _make_paper_experiment(
    name: str, title: str, policies: tuple[str, ...], data: Data, repetitions: int, seed: int
) -> Experiment:
    settings = [one for one in list_settings() if data is not None or not one.needs_data]
    return experiment(
        name, title, policies=policies, settings=settings, repetitions=repetitions,
        data=data, seed=seed,
    )  # fmt: skip


def nonstationary_experiment(
    repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return every policy on every nonstationary setting; ``quick`` has fewer repetitions."""
    return _load_experiment("changing.toml", repetitions, seed, quick)


def less_regret_experiment(
    data: Data = None, repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return bursar's policy and the paper's best on the paper's settings.

    Without ``data``, the ads, the settings made of them are left out. ``quick`` has fewer
    repetitions.
    """
    loaded = _load_experiment("less-regret.toml", repetitions, seed, quick)
    settings = loaded.plan.settings
    if data is None:
        settings = tuple(one for one in settings if not getattr(one, "needs_data", False))
    return loaded.but(settings=settings, data=data)


def families_experiment(
    repetitions: int | None = None, seed: int = 0, quick: bool = False
) -> Experiment:
    """Return both policies on all families that are not from the paper.

    ``quick`` has fewer repetitions, and only the families on which the policy was chosen.
    """
    loaded = _load_experiment("families.toml", repetitions, seed, quick)
    if not quick:
        return loaded
    families = [one for one in loaded.plan.settings if isinstance(one, FamilySetting)]
    return loaded.but(settings=tuple(one for one in families if not one.held_out))


def _load_experiment(name: str, repetitions: int | None, seed: int, quick: bool) -> Experiment:
    with as_file(files("bursar.experiments").joinpath(name)) as path:
        loaded = read_experiment(path)
    default = _QUICK_REPETITIONS[name] if quick else loaded.plan.repetitions
    return loaded.but(repetitions=repetitions or default, seed=seed)
