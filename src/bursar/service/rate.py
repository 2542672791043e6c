"""How often somebody may call: a bucket of tokens a caller, filled steadily, emptied by calls."""

from __future__ import annotations

import time
from collections import OrderedDict

from bursar.errors import RateLimited

__all__ = ["Rate"]

_BURST = 2.0  # seconds' worth of calls that may come at once
_MOST = 10_000  # callers that are remembered


class Rate:
    """Buckets of all callers of a process; the longest silent are forgotten, as if full.

    Parameters
    ----------
    rate : float
        Calls a second.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._size = max(1.0, rate * _BURST)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float | None = None) -> None:
        """Count a call, or refuse it and say how long to wait."""
        now = time.monotonic() if now is None else now
        level, then = self._buckets.pop(caller, (self._size, now))
        level = min(self._size, level + (now - then) * self.rate)
        self._buckets[caller] = level - 1.0 if level >= 1.0 else level, now
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if level < 1.0:
            wait = (1.0 - level) / self.rate
            raise RateLimited(
                f"more than {self.rate:g} requests a second; wait {wait:.2f} s", retry_after=wait
            )
