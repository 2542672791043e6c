"""bursar: budgeted multi-armed bandits, where every play costs and only paying teaches.

Importing it is cheap: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from bursar.version import __version__

if _TYPE_CHECKING:
    from typing import Any

    from bursar import errors, theory
    from bursar.campaign import Campaign, Decision, Explanation, Forecast
    from bursar.client import AsyncClient, Client
    from bursar.errors import (
        BudgetExhausted,
        BursarError,
        CampaignExists,
        IdempotencyMismatch,
        InvalidInput,
        NotActive,
        OutcomeConflict,
        PolicyFailed,
        StaleVersion,
        StorageInUse,
        StorageUnavailable,
        TooManyOpen,
        UnknownArm,
        UnknownCampaign,
        UnknownDecision,
        UnknownPolicy,
    )
    from bursar.policies import POLICIES, Learner, Policy, policy
    from bursar.problems import (
        Bernoulli,
        Beta,
        Empirical,
        GeneralizedBernoulli,
        Nonstationary,
        Problem,
        Sampled,
    )
    from bursar.settings import SETTINGS, Setting, list_settings, setting
    from bursar.simulation.play import Run, play
    from bursar.simulation.result import Result
    from bursar.simulation.simulate import simulate
    from bursar.theory.intervals import eta, interval, ratio_bound

__all__ = [
    "POLICIES",
    "SETTINGS",
    "AsyncClient",
    "Bernoulli",
    "Beta",
    "BudgetExhausted",
    "BursarError",
    "Campaign",
    "CampaignExists",
    "Client",
    "Decision",
    "Empirical",
    "Explanation",
    "Forecast",
    "GeneralizedBernoulli",
    "IdempotencyMismatch",
    "InvalidInput",
    "Learner",
    "Nonstationary",
    "NotActive",
    "OutcomeConflict",
    "Policy",
    "PolicyFailed",
    "Problem",
    "Result",
    "Run",
    "Sampled",
    "Setting",
    "StaleVersion",
    "StorageInUse",
    "StorageUnavailable",
    "TooManyOpen",
    "UnknownArm",
    "UnknownCampaign",
    "UnknownDecision",
    "UnknownPolicy",
    "__version__",
    "errors",
    "eta",
    "interval",
    "list_settings",
    "play",
    "policy",
    "ratio_bound",
    "setting",
    "simulate",
    "theory",
]

_HOMES = {
    "bursar.campaign": ("Campaign", "Decision", "Explanation", "Forecast"),
    "bursar.client": ("AsyncClient", "Client"),
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
"""The module of each name that is not a module or an error."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name not in __all__:
        raise AttributeError(f"module 'bursar' has no attribute {name!r}")
    if name in ("errors", "theory"):
        return _import_module(f"bursar.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), "bursar.errors")
    found = globals()[name] = getattr(_import_module(home), name)
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
