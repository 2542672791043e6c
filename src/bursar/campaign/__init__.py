"""Live campaigns: ask which arm to play, reserve what it may cost, report what it did.

Importing it is cheap: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from typing import Any

    from bursar.campaign.audit import Verification
    from bursar.campaign.campaign import Campaign
    from bursar.campaign.committer import Clock, SystemClock
    from bursar.campaign.config import Config
    from bursar.campaign.decision import Decision
    from bursar.campaign.explanation import Explanation, Option
    from bursar.campaign.forecast import Forecast
    from bursar.campaign.records import ArmChange
    from bursar.campaign.views import ArmView, Status
    from bursar.estimate import Estimate

_HOMES = {
    "ArmChange": "campaign.records",
    "ArmView": "campaign.views",
    "Campaign": "campaign.campaign",
    "Clock": "campaign.committer",
    "Config": "campaign.config",
    "Decision": "campaign.decision",
    "Estimate": "estimate",
    "Explanation": "campaign.explanation",
    "Forecast": "campaign.forecast",
    "Option": "campaign.explanation",
    "Status": "campaign.views",
    "SystemClock": "campaign.committer",
    "Verification": "campaign.audit",
}

__all__ = [
    "ArmChange",
    "ArmView",
    "Campaign",
    "Clock",
    "Config",
    "Decision",
    "Estimate",
    "Explanation",
    "Forecast",
    "Option",
    "Status",
    "SystemClock",
    "Verification",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bursar.campaign' has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(f"bursar.{_HOMES[name]}"), name)
    return found
