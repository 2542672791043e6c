"""Clocks: the time of day, which may jump, beside one that never does."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

__all__ = ["Clock", "SystemClock", "boot_of"]

# CLOCK_BOOTTIME goes on while a laptop sleeps: waking up is no jump of the wall clock
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What a campaign asks for the time.

    A clock may also have ``boot()``: a word for the run of the machine that its steady time counts
    from. Then a clock that was set between two processes of one run is noticed.
    """

    def wall(self) -> int:
        """Return microseconds since 1970, as the machine believes."""

    def steady(self) -> int:
        """Return microseconds since whenever; never set, never back."""


class SystemClock:
    """The machine's clocks."""

    def boot(self) -> str:
        """Return a name of this run of the machine, for which its steady clock holds; or ``""``."""
        with suppress(OSError):  # not everywhere
            return _BOOT.read_text().strip()
        return ""

    def wall(self) -> int:
        """Return the time of day."""
        return time.time_ns() // 1000

    def steady(self) -> int:
        """Return the time since the machine started, sleep included where the system can tell."""
        return time.clock_gettime_ns(_STEADY) // 1000


def boot_of(clock: Clock) -> str:
    """Return the run of the machine that a clock's steady time counts from; ``""`` if unknown."""
    word: str = getattr(clock, "boot", str)()
    return word
