"""Whether a log goes on from where this process saw it last, or was replaced behind its back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bursar.ledger.event import Event, chained, encoded
from bursar.ledger.store import Head

__all__ = ["Seen"]

_LASTING = 100


class Seen:
    """What a process saw last of a campaign."""

    __slots__ = ("campaign", "head", "others")

    def __init__(self, campaign: int, head: Head) -> None:
        self.campaign = campaign
        self.head = head
        self.others = 0  # for how many sessions to expect that others write too

    def move(self, head: Head) -> None:
        """Go on to a head that a session found."""
        self.others = _LASTING if head.seq != self.head.seq else max(0, self.others - 1)
        self.head = head

    def leads_to(
        self, campaign: int, head: Head, tail: Sequence[Event], hash_at: Callable[[int], bytes]
    ) -> bool:
        """Return whether a log with this head contains all that was seen.

        ``tail`` are the events since, as far as they are known; else ``hash_at`` is asked for the
        hash of the last event that was seen.
        """
        seq, _, last = self.head
        if campaign != self.campaign or head.seq < seq:
            return False
        if head.seq == seq:
            return head.hash == last
        if tail and tail[-1].seq == head.seq:
            for event in tail:
                last = chained(last, event, encoded(event.body))
            return head.hash == last
        return hash_at(seq) == last
