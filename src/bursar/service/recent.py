"""Recent decisions: which campaign they belong to, without a look into the store."""

from __future__ import annotations

from collections import deque

__all__ = ["Recent"]


class Recent:
    """The newest decisions whose ids were made here, so that no other campaign can have them.

    Ids that callers choose are not kept: another process may have given the same id to another
    campaign a moment ago, and then the money would be booked in the wrong one.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._campaigns: dict[str, str] = {}
        self._order: deque[str] = deque()

    def note(self, decision: str, campaign: str) -> None:
        """Remember a decision, and forget the oldest if there are too many."""
        self._campaigns[decision] = campaign
        self._order.append(decision)
        if len(self._order) > self._most:
            self._campaigns.pop(self._order.popleft(), None)

    def get(self, decision: str) -> str | None:
        """Return the campaign of a decision, if it is remembered."""
        return self._campaigns.get(decision)
