"""When to try again: with full jitter, and never beyond a deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["Retry", "waiting_time"]


@dataclass(frozen=True)
class Retry:
    """How a client waits between tries.

    After the n-th failure it waits for a random time between 0 and ``first`` · 2ⁿ⁻¹, at most
    ``most``: clients that failed together do not come back together. If the service says how long
    to wait, that is added.

    Attributes
    ----------
    first, most : float
        Seconds.
    clock, chance, sleep : callable
        Where the time (seconds, never set back), random numbers in [0, 1) and sleep come from;
        ``sleep`` is by default time.sleep or asyncio.sleep.
    """

    first: float = 0.1
    most: float = 5.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None

    def wait(self, failures: int, told: float = 0.0) -> float:
        """Return how long to wait after so many failures.

        >>> Retry(chance=lambda: 0.5).wait(3)
        0.2
        """
        return told + self.chance() * min(self.most, self.first * 2.0 ** min(failures - 1, 30))


def waiting_time(header: str | None) -> float:
    """Return the seconds that a Retry-After header asks for.

    >>> waiting_time("2"), waiting_time(None), waiting_time("soon")
    (2.0, 0.0, 0.0)
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
