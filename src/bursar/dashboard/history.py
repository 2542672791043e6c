"""The log, newest first: pages by event number, however long it is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from bursar.ledger import Event, Store

__all__ = ["of_decision", "older"]

_WINDOW = 500  # events that are read at once
_MOST = 20_000  # events that one page looks through


def older(
    store: Store, name: str, before: int, limit: int, wanted: Callable[[Event], bool]
) -> tuple[list[Event], int | None]:
    """Return the newest events before a number that are wanted, and where to go on.

    Parameters
    ----------
    store, name
        Whose log.
    before : int
        Events with smaller numbers are looked at.
    limit : int
        How many to return.
    wanted : callable
        Whether an event is to be shown.
    """
    found: list[Event] = []
    end, last = before, max(before - _MOST, 1)
    while end > last and len(found) < limit:
        start = max(end - _WINDOW, last)
        # numbers have no gaps, so so many events are those before the end
        page = [event for event, _ in islice(store.read(name, start - 1), end - start)]
        found.extend(event for event in reversed(page) if wanted(event))
        end = start
    if len(found) > limit:
        return found[:limit], found[limit - 1].seq
    return found, end if end > 1 else None


def of_decision(store: Store, name: str, decision: str) -> list[Event]:
    """Return the events of one decision, in order."""
    with store.session(name) as session:
        return session.of(decision)
