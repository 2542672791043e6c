"""Live campaigns: ask which arm to play, reserve what it may cost, report what it did.

Importing it is cheap: each public name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from typing import Any

    from bursar.campaign.audit import Verification as Verification
    from bursar.campaign.campaign import Campaign as Campaign
    from bursar.campaign.committer import Clock as Clock
    from bursar.campaign.committer import SystemClock as SystemClock
    from bursar.campaign.config import Config as Config
    from bursar.campaign.decision import Decision as Decision
    from bursar.campaign.decision import DecisionList as DecisionList
    from bursar.campaign.explanation import Explanation as Explanation
    from bursar.campaign.explanation import Option as Option
    from bursar.campaign.forecast import Forecast as Forecast
    from bursar.campaign.records import ArmChange as ArmChange
    from bursar.campaign.records import ArmHistory as ArmHistory
    from bursar.campaign.views import ArmView as ArmView
    from bursar.campaign.views import LearnedHistory as LearnedHistory
    from bursar.campaign.views import Status as Status
    from bursar.estimate import Estimate as Estimate

_HOMES = {
    "ArmChange": "campaign.records",
    "ArmHistory": "campaign.records",
    "ArmView": "campaign.views",
    "Campaign": "campaign.campaign",
    "Clock": "campaign.committer",
    "Config": "campaign.config",
    "Decision": "campaign.decision",
    "DecisionList": "campaign.decision",
    "Estimate": "estimate",
    "Explanation": "campaign.explanation",
    "Forecast": "campaign.forecast",
    "LearnedHistory": "campaign.views",
    "Option": "campaign.explanation",
    "Status": "campaign.views",
    "SystemClock": "campaign.committer",
    "Verification": "campaign.audit",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bursar.campaign' has no attribute {name!r}")
    found = globals()[name] = getattr(_import_module(f"bursar.{_HOMES[name]}"), name)
    return found
