"""Clocks: the time of day, which may jump, beside one that never does."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]

# CLOCK_BOOTTIME goes on while a laptop sleeps: waking up is no jump of the wall clock
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What a campaign asks for the time."""

    def wall(self) -> int:
        """Return microseconds since 1970, as the machine believes."""

    def steady(self) -> int:
        """Return microseconds since whenever; never set, never back."""


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> int:
        """Return the time of day."""
        return time.time_ns() // 1000

    def steady(self) -> int:
        """Return the time since the machine started, sleep included where the system can tell."""
        return time.clock_gettime_ns(_STEADY) // 1000
