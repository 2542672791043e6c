"""bursar: budgeted multi-armed bandits, where every play costs and only paying teaches.

Importing it is cheap: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from bursar.version import __version__ as __version__

if _TYPE_CHECKING:
    from typing import Any

    from bursar import errors as errors
    from bursar import theory as theory
    from bursar.campaign import Campaign as Campaign
    from bursar.campaign import Decision as Decision
    from bursar.campaign import Explanation as Explanation
    from bursar.campaign import Forecast as Forecast
    from bursar.client import AsyncClient as AsyncClient
    from bursar.client import Client as Client
    from bursar.errors import BudgetExhausted as BudgetExhausted
    from bursar.errors import BursarError as BursarError
    from bursar.errors import CampaignExists as CampaignExists
    from bursar.errors import IdempotencyMismatch as IdempotencyMismatch
    from bursar.errors import InvalidInput as InvalidInput
    from bursar.errors import NotActive as NotActive
    from bursar.errors import OutcomeConflict as OutcomeConflict
    from bursar.errors import PolicyFailed as PolicyFailed
    from bursar.errors import StaleVersion as StaleVersion
    from bursar.errors import StorageInUse as StorageInUse
    from bursar.errors import StorageUnavailable as StorageUnavailable
    from bursar.errors import TooManyOpen as TooManyOpen
    from bursar.errors import UnknownArm as UnknownArm
    from bursar.errors import UnknownCampaign as UnknownCampaign
    from bursar.errors import UnknownDecision as UnknownDecision
    from bursar.errors import UnknownPolicy as UnknownPolicy
    from bursar.policies import POLICIES as POLICIES
    from bursar.policies import Learner as Learner
    from bursar.policies import Policy as Policy
    from bursar.policies import policy as policy
    from bursar.problems import Bernoulli as Bernoulli
    from bursar.problems import Beta as Beta
    from bursar.problems import Empirical as Empirical
    from bursar.problems import GeneralizedBernoulli as GeneralizedBernoulli
    from bursar.problems import Nonstationary as Nonstationary
    from bursar.problems import Problem as Problem
    from bursar.problems import Sampled as Sampled
    from bursar.settings import SETTINGS as SETTINGS
    from bursar.settings import Setting as Setting
    from bursar.settings import list_settings as list_settings
    from bursar.settings import setting as setting
    from bursar.simulation.play import Run as Run
    from bursar.simulation.play import play as play
    from bursar.simulation.result import Result as Result
    from bursar.simulation.simulate import simulate as simulate
    from bursar.theory.intervals import eta as eta
    from bursar.theory.intervals import interval as interval
    from bursar.theory.intervals import ratio_bound as ratio_bound

_HOMES = {
    "bursar": ("errors", "theory"),
    "bursar.campaign": ("Campaign", "Decision", "Explanation", "Forecast"),
    "bursar.client": ("AsyncClient", "Client"),
    "bursar.errors": (
        "BudgetExhausted", "BursarError", "CampaignExists", "IdempotencyMismatch",
        "InvalidInput", "NotActive", "OutcomeConflict", "PolicyFailed", "StaleVersion",
        "StorageInUse", "StorageUnavailable", "TooManyOpen", "UnknownArm",
        "UnknownCampaign", "UnknownDecision", "UnknownPolicy",
    ),
    "bursar.policies": ("POLICIES", "Learner", "Policy", "policy"),
    "bursar.problems": (
        "Bernoulli", "Beta", "Empirical", "GeneralizedBernoulli", "Nonstationary", "Problem",
        "Sampled",
    ),
    "bursar.settings": ("SETTINGS", "Setting", "list_settings", "setting"),
    "bursar.simulation.play": ("Run", "play"),
    "bursar.simulation.result": ("Result",),
    "bursar.simulation.simulate": ("simulate",),
    "bursar.theory.intervals": ("eta", "interval", "ratio_bound"),
}  # fmt: skip
"""The public names by module; type checkers find them in the imports above."""


__all__ = sorted(["__version__", *(name for names in _HOMES.values() for name in names)])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'bursar' has no attribute {name!r}")
    if home == "bursar":
        return _import_module(f"bursar.{name}")
    found = globals()[name] = getattr(_import_module(home), name)
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
