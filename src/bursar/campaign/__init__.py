"""Live campaigns: ask which arm to play, reserve what it may cost, tell what it did."""

from bursar.campaign.audit import Verification
from bursar.campaign.campaign import Campaign
from bursar.campaign.committer import Clock, SystemClock
from bursar.campaign.config import Config
from bursar.campaign.decision import Decision
from bursar.campaign.explanation import Explanation, Option
from bursar.campaign.forecast import Forecast
from bursar.campaign.records import ArmChange
from bursar.campaign.views import ArmView
from bursar.estimate import Estimate

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
    "SystemClock",
    "Verification",
]
