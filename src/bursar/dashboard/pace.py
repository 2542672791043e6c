"""How fast money goes, and when it will be gone."""

from __future__ import annotations

import math
from datetime import datetime

from bursar.dashboard.look import Look
from bursar.dashboard.spelling import number

__all__ = ["burn", "end"]

_PACES = ((3.0 / 24.0, 1440.0, "a minute"), (3.0, 24.0, "an hour"), (math.inf, 1.0, "a day"))


def burn(look: Look) -> str:
    """Return how fast money goes: a day, or less if it will not last for many."""
    ahead = look.forecast
    if look.status.state != "active":
        return "nothing now"
    if ahead.rate is None:
        return "nothing lately"
    days = math.inf
    if ahead.exhausted is not None:
        days = (ahead.exhausted - look.now).total_seconds() / 86_400.0
    part, unit = next((part, unit) for most, part, unit in _PACES if days <= most)
    return f"{number(ahead.rate.value / part)} {look.status.currency} {unit}".replace("  ", " ")


def end(look: Look) -> tuple[str, str]:
    """Return when the budget will be used up, and between which dates that is."""
    ahead = look.forecast
    if look.status.state in ("exhausted", "overdrawn"):
        return "used up", "raise the budget to go on"
    if look.status.state != "active":
        return "stands still", f"it is {look.status.state}"
    if ahead.exhausted is None:
        return "no end in sight", "nothing was spent lately"
    early, late = ahead.exhausted_early, ahead.exhausted_late
    short = _short(ahead.exhausted, look.now)
    if early is None or late is None:
        return short, ""
    return short, _span(early, late, look.now)


def _short(at: datetime, now: datetime) -> str:
    """Return a date; with the time of day if it is near."""
    near = abs((at - now).total_seconds()) < 3 * 86_400
    return at.strftime("%Y-%m-%d %H:%M UTC" if near else "%Y-%m-%d")


def _span(early: datetime, late: datetime, now: datetime) -> str:
    """Return between which times something will be, as short as it can be said."""
    first, last = _short(early, now), _short(late, now)
    if first == last:
        return ""
    if early.date() == late.date():
        return f"{early:%H:%M} to {late:%H:%M} UTC"
    return f"{early:%Y-%m-%d} to {late:%Y-%m-%d}"
