"""The office: a line for each campaign that somebody calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from bursar.campaign import Campaign
from bursar.service.line import Line, Served, Ticket
from bursar.service.refused import Refused

__all__ = ["Office"]


class Office:
    """Where calls of an event loop meet the ledgers, which block.

    Parameters
    ----------
    most : int
        Calls that may wait for one campaign.
    served : callable
        Called on the event loop after each commit with campaign, works and seconds.
    """

    def __init__(self, most: int, served: Served) -> None:
        self._most = most
        self._served = served
        self._lines: dict[str, Line] = {}
        self._lock = threading.Lock()
        self._closed = False

    def do(
        self, campaign: Campaign, work: Any, urgent: bool, deadline: float | None
    ) -> asyncio.Future[Any]:
        """Put work in line; await what is returned. Outcomes are urgent: they free money."""
        line = self._lines.get(campaign.name)
        if line is None:
            with self._lock:
                if self._closed:
                    raise Refused("stopping", "the service is stopping; nothing was reserved")
                line = self._lines.setdefault(
                    campaign.name, Line(campaign, self._most, self._served)
                )
        future = asyncio.get_running_loop().create_future()
        line.join(Ticket(work, future, deadline), urgent)
        return future

    def waiting(self) -> dict[str, int]:
        """Return how many calls wait now, by campaign."""
        return {name: len(line) for name, line in self._lines.copy().items()}

    def close(self) -> None:
        """Serve what is in line, then take no more."""
        with self._lock:
            self._closed = True
            lines = list(self._lines.values())
        for line in lines:
            line.close()
