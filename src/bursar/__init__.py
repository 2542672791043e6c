"""bursar: budgeted multi-armed bandits, where every play costs and only paying teaches."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bursar import errors, theory
from bursar.policies import POLICIES, Learner, Policy, policy
from bursar.problems import Bernoulli, Beta, Empirical, GeneralizedBernoulli, Problem, Sampled
from bursar.settings import SETTINGS, Setting, list_settings, setting
from bursar.simulation.play import Run, play
from bursar.simulation.result import Result
from bursar.simulation.simulate import simulate
from bursar.theory.intervals import eta, interval, ratio_bound
from bursar.version import __version__

if TYPE_CHECKING:
    from bursar.campaign import Campaign, Decision
    from bursar.client import AsyncClient, Client

__all__ = [
    "POLICIES",
    "SETTINGS",
    "AsyncClient",
    "Bernoulli",
    "Beta",
    "Campaign",
    "Client",
    "Decision",
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
    "list_settings",
    "play",
    "policy",
    "ratio_bound",
    "setting",
    "simulate",
    "theory",
]

_LATER = {
    "AsyncClient": "bursar.client",
    "Campaign": "bursar.campaign",
    "Client": "bursar.client",
    "Decision": "bursar.campaign",
}


def __getattr__(name: str) -> Any:
    """Load what only campaigns need when it is asked for: simulations need no ledger or network."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'bursar' has no attribute {name!r}")
